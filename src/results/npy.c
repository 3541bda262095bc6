/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c -- writes and reads the header of .npy files, and writes arrays row by row.
 *
 * Headers are written as version 1.0. They have 128 bytes, whatever the shape, so that a header can
 * be rewritten when the number of rows is known. Versions 1.0 to 3.0 are read. A header is a Python
 * dictionary with exactly the keys descr, fortran_order and shape, in any order. The shape is
 * compared with the length of the file, so that callers can safely allocate memory for it. */
#include "results/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"

#define MAGIC      "\x93NUMPY"
#define DICT_BYTES (BM_NPY_HEADER_BYTES - 10u)
#define DICT_MAX   65536u

#define BLOCK_BYTES ((size_t)256 << 10)

/* Write the header of an array to `out`. n_cols 0: the array has one dimension. */
static void write_header(const char *type, uint64_t n_rows, uint64_t n_cols,
                         char out[BM_NPY_HEADER_BYTES])
{
    char columns[24] = "";
    if (n_cols != 0)
        snprintf(columns, sizeof columns, " %" PRIu64, n_cols);
    memcpy(out, MAGIC "\x01\x00", 8);
    out[8] = (char)DICT_BYTES;
    out[9] = 0;
    char *dict = out + 10;
    int len = snprintf(dict, DICT_BYTES,
                       "{'descr': '%.3s', 'fortran_order': False, 'shape': (%" PRIu64 ",%s), }",
                       type, n_rows, columns);
    memset(dict + len, ' ', DICT_BYTES - (size_t)len);
    dict[DICT_BYTES - 1] = '\n';
}

/* --- reading --- */

/* The dictionary of a header. The bytes from `at` to end-1 are not parsed yet. */
typedef struct dict {
    const char *at, *end;
    const char *path; /* path of the file, for errors */
    bm_npy_header *out;
    bool has_type, has_order, has_shape;
} dict;

static bm_status bad(const dict *d, const char *what, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, d->path, 0, "bad .npy header: %s", what);
}

static void skip_space(dict *d)
{
    while (d->at < d->end && (*d->at == ' ' || (*d->at >= '\t' && *d->at <= '\r')))
        d->at++;
}

static bool accept(dict *d, char c)
{
    skip_space(d);
    if (d->at >= d->end || *d->at != c)
        return false;
    d->at++;
    return true;
}

static bool accept_word(dict *d, const char *word)
{
    size_t len = strlen(word);
    skip_space(d);
    if ((size_t)(d->end - d->at) < len || memcmp(d->at, word, len) != 0)
        return false;
    d->at += len;
    return true;
}

static bool read_string(dict *d, char *out, size_t cap)
{
    char quote = accept(d, '\'') ? '\'' : accept(d, '"') ? '"' : '\0';
    size_t n = 0;
    if (quote == '\0')
        return false;
    while (d->at < d->end && *d->at != quote) {
        if (n + 1 >= cap || *d->at == '\\')
            return false;
        out[n++] = *d->at++;
    }
    out[n] = '\0';
    return accept(d, quote);
}

static bool read_number(dict *d, uint64_t *out)
{
    skip_space(d);
    const char *begin = d->at;
    *out = 0;
    for (; d->at < d->end && *d->at >= '0' && *d->at <= '9'; d->at++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*d->at - '0'), out))
            return false;
    return d->at > begin;
}

static bm_status read_type(dict *d, bm_error *err)
{
    char type[16];
    if (!read_string(d, type, sizeof type) ||
        (strcmp(type, "<u4") != 0 && strcmp(type, "<u8") != 0 && strcmp(type, "<i8") != 0 &&
         strcmp(type, "|u1") != 0))
        return bad(d, "descr (expected '<u4', '<u8', '<i8' or '|u1')", err);
    memcpy(d->out->type, type, 4);
    d->has_type = true;
    return BM_OK;
}

