/* SPDX-License-Identifier: Apache-2.0 */
/* table_stream.c -- see the header.
 *
 * Tests: tests/unit/sources/test_arrow_column.c, tests/unit/sources/test_source_columns.c */
#include "sources/table_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/parser.h"
#include "input/raw_batch.h"

static bm_status count_bytes(void *ctx, bm_str text, bm_error *err)
{
    (void)err;
    *(size_t *)ctx += text.len;
    return BM_OK;
}

size_t bm_chunk_text_bytes(const bm_table_chunk *chunk, size_t n, size_t row)
{
    size_t bytes = 0;
    for (size_t i = 1; i <= n; i++) {
        const bm_arrow_column *column = &chunk->columns[i];
        if (column->many)
            (void)bm_arrow_column_each(column, row, count_bytes, &bytes, NULL);
        else if (!bm_arrow_column_is_null(column, row))
            bytes += bm_arrow_column_bytes(column, row).len;
    }
    return bytes;
}

static bm_status count_words(void *ctx, bm_str text, bm_error *err)
{
    (void)err;
    *(uint64_t *)ctx += bm_long_words(text.data, text.len);
    return BM_OK;
}

uint64_t bm_chunk_text_words(const bm_table_chunk *chunk, size_t n, size_t row)
{
    uint64_t words = 0;
    for (size_t i = 1; i <= n; i++)
        (void)bm_arrow_column_each(&chunk->columns[i], row, count_words, &words, NULL);
    return words;
}

/* State of joining the texts of one column with newlines. */
typedef struct joining {
    bm_buf *out, *parts;
    bool begun;
} joining;

static bm_status join_text(void *ctx, bm_str text, bm_error *err)
{
    joining *j = ctx;
    bm_status status = j->begun ? bm_buf_add(j->out, "\n", 1, err) : BM_OK;
    j->begun = true;
    if (status != BM_OK || j->parts == NULL)
        return status == BM_OK ? bm_buf_add(j->out, text.data, text.len, err) : status;
    const bm_text_part part = {.range = {j->out->len, j->out->len + text.len}};
    BM_TRY(bm_buf_add(j->parts, &part, sizeof part, err));
    return bm_buf_add(j->out, text.data, text.len, err);
}

bm_status bm_chunk_text(const bm_table_chunk *chunk, const bm_text_request *wish, bm_str *out,
                        bm_error *err)
{
    const size_t row = wish->row;
    const bm_arrow_column *first = &chunk->columns[1];
    if (wish->n == 1 && !first->many) {
        *out = bm_arrow_column_is_null(first, row) ? (bm_str){.data = ""}
                                                   : bm_arrow_column_bytes(first, row);
        return BM_OK;
    }
    bm_status status = BM_OK;
    wish->joined->len = 0;
    if (wish->parts != NULL)
        wish->parts->len = 0;
    for (size_t i = 1; i <= wish->n; i++) {
        joining j = {.out = wish->joined, .parts = wish->parts};
        if (i > 1)
            BM_TRY_OUT(bm_buf_add(wish->joined, "\n", 1, err));
        BM_TRY_OUT(bm_arrow_column_each(&chunk->columns[i], row, join_text, &j, err));
    }
    status = bm_buf_end(wish->joined, err);
out:
    *out = (bm_str){.data = wish->joined->data, .len = wish->joined->len};
    return status;
}

static bm_status stream_failed(bm_table_stream *stream, int code, bm_error *err)
{
    const char *words = stream->stream.get_last_error(&stream->stream);
    if (code == ENOMEM && (words == NULL || words[0] == '\0'))
        return bm_fail_nomem(err, 0);
    if (words == NULL)
        words = strerror(code);
    /* Arrow appends where the error arose in its source files, or in Python's; leave that out */
    const char *own = strstr(words, ". Detail:");
    const int len = own != NULL && own - words < 300 ? (int)(own - words) : 300;
    return bm_fail_at(err, code == ENOMEM ? BM_ERR_NOMEM : BM_ERR_INPUT, stream->name, 0,
                      "cannot read the table: %.*s", len, words);
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
    return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "no column '%.64s' (%sit has: %s)", field,
                      bm_text_hint(field), schema->n_children > 0 ? names : "no columns");
}

