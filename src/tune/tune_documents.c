/* tune_documents.c -- documents to a census, a census to forecasts; once for each text.
 *
 *     inputs -> ingest -> corpus (sets in memory or in a file) -> census -> forecasts
 *
 * Nothing is signed: similarities are exact, and what banding would do with them is computed.
 *
 * Tests: tests/unit/jobs/test_job_tune.c, tests/cli/cases/tune_documents.sh */
#include "tune/tune_documents.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/sign_dir.h"
#include "model/option_check.h"
#include "model/option_names.h"
#include "job/job_context.h"
#include "job/job_stages.h"
#include "corpus/corpus.h"
#include "corpus/corpus_room.h"
#include "tune/pair_census.h"
#include "tune/plan_forecast.h"

_Static_assert(BM_TUNE_BINS == BM_HISTOGRAM_BINS, "one histogram");

/* --- options --- */

static bm_status settings_of(const bm_tune_options *o, const bm_text_options *text,
                             bm_settings *out, bm_error *err)
{
    *out = (bm_settings){
        .kind = BM_JOB_TUNE,
        .input = o->input,
        .text = *text,
        .sketch = {.seed = o->seed},
        .bands = {.threshold = o->bands.threshold, .recall = o->bands.recall},
        .pairs = {.candidates = BM_CANDIDATES_ALL, .verify = BM_VERIFY_EXACT, .sample = o->sample},
        .results = {.histogram_svg = o->svg},
        .device = o->device,
        .resources = o->resources,
        .output = {.force = o->force},
        .callbacks = o->callbacks};
    const bm_option_parts parts = bm_settings_parts(out);
    const bm_status status = bm_settings_settle(out, &parts, err);
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

static bool reads_stdin(const bm_input_options *input)
{
    bool reads = input->files_from != NULL && strcmp(input->files_from, "-") == 0;
    for (size_t i = 0; i < input->n_paths; i++)
        reads = reads || strcmp(input->paths[i], "-") == 0;
    return reads;
}

bm_status bm_tune_documents_check(const bm_tune_options *o, bm_error *err)
{
    bm_settings settings;
    if (o->n_texts > 0 && o->texts == NULL)
        return bm_fail_field(err, "texts", "`texts` is NULL and has %zu entries", o->n_texts);
    if (o->sample == 1 || o->sample > BM_DOCS_MAX)
        return bm_fail_field(err, "sample", "`sample` of %llu documents (2 to %u)",
                             (unsigned long long)o->sample, BM_DOCS_MAX);
    for (size_t i = 0; i < o->n_texts; i++) {
        BM_TRY(settings_of(o, &o->texts[i], &settings, err));
        bm_settings_reset(&settings);
    }
    if (o->n_texts > 1 && reads_stdin(&o->input))
        return bm_fail_field(err, "texts",
                             "standard input can be read once only (one text, or files)");
    return bm_sign_dir_refuse(o->input.paths, o->input.n_paths, 0, err);
}

/* --- one text --- */

static bm_corpus_cfg corpus_cfg(const bm_job_context *context)
{
    const bm_settings *s = context->settings;
    return (bm_corpus_cfg){.hashes = true,
                           .find_identical = true,
                           .memory = s->memory,
                           .docs = &context->docs,
                           .temp_dir = s->temp_dir,
                           .budget = context->budget,
                           .input_bytes = bm_input_set_total_bytes(context->inputs.set)};
}

static bm_status read_corpus(bm_job_context *context, bm_corpus *corpus, bm_error *err)
{
    BM_TRY(bm_job_context_inputs(context, err));
    const bm_corpus_cfg cfg = corpus_cfg(context);
    bm_corpus_init(corpus, &cfg);
    bm_job_context_plan(context, BM_START_DOCUMENTS);
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    const bm_ingest_wish wish = {.sink = bm_corpus_sink,
                                 .sink_ctx = corpus,
                                 .put = {bm_corpus_put, bm_corpus_moves, corpus},
                                 .room = bm_corpus_room,
                                 .room_ctx = corpus};
    BM_TRY(bm_job_context_ingest(context, &wish, err));
    bm_doc_table_end_adding(&context->docs);
    return bm_corpus_end_adding(corpus, err);
}

static bm_status count_documents(const bm_corpus *corpus, bm_tune_sample *to, bm_error *err)
{
    uint32_t *copies = NULL;
    BM_TRY(bm_new_zero(&copies, corpus->n, err));
    to->documents = corpus->n;
    for (size_t row = 0; row < corpus->n; row++) {
        if (corpus->sizes[row] == 0)
            to->empty++;
        else if (corpus->rep[row] != row) {
            to->identical++;
            to->identical_pairs +=
                ++copies[corpus->rep[row]]; /* with the first and the earlier ones */
        }
    }
    bm_free(copies);
    return BM_OK;
}

static bm_status forecast(bm_job_context *context, bm_corpus *corpus, const bm_tune_result *plans,
                          bm_tune_documents *to, bm_error *err)
{
    const bm_tune_plan *chosen = &plans->plans[plans->chosen];
    const bm_band_plan plan = {.bands = chosen->bands, .rows = chosen->rows};
    const bm_census_job job = {
        .trial = {&plan, context->settings->sketch.seed, context->settings->device.cpu},
        .corpus = corpus,
        .pool = context->pool,
        .meter = &context->meter,
        .wanted = (size_t)context->settings->pairs.sample,
        .seed = context->settings->sketch.seed,
        .threshold = context->settings->bands.threshold};
    bm_pair_census census = {0};
    bm_job_context_stage(context, BM_STAGE_COMPARE, "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(count_documents(corpus, &to->sample, err));
    BM_TRY_OUT(bm_pair_census_make(&job, &census, err));
    status = bm_plan_forecast(&census, plans, to, context->pool, err);
out:
    to->sample.distinct = census.n_docs;
    to->sample.sampled = census.n;
    bm_pair_census_reset(&census);
    return status;
}

static bm_status read_text(const bm_tune_options *o, const bm_text_options *text,
                           bm_tune_result *result, bm_tune_documents *to, bm_error *err)
{
    bm_settings settings;
    bm_job_context context;
    bm_corpus corpus = {0};
    BM_TRY(settings_of(o, text, &settings, err));
    bm_status status = bm_job_context_open(&settings, &context, err);
    if (status != BM_OK) {
        bm_settings_reset(&settings);
        return status;
    }
    to->sample.sample_pairs = to->sample_pairs;
    to->sample.pairs = to->pairs;
    to->sample.pairs_error = to->pairs_error;
    bm_shingle_words(text, to->sample.shingle, sizeof to->sample.shingle);
    to->forecasts = bm_alloc_zero(result->n_plans, sizeof *to->forecasts);
    if (to->forecasts == NULL)
        status = bm_fail_nomem(err, result->n_plans * sizeof *to->forecasts);
    if (status == BM_OK)
        status = read_corpus(&context, &corpus, err);
    if (status == BM_OK)
        status = forecast(&context, &corpus, result, to, err);
    bm_job_context_stage(&context, NULL, NULL);
    bm_corpus_reset(&corpus);
    bm_job_context_close(&context);
    bm_settings_reset(&settings);
    return status;
}

bm_status bm_tune_documents_read(const bm_tune_options *o, bm_tune_result *result, bm_error *err)
{
    BM_TRY(bm_new_zero(&result->samples, o->n_texts, err));
    result->n_samples = o->n_texts;
    for (size_t i = 0; i < o->n_texts; i++)
        BM_TRY(read_text(o, &o->texts[i], result, &result->samples[i], err));
    return BM_OK;
}
