/* recipe_ingest.c -- a set of inputs beside that of the job, for as long as it is read.
 *
 * Tests: tests/cli/cases/against_exact.sh */
#include "job/recipe_ingest.h"

#include "base/error.h"
#include "input/input_set_open.h"
#include "sources/batch_sources.h"

/* The meter of the job, but for what is said of records that were skipped, which was said before. */
static void open_quiet(bm_meter *meter, const bm_job_context *job)
{
    bm_callbacks callbacks = job->callbacks;
    callbacks.log = NULL;
    bm_meter_init(meter, &callbacks);
}

static bm_status ingest(bm_batch_source *source, const bm_settings *read, bm_job_context *job,
                        const bm_ingest_wish *wish, bm_error *err)
{
    bm_counts counts = {0};
    bm_meter meter;
    open_quiet(&meter, job);
    const bm_ingest_cfg cfg = {.input = &read->input,
                               .text = &read->text,
                               .cpu = job->settings->device.cpu,
                               .threads = job->settings->threads,
                               .budget = &job->budget,
                               .batch_docs = job->settings->resources.batch_docs,
                               .source = source,
                               .meter = &meter,
                               .counts = &counts,
                               .sink = wish->sink,
                               .sink_ctx = wish->sink_ctx,
                               .put = wish->put,
                               .room = {wish->room, wish->room_ctx}};
    const bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_reset(&meter);
    return status;
}

bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_wish *wish, bm_error *err)
{
    bm_input_options input = read->input;
    bm_input_set *set = NULL;
    bm_batch_source *source = NULL;
    input.paths = (const char *const *)recipe->paths;
    input.n_paths = recipe->n_inputs;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_set_open_watched(&input, NULL, &job->callbacks, &set, err));
    BM_TRY_OUT(bm_job_context_windows(job, set, err));
    bm_input_set_rename(set, recipe->names, read->recorded.offsets_name);
    BM_TRY_OUT(bm_batch_source_open(set, &source, err));
    status = ingest(source, read, job, wish, err);
out:
    status = status == BM_OK ? bm_recipe_check_inputs(recipe, set, err)
                             : bm_recipe_blame(recipe, set, &job->callbacks, status, err);
    bm_batch_source_close(source);
    bm_input_set_close(set);
    return status;
}
