/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/job.h: every call with options that are too short or too long, have invalid values or
 * lack pointers; and functions that read a summary, given NULL. */
#include "tests/unit/jobs/public_api.h"
#include "tests/world/world_text.h"

#include <math.h>

static const char *const nowhere[] = {"/nonexistent/in.jsonl"};
static const char *const hole[] = {"/nonexistent/in.jsonl", NULL};

/* Mistakes in the parts that several option structs share. */
#define INPUT_MISTAKES(type)                                                                       \
    {"paths", {SET(type, input.n_paths, 0)}}, {"paths", {SET(type, input.paths, NULL)}},           \
        {"paths", {SET(type, input.paths, hole), SET(type, input.n_paths, 2)}},                    \
        {"text_fields", {SET(type, input.n_text_fields, 1)}},                                      \
        {"text_fields", {SET(type, input.text_fields, hole), SET(type, input.n_text_fields, 2)}},  \
        {"shingle_k", {SET(type, text.shingle_k, 0)}},                                             \
        {"normalize", {SET(type, text.normalize, 1u << 31)}},                                      \
        {"perms", {SET(type, sketch.perms, BM_PERMS_MAX + 1)}},                                    \
        {"threshold", {SET(type, bands.threshold, 1.5)}},                                          \
        {"recall", {SET(type, bands.recall, 1)}}, {"bands", {SET(type, bands.bands, 4)}},          \
        {"rows", {SET(type, bands.rows, 4)}},                                                      \
        {"threads", {SET(type, resources.threads, BM_THREADS_MAX + 1)}},                           \
    {                                                                                              \
        "checkpoint_seconds",                                                                      \
        {                                                                                          \
            SET(type, resources.checkpoint_seconds, NAN)                                           \
        }                                                                                          \
    }

#define JOB_ENUMS(type) INPUT_ENUMS(type), TEXT_ENUMS(type), SKETCH_ENUMS(type), DEVICE_ENUMS(type)
#define JOB_RESERVED(type)                                                                         \
    TEXT_RESERVED(type), SKETCH_RESERVED(type), RESERVED(type, bands.reserved, "bands"),           \
        DEVICE_RESERVED(type), RESERVED(type, resources.reserved, "resources"),                    \
        RESERVED(type, output.reserved, "output"), RESERVED(type, callbacks.reserved, "callbacks")

static void fill_parts(bm_input_options *input, bm_output_options *output,
                       bm_device_options *device)
{
    input->paths = nowhere;
    input->n_paths = 1;
    output->path = "/tmp/bm_never_made";
    device->device = "cpu";
}

/* --- sign --- */

API_INIT(sign, bm_sign_options)

API_JOB(sign, bm_job_sign)

static void fill_sign(void *options)
{
    bm_sign_options *o = options;
    fill_parts(&o->input, &o->output, &o->device);
}

static const api_field sign_enums[] = {JOB_ENUMS(bm_sign_options)};
static const api_field sign_reserved[] = {JOB_RESERVED(bm_sign_options)};
static const api_mistake sign_mistakes[] = {INPUT_MISTAKES(bm_sign_options),
                                            {"output", {SET(bm_sign_options, output.path, NULL)}}};

Test(public_api_job, sign_checks_its_options)
{
    API_CHECK(sign, bm_sign_options, 728, BM_ERR_IO);
}

/* --- dedup --- */

API_INIT(dedup, bm_dedup_options)

API_JOB(dedup, bm_job_dedup)

static void fill_dedup(void *options)
{
    bm_dedup_options *o = options;
    fill_parts(&o->input, &o->output, &o->device);
}

static const api_field dedup_enums[] = {
    JOB_ENUMS(bm_dedup_options),
    ENUM(bm_dedup_options, verify, BM_VERIFY_CONTAINED, "verify"),
    ENUM(bm_dedup_options, cluster, BM_CLUSTER_STAR, "cluster"),
    ENUM(bm_dedup_options, keep, BM_KEEP_NONE, "keep"), /* the value 4000 once crashed */
    ENUM(bm_dedup_options, kept, BM_RECORDS_NOT_WRITTEN, "kept"),
    ENUM(bm_dedup_options, removed, BM_RECORDS_NOT_WRITTEN, "removed")};
