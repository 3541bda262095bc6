/* SPDX-License-Identifier: Apache-2.0 */
/* job_sign.c -- the `sign` command: writes the signatures of documents into a directory.
 *
 * Each thread writes its rows at their offsets in signatures.npy, content_hash.npy and
 * band_keys.npy (if requested). Ids, text lengths and shingle counts stay in memory, and are
 * written at the end. When all files are complete, the directory is renamed into place.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include <bandmill/job.h>

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "model/scheme_facts.h"
#include "results/npy.h"
#include "results/sign_dir.h"
#include "job/checkpoint_state.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "job/rows.h"
#include "model/file_names.h"

typedef struct sign_out {
    const bm_settings *settings;
    bm_npy_writer words, content, keys; /* keys.file NULL: band keys are not requested */
} sign_out;

static bm_status flush(void *ctx, bm_array_sums *sums, bm_error *err)
{
    sign_out *out = ctx;
    BM_TRY(bm_npy_writer_flush(&out->words, &sums->of[BM_ARRAY_SIGNATURES], err));
    BM_TRY(bm_npy_writer_flush(&out->content, &sums->of[BM_ARRAY_CONTENT], err));
    return bm_npy_writer_flush(&out->keys, &sums->of[BM_ARRAY_BAND_KEYS], err);
}

/* Create an array file. If an interrupted job has begun the file, open it instead, and check that
 * its saved rows are unchanged. */
static bm_status open_array(const bm_checkpoint *checkpoint, const bm_npy_array *array,
                            bm_checkpoint_array which, bm_npy_writer *out, bm_error *err)
{
    const bm_array_sums *sums = &checkpoint->saved.sums;
    const uint64_t n_rows = checkpoint->saved.docs;
    bm_status status = BM_OK;
    BM_TRY_OUT(n_rows == 0 ? bm_npy_writer_open(checkpoint->dir, array, out, err)
                           : bm_npy_writer_open_again(checkpoint->dir, array, n_rows, out, err));
    if (checkpoint->saved.complete && sums->known) {
        bm_npy_writer_compare_late(out, &sums->of[which]);
        return BM_OK;
    }
out:
    return status == BM_OK && checkpoint->can_save
               ? bm_npy_writer_keep_sum(out, sums->known ? &sums->of[which] : NULL, err)
               : status;
}

static bm_status put_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    const sign_out *out = ctx;
    size_t n = batch->n_docs;
    BM_TRY(bm_npy_writer_rows_at(
        &out->words, first_row, batch->words, n,
        bm_scheme_row_uints(out->settings->sketch.scheme, out->settings->sketch.perms) *
            sizeof *batch->words,
        err));
    BM_TRY(bm_npy_writer_rows_at(&out->content, first_row, bm_ingest_content(batch), n,
                                 sizeof(bm_hash128), err));
    if (out->keys.file != NULL)
        BM_TRY(bm_npy_writer_rows_at(&out->keys, first_row, batch->keys, n,
                                     out->settings->plan.bands * sizeof *batch->keys, err));
    return BM_OK;
}

