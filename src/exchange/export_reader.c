/* export_reader.c -- blocks of a few megabytes, from the arrays of the directory.
 *
 * Tests: tests/cli/cases/export.sh, tests/reference/test_exchange.py */
#include "exchange/exporter.h"

#include <bandmill/sketch.h>

#include "base/error.h"

#define BLOCK_BYTES ((size_t)4 << 20)
#define BLOCK_MOST  4096u

static bool wants_keys(const bm_settings *s)
{
    return s->results.exchange.what == BM_EXPORT_BANDS;
}

bm_status bm_export_reader_open(bm_exporter *exporter, bool ids, bm_export_reader *out,
                                bm_error *err)
{
    const bm_settings *s = exporter->context->settings;
    const size_t row = (size_t)s->sketch.perms * exporter->word_bytes;
    const size_t fit = BLOCK_BYTES / row;
    const size_t most = fit < 1 ? 1 : fit > BLOCK_MOST ? BLOCK_MOST : fit;
    *out = (bm_export_reader){.exporter = exporter, .ids = ids, .most = most};
    out->words = bm_alloc_aligned(most, row);
    out->n_shingles = bm_alloc(most, sizeof *out->n_shingles);
    out->ends = bm_alloc(most, sizeof *out->ends);
    if (wants_keys(s))
        out->keys = bm_alloc(most * s->plan.bands, sizeof *out->keys);
    return out->words == NULL || out->n_shingles == NULL || out->ends == NULL ||
                   (wants_keys(s) && out->keys == NULL)
               ? bm_fail_nomem(err, most * row)
               : BM_OK;
}

void bm_export_reader_close(bm_export_reader *reader)
{
    bm_free(reader->words);
    bm_free(reader->n_shingles);
    bm_free(reader->keys);
    bm_free(reader->ends);
    bm_buf_reset(&reader->text);
}

static bm_status make_keys(const bm_export_reader *r, size_t n, bm_error *err)
{
    const bm_settings *s = r->exporter->context->settings;
    const bm_band_plan *plan = &s->plan;
    BM_TRY(
        bm_signed_rows_keys(&(bm_signed_rows){s->sketch.scheme, r->words, n}, plan, r->keys, err));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t band = 0; r->n_shingles[i] == 0 && band < plan->bands; band++)
            r->keys[i * plan->bands + band] = BM_NO_BAND_KEY;
    }
    return BM_OK;
}

bm_status bm_export_reader_next(bm_export_reader *r, bm_export_block *out, bm_error *err)
{
    bm_sign_dir *dir = r->exporter->dir;
    bm_meter *meter = &r->exporter->context->meter;
    const uint64_t n_docs = bm_sign_dir_docs(dir), left = n_docs - r->next;
    const size_t n = left < r->most ? (size_t)left : r->most;
    r->text.len = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(meter, err));
    if (n > 0)
        BM_TRY_OUT(bm_sign_dir_rows(dir, r->next, n, r->words, err));
    if (n > 0)
        BM_TRY_OUT(bm_sign_dir_n_shingles(dir, r->next, n, r->n_shingles, err));
    if (r->keys != NULL)
        BM_TRY_OUT(make_keys(r, n, err));
    if (r->ids)
        BM_TRY_OUT(bm_sign_dir_ids(dir, r->next, n, &(bm_sign_ids){&r->text, r->ends}, err));
out:
    *out = (bm_export_block){.first = r->next,
                             .n = n,
                             .words = r->words,
                             .n_shingles = r->n_shingles,
                             .keys = r->keys,
                             .ids = r->ids ? r->text.data : NULL,
                             .ends = r->ends};
    r->next += n;
    bm_meter_progress(meter, r->next, n_docs, r->next);
    return status;
}

bm_status bm_export_walk(bm_exporter *exporter, bool ids, bm_export_take take, void *ctx,
                         bm_error *err)
{
    bm_export_reader reader;
    bm_export_block block = {.n = 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_export_reader_open(exporter, ids, &reader, err));
    while (block.n > 0) {
        BM_TRY_OUT(bm_export_reader_next(&reader, &block, err));
        if (block.n > 0)
            BM_TRY_OUT(take(ctx, &block, err));
    }
out:
    bm_export_reader_close(&reader);
    return status;
}