/* Are the `len` bytes at `name` the name `own`? In a part of a path, "\." means a dot. */
static bool is_name(const char *own, const char *name, size_t len, bool part)
{
    for (; len > 0 && *own != '\0'; name++, len--, own++) {
        if (part && len > 1 && name[0] == '\\' && name[1] == '.') {
            name++;
            len--;
        }
        if (*own != *name)
            return false;
    }
    return len == 0 && *own == '\0';
}

/* The index of the child that is named by the `len` bytes at `name`. n_children: there is no such
 * child. n_children + 1: there is more than one. */
static size_t child_named(const struct ArrowSchema *schema, const char *name, size_t len, bool part)
{
    const size_t n = schema->n_children > 0 ? (size_t)schema->n_children : 0;
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        const char *own = schema->children[i]->name;
        if (own == NULL || !is_name(own, name, len, part))
            continue;
        if (found != n)
            return n + 1;
        found = i;
    }
    return found;
}

/* Find the next part of a field name, up to a dot. Returns its length without the [] at its end.
 * *n_lists becomes the number of these []. */
static size_t part_of(const char *at, size_t *n_lists)
{
    const size_t len = bm_dotted_part_bytes(at);
    size_t end = len;
    while (end >= 2 && at[end - 1] == ']' && at[end - 2] == '[')
        end -= 2;
    *n_lists = (len - end) / 2;
    return end;
}

/* Descend n lists, to the schema of their values. NULL: there are fewer lists. */
static const struct ArrowSchema *enter_lists(const struct ArrowSchema *schema, size_t n,
                                             bm_arrow_column_path *path)
{
    for (; n > 0 && schema != NULL; n--)
        schema = bm_arrow_column_list_step(schema, path) ? schema->children[0] : NULL;
    return schema;
}

/* Find the column named `field`. If there is no column of that name, follow the dots in `field`
 * from struct to struct, and its brackets into lists. If this leads to no column, out->schema is
 * NULL. BM_ERR_INPUT: there are two columns of a name. */
static bm_status find_column(const bm_table_stream *stream, const struct ArrowSchema *schema,
                             const char *field, bm_arrow_column_found *out, bm_error *err)
{
    const char *at = field;
    *out = (bm_arrow_column_found){0};
    while (out->ref.path.n < BM_ARROW_COLUMN_DEPTH) {
        const size_t n = schema->n_children > 0 ? (size_t)schema->n_children : 0;
        size_t n_lists = 0, len = strlen(at), child = child_named(schema, at, len, false);
        if (child == n) {
            len = part_of(at, &n_lists);
            child = child_named(schema, at, len, true);
        }
        if (child > n)
            return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "there are two columns '%.64s'",
                              field);
        if (child == n)
            break;
        out->ref.path.step[out->ref.path.n] = BM_STEP_CHILD;
        out->ref.path.child[out->ref.path.n++] = (uint32_t)child;
        schema = enter_lists(schema->children[child], n_lists, &out->ref.path);
        at += len + 2 * n_lists;
        if (schema != NULL && *at == '\0') {
            out->ref.path.found = true;
            out->ref.type = bm_arrow_column_type_of(schema);
            out->schema = schema;
            return BM_OK;
        }
        if (schema == NULL || strcmp(schema->format, "+s") != 0)
            break;
        at++;
    }
    *out = (bm_arrow_column_found){0};
    return BM_OK;
}

#define PATH_BYTES 200u /* the most bytes of a path that a message proposes */

/* Write `field` to `path` with [] after each list on the way: "a[].b" for "a.b". False: there is no
 * list on the way, that path leads to no text either, or it is too long. */
static bool path_through_lists(const bm_table_stream *stream, const struct ArrowSchema *schema,
                               const char *field, char path[PATH_BYTES])
{
    bm_arrow_column_found found = {0};
    size_t len = 0;
    bool lists = false;
    for (const char *from = field; *from != '\0';) {
        const size_t part = bm_dotted_part_bytes(from);
        if (len + part + 2 > PATH_BYTES)
            return false;
        len += (size_t)snprintf(path + len, PATH_BYTES - len, "%s%.*s", len > 0 ? "." : "",
                                (int)part, from);
        while (find_column(stream, schema, path, &found, NULL) == BM_OK && found.schema != NULL &&
               bm_arrow_column_list_step(found.schema, &found.ref.path) && len + 3 <= PATH_BYTES) {
            len += (size_t)snprintf(path + len, PATH_BYTES - len, "[]");
            lists = true;
        }
        if (found.schema == NULL)
            return false;
        from += part + (from[part] == '.');
    }
    return lists && bm_arrow_column_is_text(found.ref.type);
}

