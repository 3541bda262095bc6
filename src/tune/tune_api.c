/* SPDX-License-Identifier: Apache-2.0 */
/* tune_api.c -- bm_tune, and the functions that read its result.
 *
 * Tests: tests/cli/cases/tune.sh, tests/cli/cases/tune_documents.sh,
 *        tests/unit/jobs/test_job_tune.c, tests/unit/tune/test_tune_api.c */
#include <bandmill/sketch.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "corpus/corpus.h"
#include "corpus/corpus_parts.h"
#include "job/job_context.h"
#include "lsh/band_plan.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "output/out_file.h"
#include "results/sign_dir.h"
#include "tune/pair_census.h"
#include "tune/tune_result.h"

/* === tune documents ===
 *
 * For each text setting, makes a census of the documents, and from it the forecasts.
 *
 *     inputs -> ingest -> corpus (sets in memory or in a file) -> census -> forecasts
 *
 * The documents are not signed, because similarities are exact, and the effect of banding is
 * computed from the curves of the plans. */

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
    const bm_status status = bm_settings_resolve(out, &parts, err);
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

/* Check the options before anything is read. BM_ERR_USAGE: the message names the field. */
static bm_status tune_documents_check(const bm_tune_options *o, bm_error *err)
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

/* --- a text setting --- */

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
    const bm_ingest_request request = {.sink = bm_corpus_sink(corpus),
                                       .early = bm_corpus_early(corpus),
                                       .reclaim = bm_corpus_reclaim,
                                       .reclaim_ctx = corpus};
    BM_TRY(bm_job_context_ingest(context, &request, err));
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
                ++copies[corpus->rep[row]]; /* the copy makes a pair with the first document,
                                             * and with each earlier copy */
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
    BM_TRY_OUT(bm_new_zero(&to->forecasts, result->n_plans, err));
    BM_TRY_OUT(read_corpus(&context, &corpus, err));
    status = forecast(&context, &corpus, result, to, err);
out:
    bm_job_context_stage(&context, NULL, NULL);
    bm_corpus_reset(&corpus);
    bm_job_context_close(&context);
    bm_settings_reset(&settings);
    return status;
}

/* Read the documents, once for each text setting, and set result->samples. result->plans must be
 * set. */
static bm_status tune_documents_read(const bm_tune_options *o, bm_tune_result *result,
                                     bm_error *err)
{
    BM_TRY(bm_new_zero(&result->samples, o->n_texts, err));
    result->n_samples = o->n_texts;
    for (size_t i = 0; i < o->n_texts; i++)
        BM_TRY(read_text(o, &o->texts[i], result, &result->samples[i], err));
    return BM_OK;
}

#define SAMPLE_DEFAULT 2000u

static const bm_text_options text_default = BM_TEXT_DEFAULTS;
BM_OPTIONS_INIT(tune, .bands = BM_BAND_DEFAULTS, .seed = 1, .input = BM_INPUT_DEFAULTS,
                .sample = SAMPLE_DEFAULT, .resources = BM_RESOURCE_DEFAULTS)

/* --- options --- */

static bm_plan_goal goal_of(const bm_tune_options *o)
{
    return (bm_plan_goal){.threshold = o->bands.threshold,
                          .recall = o->bands.recall,
                          .ceiling_similarity = o->ceiling_similarity,
                          .ceiling_probability = o->ceiling_probability,
                          .perms = o->perms};
}

static bool has_documents(const bm_tune_options *o)
{
    return bm_input_given(&o->input);
}

static bm_status check_options(bm_tune_options *o, bm_error *err)
{
    const uint32_t by_hand = o->bands.bands * o->bands.rows; /* cannot overflow, because both were
                                                              * checked */
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.bands = &o->bands,
                                                    .perms_max = BM_TUNE_PERMS_MAX,
                                                    .callbacks = &o->callbacks},
                                 err));
    if (o->perms == 0)
        o->perms = by_hand != 0 ? by_hand : BM_PERMS_DEFAULT;
    if (by_hand > o->perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need %u permutations (there are %u)",
                             o->bands.bands, o->bands.rows, by_hand, o->perms);
    const bm_plan_goal goal = goal_of(o);
    BM_TRY(bm_plan_goal_check(&goal, err));
    if (o->svg != NULL)
        BM_TRY(bm_out_file_check(o->svg, bm_out_existing_of(o->force), NULL, 0, err));
    if (!has_documents(o))
        return BM_OK;
    if (o->n_texts == 0) {
        o->texts = &text_default;
        o->n_texts = 1;
    }
    if (o->sample == 0)
        o->sample = SAMPLE_DEFAULT;
    return tune_documents_check(o, err);
}

/* --- plans --- */

static bm_tune_plan describe(const bm_tune_options *o, bm_band_shape shape)
{
    const uint32_t b = shape.bands, r = shape.rows;
    const double steepest = bm_band_steepest(b, r);
    return (bm_tune_plan){.bands = b,
                          .rows = r,
                          .used = b * r,
                          .unused = o->perms - b * r,
                          .recall = bm_band_probability(b, r, o->bands.threshold),
                          .at_ceiling = o->ceiling_similarity > 0
                                            ? bm_band_probability(b, r, o->ceiling_similarity)
                                            : NAN,
                          .steepest = steepest,
                          .steepest_about = bm_band_steepest_about(b, r),
                          .slope = bm_band_slope(b, r, steepest)};
}

