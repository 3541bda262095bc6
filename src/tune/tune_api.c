/* tune_api.c -- the public calls of bandmill/tune.h: options in, plans out.
 *
 * Tests: tests/unit/tune/test_tune_api.c, tests/cli/cases/tune.sh */
#include <bandmill/sketch.h>

#include <math.h>

#include "base/error.h"
#include "base/sized_struct.h"
#include "output/out_file.h"
#include "lsh/plan_list.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "tune/tune_documents.h"

#define SAMPLE_DEFAULT 2000u

static const bm_tune_options tune_defaults = {.bands = BM_BAND_DEFAULTS,
                                              .seed = 1,
                                              .input = BM_INPUT_DEFAULTS,
                                              .sample = SAMPLE_DEFAULT,
                                              .resources = BM_RESOURCE_DEFAULTS};
static const bm_text_options text_default = BM_TEXT_DEFAULTS;

void bm_tune_options_init_sized(bm_tune_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &tune_defaults, sizeof tune_defaults);
}

/* --- options --- */

static bm_plan_wish wish_of(const bm_tune_options *o)
{
    return (bm_plan_wish){.threshold = o->bands.threshold,
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
    const uint32_t by_hand = o->bands.bands * o->bands.rows; /* checked: no overflow */
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
    const bm_plan_wish wish = wish_of(o);
    BM_TRY(bm_plan_wish_check(&wish, err));
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
    return bm_tune_documents_check(o, err);
}

/* --- plans --- */

static bm_tune_plan describe(const bm_tune_options *o, bm_band_shape shape)
{
    const uint32_t b = shape.bands, r = shape.rows;
    const double steepest = bm_band_steepest(b, r);
    return (bm_tune_plan){.bands = b,
                          .rows = r,
                          .words = b * r,
                          .unused = o->perms - b * r,
                          .recall = bm_band_probability(b, r, o->bands.threshold),
                          .at_ceiling = o->ceiling_similarity > 0
                                            ? bm_band_probability(b, r, o->ceiling_similarity)
                                            : NAN,
                          .steepest = steepest,
                          .steepest_about = bm_band_steepest_about(b, r),
                          .slope = bm_band_slope(b, r, steepest)};
}

static bm_status take_plans(const bm_tune_options *o, const bm_band_shape *shapes, size_t n,
                            bm_tune_result *result, bm_error *err)
{
    BM_TRY(bm_new(&result->plans, n, err));
    for (size_t i = 0; i < n; i++)
        result->plans[i] = describe(o, shapes[i]);
    result->n_plans = n;
    return BM_OK;
}

/* The plan that dedup and pairs choose (bm_band_plan_choose): of those with the most rows the least bands. */
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
    const bm_plan_wish wish = wish_of(o);
    const bm_band_shape by_hand = {o->bands.bands, o->bands.rows};
    bm_plan_list list = {0};
    if (by_hand.bands != 0)
        return take_plans(o, &by_hand, 1, result, err);
    bm_status status = bm_plan_list_make(&wish, &list, err);
    if (status == BM_OK)
        status = take_plans(o, list.shapes, list.n, result, err);
    bm_plan_list_reset(&list);
    if (status == BM_OK && !(o->ceiling_similarity > 0))
        result->chosen = most_rows(result); /* else the first */
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
        BM_TRY(bm_tune_documents_read(o, result, err));
    BM_TRY(bm_tune_write_table(result, err));
    BM_TRY(bm_tune_write_json(result, err));
    if (o->svg != NULL)
        BM_TRY(write_picture(o, result, err));
    return BM_OK;
}

bm_status bm_tune(const bm_tune_options *options, bm_tune_result **out, bm_error *err)
{
    bm_tune_options used = tune_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_tune_options, callbacks), &used, err));
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
    bm_free(result->samples);
    bm_free(result->plans);
    bm_free(result->table);
    bm_free(result->json);
    bm_free(result);
}