static bm_status find_text(bm_table_stream *stream, const struct ArrowSchema *schema, size_t i,
                           bm_error *err)
{
    const char *field = stream->rules->text[i];
    char path[PATH_BYTES];
    bm_arrow_column_found found;
    bm_status status = BM_OK;
    BM_TRY_OUT(find_column(stream, schema, field, &found, err));
    const bool is_text = found.schema != NULL && bm_arrow_column_is_text(found.ref.type);
    if (!is_text && path_through_lists(stream, schema, field, path))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                              found.schema == NULL
                                  ? "no column '%.64s': a list is on the way (%s has the texts of "
                                    "its elements)"
                                  : "column '%.64s' is a list (%s has the texts of its elements)",
                              field, path));
    if (found.schema == NULL)
        BM_TRY_OUT(no_column(stream, schema, field, err));
    if (!bm_arrow_column_is_text(found.ref.type))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                              "column '%.64s' has the type %.32s (a text is utf8 or binary, also "
                              "large, views or dictionaries; [] leads to the values of a list)",
                              field, bm_arrow_column_type_name(found.schema)));
out:
    stream->refs[1 + i] = found.ref;
    return status;
}

static bool is_id(bm_value_form_kind kind)
{
    return kind == BM_FORM_TEXT || kind == BM_FORM_INTEGER || kind == BM_FORM_DECIMAL ||
           kind == BM_FORM_UUID;
}

static bm_status find_id(bm_table_stream *stream, const struct ArrowSchema *schema, bm_error *err)
{
    const char *field = stream->rules->id;
    bm_arrow_column_found found = {0};
    bm_status status = BM_OK;
    if (field != NULL)
        BM_TRY_OUT(find_column(stream, schema, field, &found, err));
    if (found.schema == NULL && stream->rules->id_given)
        BM_TRY_OUT(no_column(stream, schema, field, err));
    if (found.schema != NULL)
        found.ref.form = bm_value_form_of(found.schema);
    if (stream->rules->row_ids != 0 && found.ref.type.kind == BM_ARROW_COLUMN_NULLS)
        found = (bm_arrow_column_found){0}; /* the table has no ids, so row numbers are used */
    if (found.schema == NULL || is_id(found.ref.form.kind))
        goto out;
    if (stream->rules->id_given)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                              "column '%.64s' has the type %.32s (an id: text, an integer, a "
                              "decimal or a uuid; " BM_NO_IDS ")",
                              field, bm_arrow_column_type_name(found.schema)));
    found = (bm_arrow_column_found){0}; /* "id" is only the default name */
out:
    stream->refs[0] = found.ref;
    return status;
}

void bm_table_names(const struct ArrowSchema *schema, bm_name_list *out)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *name = schema->children[i]->name;
        if (name != NULL)
            bm_name_list_add(out, (bm_str){0}, (bm_str){name, strlen(name)});
    }
}

/* Find a column that `keep` uses. If it is missing, stream->names becomes the names of all
 * columns. */
static bm_status find_keep(bm_table_stream *stream, const struct ArrowSchema *schema, size_t i,
                           bm_error *err)
{
    bm_arrow_column_found found;
    BM_TRY(find_column(stream, schema, stream->rules->keep->fields[i], &found, err));
    if (found.schema != NULL)
        found.ref.form = bm_value_form_of(found.schema);
    if (found.schema == NULL && stream->names.n == 0)
        bm_table_names(schema, &stream->names);
    stream->refs[1 + stream->rules->n_text + i] = found.ref;
    return BM_OK;
}

static bm_status find_all(bm_table_stream *stream, const struct ArrowSchema *schema, bm_error *err)
{
    BM_TRY(find_id(stream, schema, err));
    for (size_t i = 0; i < stream->rules->n_text; i++)
        BM_TRY(find_text(stream, schema, i, err));
    for (size_t i = 0; i < bm_rules_n_keep(stream->rules); i++)
        BM_TRY(find_keep(stream, schema, i, err));
    return BM_OK;
}

