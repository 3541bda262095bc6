/* row_digest.c -- a table stream whose arrays are borrowed from the stream that somebody else reads.
 *
 *     inner  ->  array  ->  reader
 *                  |  while it passes
 *                table stream  ->  chunk  ->  hashes of its rows
 *
 * What cannot be hashed (a column that is missing, no memory) is no error of the one who reads: there is no digest then.
 * Threads: one at a time. The handle and the stream that passes are freed apart, in whatever order.
 *
 * Tests: tests/unit/sources/test_row_digest.c */
#include "sources/row_digest.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "sources/chunk_texts.h"
#include "model/stream_hash.h"

#define NO_ID UINT64_C(0)

struct bm_row_digest {
    struct ArrowArrayStream inner;
    bm_record_rules rules;
    bm_table_stream table; /* whose stream gives `passing` */
    struct ArrowArray passing;
    bm_stream_hash *hash;
    bm_buf joined;
    uint64_t *texts, *ids;
    size_t cap_texts, cap_ids, n_rows;
    bool each, has_ids, begun, failed, ended;
    unsigned users; /* the handle, the stream that passes */
};

static void drop(bm_row_digest *rows)
{
    if (--rows->users > 0)
        return;
    if (rows->inner.release != NULL)
        rows->inner.release(&rows->inner);
    rows->table.stream.release = NULL; /* it is a part of this */
    bm_table_stream_close(&rows->table);
    bm_stream_hash_close(rows->hash);
    bm_buf_reset(&rows->joined);
    bm_free(rows->texts);
    bm_free(rows->ids);
    bm_free(rows);
}

void bm_row_digest_close(bm_row_digest *rows)
{
    if (rows != NULL)
        drop(rows);
}

bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             bool each, bm_row_digest **out, bm_error *err)
{
    bm_row_digest *rows = NULL;
    BM_TRY(bm_new_zero(&rows, 1, err));
    rows->users = 1;
    rows->each = each;
    bm_status status = bm_record_rules_init(input, BM_FORMAT_AUTO, &rows->rules, err);
    rows->rules.id_given = false;
    if (status == BM_OK)
        status = bm_stream_hash_open(bm_isa_best(), &rows->hash, err);
    if (status != BM_OK) {
        drop(rows);
        return status;
    }
    rows->inner = *stream;
    stream->release = NULL; /* moved */
    *out = rows;
    return BM_OK;
}

bm_row_facts bm_row_digest_facts(const bm_row_digest *rows)
{
    const bm_hash128 digest = bm_stream_hash_end(rows->hash);
    return (bm_row_facts){.n_rows = rows->n_rows,
                          .digest = {digest.lo, digest.hi},
                          .ids = rows->has_ids ? rows->ids : NULL,
                          .texts = rows->each ? rows->texts : NULL,
                          .whole = rows->ended && !rows->failed};
}

/* --- hashes --- */

static uint64_t hash_of(bm_str data)
{
    const uint64_t hash = XXH3_64bits(data.data, data.len);
    return hash != NO_ID ? hash : 1;
}

static uint64_t hash_of_id(const bm_table_chunk *c, size_t row)
{
    char digits[BM_COLUMN_DIGITS];
    const bm_column *column = &c->columns[0];
    if (bm_column_is_null(column, row))
        return NO_ID;
    return hash_of(bm_column_is_text(column->type) ? bm_column_bytes(column, row)
                                                   : bm_column_decimal(column, row, digits));
}

static bm_status add_rows(bm_row_digest *rows, const bm_table_chunk *c, bm_error *err)
{
    const size_t before = rows->n_rows, first = rows->each ? before : 0;
    BM_TRY(bm_grow_array(&rows->texts, &rows->cap_texts, first + c->n_rows, err));
    if (c->has_id)
        BM_TRY(bm_grow_array(&rows->ids, &rows->cap_ids, before + c->n_rows, err));
    for (size_t row = 0; row < c->n_rows; row++) {
        const bm_text_wish wish = {rows->rules.n_text, row, &rows->joined};
        bm_str text;
        BM_TRY(bm_chunk_text(c, &wish, &text, err));
        rows->texts[first + row] = hash_of(text);
        if (c->has_id)
            rows->ids[before + row] = hash_of_id(c, row);
    }
    if (c->n_rows > 0)
        bm_stream_hash_add(rows->hash, rows->texts + first, c->n_rows * sizeof *rows->texts);
    rows->has_ids = c->has_id;
    rows->n_rows += c->n_rows;
    return BM_OK;
}

/* --- the stream that the table stream has --- */

static int inner_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    bm_row_digest *rows = stream->private_data;
    return rows->inner.get_schema(&rows->inner, out);
}

static int inner_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    bm_row_digest *rows = stream->private_data;
    *out = rows->passing;
    rows->passing.release = NULL;
    return 0;
}

static const char *inner_error(struct ArrowArrayStream *stream)
{
    bm_row_digest *rows = stream->private_data;
    return rows->inner.get_last_error(&rows->inner);
}

static bm_status begin(bm_row_digest *rows, const char *name, bm_error *err)
{
    if (rows->begun)
        return BM_OK;
    rows->begun = true;
    rows->table = (bm_table_stream){.rules = &rows->rules,
                                    .name = name,
                                    .stream = {.get_schema = inner_schema,
                                               .get_next = inner_array,
                                               .get_last_error = inner_error,
                                               .private_data = rows}};
    return bm_table_stream_begin(&rows->table, err);
}

static void release_not(struct ArrowArray *array)
{
    array->release = NULL;
}

/* The array stays that of who gave it. */
static bm_status look_at(bm_row_digest *rows, const struct ArrowArray *array, const char *name,
                         bm_error *err)
{
    bm_table_chunk *chunk = NULL;
    BM_TRY(begin(rows, name, err));
    rows->passing = *array;
    rows->passing.release = release_not;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_table_stream_next(&rows->table, &chunk, err));
    status = add_rows(rows, chunk, err);
out:
    bm_table_chunk_release(chunk);
    return status;
}

bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err)
{
    bm_status status = begin(rows, name, err);
    while (status == BM_OK && !rows->ended) {
        struct ArrowArray array = {0};
        const int code = rows->inner.get_next(&rows->inner, &array);
        if (code != 0) {
            const char *why = rows->inner.get_last_error(&rows->inner);
            return bm_fail_at(err, BM_ERR_INPUT, name, 0, "the table cannot be read: %s",
                              why != NULL ? why : strerror(code));
        }
        rows->ended = array.release == NULL;
        if (!rows->ended)
            status = look_at(rows, &array, name, err);
        if (array.release != NULL)
            array.release(&array);
    }
    return status;
}

/* --- the stream that passes --- */

static int pass_array(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    bm_row_digest *rows = stream->private_data;
    const int code = rows->inner.get_next(&rows->inner, out);
    if (code != 0)
        rows->failed = true;
    else if (out->release == NULL)
        rows->ended = true;
    else if (!rows->failed)
        rows->failed = look_at(rows, out, "", NULL) != BM_OK;
    return code;
}

static void pass_release(struct ArrowArrayStream *stream)
{
    drop(stream->private_data);
    stream->release = NULL;
}

void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out)
{
    rows->users++;
    *out = (struct ArrowArrayStream){.get_schema = inner_schema,
                                     .get_next = pass_array,
                                     .get_last_error = inner_error,
                                     .release = pass_release,
                                     .private_data = rows};
}
