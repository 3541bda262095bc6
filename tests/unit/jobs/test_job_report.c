/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include <bandmill/report.h>

static int take(void *ctx, const char *data, size_t len)
{
    (void)data;
    *(size_t *)ctx += len;
    return 0;
}

Test(job_report, defaults_are_those_of_the_contract)
{
    bm_report_options options;
    bm_report_options_init(&options);
    cr_expect_eq(options.struct_size, sizeof options);
    cr_expect_eq(options.groups, 20u);
    cr_expect_eq(options.pairs, 20u);
    cr_expect_eq(options.text_bytes, 2000u);
    cr_expect_eq(options.form, BM_REPORT_HTML);
}

Test(job_report, options_that_are_wrong_are_refused)
{
    size_t taken = 0;
    bm_error err = {0};
    bm_report_options options;
    bm_report_options_init(&options);
    cr_expect_eq(bm_report(NULL, NULL, &err), BM_ERR_USAGE);
    cr_expect_eq(bm_report(&options, NULL, &err), BM_ERR_USAGE);
    options.path = "/nowhere/at/all";
    cr_expect_eq(bm_report(&options, NULL, &err), BM_ERR_USAGE); /* nowhere to write */
    options.write = take;
    options.write_ctx = &taken;
    options.form = (bm_report_form)7;
    cr_expect_eq(bm_report(&options, NULL, &err), BM_ERR_USAGE);
    options.form = BM_REPORT_JSON;
    options.pairs = UINT32_MAX;
    cr_expect_eq(bm_report(&options, NULL, &err), BM_ERR_USAGE);
    options.pairs = 1;
    bm_report_result result = {.struct_size = 1};
    cr_expect_eq(bm_report(&options, &result, &err), BM_ERR_USAGE);
    cr_expect_neq(bm_report(&options, NULL, &err), BM_OK); /* no such directory */
    cr_expect_eq(taken, 0u);
}