/* Used if the stream is one column instead of a table. This column is the text, whatever its
 * name. */
static bm_status use_only_column(bm_table_stream *stream, const struct ArrowSchema *schema,
                                 bm_error *err)
{
    const bm_arrow_column_found found = {
        .ref = {.path = {.found = true}, .type = bm_arrow_column_type_of(schema)},
        .schema = schema};
    if (!bm_arrow_column_is_text(found.ref.type) || stream->rules->n_text != 1)
        return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                          "a stream of %.32s (a table with columns, or one column of text)",
                          bm_arrow_column_type_name(found.schema));
    if (stream->rules->id_given)
        return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0,
                          "no column '%.64s' (it is one column of text)", stream->rules->id);
    memset(stream->refs, 0, bm_columns_count(stream->rules) * sizeof *stream->refs);
    stream->refs[1] = found.ref;
    return BM_OK;
}

bm_status bm_table_stream_begin(bm_table_stream *stream, bm_error *err)
{
    struct ArrowSchema schema = {0};
    if (stream->rules == NULL)
        return BM_OK;
    size_t n = bm_columns_count(stream->rules);
    if ((stream->refs = bm_alloc(n, sizeof *stream->refs)) == NULL)
        return bm_fail_nomem(err, n * sizeof *stream->refs);
    int code = stream->stream.get_schema(&stream->stream, &schema);
    if (code != 0)
        return stream_failed(stream, code, err);
    bm_status status = BM_OK;
    status = strcmp(schema.format, "+s") == 0 ? find_all(stream, &schema, err)
                                              : use_only_column(stream, &schema, err);
    if (schema.release != NULL)
        schema.release(&schema);
    return status;
}

static bm_status open_columns(const bm_table_stream *stream, bm_table_chunk *c, bm_error *err)
{
    const char *wrong = NULL;
    if (stream->rules == NULL) {
        c->n_rows = c->array.length > 0 ? (size_t)c->array.length : 0;
        return BM_OK;
    }
    size_t n = bm_columns_count(stream->rules);
    if (stream->refs[1].path.n > 0 && c->array.null_count > 0 && c->array.n_buffers > 0 &&
        c->array.buffers[0] != NULL)
        wrong = "rows that are null";
    c->has_id = stream->refs[0].path.found;
    for (size_t i = c->has_id ? 0 : 1; i < n && wrong == NULL; i++) {
        const bm_arrow_column_ref *ref = &stream->refs[i];
        if (i <= stream->rules->n_text || ref->form.kind > BM_FORM_OTHER)
            wrong = bm_arrow_column_open(&c->array, &ref->path, ref->type, &c->columns[i]);
        c->columns[i].form = ref->form;
    }
    if (wrong != NULL)
        return bm_fail_at(err, BM_ERR_INPUT, stream->name, 0, "a broken table: it has %s", wrong);
    c->n_rows = (size_t)c->array.length;
    return BM_OK;
}

bm_status bm_table_stream_chunk(const bm_table_stream *stream, struct ArrowArray *array,
                                bm_table_chunk **out, bm_error *err)
{
    const size_t n = stream->rules != NULL ? bm_columns_count(stream->rules) : 0;
    bm_table_chunk *c = bm_alloc_zero(1, sizeof *c + n * sizeof c->columns[0]);
    *out = NULL;
    if (c == NULL) {
        array->release(array);
        return bm_fail_nomem(err, sizeof *c);
    }
    atomic_init(&c->users, 1);
    c->array = *array;
    c->names = stream->names;
    const bm_status status = open_columns(stream, c, err);
    if (status == BM_OK)
        *out = c;
    else
        bm_table_chunk_release(c);
    return status;
}

bm_status bm_table_stream_next(bm_table_stream *stream, bm_table_chunk **out, bm_error *err)
{
    struct ArrowArray array = {0};
    *out = NULL;
    const int code = stream->stream.get_next(&stream->stream, &array);
    if (code != 0)
        return stream_failed(stream, code, err);
    return array.release != NULL ? bm_table_stream_chunk(stream, &array, out, err) : BM_OK;
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
