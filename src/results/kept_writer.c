/* kept_writer.c -- which way of writing kept documents each format has.
 *
 * Tests: tests/unit/results/test_kept_writer.c */
#include "results/kept_writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "results/kept_files.h"
#include "results/kept_writer_ops.h"

struct bm_kept_writer {
    const bm_kept_writer_ops *ops;
    void *state;
};

static const bm_kept_writer_ops kept_nothing = {0};

static const bm_kept_writer_ops *const writers[] = {
    [BM_FORMAT_AUTO] = &kept_nothing,      [BM_FORMAT_JSONL] = &bm_kept_records,
    [BM_FORMAT_TSV] = &bm_kept_records,    [BM_FORMAT_CSV] = &bm_kept_records,
    [BM_FORMAT_LINES] = &bm_kept_records,  [BM_FORMAT_FILES] = &bm_kept_ids,
    [BM_FORMAT_HASHES] = &bm_kept_ids,     [BM_FORMAT_JSON] = &bm_kept_records,
    [BM_FORMAT_ARROW] = &bm_kept_tables,   [BM_FORMAT_KEYS] = &kept_nothing,
    [BM_FORMAT_PARQUET] = &bm_kept_tables, [BM_FORMAT_SIGNATURES] = &kept_nothing,
    [BM_FORMAT_WET] = &bm_kept_records};

static const bm_kept_writer_ops *writer_of(const bm_input_set *set, bm_kept kept)
{
    if (kept == BM_KEPT_NO)
        return &kept_nothing;
    return bm_input_set_is_stream(set) ? &bm_kept_ids : writers[bm_input_set_format(set)];
}

bm_status bm_kept_writer_check_names(const bm_kept_cfg *cfg, bm_error *err)
{
    bm_kept_files files = {0};
    if (!writer_of(cfg->set, cfg->kept)->names_files)
        return BM_OK;
    const bm_status status = bm_kept_files_name(&files, cfg, err);
    bm_kept_files_reset(&files);
    return status;
}

bm_status bm_kept_writer_open(const bm_kept_cfg *cfg, bm_kept_writer **out, bm_error *err)
{
    bm_kept_writer *writer = NULL;
    BM_TRY(bm_new_zero(&writer, 1, err));
    writer->ops = writer_of(cfg->set, cfg->kept);
    bm_status status =
        writer->ops->open != NULL ? writer->ops->open(cfg, &writer->state, err) : BM_OK;
    if (status == BM_OK)
        *out = writer;
    else
        bm_free(writer);
    return status;
}

bool bm_kept_writer_wants_ids(const bm_kept_writer *writer)
{
    return writer->ops->wants_ids;
}

bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err)
{
    return writer->ops->begin_file != NULL ? writer->ops->begin_file(writer->state, index, err)
                                           : BM_OK;
}

bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err)
{
    return writer->ops->write != NULL ? writer->ops->write(writer->state, raw, err) : BM_OK;
}

bm_status bm_kept_writer_more(bm_kept_writer *writer, bm_str bytes, bm_error *err)
{
    return writer->ops->more != NULL ? writer->ops->more(writer->state, bytes, err) : BM_OK;
}

bm_status bm_kept_writer_reserve(bm_kept_writer *writer, uint64_t len, bm_kept_place *out,
                                 bm_error *err)
{
    *out = (bm_kept_place){0};
    return writer->ops->reserve != NULL ? writer->ops->reserve(writer->state, len, out, err)
                                        : BM_OK;
}

bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err)
{
    return writer->ops->end_file != NULL ? writer->ops->end_file(writer->state, err) : BM_OK;
}

bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err)
{
    return writer->ops->id != NULL ? writer->ops->id(writer->state, id, err) : BM_OK;
}

bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err)
{
    return writer->ops->finish != NULL ? writer->ops->finish(writer->state, err) : BM_OK;
}

void bm_kept_writer_close(bm_kept_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->ops->close != NULL)
        writer->ops->close(writer->state);
    bm_free(writer);
}
