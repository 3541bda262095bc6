/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/cluster.h, explain.h, device.h and tune.h: every call with options that are too short or
 * too long, have invalid values or lack pointers. */
#include "tests/unit/jobs/public_api.h"
#include "tests/world/scratch.h"
#include "tests/world/world_text.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* --- cluster --- */

API_INIT(cluster, bm_cluster_options)

static void fill_cluster(void *options)
{
    bm_cluster_options *o = options;
    o->path = "/nonexistent/pairs.tsv";
    o->write = world_write_nothing;
}

static bm_status call_cluster(const void *options, bm_error *err)
{
    return bm_cluster_pairs((const bm_cluster_options *)options, NULL, err);
}

static const double over[] = {0.5, 1.5}, none[] = {NAN};
static const api_field cluster_enums[] = {
    ENUM(bm_cluster_options, cluster, BM_CLUSTER_STAR, "cluster"),
    ENUM(bm_cluster_options, keep, BM_KEEP_NONE, "keep")};
static const api_field cluster_reserved[] = {
    RESERVED(bm_cluster_options, output.reserved, "output"),
    RESERVED(bm_cluster_options, callbacks.reserved, "callbacks")};
static const api_mistake cluster_mistakes[] = {
    {"path", {SET(bm_cluster_options, path, NULL)}},
    {"thresholds", {SET(bm_cluster_options, n_thresholds, 2)}},
    {"thresholds",
     {SET(bm_cluster_options, thresholds, over), SET(bm_cluster_options, n_thresholds, 2)}},
    {"thresholds",
     {SET(bm_cluster_options, thresholds, none), SET(bm_cluster_options, n_thresholds, 1)}},
    {"keep", {SET(bm_cluster_options, keep, BM_KEEP_LONGEST)}},
    {"keep", {SET(bm_cluster_options, keep, BM_KEEP_SHORTEST)}},
    {"write", {SET(bm_cluster_options, write, NULL)}}};

Test(public_api_calls, cluster_checks_its_options)
{
    API_CHECK(cluster, bm_cluster_options, 184, BM_ERR_IO);
}

/* --- explain --- */

API_INIT(explain, bm_explain_options)

static void fill_explain(void *options)
{
    bm_explain_options *o = options;
    o->path = "/nonexistent/dedup";
    o->group = 1;
    o->write = world_write_nothing;
}

static bm_status call_explain(const void *options, bm_error *err)
{
    return bm_explain((const bm_explain_options *)options, NULL, err);
}

static const api_field explain_enums[] = {
    ENUM(bm_explain_options, form, BM_EXPLAIN_DOT, "form"),
    ENUM(bm_explain_options, device.text_offload, BM_OFFLOAD_ON, "text_offload")};
static const api_field explain_reserved[] = {
    DEVICE_RESERVED(bm_explain_options),
    RESERVED(bm_explain_options, resources.reserved, "resources"),
    RESERVED(bm_explain_options, output.reserved, "output"),
    RESERVED(bm_explain_options, callbacks.reserved, "callbacks")};
static const api_mistake explain_mistakes[] = {
    {"path", {SET(bm_explain_options, path, NULL)}},
    {"write", {SET(bm_explain_options, write, NULL)}},
    {"threads", {SET(bm_explain_options, resources.threads, BM_THREADS_MAX + 1)}}};

Test(public_api_calls, explain_checks_its_options)
{
    API_CHECK(explain, bm_explain_options, 416, BM_ERR_IO);
}

/* Refused: neither documents nor a group, the second document alone, and documents with a group. */
Test(public_api_calls, explain_is_asked_for_two_documents_or_a_group)
{
    static const struct {
        const char *a, *b;
        uint64_t group;
    } wrong[] = {{NULL, NULL, 0}, {NULL, "b", 0}, {"a", NULL, 1}, {"a", "b", 1}};
    for (size_t i = 0; i < N_OF(wrong); i++) {
        bm_explain_options o;
        bm_error err = {0};
        bm_explain_options_init(&o);
        fill_explain(&o);
        o.id_a = wrong[i].a;
        o.id_b = wrong[i].b;
        o.group = wrong[i].group;
        cr_expect_eq(bm_explain(&o, NULL, &err), BM_ERR_USAGE, "%zu", i);
        cr_expect_neq(err.message[0], '\0');
    }
}

