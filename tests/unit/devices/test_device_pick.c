/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "devices/device_set.h"

static bm_status pick_of(const char *words, const char *cpu, bm_device_pick *out, bm_error *err)
{
    const bm_device_options options = {.device = words, .cpu = cpu};
    return bm_device_pick_open(&options, NULL, out, err);
}

Test(device_pick, cpu_is_the_native_device_alone)
{
    bm_device_pick pick;
    cr_assert_eq(pick_of("cpu", NULL, &pick, NULL), BM_OK);
    cr_assert_eq(pick.n, 1);
    cr_assert_eq(pick.devices[0].kind, BM_DEVICE_NATIVE);
    cr_assert_not(pick.fallback);
    bm_device_pick_reset(&pick);
    cr_assert_eq(pick_of("CPU,cpu", "scalar", &pick, NULL), BM_OK);
    cr_assert_eq(pick.n, 1, "named twice, opened once");
    bm_device_pick_reset(&pick);
}

Test(device_pick, without_a_gpu_auto_is_the_cpu_and_says_why)
{
    bm_device_pick pick;
    setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
    static const char *const words[] = {"auto", "all", NULL};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(pick_of(words[i], NULL, &pick, NULL), BM_OK);
        cr_assert_eq(pick.n, 1);
        cr_assert_eq(pick.devices[0].kind, BM_DEVICE_NATIVE);
        cr_assert_eq(pick.fallback, i == 0);
        cr_assert_eq(pick.why[0] != '\0', i == 0, "nothing is the native CPU");
        bm_device_pick_reset(&pick);
    }
}

Test(device_pick, what_matches_nothing_is_a_device_error_that_names_the_word)
{
    static const char *const words[] = {"gpu", "opencl", "opencl:9.9", "no such thing", "cpu,gpu"};
    setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
    for (size_t i = 0; i < 5; i++) {
        bm_device_pick pick;
        bm_error err = {0};
        cr_assert_eq(pick_of(words[i], NULL, &pick, &err), BM_ERR_DEVICE, "%s", words[i]);
        cr_assert_not_null(strstr(err.message, i == 4 ? "gpu" : words[i]));
    }
}

Test(device_pick, an_empty_word_and_an_unknown_instruction_set_are_usage_errors)
{
    bm_device_pick pick;
    cr_assert_eq(pick_of("cpu,", NULL, &pick, NULL), BM_ERR_USAGE);
    cr_assert_eq(pick_of("cpu", "sse9", &pick, NULL), BM_ERR_USAGE);
}