static const api_field dedup_reserved[] = {JOB_RESERVED(bm_dedup_options)};
static const api_mistake dedup_mistakes[] = {
    INPUT_MISTAKES(bm_dedup_options),
    {"output", {SET(bm_dedup_options, output.path, NULL)}},
    {"set_fields", {SET(bm_dedup_options, set_fields, 2 * BM_FIELD_THRESHOLD)}}};

Test(public_api_job, dedup_checks_its_options)
{
    API_CHECK(dedup, bm_dedup_options, 744, BM_ERR_IO);
}

/* --- pairs --- */

API_INIT(pairs, bm_pairs_options)

API_JOB(pairs, bm_job_pairs)

static void fill_pairs(void *options)
{
    bm_pairs_options *o = options;
    fill_parts(&o->input, &o->output, &o->device);
}

static const api_field pairs_enums[] = {
    JOB_ENUMS(bm_pairs_options),
    ENUM(bm_pairs_options, candidates, BM_CANDIDATES_LENGTH, "candidates"),
    ENUM(bm_pairs_options, verify, BM_VERIFY_NONE, "verify"),
    ENUM(bm_pairs_options, identical, BM_IDENTICAL_CHAIN, "identical")};
static const api_field pairs_reserved[] = {JOB_RESERVED(bm_pairs_options)};
static const api_mistake pairs_mistakes[] = {
    INPUT_MISTAKES(bm_pairs_options),
    {"write", {SET(bm_pairs_options, output.path, NULL)}},
    {"set_fields", {SET(bm_pairs_options, set_fields, UINT64_C(1) << 63)}},
    {"verify",
     {SET(bm_pairs_options, candidates, BM_CANDIDATES_ALL),
      SET(bm_pairs_options, verify, BM_VERIFY_SIGNATURE)}},
    {"verify",
     {SET(bm_pairs_options, candidates, BM_CANDIDATES_LENGTH),
      SET(bm_pairs_options, verify, BM_VERIFY_NONE)}}};

Test(public_api_job, pairs_checks_its_options)
{
    API_CHECK(pairs, bm_pairs_options, 784, BM_ERR_IO);
}

/* --- filter --- */

API_INIT(filter, bm_filter_options)

API_JOB(filter, bm_job_filter)

static void fill_filter(void *options)
{
    bm_filter_options *o = options;
    o->path = "/nonexistent/dedup";
    o->output.path = "/tmp/bm_never_made";
}

static const api_field filter_enums[] = {
    ENUM(bm_filter_options, kept, BM_RECORDS_NOT_WRITTEN, "kept")};
static const api_field filter_reserved[] = {
    RESERVED(bm_filter_options, resources.reserved, "resources"),
    RESERVED(bm_filter_options, output.reserved, "output"),
    RESERVED(bm_filter_options, callbacks.reserved, "callbacks")};
static const api_mistake filter_mistakes[] = {
    {"path", {SET(bm_filter_options, path, NULL)}},
    {"paths", {SET(bm_filter_options, n_paths, 1)}},
    {"paths", {SET(bm_filter_options, paths, hole), SET(bm_filter_options, n_paths, 2)}},
    {"kept", {SET(bm_filter_options, kept, BM_RECORDS_NOT_WRITTEN)}},
    {"output", {SET(bm_filter_options, output.path, NULL)}},
    {"threads", {SET(bm_filter_options, resources.threads, BM_THREADS_MAX + 1)}}};

Test(public_api_job, filter_checks_its_options)
{
    API_CHECK(filter, bm_filter_options, 232, BM_ERR_IO);
}

/* --- bm_job_overlap --- */

API_INIT(overlap, bm_overlap_options)

API_JOB(overlap, bm_job_overlap)