/* A summary struct without a size is refused before anything is read or written. */
Test(public_api_calls, a_summary_that_was_not_initialised_is_refused_before_the_work)
{
    SCRATCH s = scratch_open();
    const char *path = scratch_put_text(&s, "pairs", "id_a\tid_b\tjaccard\na\tb\t1\n"),
               *output = scratch_at(&s, "out");
    bm_cluster_options cluster;
    bm_cluster_summary pairs = {0};
    bm_error err = {0};
    bm_cluster_options_init(&cluster);
    cluster.path = path;
    cluster.output.path = output;
    for (size_t size = 0; size < sizeof pairs; size += 8) {
        pairs.struct_size = size;
        cr_expect_eq(bm_cluster_pairs(&cluster, &pairs, &err), BM_ERR_USAGE);
        cr_expect_str_eq(err.field, "struct_size");
        cr_expect_eq(pairs.pairs, 0);
        cr_assert_neq(access(output, F_OK), 0, "something was written");
    }
    pairs.struct_size = sizeof pairs;
    cr_expect_eq(bm_cluster_pairs(&cluster, &pairs, &err), BM_OK, "%s", err.message);
    cr_expect_eq(pairs.pairs, 1);
    bm_explain_options explain;
    bm_explain_summary answer = {0};
    bm_explain_options_init(&explain);
    fill_explain(&explain); /* its directory does not exist, which is noticed later */
    cr_expect_eq(bm_explain(&explain, &answer, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "struct_size");
    answer.struct_size = sizeof answer;
    cr_expect_eq(bm_explain(&explain, &answer, &err), BM_ERR_IO);
}

/* --- devices --- */

API_INIT(self_test, bm_self_test_options)

static void fill_self_test(void *options)
{
    ((bm_self_test_options *)options)->device.device = "no such device";
}

static bm_status call_self_test(const void *options, bm_error *err)
{
    return bm_device_self_test((const bm_self_test_options *)options, NULL, err);
}

static const api_field self_test_enums[] = {DEVICE_ENUMS(bm_self_test_options)};
static const api_field self_test_reserved[] = {DEVICE_RESERVED(bm_self_test_options)};

Test(public_api_calls, the_self_test_checks_its_options)
{
    api_check(&(const api_call){API_CALL(self_test, bm_self_test_options, 176, BM_ERR_DEVICE),
                                API_TABLE(self_test, enums), API_TABLE(self_test, reserved)});
}

Test(public_api_calls, a_list_of_devices_ends_and_may_be_none)
{
    bm_device_list *list = NULL;
    bm_error err = {0};
    setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
    cr_expect_eq(bm_device_list_open(NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_device_list_open(NULL, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_device_list_open(&list, NULL), BM_OK);
    const size_t n = bm_device_list_count(list);
    cr_assert_geq(n, 1);
    cr_expect_eq(bm_device_list_at(list, 0)->kind, BM_DEVICE_NATIVE);
    cr_expect_null(bm_device_list_at(list, n));
    cr_expect_null(bm_device_list_at(list, SIZE_MAX));
    cr_expect_not_null(bm_device_list_note(list));
    bm_device_list_close(list);
    cr_expect_eq(bm_device_list_count(NULL), 0);
    cr_expect_null(bm_device_list_at(NULL, 0));
    cr_expect_str_eq(bm_device_list_note(NULL), "");
    cr_expect_not(bm_device_list_broken(NULL));
    bm_device_list_close(NULL);
}

API_INIT(list, bm_device_list_options)

static void fill_list(void *options)
{
    (void)options;
    setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
}

static bm_status call_list(const void *options, bm_error *err)
{
    bm_device_list *list = NULL;
    bm_status status = bm_device_list_open_with(options, &list, err);
    cr_expect_not(status == BM_OK && bm_device_list_broken(list), "no driver is none that broke");
    bm_device_list_close(list);
    return status;
}

static const api_field list_enums[] = {DEVICE_ENUMS(bm_device_list_options)};
static const api_field list_reserved[] = {DEVICE_RESERVED(bm_device_list_options)};

Test(public_api_calls, a_list_of_devices_checks_its_options)
{
    api_check(&(const api_call){
        API_CALL(list, bm_device_list_options, sizeof(bm_device_list_options), BM_OK),
        API_TABLE(list, enums), API_TABLE(list, reserved)});
}

/* --- tune --- */

API_INIT(plans, bm_tune_options)

static void fill_plans(void *options)
{
    (void)options;
}

static bm_status call_plans(const void *options, bm_error *err)
{
    bm_tune_result *result = NULL;
    bm_status status = bm_tune((const bm_tune_options *)options, &result, err);
    cr_expect_eq(bm_tune_result_count(result) > 0, status == BM_OK);
    bm_tune_result_free(result);
    return status;
}

static const api_field plan_reserved[] = {
    RESERVED(bm_tune_options, bands.reserved, "bands"),
    RESERVED(bm_tune_options, callbacks.reserved, "callbacks")};
static const api_mistake plan_mistakes[] = {
    {"threshold", {SET(bm_tune_options, bands.threshold, 1.5)}},
    {"recall", {SET(bm_tune_options, bands.recall, 1)}},
    {"bands", {SET(bm_tune_options, bands.bands, 7)}},
    {"rows", {SET(bm_tune_options, bands.rows, 7)}},
    {"perms", {SET(bm_tune_options, perms, BM_TUNE_PERMS_MAX + 1)}},
    {"ceiling_similarity", {SET(bm_tune_options, ceiling_probability, 0.5)}},
    {"ceiling_probability", {SET(bm_tune_options, ceiling_similarity, 0.5)}}};

Test(public_api_calls, tune_checks_its_options)
{
    const api_call call = {.type = "bm_tune_options",
                           .size = sizeof(bm_tune_options),
                           .least = sizeof(bm_tune_options),
                           .init = init_plans,
                           .fill = fill_plans,
                           .passes = BM_OK,
                           .call = call_plans,
                           .reserved = plan_reserved,
                           .n_reserved = N_OF(plan_reserved),
                           .mistakes = plan_mistakes,
                           .n_mistakes = N_OF(plan_mistakes)};
    bm_tune_options options;
    bm_error err = {0};
    api_check(&call);
    bm_tune_options_init(&options);
    cr_expect_eq(bm_tune(&options, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
}

Test(public_api_calls, a_result_of_tune_that_is_none_has_nothing)
{
    cr_expect_eq(bm_tune_result_count(NULL), 0);
    cr_expect_null(bm_tune_result_plan(NULL, 0));
    cr_expect_eq(bm_tune_result_chosen(NULL), 0);
    cr_expect_eq(bm_tune_result_n_samples(NULL), 0);
    cr_expect_null(bm_tune_result_sample(NULL, 0));
    cr_expect_null(bm_tune_result_forecast(NULL, 0, 0));
    cr_expect_null(bm_tune_result_table(NULL));
    cr_expect_null(bm_tune_result_json(NULL));
    bm_tune_result_free(NULL);
}