static bm_status store_plans(const bm_tune_options *o, const bm_band_shape *shapes, size_t n,
                             bm_tune_result *result, bm_error *err)
{
    BM_TRY(bm_new(&result->plans, n, err));
    for (size_t i = 0; i < n; i++)
        result->plans[i] = describe(o, shapes[i]);
    result->n_plans = n;
    return BM_OK;
}

/* The index of the plan that dedup and pairs choose (bm_band_plan_choose): the plan with the most
 * rows. Of several plans with equally many rows, the one with the fewest bands is chosen. */
static size_t most_rows(const bm_tune_result *result)
{
    size_t best = 0;
    for (size_t i = 1; i < result->n_plans; i++) {
        const bm_tune_plan *plan = &result->plans[i], *than = &result->plans[best];
        if (plan->rows > than->rows || (plan->rows == than->rows && plan->bands < than->bands))
            best = i;
    }
    return best;
}

static bm_status make_plans(const bm_tune_options *o, bm_tune_result *result, bm_error *err)
{
    const bm_plan_goal goal = goal_of(o);
    const bm_band_shape by_hand = {o->bands.bands, o->bands.rows};
    bm_plan_list list = {0};
    if (by_hand.bands != 0)
        return store_plans(o, &by_hand, 1, result, err);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_plan_list_make(&goal, &list, err));
    BM_TRY_OUT(store_plans(o, list.shapes, list.n, result, err));
    if (!(o->ceiling_similarity > 0))
        result->chosen = most_rows(result); /* if there is a ceiling, the first plan is chosen */
out:
    bm_plan_list_reset(&list);
    return status;
}

/* --- the picture --- */

static bm_status write_picture(const bm_tune_options *o, const bm_tune_result *result,
                               bm_error *err)
{
    bm_buf text = {0};
    bm_out_file *file = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_tune_svg(&text, result, err));
    BM_TRY_OUT(bm_out_file_open(o->svg, bm_out_existing_of(o->force), &file, err));
    status = bm_out_file_write(file, text.data, text.len, err);
out:
    if (status == BM_OK)
        status = bm_out_file_close(file, err);
    else
        bm_out_file_abort(file);
    bm_buf_reset(&text);
    return status;
}

static bm_status make_result(const bm_tune_options *o, bm_tune_result *result, bm_error *err)
{
    BM_TRY(make_plans(o, result, err));
    if (has_documents(o))
        BM_TRY(tune_documents_read(o, result, err));
    BM_TRY(bm_tune_write_table(result, err));
    BM_TRY(bm_tune_write_json(result, err));
    if (o->svg != NULL)
        BM_TRY(write_picture(o, result, err));
    return BM_OK;
}

bm_status bm_tune(const bm_tune_options *options, bm_tune_result **out, bm_error *err)
{
    bm_tune_options used = tune_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_tune_options, callbacks), &used, err));
    BM_TRY(check_options(&used, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the result given");
    bm_tune_result *result = NULL;
    BM_TRY(bm_new_zero(&result, 1, err));
    result->bands = used.bands;
    result->ceiling_similarity = used.ceiling_similarity;
    result->ceiling_probability = used.ceiling_probability;
    result->perms = used.perms;
    bm_status status = make_result(&used, result, err);
    if (status == BM_OK)
        *out = result;
    else
        bm_tune_result_free(result);
    return status;
}

/* --- the result --- */

size_t bm_tune_result_count(const bm_tune_result *result)
{
    return result != NULL ? result->n_plans : 0;
}

const bm_tune_plan *bm_tune_result_plan(const bm_tune_result *result, size_t index)
{
    return result != NULL && index < result->n_plans ? &result->plans[index] : NULL;
}

size_t bm_tune_result_chosen(const bm_tune_result *result)
{
    return result != NULL ? result->chosen : 0;
}

size_t bm_tune_result_n_samples(const bm_tune_result *result)
{
    return result != NULL ? result->n_samples : 0;
}

const bm_tune_sample *bm_tune_result_sample(const bm_tune_result *result, size_t sample)
{
    return sample < bm_tune_result_n_samples(result) ? &result->samples[sample].sample : NULL;
}

const bm_tune_forecast *bm_tune_result_forecast(const bm_tune_result *result, size_t sample,
                                                size_t plan)
{
    if (sample >= bm_tune_result_n_samples(result) || plan >= result->n_plans)
        return NULL;
    return &result->samples[sample].forecasts[plan];
}

const char *bm_tune_result_table(const bm_tune_result *result)
{
    return result != NULL ? result->table : NULL;
}

const char *bm_tune_result_json(const bm_tune_result *result)
{
    return result != NULL ? result->json : NULL;
}

void bm_tune_result_free(bm_tune_result *result)
{
    if (result == NULL)
        return;
    for (size_t i = 0; i < result->n_samples; i++)
        bm_free(result->samples[i].forecasts);
    bm_free_all(result->samples, result->plans, result->table, result->json, result);
}
