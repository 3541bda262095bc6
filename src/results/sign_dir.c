/* SPDX-License-Identifier: Apache-2.0 */
/* sign_dir.c -- reads the files of a signature directory by pread, and checks them against its
 * manifest.
 *
 * Tests: tests/cli/cases/damaged_outputs.sh, tests/unit/results/test_sign_dir.c */
#include "results/sign_dir.h"

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "results/npy.h"

#define INDEX_ROWS  1024u
#define BLOCK_BYTES ((size_t)256 << 10)

/* A file of the directory. */
typedef struct part {
    int fd; /* -1: not open */
    char *path;
    bm_npy_header header;
} part;

struct bm_sign_dir {
    char *path;
    bm_manifest *manifest;
    const bm_provenance *provenance;
    part words, counts, ids;
    part bytes, content, texts; /* not open if the directory lacks them, as in older versions */
    uint64_t n_docs;
    /* perms: words per row of signatures.npy; word_bytes: bytes of a word */
    uint32_t perms, word_bytes;
    uint64_t *offsets; /* offsets of rows 0, 1024, 2048 … of ids.txt, and of the end of ids.txt */
    size_t n_offsets, cap_offsets;
    bm_listed *listed; /* digests signatures.npy while its rows are read in order; else NULL */
    uint64_t next;     /* number of the row after the last row that was read */
};

/* Read `len` bytes at the offset `at`. The length of the file was checked when it was opened. So if
 * the file is shorter now, it has changed since. */
static bm_status read_bytes(const part *from, void *out, size_t len, uint64_t at, bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(from->fd, out, len, at, &got);
    if (code != 0)
        return bm_fail_errno(err, code, from->path, "cannot read");
    return got == len
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, from->path, 0, "became shorter while it was read");
}

