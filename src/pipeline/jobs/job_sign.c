/* job_sign.c -- documents to a directory of signatures.
 *
 * Rows go to signatures.npy (and band_keys.npy) as their batches come round in input order; ids and
 * counts of shingles are small and written at the end. The directory appears whole, by one rename.
 */
#include <bandmill/job.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/arrays/npy.h"
#include "model/file_names.h"
#include "pipeline/output/report.h"
#include "pipeline/output/rows.h"
#include "pipeline/checkpoint/checkpoint_save.h"

typedef struct sign_out {
    bm_job_context *run;
    bm_npy_writer words, keys; /* keys: no file where none are asked for */
} sign_out;

static bm_status flush(void *ctx, bm_error *err)
{
    sign_out *out = ctx;
    bm_status status = bm_npy_writer_flush(&out->words, err);
    return status == BM_OK ? bm_npy_writer_flush(&out->keys, err) : status;
}

/* A new array, or one whose first rows an interrupted job has written. */
static bm_status open_array(const bm_checkpoint *checkpoint, const bm_npy_array *array,
                            bm_npy_writer *out, bm_error *err)
{
    uint64_t n_rows = checkpoint->saved.docs;
    return n_rows == 0 ? bm_npy_writer_open(checkpoint->dir, array, out, err)
                       : bm_npy_writer_open_again(checkpoint->dir, array, n_rows, out, err);
}

static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    sign_out *out = ctx;
    size_t n = batch->n_docs;
    if (n == 0)
        return BM_OK;
    bm_status status = bm_npy_writer_rows(&out->words, batch->words, n,
                                          out->run->sketch.perms * sizeof *batch->words, err);
    if (status == BM_OK && out->keys.file != NULL)
        status = bm_npy_writer_rows(&out->keys, batch->keys, n,
                                    out->run->plan.bands * sizeof *batch->keys, err);
    return status;
}

/* The first failure stays. */
static bm_status close_array(bm_npy_writer *writer, bm_status status, bm_error *err)
{
    bm_status closed = bm_npy_writer_close(writer, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status write_n_shingles(bm_out_dir *dir, const bm_doc_table *docs, bm_error *err)
{
    bm_npy_writer writer;
    uint32_t block[4096];
    const bm_npy_array array = {BM_FILE_N_SHINGLES, "<u4", 0};
    bm_status status = bm_npy_writer_open(dir, &array, &writer, err);
    if (status != BM_OK)
        return status;
    for (size_t i = 0; status == BM_OK && i < docs->n;) {
        size_t n = 0;
        while (n < sizeof block / sizeof block[0] && i < docs->n)
            block[n++] = docs->rows[i++].n_shingles;
        status = bm_npy_writer_rows(&writer, block, n, sizeof block[0], err);
    }
    return close_array(&writer, status, err);
}

static bm_status write_arrays(bm_checkpoint *checkpoint, bm_error *err)
{
    bm_job_context *run = checkpoint->run;
    bool keys = run->job->band_keys;
    sign_out out = {.run = run};
    bm_status status = bm_checkpoint_load(checkpoint, NULL, err);
    bm_job_context_stage(run, "sign", "bytes");
    const bm_npy_array words_array = {BM_FILE_SIGNATURES, "<u4", run->sketch.perms};
    const bm_npy_array keys_array = {BM_FILE_BAND_KEYS, "<u8", run->plan.bands};
    if (status == BM_OK)
        status = open_array(checkpoint, &words_array, &out.words, err);
    if (status == BM_OK && keys)
        status = open_array(checkpoint, &keys_array, &out.keys, err);
    checkpoint->flush = flush;
    checkpoint->flush_ctx = &out;
    if (status == BM_OK)
        status = bm_checkpoint_ingest(checkpoint, true, keys, on_batch, &out, err);
    if (status == BM_ERR_CANCELLED)
        bm_checkpoint_save_now(checkpoint); /* while the arrays are open */
    checkpoint->flush = NULL;
    status = close_array(&out.words, status, err);
    return close_array(&out.keys, status, err);
}

static bm_status write_all(bm_checkpoint *checkpoint, bm_summary **out, bm_error *err)
{
    bm_job_context *run = checkpoint->run;
    bm_out_dir *dir = checkpoint->dir;
    const char *digests;
    bm_status status = write_arrays(checkpoint, err);
    run->counts.kept = run->counts.documents;
    if (status == BM_OK)
        bm_job_context_stage(run, "write", "files");
    if (status == BM_OK)
        status = bm_rows_ids(dir, &run->docs, err);
    if (status == BM_OK)
        status = write_n_shingles(dir, &run->docs, err);
    if (status == BM_OK)
        status = bm_rows_sources(dir, &run->docs, NULL, &run->names, err);
    if (status == BM_OK && run->job->input.skip_errors)
        status = bm_rows_skipped(dir, &run->docs, &run->names, err);
    if (status == BM_OK)
        status = bm_out_dir_finish(dir, err);
    if (status == BM_OK)
        status = bm_out_dir_digests(dir, &digests, err);
    if (status == BM_OK)
        status = bm_report_make(run, NULL, digests, out, err);
    if (status == BM_OK)
        status = bm_report_write(run, *out, dir, "manifest.json", err);
    return status == BM_OK ? bm_checkpoint_commit(checkpoint, err) : status;
}

bm_status bm_job_sign(const bm_job *job, bm_summary **out, bm_error *err)
{
    bm_job_context run;
    bm_checkpoint checkpoint = {0};
    bm_summary *summary = NULL;
    if (job->output == NULL)
        return bm_fail(err, BM_ERR_USAGE, "no output given (-o DIR)");
    bm_status status = bm_job_context_open(job, "signatures", &run, err);
    if (status != BM_OK)
        return status;
    run.texts = true;
    if (job->band_keys || job->lsh.bands != 0)
        status = bm_job_context_plan(&run, err);
    if (status == BM_OK)
        status = bm_job_context_inputs(&run, false, true, err);
    if (status == BM_OK)
        status = bm_job_context_devices(&run, job->band_keys ? run.plan.bands : 0,
                                        job->band_keys ? run.plan.rows : 0, err);
    if (status == BM_OK)
        status = bm_checkpoint_open(&run, true, &checkpoint, err);
    if (status == BM_OK)
        status = write_all(&checkpoint, &summary, err);
    bm_checkpoint_close(&checkpoint, status, err);
    bm_job_context_close(&run);
    if (status != BM_OK) {
        bm_summary_free(summary);
        return status;
    }
    *out = summary;
    return BM_OK;
}
