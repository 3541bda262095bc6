/* SPDX-License-Identifier: Apache-2.0 */
/* import.c -- reads signatures made by other tools.
 *
 * Tests: tests/cli/cases/import.sh, tests/reference/test_exchange.py,
 *        tests/unit/jobs/test_public_api_exchange.c */
#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/sized_struct.h"
#include "base/utf8.h"
#include "exchange/exporter.h"
#include "exchange/import_source.h"
#include "input/tables.h"
#include "job/recipe.h"
#include "job/settings.h"
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/option_words.h"
#include "results/npy.h"
#include "sources/arrow_column.h"

/* === import place ===
 *
 * Finds the files of an input, which is a single file or an export. */

static const struct {
    bm_exchange from;
    const char *file;
    bool lists; /* has ids and numbers of shingles in separate files */
} forms[] = {{BM_EXCHANGE_LEANMINHASH, BM_FILE_LEAN, true},
             {BM_EXCHANGE_NEMO, BM_FILE_NEMO, true},
             {BM_EXCHANGE_NPY, BM_FILE_SIGNATURES, true},
             {BM_EXCHANGE_ARROW, BM_FILE_SIGNATURES_ARROW, false},
             {BM_EXCHANGE_PARQUET, BM_FILE_SIGNATURES_PARQUET, false}};

/* Is the manifest that of an export of signatures in this form? */
static bool is_export(const bm_manifest *manifest, const char *form)
{
    static const bm_json_row rows[] = {
        {"parameters.to", BM_MEMBER_STRING, .offset = 0},
        {"parameters.what", BM_MEMBER_STRING, .offset = sizeof(bm_str)}};
    const char *const words[] = {form, "signatures"};
    bm_str is[2];
    if (strcmp(bm_manifest_kind(manifest), "export") != 0 ||
        bm_json_read(&(bm_json_reader){.doc = bm_manifest_doc(manifest)}, rows, 2, is, NULL) !=
            BM_OK)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (is[i].len != strlen(words[i]) + 2 ||
            memcmp(is[i].data + 1, words[i], is[i].len - 2) != 0)
            return false;
    return true;
}

static bm_status open_report(const char *folder, const bm_import_request *request,
                             bm_import_place *out, bm_error *err)
{
    const char *form = bm_option_name(BM_OPTION_EXCHANGE, request->options->from);
    BM_TRY(bm_manifest_open_dir(folder, request->memory, &out->manifest, err));
    if (!is_export(out->manifest, form))
        return bm_fail_at(err, BM_ERR_FORMAT, folder, 0,
                          "is no export of signatures in the form of %s", form);
    return bm_manifest_check(out->manifest, folder, err);
}

static bm_status find_files(const char *folder, bm_exchange from, bm_import_place *out,
                            bm_error *err)
{
    size_t i = 0;
    while (forms[i].from != from)
        i++;
    BM_TRY(bm_string_format(&out->file, err, "%s/%s", folder, forms[i].file));
    if (forms[i].lists)
        BM_TRY(bm_string_format(&out->ids, err, "%s/" BM_FILE_IDS, folder));
    if (forms[i].lists)
        BM_TRY(bm_string_format(&out->sizes, err, "%s/" BM_FILE_N_SHINGLES, folder));
    return BM_OK;
}

bm_status bm_import_place_find(const char *path, const bm_import_request *request,
                               bm_import_place *out, bm_error *err)
{
    struct stat info;
    bool there;
    *out = (bm_import_place){0};
    BM_TRY(bm_look_at(AT_FDCWD, path, 0, &there, &info, err));
    if (!there || !S_ISDIR(info.st_mode)) /* if `path` does not exist, opening it will fail */
        return bm_copy_text(path, &out->file, err);
    BM_TRY(open_report(path, request, out, err));
    return find_files(path, request->options->from, out, err);
}

void bm_import_place_reset(bm_import_place *place)
{
    bm_free_all(place->file, place->ids, place->sizes);
    bm_manifest_close(place->manifest);
    *place = (bm_import_place){0};
}

/* most bytes of a line: an id whose bytes are all escaped */
#define LINE_MOST (4 * (size_t)BM_ID_BYTES_MAX)

/* --- ids --- */

bm_status bm_import_ids_open(const char *path, bm_import_ids *out, bm_error *err)
{
    *out = (bm_import_ids){
        .lines = {.fd = -1, .name = path, .longest = LINE_MOST, .too_long = BM_ERR_INPUT}};
    return path != NULL ? bm_open_regular(path, BM_ERR_INPUT, &out->lines.fd, err) : BM_OK;
}

void bm_import_ids_close(bm_import_ids *ids)
{
    if (ids->lines.fd >= 0)
        close(ids->lines.fd);
    ids->lines.fd = -1;
    bm_line_file_reset(&ids->lines);
    bm_buf_reset(&ids->text);
}

static bm_status next_line(bm_import_ids *ids, bool *more, bm_error *err)
{
    bm_line_file *lines = &ids->lines;
    BM_TRY(bm_line_file_next(lines, more, err));
    if (*more && !lines->ended)
        return bm_fail_at(err, BM_ERR_INPUT, lines->name, lines->number,
                          "the last line has no newline");
    const size_t bom = *more && lines->number == 1 ? bm_bom_bytes(lines->text, lines->len) : 0;
    lines->text += bom;
    lines->len -= bom;
    return BM_OK;
}

