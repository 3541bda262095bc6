/* import_table.c -- signatures in a column of lists of a table: Arrow, Parquet, and NeMo Curator's.
 *
 * Lists are fixed_size_list, list or large_list of uint32 or uint64; a row that is null, of another length,
 * or with a null in it is an error. Ids are a column of text or of integers.
 *
 * Tests: tests/cli/cases/import.sh, tests/reference/test_exchange.py */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json_exact.h"
#include "sources/column.h"
#include "input/tables.h"
#include "exchange/import_source.h"

#define BATCH_BYTES ((size_t)4 << 20) /* of an array of the table */

enum { SIGNATURE, ID, SIZE, N_COLUMNS };

typedef struct list_type {
    uint32_t fixed; /* items of each; 0: as the offsets say */
    uint32_t width; /* bytes of an offset */
    uint32_t item;  /* of an item */
} list_type;

typedef struct table {
    bm_import_source base;
    const char *names[N_COLUMNS]; /* NULL: not asked for */
    bool id_given;
    struct ArrowArrayStream stream; /* released: not open */
    struct ArrowArray array;        /* of the rows at hand; released: none */
    size_t at;                      /* the next of them */
    int64_t child[N_COLUMNS];       /* -1: there is none */
    list_type type;
    bm_column_type types[N_COLUMNS];
    bm_column columns[N_COLUMNS]; /* of the array */
    bm_manifest *manifest;        /* of the schema; NULL: none */
    void *words;                  /* of a block, as all below */
    uint32_t n_shingles[BM_IMPORT_BLOCK_ROWS];
    size_t ends[BM_IMPORT_BLOCK_ROWS];
    bm_buf ids;
} table;

static void close_table(bm_import_source *source)
{
    table *t = (table *)source;
    if (t->array.release != NULL)
        t->array.release(&t->array);
    if (t->stream.release != NULL)
        t->stream.release(&t->stream);
    bm_manifest_close(t->manifest);
    bm_free(t->words);
    bm_buf_reset(&t->ids);
    bm_free(t);
}

static bm_status stream_failed(table *t, int code, bm_error *err)
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
    if (item->dictionary == NULL) /* else these are numbers of its values */
        out->item = strcmp(item->format, "I") == 0 ? 4 : strcmp(item->format, "L") == 0 ? 8 : 0;
    return out->item != 0;
}

/* An int32, and so many bytes behind it; NULL: there are none. The interface says nothing of where metadata
 * end: they come from a reader that is trusted. */
static const char *take_text(const char *at, bm_str *out)
{
    int32_t len;
    memcpy(&len, at, sizeof len);
    if (len < 0)
        return NULL;
    *out = (bm_str){at + sizeof len, (size_t)len};
    return at + sizeof len + len;
}

/* Is it JSON? What comes from a file of anybody's is not taken for it. */
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

static bm_status read_metadata(table *t, const struct ArrowSchema *schema, bm_error *err)
{
    int32_t n;
    bm_str key, value;
    if (schema->metadata == NULL)
        return BM_OK;
    memcpy(&n, schema->metadata, sizeof n);
    const char *at = schema->metadata + sizeof n;
    for (int32_t i = 0; i < n && at != NULL; i++) {
        at = take_text(at, &key);
        if (at != NULL)
            at = take_text(at, &value);
        if (at == NULL || key.len != strlen(BM_TABLE_PROVENANCE) ||
            memcmp(key.data, BM_TABLE_PROVENANCE, key.len) != 0)
            continue;
        BM_TRY(check_json(t->base.path, value, err));
        return bm_manifest_of_text(t->base.path, value, &t->manifest, err);
    }
    return BM_OK;
}

static bm_status no_column(const table *t, const struct ArrowSchema *schema, const char *name,
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

static bm_status bad_type(const table *t, const struct ArrowSchema *schema, int column,
                          const char *expected, bm_error *err)
{
    const struct ArrowSchema *child = schema->children[t->child[column]];
    const bool is_list = child->n_children == 1 && column == SIGNATURE;
    const char *fixed = strncmp(child->format, "+w:", 3) == 0 ? child->format + 3 : NULL;
    return bm_fail_at(err, BM_ERR_INPUT, t->base.path, 0,
                      "column '%.64s' has the type %.32s%s%.16s%s%s%.32s (expected %s)",
                      t->names[column], bm_column_type_name(child), fixed != NULL ? "[" : "",
                      fixed != NULL ? fixed : "", fixed != NULL ? "]" : "", is_list ? " of " : "",
                      is_list ? bm_column_type_name(child->children[0]) : "", expected);
}

static bm_status find_columns(table *t, const struct ArrowSchema *schema, bm_error *err)
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
            t->types[i] = bm_column_type_of(schema->children[t->child[i]]);
    if (t->child[ID] >= 0 && t->types[ID].kind == BM_COLUMN_OTHER)
        return bad_type(t, schema, ID, "text or integers", err);
    if (t->child[SIZE] >= 0 &&
        (t->types[SIZE].kind != BM_COLUMN_UINT || t->types[SIZE].in_width != 0))
        return bad_type(t, schema, SIZE, "unsigned integers", err);
    return BM_OK;
}

