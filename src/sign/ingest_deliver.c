/* ingest_deliver.c -- see the header.
 *
 * Tests: tests/unit/sign/test_ingest_read.c */
#include "sign/ingest_deliver.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/counts.h"

#define WARNINGS_MAX 5u  /* of one kind */
#define IDS_AHEAD    16u /* documents between fetching from the table of ids and looking */

static uint64_t sum_shingles(const bm_ingest_batch *batch)
{
    uint64_t n = 0;
    for (size_t i = 0; i < batch->n_docs; i++)
        n += batch->docs[i].row.n_shingles;
    return n;
}

static bm_status deliver_docs(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; cfg->docs != NULL && i < batch->n_docs; i++) {
        const bm_ingest_doc *doc = &batch->docs[i];
        if (i + IDS_AHEAD < batch->n_docs)
            bm_doc_table_expect(cfg->docs, batch->docs[i + IDS_AHEAD].id_hash);
        bm_str id = {doc->id_len > 0 ? batch->ids.data + doc->id_begin : "", doc->id_len};
        BM_TRY(bm_doc_table_add(cfg->docs, &doc->row, (bm_doc_id){id, doc->id_hash},
                                bm_batch_source_file(cfg->source, doc->row.file), err));
    }
    return BM_OK;
}

/* It is the nth that is told. */
static void warn_of_skipped(const bm_ingest_cfg *cfg, const bm_skipped *skipped, uint64_t nth)
{
    bm_meter_log(cfg->meter, BM_LOG_WARNING, "%s:%" PRIu64 ": skipped: %s%s",
                 bm_batch_source_file(cfg->source, skipped->file), skipped->line, skipped->reason,
                 nth == WARNINGS_MAX ? "; no more of these are reported" : "");
}

/* One skipped record may be most of a file where a quote is never closed: so the first few are told
 * at once. */
static void warn_of_swallowed(const bm_ingest_cfg *cfg, const bm_skipped *skipped)
{
    if (skipped->n_behind > 0 && cfg->docs->n_swallowing <= WARNINGS_MAX)
        warn_of_skipped(cfg, skipped, cfg->docs->n_swallowing);
}

static bm_status deliver_skipped(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    for (size_t i = 0; i < batch->n_skipped; i++) {
        bm_skipped *skipped = &batch->skipped[i];
        if (cfg->counts->skipped >= cfg->input->max_errors)
            return bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(cfg->source, skipped->file),
                              skipped->line,
                              "%s (more than %" PRIu64 " bad records, see `max_errors`)",
                              skipped->reason, cfg->input->max_errors);
        if (cfg->docs != NULL) {
            BM_TRY(bm_doc_table_skip(cfg->docs, skipped, err));
            warn_of_swallowed(cfg, skipped);
            skipped->reason = NULL;                       /* taken */
        } else if (cfg->counts->skipped < WARNINGS_MAX) { /* there is no list of them */
            warn_of_skipped(cfg, skipped, cfg->counts->skipped + 1);
        }
        cfg->counts->skipped++;
        cfg->counts->records++;
    }
    return BM_OK;
}

bm_status bm_ingest_batch_deliver(const bm_ingest_cfg *cfg, bm_ingest_batch *batch, bm_error *err)
{
    const size_t first_row = cfg->docs != NULL ? cfg->docs->n : 0;
    const size_t first_skipped = cfg->docs != NULL ? cfg->docs->n_skipped : 0;
    const bm_counts before = *cfg->counts;
    bm_status status = deliver_docs(cfg, batch, err);
    if (status == BM_OK)
        status = deliver_skipped(cfg, batch, err);
    if (status == BM_OK && batch->status != BM_OK && cfg->docs == NULL && cfg->sink != NULL)
        status =
            cfg->sink(cfg->sink_ctx, batch, first_row, err); /* what is wrong with them first */
    if (status == BM_OK && batch->status != BM_OK) {
        status = batch->status;
        if (err != NULL)
            *err = batch->error;
    }
    if (status != BM_OK) { /* what was delivered before can be sealed */
        if (cfg->docs != NULL)
            bm_doc_table_cut(cfg->docs, first_row, first_skipped);
        *cfg->counts = before;
        return status;
    }
    batch->turn.first_row = first_row;
    bm_counts *counts = cfg->counts;
    bm_counts_add_docs(counts,
                       &(bm_doc_counts){.n = batch->n_docs,
                                        .n_empty = batch->shingles.n_empty + batch->text.n_empty,
                                        .n_short = batch->shingles.n_short + batch->text.n_short,
                                        .n_weightless = batch->shingles.n_weightless,
                                        .n_invalid = batch->n_invalid,
                                        .n_shingles = sum_shingles(batch)});
    return BM_OK;
}

bm_status bm_ingest_batch_sink(const bm_ingest_cfg *cfg, const bm_ingest_batch *batch,
                               bm_error *err)
{
    bm_status status = BM_OK;
    if (cfg->sink != NULL)
        status = cfg->sink(cfg->sink_ctx, batch, batch->turn.first_row, err);
    if (cfg->places != NULL && status == BM_OK)
        cfg->places->last = batch->turn.place;
    else if (cfg->places != NULL)
        cfg->places->sink_failed = true;
    bm_meter_progress(cfg->meter, batch->turn.bytes_read, bm_batch_source_total_bytes(cfg->source),
                      cfg->counts->documents);
    return status;
}