bm_status bm_import_ids_next(bm_import_ids *ids, size_t n, bm_error *err)
{
    const bm_line_file *line = &ids->lines;
    bool more;
    ids->text.len = 0;
    for (size_t i = 0; i < n; i++) {
        BM_TRY(next_line(ids, &more, err));
        if (!more)
            return bm_fail_at(err, BM_ERR_INPUT, line->name, 0,
                              "has %" PRIu64 " ids, and there are more signatures",
                              line->number - 1);
        const size_t len = line->len == 0 ? 0 : bm_tsv_unescape(line->text, line->len);
        if (len == SIZE_MAX)
            return bm_fail_at(err, BM_ERR_INPUT, line->name, line->number,
                              "a broken escape in an id");
        BM_TRY(bm_buf_add(&ids->text, line->text, len, err));
        ids->ends[i] = ids->text.len;
    }
    return BM_OK;
}

bm_status bm_import_ids_end(bm_import_ids *ids, bm_error *err)
{
    bool more;
    if (ids->lines.fd < 0)
        return BM_OK;
    BM_TRY(next_line(ids, &more, err));
    return more ? bm_fail_at(err, BM_ERR_INPUT, ids->lines.name, ids->lines.number,
                             "more ids than the %" PRIu64 " signatures", ids->lines.number - 1)
                : BM_OK;
}

/* --- numbers of shingles --- */

bm_status bm_import_sizes_open(const char *path, bm_import_sizes *out, bm_error *err)
{
    bm_npy_header header;
    *out = (bm_import_sizes){.fd = -1, .path = path};
    if (path == NULL)
        return BM_OK;
    BM_TRY(bm_open_regular(path, BM_ERR_INPUT, &out->fd, err));
    BM_TRY(bm_npy_header_read(out->fd, path, &header, err));
    if ((strcmp(header.type, "<u4") != 0 || header.n_dims != 1))
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "numbers of another type than <u4");
    out->n = header.shape[0];
    out->offset = header.data_offset;
    return BM_OK;
}

bm_status bm_import_sizes_read(bm_import_sizes *sizes, uint64_t first, size_t n, bm_error *err)
{
    size_t got = 0;
    if (first + n > sizes->n)
        return bm_fail_at(err, BM_ERR_INPUT, sizes->path, 0,
                          "has %" PRIu64 " numbers, and there are more signatures", sizes->n);
    const int code = bm_pread_all(sizes->fd, sizes->block, n * sizeof sizes->block[0],
                                  sizes->offset + first * sizeof sizes->block[0], &got);
    if (code != 0)
        return bm_fail_errno(err, code, sizes->path, "cannot read");
    return got == n * sizeof sizes->block[0]
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, sizes->path, 0, "became shorter while it was read");
}

void bm_import_sizes_close(bm_import_sizes *sizes)
{
    if (sizes->fd >= 0)
        close(sizes->fd);
    sizes->fd = -1;
}

/* === import rows ===
 *
 * Reads files of rows that have equal lengths: NumPy arrays, and LeanMinHash records. */

typedef struct rows {
    bm_import_source base;
    int fd;
    /* n_rows: number of rows; offset: file offset of the first row */
    uint64_t n_rows, offset;
    /* size of a row's head, and of its words; head_bytes 0: rows have no head */
    size_t head_bytes, words_bytes;
    char head[BM_LEAN_HEAD_MOST]; /* the head of the first row; all rows must have the same */
    /* raw: a block of rows, as in the file; words: their words. If rows have no head, both are the
     * same buffer */
    char *raw, *words;
} rows;

static void close_rows(bm_import_source *source)
{
    rows *r = (rows *)source;
    if (r->fd >= 0)
        close(r->fd);
    if (r->words != r->raw)
        bm_free(r->words);
    bm_free_all(r->raw, r);
}

static bm_status different_head(const rows *r, uint64_t row, const char *head, bm_error *err)
{
    bm_lean_head is = {0};
    (void)bm_lean_head_read(head, r->head_bytes, &is);
    return bm_fail_at(err, BM_ERR_INPUT, r->base.path, row + 1,
                      "its record is of scheme %s, seed %" PRId64 " and %" PRId64
                      " permutations (expected those of the first: %s, %" PRId64 ", %" PRIu32 ")",
                      is.scheme != NULL ? is.scheme : "none that is known", is.seed, is.perms,
                      r->base.head.scheme, r->base.head.seed, r->base.head.perms);
}

static bm_status next_rows(bm_import_source *source, bm_import_block *block, bm_error *err)
{
    rows *r = (rows *)source;
    const uint64_t left = r->n_rows - source->next;
    const size_t n = left < BM_IMPORT_BLOCK_ROWS ? (size_t)left : BM_IMPORT_BLOCK_ROWS;
    const size_t row_bytes = r->head_bytes + r->words_bytes;
    size_t got;
    *block = (bm_import_block){.first = source->next, .n = n, .words = r->words};
    const int code =
        bm_pread_all(r->fd, r->raw, n * row_bytes, r->offset + source->next * row_bytes, &got);
    if (code != 0)
        return bm_fail_errno(err, code, source->path, "cannot read");
    if (got != n * row_bytes)
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 0, "became shorter while it was read");
    for (size_t i = 0; r->head_bytes > 0 && i < n; i++) {
        const char *record = r->raw + i * row_bytes;
        if (memcmp(record, r->head, r->head_bytes) != 0)
            return different_head(r, source->next + i, record, err);
        memcpy(r->words + i * r->words_bytes, record + r->head_bytes, r->words_bytes);
    }
    source->next += n;
    return BM_OK;
}