static bm_status open_part(const bm_sign_dir *dir, const char *name, part *out, bm_error *err)
{
    BM_TRY(bm_string_format(&out->path, err, "%s/%s", dir->path, name));
    bm_error why = {0};
    bm_status status = bm_open_regular(out->path, BM_ERR_FORMAT, &out->fd, &why);
    if (bm_is_absent(status, &why))
        return bm_fail_at(err, BM_ERR_FORMAT, out->path, 0, "is missing (sign writes it)");
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* Read the whole file, and compare its digest with the digest in the manifest. BM_ERR_FORMAT if
 * they differ. */
static bm_status check_part(const bm_sign_dir *dir, const char *name, const part *from,
                            bm_error *err)
{
    const bm_file_range whole = {from->fd, from->path, 0, UINT64_MAX};
    return bm_listed_check(dir->manifest, name, &whole, err);
}

/* The required form of an array. */
typedef struct array_form {
    const char *name, *type;
    uint64_t columns; /* 0: one dimension */
} array_form;

static bm_status open_array(const bm_sign_dir *dir, array_form form, part *out, bm_error *err)
{
    const uint64_t columns = form.columns;
    BM_TRY(open_part(dir, form.name, out, err));
    bm_status status = bm_npy_header_read(out->fd, out->path, &out->header, err);
    if (status == BM_ERR_INPUT) { /* bandmill wrote the array, so the file is damaged */
        if (err != NULL)
            err->status = BM_ERR_FORMAT;
        return BM_ERR_FORMAT;
    }
    if (status != BM_OK)
        return status;
    const bm_npy_header *h = &out->header;
    if (strcmp(h->type, form.type) != 0)
        return bm_fail_at(err, BM_ERR_FORMAT, out->path, 0, "descr is %s (expected %s)", h->type,
                          form.type);
    if (h->shape[0] != dir->n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, out->path, 0,
                          "shape has %" PRIu64 " rows (expected %" PRIu64
                          ", the manifest's counts.documents)",
                          h->shape[0], dir->n_docs);
    if (columns == 0 ? h->n_dims != 1 : h->n_dims != 2 || h->shape[1] != columns)
        return bm_fail_at(err, BM_ERR_FORMAT, out->path, 0,
                          "shape has another width (expected %" PRIu64 ")",
                          columns == 0 ? 1 : columns);
    return BM_OK;
}

/* Open an array, and compare the digest of the whole file with the manifest. This reads all bytes,
 * so it is for arrays with few bytes per row. */
static bm_status open_small_array(const bm_sign_dir *dir, array_form form, part *out, bm_error *err)
{
    BM_TRY(open_array(dir, form, out, err));
    return check_part(dir, form.name, out, err);
}

/* Open an array that older versions did not write. It is opened only if the manifest lists it. */
static bm_status open_later_array(const bm_sign_dir *dir, array_form form, part *out, bm_error *err)
{
    if (bm_manifest_output_find(dir->manifest, form.name) == NULL)
        return BM_OK;
    return open_small_array(dir, form, out, err);
}

static bm_status add_offset(bm_sign_dir *dir, uint64_t offset, bm_error *err)
{
    BM_TRY(bm_grow_array(&dir->offsets, &dir->cap_offsets, dir->n_offsets + 1, err));
    dir->offsets[dir->n_offsets++] = offset;
    return BM_OK;
}

/* Count the lines of ids.txt, store the offset of every INDEX_ROWS-th line, and compare the file
 * with the manifest. `block` has BLOCK_BYTES bytes. */
static bm_status index_ids(bm_sign_dir *dir, char *block, bm_listed *listed, bm_error *err)
{
    uint64_t at = 0, rows = 0;
    char last = '\n';
    size_t n = 0;
    BM_TRY(add_offset(dir, 0, err));
    for (;;) {
        const int code = bm_pread_all(dir->ids.fd, block, BLOCK_BYTES, at, &n);
        if (code != 0)
            return bm_fail_errno(err, code, dir->ids.path, "cannot read");
        if (n == 0)
            break;
        const char *from = block, *end = block + n;
        BM_TRY(bm_listed_add(listed, block, n, err));
        while ((from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
            from++;
            if (++rows % INDEX_ROWS == 0)
                BM_TRY(add_offset(dir, at + (uint64_t)(from - block), err));
        }
        last = end[-1];
        at += n;
    }
    if (last != '\n')
        return bm_fail_at(err, BM_ERR_FORMAT, dir->ids.path, rows + 1,
                          "the last line has no newline");
    if (rows != dir->n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, dir->ids.path, 0,
                          "%" PRIu64 " lines (expected %" PRIu64
                          ", the manifest's counts.documents)",
                          rows, dir->n_docs);
    BM_TRY(bm_listed_end(listed, err));
    return add_offset(dir, at, err);
}

static bm_status open_ids(bm_sign_dir *dir, bm_error *err)
{
    BM_TRY(open_part(dir, BM_FILE_IDS, &dir->ids, err));
    char *block;
    BM_TRY(bm_new(&block, BLOCK_BYTES, err));
    bm_listed *listed = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_listed_open(dir->manifest, BM_FILE_IDS, dir->ids.path, &listed, err));
    status = index_ids(dir, block, listed, err);
out:
    bm_listed_close(listed);
    bm_free(block);
    return status;
}

/* Set *word_bytes to the size of a word in signatures of this scheme: 4 or 8 bytes. Returns false
 * if the scheme is not known. */
static bool known_scheme(const char *name, uint32_t *word_bytes)
{
    unsigned scheme;
    if (!bm_option_value(BM_OPTION_SCHEME, name, strlen(name), &scheme))
        return false;
    *word_bytes = bm_scheme_value_bytes((bm_scheme)scheme);
    return true;
}

static bm_status fail_scheme(const char *path, const char *name, bm_error *err)
{
    char known[256] = "";
    const char *word;
    size_t n = 0;
    for (unsigned i = 0; (word = bm_option_name(BM_OPTION_SCHEME, i)) != NULL && n < sizeof known;
         i++) {
        const bool last = bm_option_name(BM_OPTION_SCHEME, i + 1) == NULL;
        const char *before = i == 0 ? "" : last ? " or " : ", ";
        n += (size_t)snprintf(known + n, sizeof known - n, "%s\"%s\"", before, word);
    }
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "\"provenance.scheme\" is \"%s\" (expected %s)",
                      name, known);
}

