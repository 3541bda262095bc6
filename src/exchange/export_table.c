/* export_table.c -- a block of documents is an array; its columns are copies, which whoever takes the
 * stream owns.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include "exchange/export_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "json/json_write.h"
#include "input/array_make.h"
#include "input/table_module.h"
#include "job/report_file.h"

/* --- what a column is --- */

typedef struct list_type {
    uint32_t n, bytes;  /* items of a list, and of an item */
    const char *format; /* of an item */
    const void *values; /* of the block */
} list_type;

static list_type list_of(const bm_export_stream *stream, bm_export_cells cells,
                         const bm_export_block *block)
{
    const bm_exporter *e = stream->reader.exporter;
    const bm_settings *s = e->context->settings;
    if (cells == BM_CELLS_KEYS)
        return (list_type){s->plan.bands, sizeof(uint64_t), "L", block ? block->keys : NULL};
    if (cells == BM_CELLS_BANDS)
        return (list_type){s->plan.bands, s->plan.rows * e->word_bytes, "z", NULL};
    return (list_type){s->sketch.perms, e->word_bytes, e->word_bytes == 8 ? "L" : "I",
                       block ? block->words : NULL};
}

static bm_status list_schema(const bm_export_stream *stream, const bm_export_column *column,
                             struct ArrowSchema *out, bm_error *err)
{
    const list_type type = list_of(stream, column->cells, NULL);
    char format[16] = "+l";
    if (stream->layout->fixed)
        snprintf(format, sizeof format, "+w:%" PRIu32, type.n);
    BM_TRY(bm_schema_make(&(bm_schema_parts){format, column->name, 1}, out, err));
    return bm_schema_make(&(bm_schema_parts){type.format, "item", 0}, out->children[0], err);
}

static bm_status column_schema(const bm_export_stream *stream, const bm_export_column *column,
                               struct ArrowSchema *out, bm_error *err)
{
    static const char *const formats[] = {
        [BM_CELLS_ID] = "u", [BM_CELLS_NUMBER] = "l", [BM_CELLS_SIZE] = "I"};
    if (column->cells >= BM_CELLS_WORDS)
        return list_schema(stream, column, out, err);
    return bm_schema_make(&(bm_schema_parts){formats[column->cells], column->name, 0}, out, err);
}

static size_t count(const bm_export_layout *layout)
{
    size_t n = 0;
    while (layout->columns[n].name != NULL)
        n++;
    return n;
}

static bm_status make_schema(bm_export_stream *stream, struct ArrowSchema *out, bm_error *err)
{
    static const char key[] = BM_TABLE_PROVENANCE;
    const size_t n = count(stream->layout);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_schema_make(&(bm_schema_parts){"+s", "", n}, out, err));
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(column_schema(stream, &stream->layout->columns[i], out->children[i], err));
    if (stream->layout->annotated)
        BM_TRY_OUT(bm_schema_annotate(out, (bm_str){key, sizeof key - 1},
                                      (bm_str){stream->provenance.data, stream->provenance.len},
                                      err));
out:
    if (status != BM_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* --- cells --- */

static void *copy(const void *from, size_t bytes)
{
    void *to = bm_alloc(bytes, 1);
    if (to != NULL && bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

/* n + 1 ends of items that are each `bytes` long. */
static int32_t *steps(size_t n, size_t bytes)
{
    int32_t *ends = bm_alloc(n + 1, sizeof *ends);
    for (size_t i = 0; ends != NULL && i <= n; i++)
        ends[i] = (int32_t)(i * bytes);
    return ends;
}

static bm_status make_ids(const bm_export_block *block, struct ArrowArray *out, bm_error *err)
{
    const size_t bytes = block->n > 0 ? block->ends[block->n - 1] : 0;
    int32_t *ends = bm_alloc(block->n + 1, sizeof *ends);
    char *text = copy(block->ids, bytes);
    if (ends == NULL || text == NULL || bytes > INT32_MAX) {
        bm_free(ends);
        bm_free(text);
        return bm_fail_nomem(err, bytes);
    }
    ends[0] = 0;
    for (size_t i = 0; i < block->n; i++)
        ends[i + 1] = (int32_t)block->ends[i];
    return bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, ends, text}, 3, 0}, out, err);
}

static bm_status make_plain(const bm_export_block *block, bm_export_cells cells,
                            struct ArrowArray *out, bm_error *err)
{
    void *values;
    if (cells == BM_CELLS_SIZE) {
        values = copy(block->n_shingles, block->n * sizeof *block->n_shingles);
    } else {
        int64_t *numbers = bm_alloc(block->n, sizeof *numbers);
        for (size_t i = 0; numbers != NULL && i < block->n; i++)
            numbers[i] = (int64_t)(block->first + i);
        values = numbers;
    }
    if (values == NULL)
        return bm_fail_nomem(err, block->n * sizeof(int64_t));
    return bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, values}, 2, 0}, out, err);
}

