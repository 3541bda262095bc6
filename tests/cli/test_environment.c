/* SPDX-License-Identifier: Apache-2.0 */
/* test_environment.c -- how the BANDMILL_* variables change the options that are passed to the
 * library. */
#include <stdio.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "cli/environment.h"

static const char *const names[] = {
    "BANDMILL_DEVICE",         "BANDMILL_CPU",      "BANDMILL_CACHE_DIR",
    "BANDMILL_TUNING",         "BANDMILL_PROBE",    "BANDMILL_PROBE_SECONDS",
    "BANDMILL_DEVICE_SECONDS", "BANDMILL_CL_SHAPE", "BANDMILL_CL_ROW",
    "BANDMILL_CL_LIMIT",       "BANDMILL_CL_TEXT",  "BANDMILL_SEAL_SECONDS"};
enum { N = sizeof names / sizeof names[0] };

/* Unsets the variables; called first in each test, which runs in its own process. */
static void forget(void)
{
    for (size_t i = 0; i < N; i++)
        unsetenv(names[i]);
}

static bm_device_options read_device(void)
{
    bm_device_options options = {.device = "as it was"};
    cli_environment_device(&options);
    return options;
}

Test(environment, without_variables_options_stay)
{
    forget();
    const bm_device_options options = read_device();
    cr_assert_str_eq(options.device, "as it was");
    cr_assert(options.cpu == NULL && options.cache_dir == NULL && options.tuning_path == NULL &&
              options.probe_program == NULL && options.kernel_family == NULL &&
              options.kernel_params == NULL);
    cr_assert(options.probe_seconds <= 0 && options.call_seconds <= 0);
    cr_assert_eq(options.buffer_limit_bytes, 0);
    cr_assert_eq(options.text_offload, BM_OFFLOAD_AUTO);
}

Test(environment, each_variable_fills_its_field)
{
    forget();
    static const char *const values[N] = {"gpu", "avx2", "/c",  "/t.csv", "/p",   "2.5",
                                          "30",  "cpu",  "row", "4096",   "trial"};
    for (size_t i = 0; i < N; i++)
        if (values[i] != NULL)
            setenv(names[i], values[i], 1);
    const bm_device_options options = read_device();
    cr_assert_str_eq(options.device, "gpu");
    cr_assert_str_eq(options.cpu, "avx2");
    cr_assert_str_eq(options.cache_dir, "/c");
    cr_assert_str_eq(options.tuning_path, "/t.csv");
    cr_assert_str_eq(options.probe_program, "/p");
    cr_assert_float_eq(options.probe_seconds, 2.5, 0);
    cr_assert_float_eq(options.call_seconds, 30, 0);
    cr_assert_str_eq(options.kernel_family, "cpu");
    cr_assert_str_eq(options.kernel_params, "row");
    cr_assert_eq(options.buffer_limit_bytes, 4096);
    cr_assert_eq(options.text_offload, BM_OFFLOAD_TRIAL);
}

Test(environment, an_empty_one_is_not_set_but_the_probe_and_what_chooses_kernels)
{
    forget();
    for (size_t i = 0; i < N; i++)
        setenv(names[i], "", 1);
    const bm_device_options options = read_device();
    cr_assert_str_eq(options.device, "as it was");
    cr_assert(options.cpu == NULL && options.cache_dir == NULL && options.tuning_path == NULL);
    cr_assert_str_eq(options.probe_program, "", "no probe");
    cr_assert_str_eq(options.kernel_family, "");
    cr_assert_str_eq(options.kernel_params, "");
    cr_assert(options.probe_seconds <= 0 && options.call_seconds <= 0);
    cr_assert_eq(options.buffer_limit_bytes, 0);
    cr_assert_eq(options.text_offload, BM_OFFLOAD_AUTO);
}

Test(environment, numbers_and_words_that_say_nothing_count_as_not_set)
{
    forget();
    static const char *const seconds[] = {"0", "-1", "soon", "nan"};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        setenv("BANDMILL_PROBE_SECONDS", seconds[i], 1);
        setenv("BANDMILL_DEVICE_SECONDS", seconds[i], 1);
        const bm_device_options options = read_device();
        cr_assert(options.probe_seconds <= 0 && options.call_seconds <= 0, "%s", seconds[i]);
    }
    setenv("BANDMILL_DEVICE_SECONDS", "7s", 1);
    cr_assert_float_eq(read_device().call_seconds, 7, 0);
    setenv("BANDMILL_CL_TEXT", "ON", 1);
    setenv("BANDMILL_CL_LIMIT", "much", 1);
    cr_assert_eq(read_device().text_offload, BM_OFFLOAD_AUTO);
    cr_assert_eq(read_device().buffer_limit_bytes, 0);
}

static bm_status read_seconds(const char *value, double *out, bm_error *err)
{
    bm_resource_options options = {.checkpoint_seconds = -1};
    setenv("BANDMILL_SEAL_SECONDS", value, 1);
    bm_status status = cli_environment_resources(&options, err);
    *out = options.checkpoint_seconds;
    return status;
}

Test(environment, seconds_between_checkpoints_are_a_number_or_an_error)
{
    forget();
    double seconds;
    bm_error err;
    cr_assert_eq(read_seconds("", &seconds, &err), BM_OK);
    cr_assert_float_eq(seconds, -1, 0);
    cr_assert_eq(read_seconds("0", &seconds, &err), BM_OK);
    cr_assert_float_eq(seconds, 0, 0);
    cr_assert_eq(read_seconds("0.25", &seconds, &err), BM_OK);
    cr_assert_float_eq(seconds, 0.25, 0);
    static const char *const bad[] = {"soon", "5s", "-1", "nan"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "BANDMILL_SEAL_SECONDS is '%s' (a number of seconds)",
                 bad[i]);
        cr_assert_eq(read_seconds(bad[i], &seconds, &err), BM_ERR_USAGE, "%s", bad[i]);
        cr_assert_str_eq(err.message, expected);
        cr_assert_float_eq(seconds, -1, 0, "the option stays");
    }
}