static bm_status read_shape(dict *d, bm_error *err)
{
    uint32_t n = 0;
    if (!accept(d, '('))
        return bad(d, "shape (expected a tuple)", err);
    while (!accept(d, ')')) {
        if (n == 2)
            return bad(d, "shape (expected one or two dimensions)", err);
        if (!read_number(d, &d->out->shape[n++]))
            return bad(d, "shape (expected whole numbers below 2^64)", err);
        if (!accept(d, ',')) {
            if (n == 1 || !accept(d, ')')) /* (5) is not a tuple */
                return bad(d, "shape (expected a tuple)", err);
            break;
        }
    }
    if (n == 0)
        return bad(d, "shape (expected one or two dimensions)", err);
    d->out->n_dims = n;
    d->has_shape = true;
    return BM_OK;
}

static bm_status read_member(dict *d, bm_error *err)
{
    char key[24];
    if (!read_string(d, key, sizeof key) || !accept(d, ':'))
        return bad(d, "expected a dictionary of descr, fortran_order and shape", err);
    if (strcmp(key, "descr") == 0 && !d->has_type)
        return read_type(d, err);
    if (strcmp(key, "shape") == 0 && !d->has_shape)
        return read_shape(d, err);
    if (strcmp(key, "fortran_order") != 0 || d->has_order)
        return bad(d, "a key that does not belong there", err);
    d->has_order = true;
    if (accept_word(d, "True"))
        return bad(d, "fortran_order is True (expected False: rows one after another)", err);
    return accept_word(d, "False") ? BM_OK : bad(d, "fortran_order (expected False)", err);
}

static bm_status read_dict(dict *d, bm_error *err)
{
    if (!accept(d, '{'))
        return bad(d, "expected a dictionary", err);
    while (!accept(d, '}')) {
        BM_TRY(read_member(d, err));
        if (!accept(d, ',')) {
            if (!accept(d, '}'))
                return bad(d, "expected a comma or the end of the dictionary", err);
            break;
        }
    }
    skip_space(d);
    if (d->at != d->end)
        return bad(d, "something follows the dictionary", err);
    if (!d->has_type || !d->has_order || !d->has_shape)
        return bad(d, "descr, fortran_order or shape is missing", err);
    return BM_OK;
}

typedef struct source {
    int fd;
    const char *path;
} source;

static bm_status read_at(const source *from, void *out, size_t len, uint64_t at, bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(from->fd, out, len, at, &got);
    if (code != 0)
        return bm_fail_errno(err, code, from->path, "cannot read");
    return got == len ? BM_OK
                      : bm_fail_at(err, BM_ERR_INPUT, from->path, 0, "ends within its .npy header");
}

static bm_status check_length(const char *path, const bm_npy_header *h, uint64_t size,
                              bm_error *err)
{
    uint64_t bytes = (uint64_t)(h->type[2] - '0'), columns = h->n_dims == 2 ? h->shape[1] : 1;
    if (__builtin_mul_overflow(bytes, h->shape[0], &bytes) ||
        __builtin_mul_overflow(bytes, columns, &bytes) ||
        __builtin_add_overflow(bytes, h->data_offset, &bytes))
        return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                          "bad .npy header: shape (the product passes 2^64 bytes)");
    if (bytes != size)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                          "the file has %" PRIu64 " bytes (expected %" PRIu64 " by its shape)",
                          size, bytes);
    return BM_OK;
}