static bm_status read_schema(table *t, bm_error *err)
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

static uint64_t offset_at(const table *t, const struct ArrowArray *lists, uint64_t cell)
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

/* Where the items of a row begin and end. Returns what is wrong, or NULL. */
static const char *find_items(const table *t, size_t row, uint64_t *begin, uint64_t *end)
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

static bm_status bad_row(const table *t, uint64_t row, const char *wrong, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, t->base.path, row + 1, "%s", wrong);
}

static bm_status copy_words(table *t, size_t row, uint64_t number, char *to, bm_error *err)
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

static bm_status add_id(table *t, size_t row, uint64_t number, bm_error *err)
{
    char digits[BM_COLUMN_DIGITS];
    const bm_column *column = &t->columns[ID];
    if (t->child[ID] < 0)
        return bm_buf_add_format(&t->ids, err, "%s:%" PRIu64, t->base.path, number + 1);
    if (bm_column_is_null(column, row))
        return bad_row(t, number, "its id is null", err);
    const bm_str id = bm_column_is_text(column->type) ? bm_column_bytes(column, row)
                                                      : bm_column_decimal(column, row, digits);
    return bm_buf_add(&t->ids, id.data, id.len, err);
}

static bm_status read_size(table *t, size_t row, uint64_t number, uint32_t *out, bm_error *err)
{
    char digits[BM_COLUMN_DIGITS];
    const bm_column *column = &t->columns[SIZE];
    if (bm_column_is_null(column, row))
        return bad_row(t, number, "its n_shingles is null", err);
    const bm_str text = bm_column_decimal(column, row, digits);
    digits[text.len] = '\0';
    const uint64_t value = strtoull(digits, NULL, 10);
    if (value > UINT32_MAX)
        return bad_row(t, number, "its n_shingles is 2^32 or more", err);
    *out = (uint32_t)value;
    return BM_OK;
}

/* The next array that has rows, if those at hand are done; array.release NULL: there is none. */
static bm_status fetch(table *t, bm_error *err)
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
            const bm_column_path path = {
                .found = true, .child = {(uint32_t)(t->child[i] < 0 ? 0 : t->child[i])}, .n = 1};
            if (t->child[i] >= 0)
                wrong = bm_column_open(&t->array, &path, t->types[i], &t->columns[i]);
        }
        if (wrong != NULL)
            return bm_fail_at(err, BM_ERR_INPUT, t->base.path, t->base.next + 1,
                              "the table is broken: %s", wrong);
    }
    return BM_OK;
}

/* The row at hand into row n of the block. */
static bm_status read_row(table *t, uint64_t number, size_t n, char *words, bm_error *err)
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
    table *t = (table *)source;
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

static const bm_import_ops ops = {next_table, close_table};

/* The first row says how many words there are, where the type does not. */
static bm_status read_head(table *t, bm_error *err)
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

bm_status bm_import_table_open(const char *path, const bm_import_asked *asked,
                               bm_import_source **out, bm_error *err)
{
    const bool nemo = asked->from == BM_EXCHANGE_NEMO;
    const bool no_ids = asked->id_field != NULL && strcmp(asked->id_field, "none") == 0;
    table *t = NULL;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->base = (bm_import_source){.ops = &ops, .path = path};
    t->id_given = asked->id_field != NULL && !no_ids;
    t->names[SIGNATURE] = asked->signature_field != NULL ? asked->signature_field
                          : nemo                         ? "_minhash_signature"
                                                         : "signature";
    t->names[ID] = no_ids                    ? NULL
                   : asked->id_field != NULL ? asked->id_field
                   : nemo                    ? "_curator_dedup_id"
                                             : "id";
    t->names[SIZE] = "n_shingles";
    const char *wanted[N_COLUMNS] = {t->names[SIGNATURE], t->names[SIZE]};
    size_t n_wanted = 2;
    if (!no_ids) {
        wanted[1] = t->names[ID];
        wanted[n_wanted++] = t->names[SIZE];
    }
    const bm_table_wish wish = {.path = path,
                                .parquet = asked->from != BM_EXCHANGE_ARROW,
                                .columns = wanted,
                                .n_columns = n_wanted,
                                .n_needed = t->id_given ? 2 : 1,
                                .threads = asked->threads,
                                .batch_bytes = BATCH_BYTES,
                                .memory = asked->memory / 4};
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