/* The words of bands, as somebody writes them who reads a number from its high end. */
static char *turn_bands(const bm_export_stream *stream, const bm_export_block *block,
                        list_type type)
{
    const bm_exporter *e = stream->reader.exporter;
    const size_t row = (size_t)e->context->settings->sketch.perms * e->word_bytes;
    const size_t used = (size_t)type.n * type.bytes;
    char *out = bm_alloc(block->n, used);
    for (size_t i = 0; out != NULL && i < block->n; i++)
        for (size_t at = 0; at < used; at++) {
            const size_t in_word = at % e->word_bytes;
            out[i * used + at] =
                ((const char *)block->words)[i * row + at - in_word + e->word_bytes - 1 - in_word];
        }
    return out;
}

/* The items of all lists. */
static bm_status make_items(const bm_export_stream *stream, const bm_export_block *block,
                            bm_export_cells cells, struct ArrowArray *out, bm_error *err)
{
    const list_type type = list_of(stream, cells, block);
    const size_t n = block->n * type.n, bytes = n * type.bytes;
    const bool bands = cells == BM_CELLS_BANDS;
    void *values = bands ? turn_bands(stream, block, type) : copy(type.values, bytes);
    int32_t *ends = bands ? steps(n, type.bytes) : NULL;
    if (values == NULL || (bands && ends == NULL)) {
        bm_free(values);
        bm_free(ends);
        return bm_fail_nomem(err, bytes);
    }
    const bm_array_parts plain = {(int64_t)n, {NULL, values}, 2, 0};
    const bm_array_parts binary = {(int64_t)n, {NULL, ends, values}, 3, 0};
    return bm_array_make(bands ? &binary : &plain, out, err);
}

static bm_status make_lists(const bm_export_stream *stream, const bm_export_block *block,
                            bm_export_cells cells, struct ArrowArray *out, bm_error *err)
{
    const bool fixed = stream->layout->fixed;
    int32_t *ends = fixed ? NULL : steps(block->n, list_of(stream, cells, block).n);
    if (!fixed && ends == NULL)
        return bm_fail_nomem(err, block->n * sizeof *ends);
    BM_TRY(bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL, ends}, fixed ? 1 : 2, 1}, out,
                         err));
    return make_items(stream, block, cells, out->children[0], err);
}

static bm_status make_array(const bm_export_stream *stream, const bm_export_block *block,
                            struct ArrowArray *out, bm_error *err)
{
    const size_t n = count(stream->layout);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_array_make(&(bm_array_parts){(int64_t)block->n, {NULL}, 1, n}, out, err));
    for (size_t i = 0; i < n; i++) {
        const bm_export_cells cells = stream->layout->columns[i].cells;
        struct ArrowArray *to = out->children[i];
        BM_TRY_OUT(cells == BM_CELLS_ID      ? make_ids(block, to, err)
                   : cells >= BM_CELLS_WORDS ? make_lists(stream, block, cells, to, err)
                                             : make_plain(block, cells, to, err));
    }
out:
    if (status != BM_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* --- the stream --- */

static int get_schema(struct ArrowArrayStream *out, struct ArrowSchema *schema)
{
    bm_export_stream *stream = out->private_data;
    if (stream->status == BM_OK)
        stream->status = make_schema(stream, schema, &stream->err);
    return stream->status == BM_OK ? 0 : EIO;
}

static int get_next(struct ArrowArrayStream *out, struct ArrowArray *array)
{
    bm_export_stream *stream = out->private_data;
    bm_export_block block = {0};
    *array = (struct ArrowArray){0};
    if (stream->status == BM_OK)
        stream->status = bm_export_reader_next(&stream->reader, &block, &stream->err);
    if (stream->status == BM_OK && block.n > 0)
        stream->status = make_array(stream, &block, array, &stream->err);
    return stream->status == BM_OK ? 0 : EIO;
}

static const char *last_error(struct ArrowArrayStream *out)
{
    const bm_export_stream *stream = out->private_data;
    return stream->err.message;
}

static void release(struct ArrowArrayStream *out)
{
    out->release = NULL;
}

static bm_status write_provenance(const bm_job_context *context, bm_buf *out, bm_error *err)
{
    bm_json json = {0};
    bm_report_begin(&json, context);
    bm_json_end_object(&json);
    bm_status status = bm_json_finish(&json, err);
    *out = json.buf;
    return status;
}

bm_status bm_export_stream_open(bm_exporter *exporter, const bm_export_layout *layout,
                                bm_export_stream *stream, struct ArrowArrayStream *out,
                                bm_error *err)
{
    bool ids = false;
    for (size_t i = 0; i < count(layout); i++)
        ids = ids || layout->columns[i].cells == BM_CELLS_ID;
    *stream = (bm_export_stream){.layout = layout};
    bm_status status = BM_OK;
    BM_TRY_OUT(write_provenance(exporter->context, &stream->provenance, err));
    status = bm_export_reader_open(exporter, ids, &stream->reader, err);
out:
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = last_error,
                                     .release = release,
                                     .private_data = stream};
    return status;
}

void bm_export_stream_close(bm_export_stream *stream)
{
    bm_export_reader_close(&stream->reader);
    bm_buf_reset(&stream->provenance);
}
