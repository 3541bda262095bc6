/* export_layouts.c -- the tables of each tool: a row a layout, and writing any of them.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include "base/error.h"
#include "input/tables.h"
#include "model/file_names.h"
#include "exchange/export_table.h"

#define GROUP_BYTES ((uint64_t)32 << 20) /* of the words of a row group */

static const struct {
    bm_exchange to;
    bm_export_what what;
    bm_export_layout layout;
} layouts[] = {
    {BM_EXCHANGE_ARROW,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_ARROW,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_ARROW,
     BM_EXPORT_BANDS,
     {BM_FILE_BANDS_ARROW,
      {{"id", BM_CELLS_ID}, {"band_keys", BM_CELLS_KEYS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_PARQUET,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_PARQUET,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .parquet = true,
      .annotated = true}},
    {BM_EXCHANGE_PARQUET,
     BM_EXPORT_BANDS,
     {BM_FILE_BANDS_PARQUET,
      {{"id", BM_CELLS_ID}, {"band_keys", BM_CELLS_KEYS}, {"n_shingles", BM_CELLS_SIZE}},
      .parquet = true,
      .annotated = true}},
    {BM_EXCHANGE_LANCE,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_ARROW,
      {{"id", BM_CELLS_ID}, {"signature", BM_CELLS_WORDS}, {"n_shingles", BM_CELLS_SIZE}},
      .fixed = true,
      .annotated = true}},
    {BM_EXCHANGE_NEMO,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_NEMO,
      {{"_curator_dedup_id", BM_CELLS_NUMBER}, {"_minhash_signature", BM_CELLS_WORDS}},
      .parquet = true}},
    {BM_EXCHANGE_TEXT_DEDUP,
     BM_EXPORT_SIGNATURES,
     {BM_FILE_SIGNATURES_PARQUET,
      {{"__id__", BM_CELLS_NUMBER}, {"__signatures__", BM_CELLS_BANDS}},
      .parquet = true}},
};

static const bm_export_layout *layout_of(const bm_exchange_settings *asked)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].to == asked->to && layouts[i].what == asked->what)
            return &layouts[i].layout;
    return NULL;
}

/* The file, and why it could not be written. */
typedef struct sink {
    bm_out_file *file;
    bm_status status;
    bm_error err;
} sink;

static int take(void *ctx, const char *data, size_t len)
{
    sink *to = ctx;
    if (to->status == BM_OK)
        to->status = bm_out_file_write(to->file, data, len, &to->err);
    return to->status != BM_OK;
}

/* What went wrong first is what the caller hears of. */
static bm_status outcome(bm_status status, const sink *to, const bm_export_stream *stream,
                         bm_error *err)
{
    const bm_error *why = to->status != BM_OK       ? &to->err
                          : stream->status != BM_OK ? &stream->err
                                                    : NULL;
    if (why == NULL)
        return status;
    if (err != NULL)
        *err = *why;
    return to->status != BM_OK ? to->status : stream->status;
}

static bm_status write_stream(bm_exporter *e, const bm_export_layout *layout, sink *to,
                              bm_error *err)
{
    const uint64_t row = (uint64_t)e->context->settings->sketch.perms * e->word_bytes;
    bm_export_stream stream;
    struct ArrowArrayStream rows;
    bm_status status = bm_export_stream_open(e, layout, &stream, &rows, err);
    if (status == BM_OK) {
        const bm_table_made made = {.parquet = layout->parquet,
                                    .stream = &rows,
                                    .group_rows = GROUP_BYTES / row,
                                    .write = take,
                                    .write_ctx = to};
        status = bm_table_write(layout->file, &made, err);
        status = outcome(status, to, &stream, err);
    }
    bm_export_stream_close(&stream);
    return status;
}

bm_status bm_export_table(bm_exporter *e, bm_error *err)
{
    const bm_export_layout *layout = layout_of(&e->context->settings->results.exchange);
    sink to = {0};
    BM_TRY(bm_out_dir_file(e->out, layout->file, &to.file, err));
    bm_out_file_digest_early(to.file, 0);
    bm_status status = write_stream(e, layout, &to, err);
    bm_status closed = bm_out_file_close(to.file, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}
