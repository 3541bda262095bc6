/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/report.h and signed.h: options that are too short or too long, have invalid values or
 * lack pointers. */
#include "tests/unit/jobs/public_api.h"

API_INIT(report, bm_report_options)

static void fill_report(void *options)
{
    bm_report_options *o = options;
    o->path = "/nonexistent/deduplicated";
    o->output.path = "/nonexistent/page.html";
}

static bm_status call_report(const void *options, bm_error *err)
{
    bm_report_result result = {.struct_size = sizeof result};
    const bm_status status = bm_report(options, &result, err);
    cr_expect_eq(result.bytes, 0);
    return status;
}

static const api_field report_enums[] = {ENUM(bm_report_options, form, BM_REPORT_JSON, "form")};
static const api_field report_reserved[] = {
    RESERVED(bm_report_options, resources.reserved, "resources"),
    RESERVED(bm_report_options, output.reserved, "output"),
    RESERVED(bm_report_options, callbacks.reserved, "callbacks")};
static const api_mistake report_mistakes[] = {
    {"path", {SET(bm_report_options, path, NULL)}},
    {"write", {SET(bm_report_options, output.path, NULL)}},
    {"groups", {SET(bm_report_options, groups, UINT32_MAX)}},
    {"pairs", {SET(bm_report_options, pairs, UINT32_MAX)}},
    {"sample", {SET(bm_report_options, sample, UINT32_MAX)}},
    {"threads", {SET(bm_report_options, resources.threads, BM_THREADS_MAX + 1)}}};

Test(public_api_report, report_checks_its_options)
{
    API_CHECK(report, bm_report_options, offsetof(bm_report_options, sample), BM_ERR_IO);
}

/* bm_sign_table signs a table in memory: which options of bm_job_sign it refuses, and how the
 * functions of its result treat NULL. test_signed.c compares how other options are checked. */
Test(public_api_signed, what_takes_a_job_is_told_apart_from_mistakes)
{
    static const char *const paths[] = {"/nonexistent/in.jsonl"};
    bm_sign_options options;
    bm_sign_options_init(&options);
    options.input.paths = paths;
    options.input.n_paths = 1;
    bm_signed *made = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_sign_table(&options, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_sign_table(NULL, &made, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "bm_sign_options");
    cr_expect_eq(bm_sign_table(&options, &made, &err), BM_ERR_UNSUPPORTED, "%s", err.message);
    options.output.path = "/nonexistent/output";
    cr_expect_eq(bm_sign_table(&options, &made, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "output");
    cr_expect_null(made);
    cr_expect_null(bm_signed_data(NULL));
    cr_expect_null(bm_signed_json(NULL));
    bm_signed_free(NULL);

    char *ids = NULL;
    bm_summary *summary = NULL;
    cr_expect_eq(bm_signed_ids(NULL, &ids, &err), BM_ERR_USAGE);
    cr_expect_eq(bm_signed_save(NULL, &options.output, &summary, &err), BM_ERR_USAGE);
}