static bm_status open_manifest(bm_sign_dir *dir, uint64_t memory, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&path, err, "%s/%s", dir->path, BM_FILE_MANIFEST));
    BM_TRY_OUT(bm_manifest_open(path, memory, &dir->manifest, err));
    if (strcmp(bm_manifest_kind(dir->manifest), "signatures") != 0)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                              "\"kind\" is \"%s\" (expected \"signatures\")",
                              bm_manifest_kind(dir->manifest)));
    BM_TRY_OUT(bm_manifest_provenance(dir->manifest, &dir->provenance, err));
    if (!known_scheme(dir->provenance->texts[BM_ROW_SCHEME], &dir->word_bytes))
        BM_TRY_OUT(fail_scheme(path, dir->provenance->texts[BM_ROW_SCHEME], err));
    if ((dir->provenance->numbers[BM_ROW_PERMS] < 1 ||
         dir->provenance->numbers[BM_ROW_PERMS] > BM_PERMS_MAX))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                              "\"provenance.perms\" is %" PRIu64 " (expected 1 to %u)",
                              dir->provenance->numbers[BM_ROW_PERMS], BM_PERMS_MAX));
    BM_TRY_OUT(bm_manifest_count(dir->manifest, "documents", &dir->n_docs, err));
    dir->perms = (uint32_t)dir->provenance->numbers[BM_ROW_PERMS];
out:
    bm_free(path);
    return status;
}

bm_status bm_sign_dir_open(const char *path, uint64_t memory, bm_sign_dir **out, bm_error *err)
{
    bm_sign_dir *dir = NULL;
    BM_TRY(bm_new_zero(&dir, 1, err));
    dir->words.fd = dir->counts.fd = dir->bytes.fd = dir->content.fd = dir->texts.fd = dir->ids.fd =
        -1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_copy_text(path, &dir->path, err));
    BM_TRY_OUT(open_manifest(dir, memory, err));
    BM_TRY_OUT(open_array(
        dir, (array_form){BM_FILE_SIGNATURES, dir->word_bytes == 8 ? "<u8" : "<u4", dir->perms},
        &dir->words, err));
    BM_TRY_OUT(
        open_small_array(dir, (array_form){BM_FILE_N_SHINGLES, "<u4", 0}, &dir->counts, err));
    BM_TRY_OUT(open_later_array(dir, (array_form){BM_FILE_N_BYTES, "<u8", 0}, &dir->bytes, err));
    BM_TRY_OUT(open_later_array(dir, (array_form){BM_FILE_CONTENT, "<u8", 2}, &dir->content, err));
    BM_TRY_OUT(open_later_array(dir, (array_form){BM_FILE_TEXT_HASH, "<u8", 0}, &dir->texts, err));
    BM_TRY_OUT(open_ids(dir, err));
    /* bm_sign_dir_rows checks the file, but it is not called if there are no rows */
    if (dir->n_docs == 0)
        BM_TRY_OUT(check_part(dir, BM_FILE_SIGNATURES, &dir->words, err));
out:
    if (status != BM_OK) {
        bm_sign_dir_close(dir);
        return status;
    }
    *out = dir;
    return BM_OK;
}

bm_status bm_sign_dir_open_beside(const bm_sign_dir *first, const char *path, uint64_t memory,
                                  bm_sign_dir **out, bm_error *err)
{
    bm_sign_dir *dir = NULL;
    BM_TRY(bm_sign_dir_open(path, memory, &dir, err));
    bm_status status = BM_OK;
    if (first != NULL)
        BM_TRY_OUT(bm_provenance_check(bm_manifest_path(first->manifest), first->provenance,
                                       bm_manifest_path(dir->manifest), dir->provenance, err));
    *out = dir;
    return BM_OK;
out:
    bm_sign_dir_close(dir);
    return status;
}

void bm_sign_dir_close(bm_sign_dir *dir)
{
    if (dir == NULL)
        return;
    part *parts[] = {&dir->words, &dir->counts, &dir->bytes, &dir->content, &dir->texts, &dir->ids};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]->fd >= 0)
            close(parts[i]->fd);
        bm_free(parts[i]->path);
    }
    bm_listed_close(dir->listed);
    bm_manifest_close(dir->manifest);
    bm_free_all(dir->offsets, dir->path, dir);
}

const char *bm_sign_dir_path(const bm_sign_dir *dir)
{
    return dir->path;
}

uint64_t bm_sign_dir_docs(const bm_sign_dir *dir)
{
    return dir->n_docs;
}

uint32_t bm_sign_dir_perms(const bm_sign_dir *dir)
{
    return dir->perms;
}

const bm_manifest *bm_sign_dir_manifest(const bm_sign_dir *dir)
{
    return dir->manifest;
}

