/* bench_api.c -- the public calls of bandmill/bench.h: options in, results out.
 *
 * Tests: tests/unit/bench/test_bench_run.c, tests/unit/jobs/test_public_api.c */
#include <bandmill/bench.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "model/scheme_facts.h"
#include "model/option_check.h"
#include "bench/bench_run.h"
#include "bench/kernel_tune.h"
#include "sketch/scheme.h"

static const bm_bench_options bench_defaults = {
    .sketch = {.perms = BM_PERMS_DEFAULT, .seed = 1},
    .text = {.normalize = BM_NORM_LOWER, .shingle_k = 5},
    .repeats = 5,
    .min_seconds = 0.2,
};

void bm_bench_options_init_sized(bm_bench_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &bench_defaults, sizeof bench_defaults);
}

bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result **out, bm_error *err)
{
    bm_bench_options used = bench_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_bench_options, callbacks), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used.text,
                                                    .sketch = &used.sketch,
                                                    .device = &used.device,
                                                    .callbacks = &used.callbacks},
                                 err));
    BM_TRY(bm_scheme_weights_check(&used.sketch, false, err));
    BM_TRY(bm_option_list_check("paths", used.paths, used.n_paths, err));
    BM_TRY(bm_option_threads_check(used.threads, err));
    BM_TRY(bm_option_number_check("min_seconds", used.min_seconds, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the result given");
    used.sketch.perms = used.sketch.perms != 0 ? used.sketch.perms : BM_PERMS_DEFAULT;
    bm_scheme_note_hashing(&used.sketch, &used.text);
    bm_bench_result *result = NULL;
    BM_TRY(bm_new_zero(&result, 1, err));
    bm_status status = bm_bench_figures(&used, result, err);
    if (status == BM_OK)
        *out = result;
    else
        bm_bench_result_free(result);
    return status;
}

size_t bm_bench_result_count(const bm_bench_result *result)
{
    return result != NULL ? result->n : 0;
}

const bm_bench_row *bm_bench_result_row(const bm_bench_result *result, size_t index)
{
    return result != NULL && index < result->n ? &result->rows[index] : NULL;
}

const char *bm_bench_result_json(const bm_bench_result *result)
{
    return result != NULL ? result->json : NULL;
}

void bm_bench_result_free(bm_bench_result *result)
{
    if (result == NULL)
        return;
    bm_free(result->rows);
    bm_free(result->json);
    bm_free(result);
}

static const bm_kernel_tune_options tune_defaults = {
    .sketch = {.perms = BM_PERMS_DEFAULT, .seed = 1},
    .repeats = 5,
    .min_seconds = 0.2,
};

void bm_kernel_tune_options_init_sized(bm_kernel_tune_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &tune_defaults, sizeof tune_defaults);
}

bm_status bm_kernel_tune(const bm_kernel_tune_options *options, char **csv, char **json,
                         bm_error *err)
{
    bm_kernel_tune_options used = tune_defaults;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_sized_take(options, BM_SIZED_TYPE(bm_kernel_tune_options, callbacks), &used, err));
    BM_TRY_OUT(bm_option_parts_check(&(bm_option_parts){.sketch = &used.sketch,
                                                        .device = &used.device,
                                                        .callbacks = &used.callbacks},
                                     err));
    BM_TRY_OUT(bm_scheme_weights_check(&used.sketch, false, err));
    status = bm_option_number_check("min_seconds", used.min_seconds, err);
out:
    used.sketch.perms = used.sketch.perms != 0 ? used.sketch.perms : BM_PERMS_DEFAULT;
    return status == BM_OK ? bm_kernel_tune_measure(&used, csv, json, err) : status;
}
