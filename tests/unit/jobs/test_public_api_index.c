/* bandmill/index.h: calls with options that are missing, too short, or with pointers missing. */
#include "tests/unit/jobs/public_api.h"

static void expect_field(bm_status status, const bm_error *err, const char *field)
{
    cr_expect_eq(status, BM_ERR_USAGE, "%s: %s", field, err->message);
    cr_expect_str_eq(err->field, field);
}

Test(public_api_index, a_call_without_options_is_refused)
{
    bm_summary *summary = NULL;
    cr_expect_eq(bm_job_index_build(NULL, &summary, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_job_index_add(NULL, &summary, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_job_index_remove(NULL, &summary, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_job_index_compact(NULL, &summary, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_job_index_check(NULL, NULL), BM_ERR_USAGE);
    cr_expect_null(summary);
}

Test(public_api_index, a_call_without_a_place_for_its_summary_is_refused)
{
    const char *const paths[] = {"/nonexistent/in.jsonl"};
    bm_index_build_options build;
    bm_error err = {0};
    bm_index_build_options_init(&build);
    build.input.paths = paths;
    build.input.n_paths = 1;
    expect_field(bm_job_index_build(&build, NULL, &err), &err, "out");
    expect_field(bm_job_index_add(NULL, NULL, &err), &err, "out");
    expect_field(bm_job_index_remove(NULL, NULL, &err), &err, "out");
    expect_field(bm_job_index_compact(NULL, NULL, &err), &err, "out");
}

Test(public_api_index, a_call_without_an_index_is_refused)
{
    const char *const paths[] = {"/nonexistent/in.jsonl"}, *const ids[] = {"a"};
    bm_index_build_options build;
    bm_index_add_options add;
    bm_index_remove_options remove;
    bm_index_check_options check;
    bm_index_compact_options compact;
    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_index_build_options_init(&build);
    bm_index_add_options_init(&add);
    bm_index_remove_options_init(&remove);
    bm_index_check_options_init(&check);
    bm_index_compact_options_init(&compact);
    build.input.paths = add.input.paths = paths;
    build.input.n_paths = add.input.n_paths = 1;
    remove.ids = ids;
    remove.n_ids = 1;
    expect_field(bm_job_index_build(&build, &summary, &err), &err, "path");
    expect_field(bm_job_index_add(&add, &summary, &err), &err, "path");
    expect_field(bm_job_index_remove(&remove, &summary, &err), &err, "path");
    expect_field(bm_job_index_check(&check, &err), &err, "path");
    expect_field(bm_job_index_compact(&compact, &summary, &err), &err, "path");
    char *json = NULL;
    expect_field(bm_index_info(NULL, &json, &err), &err, "path");
    expect_field(bm_index_info("/nonexistent", NULL, &err), &err, "json");
    cr_expect_null(summary);
    cr_expect_null(json);
}