static const bm_import_ops rows_ops = {next_rows, close_rows};

static bm_status open_rows(const char *path, rows **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(bm_new_zero(&r, 1, err));
    r->base = (bm_import_source){.ops = &rows_ops, .path = path};
    bm_status status = bm_open_regular(path, BM_ERR_INPUT, &r->fd, err);
    if (status != BM_OK)
        close_rows(&r->base);
    else
        *out = r;
    return status;
}

/* If `status` is BM_OK, finish opening: check the number of rows, and allocate buffers for a block.
 * *r is closed if `status` or this function fails. */
static bm_status finish_opening(rows *r, bm_status status, bm_import_source **out, bm_error *err)
{
    const bm_import_head *head = &r->base.head;
    BM_TRY_OUT(status);
    if (r->n_rows > BM_DOCS_MAX)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                              "%" PRIu64 " rows (at most %" PRIu32 ")", r->n_rows, BM_DOCS_MAX));
    r->words_bytes = (size_t)head->perms * head->word_bytes;
    r->raw = bm_alloc_aligned(BM_IMPORT_BLOCK_ROWS, r->head_bytes + r->words_bytes + 1);
    r->words = r->head_bytes == 0 ? r->raw : bm_alloc_aligned(BM_IMPORT_BLOCK_ROWS, r->words_bytes);
    if (r->raw == NULL || r->words == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, BM_IMPORT_BLOCK_ROWS * r->words_bytes));
    *out = &r->base;
    return BM_OK;
out:
    close_rows(&r->base);
    return status;
}

static bm_status too_many_words(const char *path, uint64_t perms, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                      "signatures of %" PRIu64 " words (expected 1 to %u)", perms, BM_PERMS_MAX);
}

static bm_status read_npy(rows *r, bm_error *err)
{
    bm_npy_header header;
    BM_TRY(bm_npy_header_read(r->fd, r->base.path, &header, err));
    if (strcmp(header.type, "<u4") != 0 && strcmp(header.type, "<u8") != 0)
        return bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                          "signatures of type %s (expected <u4 or <u8)", header.type);
    if (header.n_dims != 2)
        return bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                          "an array of one dimension (expected two: documents and words)");
    if (header.shape[1] < 1 || header.shape[1] > BM_PERMS_MAX)
        return too_many_words(r->base.path, header.shape[1], err);
    r->n_rows = header.shape[0];
    r->offset = header.data_offset;
    r->base.head.perms = (uint32_t)header.shape[1];
    r->base.head.word_bytes = (uint32_t)(header.type[2] - '0');
    return BM_OK;
}

bm_status bm_import_npy_open(const char *path, bm_import_source **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(open_rows(path, &r, err));
    return finish_opening(r, read_npy(r, err), out, err);
}

/* Read the head of the first record. All records must have the same head. An empty file has no
 * record, so the head remains unset. */