static void fill_overlap(void *options)
{
    static const char *const items[] = {"/nonexistent/items.jsonl"};
    bm_overlap_options *o = options;
    fill_parts(&o->input, &o->output, &o->device);
    o->against = items;
    o->n_against = 1;
}

static const api_field overlap_enums[] = {
    ENUM(bm_overlap_options, kept, BM_RECORDS_NOT_WRITTEN, "kept")};
static const api_field overlap_reserved[] = {
    RESERVED(bm_overlap_options, resources.reserved, "resources"),
    RESERVED(bm_overlap_options, output.reserved, "output"),
    RESERVED(bm_overlap_options, callbacks.reserved, "callbacks")};
static const api_mistake overlap_mistakes[] = {
    {"against", {SET(bm_overlap_options, n_against, 0)}},
    {"against", {SET(bm_overlap_options, against, hole), SET(bm_overlap_options, n_against, 2)}},
    {"threshold", {SET(bm_overlap_options, threshold, 0)}},
    {"threshold", {SET(bm_overlap_options, threshold, 1.5)}},
    {"min_words", {SET(bm_overlap_options, min_words, 0)}},
    {"min_words", {SET(bm_overlap_options, min_words, BM_OVERLAP_MIN_WORDS_MAX + 1)}},
    {"shingle", {SET(bm_overlap_options, text.shingle, BM_SHINGLE_STOPWORD)}},
    {"bag", {SET(bm_overlap_options, text.bag, true)}},
    {"hash", {SET(bm_overlap_options, text.hash, BM_TOKEN_SHA1)}},
    {"short_rule", {SET(bm_overlap_options, text.short_rule, BM_SHORT_SKIP)}},
    {"output", {SET(bm_overlap_options, output.path, NULL)}}};

Test(public_api_job, overlap_checks_its_options)
{
    API_CHECK(overlap, bm_overlap_options, 720, BM_ERR_IO);
}

/* --- places for results --- */

Test(public_api_job, a_call_without_a_place_for_its_summary_is_refused)
{
    bm_sign_options sign;
    bm_dedup_options dedup;
    bm_pairs_options pairs;
    bm_filter_options filter;
    bm_error err = {0};
    bm_sign_options_init(&sign);
    bm_dedup_options_init(&dedup);
    bm_pairs_options_init(&pairs);
    bm_filter_options_init(&filter);
    fill_sign(&sign);
    fill_dedup(&dedup);
    fill_pairs(&pairs);
    fill_filter(&filter);
    pairs.write = world_write_nothing;
    cr_expect_eq(bm_job_sign(&sign, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_job_dedup(&dedup, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_job_pairs(&pairs, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_job_filter(&filter, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_job_sign(&sign, NULL, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_job_sign(NULL, NULL, NULL), BM_ERR_USAGE);
}

Test(public_api_job, a_summary_that_is_none_has_nothing)
{
    cr_expect_null(bm_summary_counts(NULL));
    cr_expect_null(bm_summary_plan(NULL));
    cr_expect_null(bm_summary_json(NULL));
    cr_expect_eq(bm_summary_scheme(NULL), BM_SCHEME_AFFINE32);
    cr_expect_null(bm_summary_device(NULL));
    cr_expect_eq(bm_summary_seconds(NULL), 0);
    bm_summary_free(NULL);
}

Test(public_api_job, inspect_needs_a_path_and_a_place_for_its_text)
{
    char *const before = (char *)(uintptr_t)0x10;
    char *json = before;
    bm_error err = {0};
    cr_expect_eq(bm_inspect(NULL, &json, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "path");
    cr_expect_eq(bm_inspect("/nonexistent", NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "json");
    cr_expect_eq(bm_inspect(NULL, NULL, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_inspect("/nonexistent", &json, NULL), BM_ERR_IO);
    cr_expect_eq(bm_inspect_within(NULL, 1, &json, &err), BM_ERR_USAGE);
    cr_expect_eq(bm_inspect_within("/nonexistent", 0, &json, NULL), BM_ERR_IO);
    cr_expect_eq(json, before);
}