bm_status bm_sign_dir_short(const bm_sign_dir *dir, uint64_t *n_short, uint64_t *n_none,
                            bm_error *err)
{
    const char *skip = bm_option_name(BM_OPTION_SHORT, BM_SHORT_SKIP);
    BM_TRY(bm_manifest_count(dir->manifest, "short", n_short, err));
    *n_none = strcmp(bm_sign_dir_provenance(dir)->texts[BM_ROW_SHORT], skip) == 0 ? *n_short : 0;
    return BM_OK;
}

uint64_t bm_sign_dir_unreadable(const bm_sign_dir *dir)
{
    uint64_t n = 0;
    const bm_status status = bm_manifest_count(dir->manifest, "unreadable", &n, NULL);
    return status == BM_OK && n <= dir->n_docs ? n : 0;
}

const bm_provenance *bm_sign_dir_provenance(const bm_sign_dir *dir)
{
    return dir->provenance;
}

static bm_status check_range(const bm_sign_dir *dir, uint64_t first, size_t n, bm_error *err)
{
    if (first <= dir->n_docs && n <= dir->n_docs - first)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_INTERNAL, dir->path, 0, "rows that are not there were asked for");
}

/* A range of rows of an array. */
typedef struct range {
    uint64_t first;
    size_t n, row_bytes;
} range;

static bm_status read_rows(const bm_sign_dir *dir, const part *from, range rows, void *out,
                           bm_error *err)
{
    BM_TRY(check_range(dir, rows.first, rows.n, err));
    return read_bytes(from, out, rows.n * rows.row_bytes,
                      from->header.data_offset + rows.first * rows.row_bytes, err);
}

/* Begin a new digest of signatures.npy with the bytes before row 0. */
static bm_status digest_header(bm_sign_dir *dir, bm_error *err)
{
    const size_t len = (size_t)dir->words.header.data_offset;
    char *header;
    BM_TRY(bm_new(&header, len, err));
    bm_listed_close(dir->listed);
    dir->listed = NULL;
    dir->next = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(read_bytes(&dir->words, header, len, 0, err));
    BM_TRY_OUT(
        bm_listed_open(dir->manifest, BM_FILE_SIGNATURES, dir->words.path, &dir->listed, err));
    status = bm_listed_add(dir->listed, header, len, err);
out:
    bm_free(header);
    return status;
}

/* Add rows that were read to the digest. After the last row, compare the digest with the
 * manifest. */
static bm_status digest_rows(bm_sign_dir *dir, range rows, const uint32_t *words, bm_error *err)
{
    if (rows.first == 0)
        BM_TRY(digest_header(dir, err));
    /* the rows are read out of order, so the file is not checked in this pass */
    if (rows.first != dir->next) {
        bm_listed_close(dir->listed);
        dir->listed = NULL;
    }
    BM_TRY(bm_listed_add(dir->listed, words, rows.n * rows.row_bytes, err));
    dir->next = rows.first + rows.n;
    return dir->next == dir->n_docs ? bm_listed_end(dir->listed, err) : BM_OK;
}

bm_status bm_sign_dir_rows(bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *words,
                           bm_error *err)
{
    const range rows = {first, n, (size_t)dir->perms * dir->word_bytes};
    BM_TRY(read_rows(dir, &dir->words, rows, words, err));
    return digest_rows(dir, rows, words, err);
}

bm_status bm_sign_dir_n_shingles(const bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *out,
                                 bm_error *err)
{
    return read_rows(dir, &dir->counts, (range){first, n, sizeof *out}, out, err);
}

bool bm_sign_dir_has_bytes(const bm_sign_dir *dir)
{
    return dir->bytes.fd >= 0;
}

bool bm_sign_dir_has_content(const bm_sign_dir *dir)
{
    return dir->content.fd >= 0;
}

bm_status bm_sign_dir_n_bytes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                              bm_error *err)
{
    return read_rows(dir, &dir->bytes, (range){first, n, sizeof *out}, out, err);
}

bm_status bm_sign_dir_content(const bm_sign_dir *dir, uint64_t first, size_t n, bm_hash128 *out,
                              bm_error *err)
{
    return read_rows(dir, &dir->content, (range){first, n, sizeof *out}, out, err);
}

bm_status bm_sign_dir_text_hashes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                                  bm_error *err)
{
    for (size_t i = 0; dir->texts.fd < 0 && i < n; i++)
        out[i] = BM_TEXT_UNKNOWN;
    return dir->texts.fd < 0
               ? BM_OK
               : read_rows(dir, &dir->texts, (range){first, n, sizeof *out}, out, err);
}