static bm_status read_lean(rows *r, bm_error *err)
{
    const char *path = r->base.path;
    struct stat info;
    size_t got;
    bm_lean_head head = {0};
    if (fstat(r->fd, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot look at the file");
    const uint64_t size = (uint64_t)info.st_size;
    if (size == 0)
        return BM_OK;
    const int code = bm_pread_all(r->fd, r->head, sizeof r->head, 0, &got);
    if (code != 0)
        return bm_fail_errno(err, code, path, "cannot read");
    r->head_bytes = bm_lean_head_read(r->head, got, &head);
    if (r->head_bytes == 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 1, "ends within its first record");
    if (head.scheme == NULL)
        return bm_fail_at(err, BM_ERR_INPUT, path, 1,
                          "no record of LeanMinHash: the code of its scheme is %u (1 or 2)",
                          (unsigned char)r->head[BM_LEAN_HEAD_MOST - 1]);
    if (head.perms < 1 || head.perms > BM_PERMS_MAX)
        return too_many_words(path, (uint64_t)head.perms, err);
    const uint64_t record = r->head_bytes + (uint64_t)head.perms * head.word_bytes;
    if (size % record != 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, size / record + 1,
                          "its last record is cut short: %" PRIu64 " bytes (of %" PRIu64 ")",
                          size % record, record);
    r->n_rows = size / record;
    r->base.head = (bm_import_head){.scheme = head.scheme,
                                    .seed = head.seed,
                                    .perms = (uint32_t)head.perms,
                                    .word_bytes = head.word_bytes};
    return BM_OK;
}

bm_status bm_import_lean_open(const char *path, bm_import_source **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(open_rows(path, &r, err));
    return finish_opening(r, read_lean(r, err), out, err);
}

/* === import table ===
 *
 * Reads signatures from a list column of a table: Arrow, Parquet, and the tables of NeMo Curator.
 *
 * The column is a fixed_size_list, list or large_list of uint32 or uint64. A row is an error if it
 * is null, has another length, or contains a null. Ids are a column of text or integers. */

#define BATCH_BYTES ((size_t)4 << 20) /* size of an array of the table */

enum { SIGNATURE, ID, SIZE, N_COLUMNS };

typedef struct list_type {
    uint32_t fixed; /* number of items in each list; 0: given by offsets */
    uint32_t width; /* size of an offset */
    uint32_t item;  /* size of an item */
} list_type;

typedef struct table_table {
    bm_import_source base;
    const char *names[N_COLUMNS];   /* name of each column; NULL: not requested */
    bool id_given;                  /* the caller named the column of ids, so it must exist */
    struct ArrowArrayStream stream; /* if its `release` is NULL: not open */
    struct ArrowArray array;        /* the current rows; if its `release` is NULL: there are no
                                     * rows */
    size_t at;                      /* the next row in `array` */
    int64_t child[N_COLUMNS];       /* index of each column; -1: the table lacks the column */
    list_type type;
    bm_arrow_column_type types[N_COLUMNS];
    bm_arrow_column columns[N_COLUMNS]; /* columns of `array` */
    bm_manifest *manifest;              /* from the metadata of the schema; NULL: it has none */
    /* the current block */
    void *words;
    uint32_t n_shingles[BM_IMPORT_BLOCK_ROWS];
    size_t ends[BM_IMPORT_BLOCK_ROWS];
    bm_buf ids;
} table_table;

static void close_table(bm_import_source *source)
{
    table_table *t = (table_table *)source;
    if (t->array.release != NULL)
        t->array.release(&t->array);
    if (t->stream.release != NULL)
        t->stream.release(&t->stream);
    bm_manifest_close(t->manifest);
    bm_free(t->words);
    bm_buf_reset(&t->ids);
    bm_free(t);
}

static bm_status stream_failed(table_table *t, int code, bm_error *err)
{
    const char *words = t->stream.get_last_error(&t->stream);
    if (code == ENOMEM && words == NULL)
        return bm_fail_nomem(err, 0);
    return bm_fail_at(err, code == ENOMEM ? BM_ERR_NOMEM : BM_ERR_INPUT, t->base.path, 0,
                      "cannot read the table: %.300s", words != NULL ? words : strerror(code));
}

/* --- the schema --- */

static int64_t find(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->name != NULL && strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

static bool read_list_type(const struct ArrowSchema *schema, list_type *out)
{
    unsigned long fixed = 0;
    *out = (list_type){0};
    if (strcmp(schema->format, "+l") == 0)
        out->width = 4;
    else if (strcmp(schema->format, "+L") == 0)
        out->width = 8;
    else if (strncmp(schema->format, "+w:", 3) == 0)
        fixed = strtoul(schema->format + 3, NULL, 10);
    if (schema->n_children != 1 || (out->width == 0 && (fixed < 1 || fixed > UINT32_MAX)))
        return false;
    out->fixed = (uint32_t)fixed;
    const struct ArrowSchema *item = schema->children[0];
    if (item->dictionary == NULL) /* with a dictionary, items are only indexes in it: refused */
        out->item = strcmp(item->format, "I") == 0 ? 4 : strcmp(item->format, "L") == 0 ? 8 : 0;
    return out->item != 0;
}

/* Read an int32 length and text of this length. Returns the end of the text; NULL: the length is
 * negative. The Arrow C data interface does not tell where metadata end, so the library that made
 * them must be trusted. */
static const char *read_counted(const char *at, bm_str *out)
{
    int32_t len;
    memcpy(&len, at, sizeof len);
    if (len < 0)
        return NULL;
    *out = (bm_str){at + sizeof len, (size_t)len};
    return at + sizeof len + len;
}

/* Check that the text is JSON, because the file may come from anywhere. */
static bm_status check_json(const char *path, bm_str text, bm_error *err)
{
    bm_json_exact *parser;
    const char *broken = NULL;
    BM_TRY(bm_json_exact_open(NULL, 0, &parser, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_run(parser, text, NULL, &broken, err));
    if (broken != NULL)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, path, 0,
                              "its schema's metadata have no provenance that can be read: %.200s",
                              broken));
out:
    bm_json_exact_close(parser);
    return status;
}

static bm_status read_metadata(table_table *t, const struct ArrowSchema *schema, bm_error *err)
{
    int32_t n;
    bm_str key, value;
    if (schema->metadata == NULL)
        return BM_OK;
    memcpy(&n, schema->metadata, sizeof n);
    const char *at = schema->metadata + sizeof n;
    for (int32_t i = 0; i < n && at != NULL; i++) {
        at = read_counted(at, &key);
        if (at != NULL)
            at = read_counted(at, &value);
        if (at == NULL || key.len != strlen(BM_TABLE_PROVENANCE) ||
            memcmp(key.data, BM_TABLE_PROVENANCE, key.len) != 0)
            continue;
        BM_TRY(check_json(t->base.path, value, err));
        return bm_manifest_of_text(t->base.path, value, &t->manifest, err);
    }
    return BM_OK;
}

static bm_status no_column(const table_table *t, const struct ArrowSchema *schema, const char *name,
                           bm_error *err)
{
    char names[200] = "";
    size_t len = 0;
    for (int64_t i = 0; i < schema->n_children && len < sizeof names - 1; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : "",
                                schema->children[i]->name != NULL ? schema->children[i]->name : "");
    return bm_fail_at(err, BM_ERR_INPUT, t->base.path, 0, "no column '%.64s' (it has: %s)", name,
                      names);
}

static bm_status bad_type(const table_table *t, const struct ArrowSchema *schema, int column,
                          const char *expected, bm_error *err)
{
    const struct ArrowSchema *child = schema->children[t->child[column]];
    const bool is_list = child->n_children == 1 && column == SIGNATURE;
    const char *fixed = strncmp(child->format, "+w:", 3) == 0 ? child->format + 3 : NULL;
    return bm_fail_at(err, BM_ERR_INPUT, t->base.path, 0,
                      "column '%.64s' has the type %.32s%s%.16s%s%s%.32s (expected %s)",
                      t->names[column], bm_arrow_column_type_name(child), fixed != NULL ? "[" : "",
                      fixed != NULL ? fixed : "", fixed != NULL ? "]" : "", is_list ? " of " : "",
                      is_list ? bm_arrow_column_type_name(child->children[0]) : "", expected);
}

static bm_status find_columns(table_table *t, const struct ArrowSchema *schema, bm_error *err)
{
    if (strcmp(schema->format, "+s") != 0)
        return bm_fail_at(err, BM_ERR_INPUT, t->base.path, 0, "no table with columns");
    for (int i = 0; i < N_COLUMNS; i++)
        t->child[i] = t->names[i] != NULL ? find(schema, t->names[i]) : -1;
    if (t->child[SIGNATURE] < 0)
        return no_column(t, schema, t->names[SIGNATURE], err);
    if (t->child[ID] < 0 && t->id_given)
        return no_column(t, schema, t->names[ID], err);
    if (!read_list_type(schema->children[t->child[SIGNATURE]], &t->type))
        return bad_type(t, schema, SIGNATURE, "a list of uint32 or uint64", err);
    for (int i = ID; i < N_COLUMNS; i++)
        if (t->child[i] >= 0)
            t->types[i] = bm_arrow_column_type_of(schema->children[t->child[i]]);
    if (t->child[ID] >= 0 && t->types[ID].kind == BM_ARROW_COLUMN_OTHER)
        return bad_type(t, schema, ID, "text or integers", err);
    if (t->child[SIZE] >= 0 &&
        (t->types[SIZE].kind != BM_ARROW_COLUMN_UINT || t->types[SIZE].in_width != 0))
        return bad_type(t, schema, SIZE, "unsigned integers", err);
    return BM_OK;
}

static bm_status read_schema(table_table *t, bm_error *err)
{
    struct ArrowSchema schema = {0};
    const int code = t->stream.get_schema(&t->stream, &schema);
    if (code != 0)
        return stream_failed(t, code, err);
    bm_status status = BM_OK;
    BM_TRY_OUT(find_columns(t, &schema, err));
    status = read_metadata(t, &schema, err);
out:
    schema.release(&schema);
    return status;
}

/* --- rows --- */

static bool is_null(const struct ArrowArray *array, uint64_t cell)
{
    const uint8_t *validity =
        array->null_count != 0 && array->n_buffers > 0 ? array->buffers[0] : NULL;
    return validity != NULL && (validity[cell / 8] >> (cell % 8) & 1) == 0;
}

static uint64_t offset_at(const table_table *t, const struct ArrowArray *lists, uint64_t cell)
{
    uint32_t narrow;
    uint64_t wide;
    if (t->type.width == 4) {
        memcpy(&narrow, (const char *)lists->buffers[1] + cell * 4, 4);
        return narrow;
    }
    memcpy(&wide, (const char *)lists->buffers[1] + cell * 8, 8);
    return wide;
}

/* Find where the items of a row's signature begin and end. Returns NULL, or what is wrong. */
static const char *find_items(const table_table *t, size_t row, uint64_t *begin, uint64_t *end)
{
    const struct ArrowArray *lists = t->array.children[t->child[SIGNATURE]];
    const struct ArrowArray *items = lists->children[0];
    const uint64_t cell = (uint64_t)t->array.offset + (uint64_t)lists->offset + row;
    if (is_null(lists, cell))
        return "its signature is null";
    if (t->type.fixed > 0) {
        *begin = cell * t->type.fixed;
        *end = *begin + t->type.fixed;
    } else {
        *begin = offset_at(t, lists, cell);
        *end = offset_at(t, lists, cell + 1);
    }
    if (*begin > *end || *end > (uint64_t)items->length)
        return "its signature lies outside of its column";
    for (uint64_t i = *begin; items->null_count != 0 && i < *end; i++)
        if (is_null(items, (uint64_t)items->offset + i))
            return "its signature has a word that is null";
    return NULL;
}

static bm_status bad_row(const table_table *t, uint64_t row, const char *wrong, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, t->base.path, row + 1, "%s", wrong);
}

static bm_status copy_words(table_table *t, size_t row, uint64_t number, char *to, bm_error *err)
{
    uint64_t begin, end;
    const struct ArrowArray *items = t->array.children[t->child[SIGNATURE]]->children[0];
    const char *wrong = find_items(t, row, &begin, &end);
    if (wrong != NULL)
        return bad_row(t, number, wrong, err);
    if (end - begin != t->base.head.perms)
        return bm_fail_at(err, BM_ERR_INPUT, t->base.path, number + 1,
                          "its signature has %" PRIu64 " words (expected %" PRIu32
                          ", as the first)",
                          end - begin, t->base.head.perms);
    memcpy(to, (const char *)items->buffers[1] + ((uint64_t)items->offset + begin) * t->type.item,
           (size_t)(end - begin) * t->type.item);
    return BM_OK;
}

static bm_status add_id(table_table *t, size_t row, uint64_t number, bm_error *err)
{
    char digits[BM_ARROW_COLUMN_DIGITS];
    const bm_arrow_column *column = &t->columns[ID];
    if (t->child[ID] < 0)
        return bm_buf_add_format(&t->ids, err, "%s:%" PRIu64, t->base.path, number + 1);
    if (bm_arrow_column_is_null(column, row))
        return bad_row(t, number, "its id is null", err);
    const bm_str id = bm_arrow_column_is_text(column->type)
                          ? bm_arrow_column_bytes(column, row)
                          : bm_arrow_column_decimal(column, row, digits);
    return bm_buf_add(&t->ids, id.data, id.len, err);
}

static bm_status read_size(table_table *t, size_t row, uint64_t number, uint32_t *out,
                           bm_error *err)
{
    char digits[BM_ARROW_COLUMN_DIGITS];
    const bm_arrow_column *column = &t->columns[SIZE];
    if (bm_arrow_column_is_null(column, row))
        return bad_row(t, number, "its n_shingles is null", err);
    const bm_str text = bm_arrow_column_decimal(column, row, digits);
    digits[text.len] = '\0';
    const uint64_t value = strtoull(digits, NULL, 10);
    if (value > UINT32_MAX)
        return bad_row(t, number, "its n_shingles is 2^32 or more", err);
    *out = (uint32_t)value;
    return BM_OK;
}

/* If the current array has no rows left, read the next array with rows. After the last array,
 * t->array.release becomes NULL. */
static bm_status fetch(table_table *t, bm_error *err)
{
    while (t->array.release == NULL || t->at == (size_t)t->array.length) {
        if (t->array.release != NULL)
            t->array.release(&t->array);
        t->at = 0;
        const int code = t->stream.get_next(&t->stream, &t->array);
        if (code != 0)
            return stream_failed(t, code, err);
        if (t->array.release == NULL)
            return BM_OK;
        const char *wrong = NULL;
        for (int i = ID; wrong == NULL && i < N_COLUMNS; i++) {
            const bm_arrow_column_path path = {
                .found = true, .child = {(uint32_t)(t->child[i] < 0 ? 0 : t->child[i])}, .n = 1};
            if (t->child[i] >= 0)
                wrong = bm_arrow_column_open(&t->array, &path, t->types[i], &t->columns[i]);
        }
        if (wrong != NULL)
            return bm_fail_at(err, BM_ERR_INPUT, t->base.path, t->base.next + 1,
                              "the table is broken: %s", wrong);
    }
    return BM_OK;
}

/* Copy the current row of the table to row n of the block, and go to the next row. `number` is the
 * number of the row in the file. */
static bm_status read_row(table_table *t, uint64_t number, size_t n, char *words, bm_error *err)
{
    BM_TRY(copy_words(t, t->at, number, words, err));
    BM_TRY(add_id(t, t->at, number, err));
    if (t->child[SIZE] >= 0)
        BM_TRY(read_size(t, t->at, number, &t->n_shingles[n], err));
    t->ends[n] = t->ids.len;
    t->at++;
    return BM_OK;
}

static bm_status next_table(bm_import_source *source, bm_import_block *block, bm_error *err)
{
    table_table *t = (table_table *)source;
    const size_t row_bytes = (size_t)source->head.perms * t->type.item;
    const uint64_t first = source->next;
    t->ids.len = 0;
    size_t n = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(fetch(t, err));
    for (; t->array.release != NULL && n < BM_IMPORT_BLOCK_ROWS; n++) {
        BM_TRY_OUT(read_row(t, first + n, n, (char *)t->words + n * row_bytes, err));
        BM_TRY_OUT(fetch(t, err));
    }
out:
    source->next += n;
    *block = (bm_import_block){.first = first,
                               .n = n,
                               .words = t->words,
                               .n_shingles = t->child[SIZE] >= 0 ? t->n_shingles : NULL,
                               .ids = t->ids.data != NULL ? t->ids.data : "",
                               .ends = t->ends};
    return status;
}

static const bm_import_ops table_ops = {next_table, close_table};

/* Read the schema, and set the head. If lists have a fixed size, that size is the number of words.
 * Otherwise the first row determines the number; without rows, it is 0. */
static bm_status read_head(table_table *t, bm_error *err)
{
    uint64_t begin = 0, end = t->type.fixed;
    BM_TRY(read_schema(t, err));
    BM_TRY(fetch(t, err));
    const bool some = t->array.release != NULL;
    const char *wrong = some ? find_items(t, 0, &begin, &end) : NULL;
    if (wrong != NULL)
        return bad_row(t, 0, wrong, err);
    const uint64_t perms = t->type.fixed > 0 ? t->type.fixed : end - begin;
    if (perms > BM_PERMS_MAX || (perms == 0 && some))
        return bm_fail_at(err, BM_ERR_INPUT, t->base.path, some,
                          "signatures of %" PRIu64 " words (expected 1 to %u)", perms,
                          BM_PERMS_MAX);
    t->base.head.perms = (uint32_t)perms;
    t->base.head.word_bytes = t->type.item;
    t->base.head.manifest = t->manifest;
    t->words = bm_alloc_aligned(BM_IMPORT_BLOCK_ROWS, (size_t)perms * t->type.item + 1);
    return t->words != NULL ? BM_OK : bm_fail_nomem(err, BM_IMPORT_BLOCK_ROWS * (size_t)perms);
}

bm_status bm_import_table_open(const char *path, const bm_import_request *request,
                               bm_import_source **out, bm_error *err)
{
    const bm_import_options *o = request->options;
    const bool nemo = o->from == BM_EXCHANGE_NEMO;
    const bool no_ids = o->id_field != NULL && strcmp(o->id_field, "none") == 0;
    table_table *t = NULL;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->base = (bm_import_source){.ops = &table_ops, .path = path};
    t->id_given = o->id_field != NULL && !no_ids;
    t->names[SIGNATURE] = o->signature_field != NULL ? o->signature_field
                          : nemo                     ? "_minhash_signature"
                                                     : "signature";
    t->names[ID] = no_ids                ? NULL
                   : o->id_field != NULL ? o->id_field
                   : nemo                ? "_curator_dedup_id"
                                         : "id";
    t->names[SIZE] = "n_shingles";
    const char *wanted[N_COLUMNS] = {t->names[SIGNATURE], t->names[SIZE]};
    size_t n_wanted = 2;
    if (!no_ids) {
        wanted[1] = t->names[ID];
        wanted[n_wanted++] = t->names[SIZE];
    }
    const bm_table_wish wish = {.path = path,
                                .parquet = o->from != BM_EXCHANGE_ARROW,
                                .columns = wanted,
                                .n_columns = n_wanted,
                                .n_needed = t->id_given ? 2 : 1,
                                .threads = request->threads,
                                .batch_bytes = BATCH_BYTES,
                                .memory = request->memory / 4};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_table_open(path, &wish, &t->stream, err));
    status = read_head(t, err);
out:
    if (status != BM_OK)
        close_table(&t->base);
    else
        *out = &t->base;
    return status;
}

