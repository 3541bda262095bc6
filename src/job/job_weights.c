/* job_weights.c -- an ingest without a table of documents, without devices, whose batches are counted by
 * the threads that parse them.
 *
 * Memory: of what documents may have, half while counting, a quarter for the table from then on.
 *
 * Tests: tests/reference/test_weights.py, tests/cli/cases/weights.sh */
#include "job/job_weights.h"

#include <string.h>

#include "base/error.h"
#include "input/input_digest.h"
#include "job/job_stages.h"
#include "corpus/df_count.h"

static bm_status count_batch(void *ctx, bm_shingle_batch *shingles, bm_error *err)
{
    return bm_df_count_add(ctx, shingles, err);
}

/* All inputs; what is skipped is told when they are read again. */
static bm_status count_documents(bm_job_context *job, bm_df_count *count, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_meter meter;
    bm_counts counts = {0};
    bm_callbacks quiet = job->callbacks;
    quiet.log = NULL;
    bm_meter_init(&meter, &quiet);
    bm_meter_stage(&meter, BM_STAGE_COUNT, "bytes");
    const bm_ingest_cfg cfg = {.input = &s->input,
                               .text = &s->text,
                               .cpu = s->device.cpu,
                               .threads = s->threads,
                               .budget = &job->budget,
                               .batch_docs = s->resources.batch_docs,
                               .source = job->inputs.source,
                               .meter = &meter,
                               .counts = &counts,
                               .weigh = {count_batch, count}};
    bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_reset(&meter);
    return status;
}

/* Say what was counted; is it what a manifest says? */
static bm_status settle(const bm_job_context *job, const bm_df_facts *facts, bm_error *err)
{
    bm_weighed *weighed = job->settings->recorded.weighed;
    bm_weighed counted = {.n_docs = facts->n_docs};
    bm_hash128_hex(facts->digest, counted.digest);
    if (weighed->digest[0] != '\0' &&
        (weighed->n_docs != counted.n_docs || strcmp(weighed->digest, counted.digest) != 0))
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs are not those that were signed: their shingles stand in other "
                       "numbers of documents");
    *weighed = counted;
    return BM_OK;
}

bm_status bm_job_weights_count(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    const uint64_t rows = bm_budget_rows(&job->budget);
    const bm_df_cfg cfg = {.memory = rows / 2, .table_memory = rows / 4, .temp_dir = s->temp_dir};
    bm_df_count *count = NULL;
    if (!bm_settings_weigh(s))
        return BM_OK;
    bm_job_context_stage(job, BM_STAGE_COUNT, "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_df_count_open(&cfg, &count, err));
    BM_TRY_OUT(count_documents(job, count, err));
    status = bm_df_count_end(count, &job->frequencies, err);
out:
    bm_df_count_close(count);
    bm_memory_trim();
    if (status != BM_OK)
        return status;
    const bm_df_facts *facts = bm_df_table_facts(job->frequencies);
    bm_job_context_take(job, bm_df_table_bytes(job->frequencies));
    bm_meter_log(&job->meter, BM_LOG_DEBUG,
                 "weights: %llu documents, %llu shingles, of which %llu stand in several; %llu MiB "
                 "of temporary files",
                 (unsigned long long)facts->n_docs, (unsigned long long)facts->n_shingles,
                 (unsigned long long)facts->n_listed,
                 (unsigned long long)((facts->file_bytes + ((1 << 20) - 1)) >> 20));
    return settle(job, facts, err);
}