bm_status bm_npy_header_read(int fd, const char *path, bm_npy_header *out, bm_error *err)
{
    const source file = {fd, path};
    unsigned char fixed[12];
    struct stat info;
    if (fstat(fd, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot look at the file");
    if (!S_ISREG(info.st_mode))
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "is no regular file (expected .npy)");
    if (info.st_size < 12)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "is no .npy file (too short)");
    BM_TRY(read_at(&file, fixed, sizeof fixed, 0, err));
    if (memcmp(fixed, MAGIC, 6) != 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "is no .npy file (its magic is missing)");
    if (fixed[6] < 1 || fixed[6] > 3 || fixed[7] != 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                          ".npy version %u.%u is not known (expected 1.0, 2.0 or 3.0)", fixed[6],
                          fixed[7]);
    size_t begin = fixed[6] == 1 ? 10 : 12;
    size_t len = (size_t)fixed[8] | (size_t)fixed[9] << 8;
    if (fixed[6] > 1)
        len |= (size_t)fixed[10] << 16 | (size_t)fixed[11] << 24;
    if (len > DICT_MAX || begin + len > (uint64_t)info.st_size)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "bad .npy header: its length is %zu", len);
    char *text;
    BM_TRY(bm_new(&text, len, err));
    bm_npy_header header = {.data_offset = begin + len};
    dict d = {.at = text, .end = text + len, .path = path, .out = &header};
    bm_status status = BM_OK;
    BM_TRY_OUT(read_at(&file, text, len, begin, err));
    BM_TRY_OUT(read_dict(&d, err));
    BM_TRY_OUT(check_length(path, &header, (uint64_t)info.st_size, err));
    *out = header;
out:
    bm_free(text);
    return status;
}

/* --- writing --- */

static bm_npy_writer writer_of(const bm_npy_array *array)
{
    bm_npy_writer writer = {.n_cols = array->n_cols};
    memcpy(writer.type, array->type, 3);
    return writer;
}

bm_status bm_npy_writer_open(bm_out_dir *dir, const bm_npy_array *array, bm_npy_writer *out,
                             bm_error *err)
{
    char header[BM_NPY_HEADER_BYTES];
    bm_npy_writer writer = writer_of(array);
    BM_TRY(bm_out_dir_file(dir, array->name, &writer.file, err));
    bm_out_file_digest_early(writer.file, BM_NPY_HEADER_BYTES);
    write_header(writer.type, 0, array->n_cols, header);
    bm_status status = bm_out_file_write(writer.file, header, sizeof header, err);
    if (status != BM_OK)
        bm_out_file_abort(writer.file);
    else
        *out = writer;
    return status;
}

/* The size of a row, in bytes. */
static uint64_t width_of(const bm_npy_writer *writer)
{
    return (writer->n_cols == 0 ? 1 : writer->n_cols) * (uint64_t)(writer->type[2] - '0');
}

/* The number of rows written so far. */
static uint64_t n_rows_of(const bm_npy_writer *writer)
{
    return (bm_out_file_bytes(writer->file) - BM_NPY_HEADER_BYTES) / width_of(writer);
}

bm_status bm_npy_writer_open_again(bm_out_dir *dir, const bm_npy_array *array, uint64_t n_rows,
                                   bm_npy_writer *out, bm_error *err)
{
    uint64_t bytes = 0;
    bm_npy_writer writer = writer_of(array);
    if (__builtin_mul_overflow(n_rows, width_of(&writer), &bytes) ||
        __builtin_add_overflow(bytes, BM_NPY_HEADER_BYTES, &bytes))
        return bm_fail_at(err, BM_ERR_FORMAT, array->name, 0,
                          "an array cannot have %" PRIu64 " rows", n_rows);
    BM_TRY(bm_out_dir_file_again(dir, array->name, bytes, &writer.file, err));
    bm_out_file_digest_early(writer.file, BM_NPY_HEADER_BYTES);
    *out = writer;
    return BM_OK;
}

/* Add to writer->sum the rows that were written since the last call. */
static bm_status sum_up(bm_npy_writer *writer, bm_error *err)
{
    const uint64_t end = bm_out_file_bytes(writer->file);
    char *block = bm_alloc(BLOCK_BYTES, 1);
    bm_status status = BM_OK;
    if (block == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, BLOCK_BYTES));
    while (writer->summed < end) {
        const uint64_t left = end - writer->summed;
        const size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        BM_TRY_OUT(bm_out_file_read(writer->file, writer->summed, block, n, err));
        bm_stream_hash_add(writer->sum, block, n);
        writer->summed += n;
    }
out:
    bm_free(block);
    return status;
}