/* The lines from number `skip` to skip+n-1 of `lines`. The first line of `lines` is row `row` of
 * the file. */
typedef struct stretch {
    bm_str lines;
    uint64_t row;
    size_t skip, n;
} stretch;

/* Append the ids in these lines to `text`, unescaped. ends[i] becomes the offset at which id i
 * ends. */
static bm_status append_ids(const bm_sign_dir *dir, const stretch *from, bm_buf *text, size_t *ends,
                            bm_error *err)
{
    const char *at = from->lines.data, *end = from->lines.data + from->lines.len;
    for (size_t i = 0; i < from->skip + from->n; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            return bm_fail_at(err, BM_ERR_FORMAT, dir->ids.path, from->row + i + 1,
                              "changed while it was read");
        if (i >= from->skip) {
            size_t begin = text->len;
            BM_TRY(bm_buf_add(text, at, (size_t)(stop - at), err));
            size_t len =
                text->len == begin ? 0 : bm_tsv_unescape(text->data + begin, text->len - begin);
            if (len == SIZE_MAX)
                return bm_fail_at(err, BM_ERR_FORMAT, dir->ids.path, from->row + i + 1,
                                  "a broken escape in an id");
            text->len = begin + len;
            ends[i - from->skip] = text->len;
        }
        at = stop + 1;
    }
    return BM_OK;
}

bm_status bm_sign_dir_ids(const bm_sign_dir *dir, uint64_t first, size_t n, const bm_sign_ids *out,
                          bm_error *err)
{
    bm_buf lines = {0};
    size_t *ends = out->ends;
    bm_status status = BM_OK;
    BM_TRY_OUT(check_range(dir, first, n, err));
    while (n > 0) { /* each round reads the lines between two stored offsets */
        size_t index = (size_t)(first / INDEX_ROWS), skip = (size_t)(first % INDEX_ROWS);
        size_t take = INDEX_ROWS - skip < n ? INDEX_ROWS - skip : n;
        uint64_t begin = dir->offsets[index];
        size_t len = (size_t)(dir->offsets[index + 1] - begin);
        lines.len = 0;
        BM_TRY_OUT(bm_buf_reserve(&lines, len, err));
        BM_TRY_OUT(read_bytes(&dir->ids, lines.data, len, begin, err));
        const stretch from = {{lines.data, len}, first - skip, skip, take};
        BM_TRY_OUT(append_ids(dir, &from, out->text, ends, err));
        first += take;
        ends += take;
        n -= take;
    }
out:
    bm_buf_reset(&lines);
    return status;
}

/* === sign dir is ===
 *
 * The manifest decides whether a directory has signatures. */

/* Set *has to whether there is a file of this name in the directory. */
static bm_status has_file(const char *path, const char *name, bool *has, bm_error *err)
{
    char *whole = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&whole, err, "%s/%s", path, name));
    status = bm_look_at(AT_FDCWD, whole, 0, has, NULL, err);
out:
    bm_free(whole);
    return status;
}

bm_status bm_sign_dir_is(const char *path, uint64_t memory, bool *is, bm_error *err)
{
    char *name = NULL;
    bm_manifest *manifest = NULL;
    bool has = false, beside = false;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&name, err, "%s/%s", path, BM_FILE_MANIFEST));
    BM_TRY_OUT(bm_manifest_find(name, memory, &manifest, err));
    *is = manifest != NULL;
    if (*is)
        goto out;
    /* If the manifest is not recognized, but a signatures.npy is beside it, it is the damaged
     * manifest of a signature directory. */
    BM_TRY_OUT(has_file(path, BM_FILE_MANIFEST, &has, err));
    BM_TRY_OUT(has_file(path, BM_FILE_SIGNATURES, &beside, err));
    if (has && beside)
        status = bm_manifest_open(name, memory, &manifest, err);
out:
    bm_manifest_close(manifest);
    bm_free(name);
    return status;
}

bm_status bm_sign_dir_refuse(const char *const *paths, size_t n_paths, uint64_t memory,
                             bm_error *err)
{
    bool is = false;
    for (size_t i = 0; i < n_paths; i++) {
        BM_TRY(bm_sign_dir_is(paths[i], memory, &is, err));
        if (is)
            return bm_fail_field(err, "paths", "%.900s holds signatures (documents are expected)",
                                 paths[i]);
    }
    return BM_OK;
}
