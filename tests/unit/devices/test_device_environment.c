#include <criterion/criterion.h>
#include <stdlib.h>

#include <bandmill/device.h>

#include "pipeline/devices/device_environment.h"

static const char *const names[] = {
    "BANDMILL_PROBE",    "BANDMILL_PROBE_SECONDS", "BANDMILL_DEVICE_SECONDS", "BANDMILL_TUNING",
    "BANDMILL_CL_SHAPE", "BANDMILL_CL_ROW",        "BANDMILL_CL_LIMIT",       "BANDMILL_CL_TEXT"};
enum { N_NAMES = sizeof names / sizeof names[0] };

static bm_device_settings read_all(const char *value)
{
    for (size_t i = 0; i < N_NAMES; i++)
        setenv(names[i], value, 1);
    return bm_device_settings_from_environment();
}

Test(device_environment, that_is_empty_leaves_all_as_usual)
{
    for (size_t i = 0; i < N_NAMES; i++)
        unsetenv(names[i]);
    const bm_device_settings s = bm_device_settings_from_environment();
    cr_expect_null(s.probe_program);
    cr_expect_null(s.tuning_path);
    cr_expect_null(s.kernel_family);
    cr_expect_null(s.kernel_params);
    cr_expect_eq(s.probe_seconds, 0);
    cr_expect_eq(s.call_seconds, 0);
    cr_expect_eq(s.buffer_limit_bytes, 0);
    cr_expect_eq(s.text_offload, BM_TEXT_AUTO);
}

Test(device_environment, is_read_name_by_name)
{
    const bm_device_settings s = read_all("7.5");
    cr_expect_str_eq(s.probe_program, "7.5");
    cr_expect_str_eq(s.tuning_path, "7.5");
    cr_expect_str_eq(s.kernel_family, "7.5");
    cr_expect_str_eq(s.kernel_params, "7.5");
    cr_expect_eq(s.probe_seconds, 7.5);
    cr_expect_eq(s.call_seconds, 7.5);
    cr_expect_eq(s.buffer_limit_bytes, 7);
    cr_expect_eq(read_all("-1").probe_seconds, 0);
    cr_expect_eq(read_all("x").call_seconds, 0);
}

Test(device_environment, settles_whether_texts_go_to_devices)
{
    static const struct {
        const char *set;
        bm_text_offload_wish wish;
    } rows[] = {{"on", BM_TEXT_ON},     {"off", BM_TEXT_OFF}, {"trial", BM_TEXT_TRIAL},
                {"auto", BM_TEXT_AUTO}, {"", BM_TEXT_AUTO},   {"yes", BM_TEXT_AUTO}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        cr_assert_eq(read_all(rows[i].set).text_offload, rows[i].wish, "%s", rows[i].set);
}

Test(device_environment, counts_the_devices_that_are_stuck)
{
    const bm_device_settings s = bm_device_settings_from_environment();
    cr_expect_eq(bm_devices_left_behind(), 0);
    ++*s.n_stuck;
    cr_expect_eq(bm_devices_left_behind(), 1);
}