/* Close the array. If `status` is a failure, return it, else the status of closing. */
static bm_status close_array(bm_npy_writer *writer, bm_status status, bm_error *err)
{
    bm_status closed = bm_npy_writer_close(writer, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

/* An array of one member of bm_doc_row, with an element for each row of the document table. The
 * last one in `columns` is written only if the inputs have texts. */
typedef struct row_column {
    bm_npy_array array;
    size_t at, bytes; /* offset and size of the member in bm_doc_row */
} row_column;

static const row_column columns[] = {
    {{.name = BM_FILE_N_SHINGLES, .type = "<u4"},
     offsetof(bm_doc_row, n_shingles),
     sizeof(uint32_t)},
    {{.name = BM_FILE_N_BYTES, .type = "<u8"}, offsetof(bm_doc_row, text_bytes), sizeof(uint64_t)},
    {{.name = BM_FILE_TEXT_HASH, .type = "<u8"},
     offsetof(bm_doc_row, text_hash),
     sizeof(uint64_t)}};

static bm_status write_column(bm_out_dir *dir, const bm_doc_table *docs, const row_column *column,
                              bm_error *err)
{
    bm_npy_writer writer;
    char block[16 << 10];
    const size_t cap = sizeof block / column->bytes;
    BM_TRY(bm_npy_writer_open(dir, &column->array, &writer, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < docs->n;) {
        size_t n = 0;
        for (; n < cap && i < docs->n; n++, i++)
            memcpy(block + n * column->bytes, (const char *)&docs->rows[i] + column->at,
                   column->bytes);
        BM_TRY_OUT(bm_npy_writer_rows(&writer, block, n, column->bytes, err));
    }
out:
    return close_array(&writer, status, err);
}

static bm_status write_arrays(bm_job *job, bm_error *err)
{
    bm_checkpoint *checkpoint = &job->checkpoint;
    const bm_settings *s = job->context.settings;
    const bool keys = s->results.band_keys;
    sign_out out = {.settings = s};
    const bm_npy_array words = {BM_FILE_SIGNATURES,
                                bm_scheme_value_bytes(s->sketch.scheme) == 8 ? "<u8" : "<u4",
                                s->sketch.perms};
    const bm_npy_array content = {BM_FILE_CONTENT, "<u8", 2};
    const bm_npy_array band_keys = {BM_FILE_BAND_KEYS, "<u8", s->plan.bands};
    const bm_ingest_request request = {
        .words = true, .keys = keys, .sink = {.put = put_batch, .ctx = &out}};
    bm_job_context_plan(&job->context, bm_checkpoint_start(checkpoint));
    bm_status status = bm_checkpoint_load(checkpoint, NULL, err);
    bm_job_context_stage(&job->context, BM_STAGE_SIGN, "bytes");
    if (status == BM_OK)
        status = open_array(checkpoint, &words, BM_ARRAY_SIGNATURES, &out.words, err);
    if (status == BM_OK)
        status = open_array(checkpoint, &content, BM_ARRAY_CONTENT, &out.content, err);
    if (status == BM_OK && keys)
        status = open_array(checkpoint, &band_keys, BM_ARRAY_BAND_KEYS, &out.keys, err);
    checkpoint->flush = flush;
    checkpoint->flush_ctx = &out;
    if (status == BM_OK)
        status = bm_checkpoint_ingest(checkpoint, &request, err);
    if (status != BM_OK && !checkpoint->loading)
        bm_checkpoint_save_ended(checkpoint, status); /* before the arrays are closed */
    checkpoint->flush = NULL;
    /* Saved work needs the arrays, so they stay even if closing them fails. */
    if (checkpoint->saved.docs_records > 0)
        bm_out_dir_preserve(checkpoint->dir, true);
    status = close_array(&out.words, status, err);
    status = close_array(&out.content, status, err);
    return close_array(&out.keys, status, err);
}

static bm_status write_all(bm_job *job, bm_error *err)
{
    bm_job_context *context = &job->context;
    bm_out_dir *dir = job->checkpoint.dir;
    bm_status status = write_arrays(job, err);
    context->counts.kept = context->counts.documents;
    if (status != BM_OK)
        return status;
    bm_job_context_stage(context, BM_STAGE_WRITE, "files");
    status = bm_rows_ids(dir, &context->docs, context->pool, err);
    const size_t n_columns =
        sizeof columns / sizeof columns[0] - !context->inputs.source->ops->has_text;
    for (size_t i = 0; status == BM_OK && i < n_columns; i++)
        status = write_column(dir, &context->docs, &columns[i], err);
    if (status == BM_OK)
        status = bm_rows_sources(dir, &context->docs, NULL, &context->inputs.names, err);
    if (status == BM_OK)
        status = bm_rows_skipped(dir, context, err);
    if (status == BM_OK)
        status = bm_job_finish(job,
                               &(bm_job_ending){.dir = dir,
                                                .report_name = BM_FILE_MANIFEST,
                                                .commit_checkpoint = true},
                               err);
    return status;
}

static bm_status run_job(const bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job;
    unsigned steps = BM_STEP_INPUTS | BM_STEP_DIRECTORY | BM_STEP_CHECKPOINTS | BM_STEP_DEVICES;
    if (settings->results.band_keys)
        steps |= BM_STEP_KEYS;
    BM_TRY(bm_job_open(settings, &job, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&job, steps, err));
    if (job.summary == NULL)
        BM_TRY_OUT(write_all(&job, err));
out:
    bm_checkpoint_close(&job.checkpoint, status, err);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_sign(const bm_sign_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_weighed weighed = {0};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_sign(options, &settings, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_plan_signatures(&settings, err));
    settings.recorded.weighed = &weighed;
    BM_TRY_OUT(
        bm_sign_dir_refuse(settings.input.paths, settings.input.n_paths, settings.memory, err));
    status = run_job(&settings, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}