BM_OPTIONS_INIT(import, .from = BM_EXCHANGE_NPY, .text = BM_TEXT_DEFAULTS,
                .sketch = BM_SKETCH_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

static bool can_be_read(bm_exchange from)
{
    return from == BM_EXCHANGE_LEANMINHASH || from == BM_EXCHANGE_NEMO || from == BM_EXCHANGE_NPY ||
           from == BM_EXCHANGE_ARROW || from == BM_EXCHANGE_PARQUET;
}

static bm_status check_import(const bm_import_options *o, bm_error *err)
{
    const bool table = o->from == BM_EXCHANGE_NEMO || o->from == BM_EXCHANGE_ARROW ||
                       o->from == BM_EXCHANGE_PARQUET;
    if (o->n_paths == 0)
        return bm_fail_field(err, "paths", "no input given (files, or what export wrote)");
    if (o->output.path == NULL)
        return bm_fail_field(err, "output", "no output given (`output`)");
    BM_TRY(bm_option_list_check("paths", o->paths, o->n_paths, err));
    BM_TRY(bm_option_check(BM_OPTION_EXCHANGE, o->from, err));
    if (!can_be_read(o->from))
        return bm_fail_field(err, "from",
                             "`from` %s is not read (leanminhash, nemo, npy, arrow, "
                             "parquet)",
                             bm_option_name(BM_OPTION_EXCHANGE, o->from));
    if (!table && (o->id_field != NULL || o->signature_field != NULL)) {
        const char *field = o->id_field != NULL ? "id_field" : "signature_field";
        return bm_fail_field(err, field, "`%s`: %s has no columns", field,
                             bm_option_name(BM_OPTION_EXCHANGE, o->from));
    }
    if (o->ids != NULL && (o->id_field != NULL))
        return bm_fail_field(err, "ids", "`ids` with `id_field` (one or the other)");
    BM_TRY(bm_option_check(BM_OPTION_DUPLICATE_IDS, o->duplicate_ids, err));
    return bm_option_set_fields_check(o->set_fields, err);
}

bm_status bm_settings_of_import(const bm_import_options *options, bm_settings *out,
                                bm_import_options *taken, bm_error *err)
{
    bm_import_options o = import_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_import_options, set_fields), &o, err));
    *taken = o;
    *out = (bm_settings){.kind = BM_JOB_SIGN,
                         .input = BM_INPUT_DEFAULTS,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = BM_BAND_DEFAULTS,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields}};
    out->input.duplicate_ids = o.duplicate_ids;
    const bm_option_parts parts = {.text = &o.text,
                                   .sketch = &o.sketch,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    BM_TRY(check_import(&o, err));
    return bm_settings_resolve(out, &parts, err);
}