bm_status bm_npy_writer_flush(bm_npy_writer *writer, bm_hash128 *sum, bm_error *err)
{
    if (sum != NULL)
        *sum = (bm_hash128){0};
    if (writer->file == NULL)
        return BM_OK;
    BM_TRY(bm_out_file_flush(writer->file, err));
    if (writer->sum == NULL || sum == NULL)
        return BM_OK;
    BM_TRY(sum_up(writer, err));
    *sum = bm_stream_hash_end(writer->sum);
    return BM_OK;
}

bm_status bm_npy_writer_keep_sum(bm_npy_writer *writer, const bm_hash128 *wanted, bm_error *err)
{
    bm_hash128 is;
    BM_TRY(bm_stream_hash_open(bm_isa_best(), &writer->sum, err));
    bm_stream_hash_begin(writer->sum);
    writer->summed = BM_NPY_HEADER_BYTES;
    if (n_rows_of(writer) == 0)
        return BM_OK;
    BM_TRY(bm_npy_writer_flush(writer, &is, err));
    if (wanted != NULL && (is.lo != wanted->lo || is.hi != wanted->hi))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_out_file_shown(writer->file), 0,
                          "its first %" PRIu64 " rows are not those that an interrupted job wrote "
                          "(start again with `force`)",
                          n_rows_of(writer));
    return BM_OK;
}

void bm_npy_writer_compare_late(bm_npy_writer *writer, const bm_hash128 *wanted)
{
    writer->ended = true;
    bm_out_file_compare(writer->file, &(bm_sealed_part){.from = BM_NPY_HEADER_BYTES,
                                                        .to = bm_out_file_bytes(writer->file),
                                                        .sum = *wanted});
}

/* Set *bytes to the size of `n_rows` rows. BM_ERR_INTERNAL: a row does not have row_bytes bytes, or
 * no more rows may be written. */
static bm_status size_of_rows(const bm_npy_writer *writer, uint64_t n_rows, size_t row_bytes,
                              uint64_t *bytes, bm_error *err)
{
    if (row_bytes != width_of(writer) || __builtin_mul_overflow(n_rows, row_bytes, bytes) ||
        *bytes > SIZE_MAX || writer->ended)
        return bm_fail(err, BM_ERR_INTERNAL, "rows of another width, or behind the last");
    return BM_OK;
}

bm_status bm_npy_writer_rows(bm_npy_writer *writer, const void *rows, uint64_t n_rows,
                             size_t row_bytes, bm_error *err)
{
    uint64_t bytes = 0;
    BM_TRY(size_of_rows(writer, n_rows, row_bytes, &bytes, err));
    return bm_out_file_write(writer->file, rows, (size_t)bytes, err);
}

bm_status bm_npy_writer_rows_at(const bm_npy_writer *writer, uint64_t first, const void *rows,
                                uint64_t n_rows, size_t row_bytes, bm_error *err)
{
    uint64_t bytes = 0, at;
    BM_TRY(size_of_rows(writer, n_rows, row_bytes, &bytes, err));
    if (__builtin_mul_overflow(first, row_bytes, &at) ||
        __builtin_add_overflow(at, BM_NPY_HEADER_BYTES, &at))
        return bm_fail(err, BM_ERR_INTERNAL, "rows that no file has");
    return bm_out_file_write_at(writer->file, at, rows, (size_t)bytes, err);
}

bm_status bm_npy_writer_close(bm_npy_writer *writer, bm_error *err)
{
    char header[BM_NPY_HEADER_BYTES];
    bm_out_file *file = writer->file;
    bm_stream_hash_close(writer->sum);
    writer->sum = NULL;
    if (file == NULL)
        return BM_OK;
    write_header(writer->type, n_rows_of(writer), writer->n_cols, header);
    writer->file = NULL;
    bm_status status = bm_out_file_rewrite(file, 0, header, sizeof header, err);
    if (status != BM_OK) {
        bm_out_file_abort(file);
        return status;
    }
    return bm_out_file_close(file, err);
}
