/* table_stream.c -- see the header.
 *
 * Tests: tests/unit/io_sources/test_source_columns.c */
#include "io/sources/table_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define NO_COLUMN SIZE_MAX

static bm_status stream_failed(bm_table_stream *stream, int code, bm_error *err)
{
    const char *words = stream->stream.get_last_error(&stream->stream);
    if (code == ENOMEM)
        return bm_fail_nomem(err, 0);
    return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "cannot read the table: %.300s",
                      words != NULL ? words : strerror(code));
}

static bm_status no_column(const bm_table_stream *stream, const struct ArrowSchema *schema,
                           const char *field, bm_error *err)
{
    char names[200] = "";
    size_t len = 0;
    for (int64_t i = 0; i < schema->n_children && len < sizeof names - 1; i++) {
        const char *name = schema->children[i]->name;
        int n = snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : "",
                         name != NULL ? name : "");
        len += (size_t)n;
    }
    return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "no column '%.64s' (it has: %s)", field,
                      names);
}

/* The column named `field`; child is NO_COLUMN where there is none. */
static bm_status find_column(const bm_table_stream *stream, const struct ArrowSchema *schema,
                             const char *field, bm_column_ref *out, bm_error *err)
{
    out->child = NO_COLUMN;
    for (size_t i = 0; i < (size_t)schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (child->name == NULL || strcmp(child->name, field) != 0)
            continue;
        if (out->child != NO_COLUMN)
            return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "there are two columns '%.64s'",
                              field);
        *out = (bm_column_ref){.child = i, .type = bm_column_type_of(child)};
    }
    return BM_OK;
}

static bm_status find_text(bm_table_stream *stream, const struct ArrowSchema *schema, size_t i,
                           bm_error *err)
{
    const char *field = stream->fields->text[i];
    bm_column_ref *ref = &stream->refs[1 + i];
    bm_status status = find_column(stream, schema, field, ref, err);
    if (status == BM_OK && ref->child == NO_COLUMN)
        status = no_column(stream, schema, field, err);
    if (status == BM_OK && ref->type.kind != BM_COLUMN_BYTES)
        status = bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                            "column '%.64s' has the type %.32s (text: utf8, large_utf8 or binary)",
                            field, schema->children[ref->child]->format);
    return status;
}

static bm_status find_id(bm_table_stream *stream, const struct ArrowSchema *schema, bm_error *err)
{
    const char *field = stream->fields->id;
    bm_column_ref *ref = &stream->refs[0];
    ref->child = NO_COLUMN;
    bm_status status = BM_OK;
    if (field != NULL)
        status = find_column(stream, schema, field, ref, err);
    if (status == BM_OK && ref->child == NO_COLUMN && stream->fields->id_given)
        status = no_column(stream, schema, field, err);
    if (status == BM_OK && ref->child != NO_COLUMN && ref->type.kind == BM_COLUMN_OTHER)
        status = bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                            "column '%.64s' has the type %.32s (an id: text or an integer)", field,
                            schema->children[ref->child]->format);
    return status;
}

bm_status bm_table_stream_begin(bm_table_stream *stream, bm_error *err)
{
    struct ArrowSchema schema = {0};
    size_t n = bm_fields_columns(stream->fields);
    if ((stream->refs = bm_alloc(n, sizeof *stream->refs)) == NULL)
        return bm_fail_nomem(err, n * sizeof *stream->refs);
    int code = stream->stream.get_schema(&stream->stream, &schema);
    if (code != 0)
        return stream_failed(stream, code, err);
    bm_status status = BM_OK;
    if (strcmp(schema.format, "+s") != 0)
        status = bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                            "a stream of %.32s (a table: a struct of columns)", schema.format);
    if (status == BM_OK)
        status = find_id(stream, &schema, err);
    for (size_t i = 0; i < stream->fields->n_text && status == BM_OK; i++)
        status = find_text(stream, &schema, i, err);
    if (schema.release != NULL)
        schema.release(&schema);
    return status;
}

static bm_status open_columns(const bm_table_stream *stream, bm_table_chunk *c, bm_error *err)
{
    const char *wrong = NULL;
    size_t n = bm_fields_columns(stream->fields);
    if (c->array.null_count > 0 && c->array.n_buffers > 0 && c->array.buffers[0] != NULL)
        wrong = "rows that are null";
    c->has_id = stream->refs[0].child != NO_COLUMN;
    for (size_t i = c->has_id ? 0 : 1; i < n && wrong == NULL; i++)
        wrong =
            bm_column_open(&c->array, stream->refs[i].child, stream->refs[i].type, &c->columns[i]);
    if (wrong != NULL)
        return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "a broken table: it has %s", wrong);
    c->n_rows = (size_t)c->array.length;
    return BM_OK;
}

bm_status bm_table_stream_next(bm_table_stream *stream, bm_table_chunk **out, bm_error *err)
{
    size_t n = bm_fields_columns(stream->fields);
    *out = NULL;
    bm_table_chunk *c = bm_alloc_zero(1, sizeof *c + n * sizeof c->columns[0]);
    if (c == NULL)
        return bm_fail_nomem(err, sizeof *c);
    atomic_init(&c->users, 1);
    bm_status status = BM_OK;
    int code = stream->stream.get_next(&stream->stream, &c->array);
    if (code != 0) {
        c->array.release = NULL; /* not filled */
        status = stream_failed(stream, code, err);
    } else if (c->array.release != NULL) {
        status = open_columns(stream, c, err);
        if (status == BM_OK)
            *out = c;
    }
    if (*out == NULL)
        bm_table_chunk_release(c);
    return status;
}

void bm_table_stream_close(bm_table_stream *stream)
{
    if (stream->stream.release != NULL)
        stream->stream.release(&stream->stream);
    bm_free(stream->refs);
    *stream = (bm_table_stream){0};
}

void bm_table_chunk_release(bm_table_chunk *chunk)
{
    if (chunk == NULL || atomic_fetch_sub(&chunk->users, 1) > 1)
        return;
    if (chunk->array.release != NULL)
        chunk->array.release(&chunk->array);
    bm_free(chunk);
}