/* --- how the signatures were made --- */

/* If the head states a scheme and a seed, as in records of LeanMinHash, set them. BM_ERR_USAGE: the
 * options contradict the head. BM_ERR_INPUT: the scheme is unknown, or the seed is out of range. */
static bm_status apply_head(const bm_import_source *source, bm_settings *s, bm_error *err)
{
    const bm_import_head *head = &source->head;
    const uint64_t given = s->recorded.set_fields;
    unsigned scheme = 0;
    if (head->scheme == NULL)
        return BM_OK;
    if (!bm_option_value(BM_OPTION_SCHEME, head->scheme, strlen(head->scheme), &scheme))
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 0,
                          "records of the scheme %s, which this version does not know",
                          head->scheme);
    if (head->seed < 0 || head->seed > UINT32_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 1,
                          "its seed is %" PRId64 " (expected 0 to 2^32 - 1)", head->seed);
    if ((given & BM_FIELD_SCHEME) != 0 && s->sketch.scheme != (bm_scheme)scheme)
        return bm_fail_field(err, "scheme", "`scheme` %s contradicts %s (%s)",
                             bm_option_name(BM_OPTION_SCHEME, s->sketch.scheme), source->path,
                             head->scheme);
    if ((given & BM_FIELD_SEED) != 0 && s->sketch.seed != head->seed)
        return bm_fail_field(err, "seed", "`seed` %" PRIu32 " contradicts %s (%" PRId64 ")",
                             s->sketch.seed, source->path, head->seed);
    s->sketch.scheme = (bm_scheme)scheme;
    s->sketch.seed = (uint32_t)head->seed;
    s->recorded.set_fields |= BM_FIELD_SCHEME | BM_FIELD_SEED;
    return BM_OK;
}

/* Check that scheme, seed and hash are known from the file or the options, because no default may
 * be assumed, and that they fit together. Weights are refused. */
static bm_status check_given(const bm_import_source *source, const bm_settings *s, bm_error *err)
{
    static const struct {
        const char *field;
        uint64_t bit;
    } needed[] = {{"scheme", BM_FIELD_SCHEME}, {"seed", BM_FIELD_SEED}, {"hash", BM_FIELD_HASH}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if ((s->recorded.set_fields & needed[i].bit) == 0)
            return bm_fail_field(err, needed[i].field,
                                 "%s does not say how its signatures were made: `%s` is not given "
                                 "(expected `scheme`, `seed` and `hash`)",
                                 source->path, needed[i].field);
    if (s->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights", "`weights` of documents that are not read");
    return bm_settings_check_scheme(s, err);
}

static bm_status apply_manifest(const bm_import_source *source, bm_settings *s, bm_error *err)
{
    const bm_settings given = *s;
    BM_TRY(bm_recipe_signed(source->head.manifest, s, err));
    return bm_recorded_options_check(&given, s, source->path, err);
}

bm_status bm_import_resolve(const bm_import_source *first, bm_settings *s, bm_error *err)
{
    const bm_import_head *head = &first->head;
    const uint32_t asked_perms = s->sketch.perms;
    if (head->manifest != NULL) {
        BM_TRY(apply_manifest(first, s, err));
    } else {
        BM_TRY(apply_head(first, s, err));
        BM_TRY(check_given(first, s, err));
    }
    const uint32_t perms = head->perms != 0         ? head->perms
                           : head->manifest != NULL ? s->sketch.perms
                           : asked_perms != 0       ? asked_perms
                                                    : BM_PERMS_DEFAULT;
    if (asked_perms != 0 && asked_perms != perms)
        return bm_fail_field(err, "perms", "%" PRIu32 " permutations asked for, %s has %" PRIu32,
                             asked_perms, first->path, perms);
    if (head->manifest != NULL && s->sketch.perms != perms)
        return bm_fail_at(err, BM_ERR_INPUT, first->path, 0,
                          "signatures of %" PRIu32 " words (its provenance says %" PRIu32 ")",
                          perms, s->sketch.perms);
    s->sketch.perms = perms;
    const uint32_t word_bytes = bm_scheme_value_bytes(s->sketch.scheme);
    if (head->word_bytes != word_bytes && head->word_bytes != 0)
        return bm_fail_at(err, BM_ERR_INPUT, first->path, 0,
                          "words of %" PRIu32 " bytes (those of %s have %" PRIu32 ")",
                          head->word_bytes, bm_option_name(BM_OPTION_SCHEME, s->sketch.scheme),
                          word_bytes);
    s->input.format = BM_FORMAT_SIGNATURES;
    return BM_OK;
}

static bool same_heads(const bm_import_head *a, const bm_import_head *b)
{
    if (a->word_bytes == 0 || b->word_bytes == 0) /* one of the files has no signatures */
        return (a->manifest == NULL) == (b->manifest == NULL);
    const bool same_scheme = a->scheme == b->scheme || (a->scheme != NULL && b->scheme != NULL &&
                                                        strcmp(a->scheme, b->scheme) == 0);
    const bool same_perms = a->perms == b->perms || a->perms == 0 || b->perms == 0;
    return same_scheme && a->seed == b->seed && same_perms && a->word_bytes == b->word_bytes &&
           (a->manifest == NULL) == (b->manifest == NULL);
}

bm_status bm_import_check_same(const bm_import_source *first, const bm_import_source *other,
                               bm_error *err)
{
    const bm_provenance *a = NULL, *b = NULL;
    if (!same_heads(&first->head, &other->head))
        return bm_fail_at(err, BM_ERR_FORMAT, other->path, 0,
                          "its signatures were made in another way than those of %s", first->path);
    if (first->head.manifest == NULL)
        return BM_OK;
    BM_TRY(bm_manifest_provenance(first->head.manifest, &a, err));
    BM_TRY(bm_manifest_provenance(other->head.manifest, &b, err));
    return bm_provenance_check(first->path, a, other->path, b, err);
}
