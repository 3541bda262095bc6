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

/* The initial value of a summary pointer, which a failing call must not change. */
#define PLACE ((bm_summary *)(uintptr_t)0x10)

static void fill_parts(bm_input_options *input, bm_output_options *output,
                       bm_device_options *device)
{
    input->paths = nowhere;
    input->n_paths = 1;
    output->path = "/tmp/bm_never_made";
    device->device = "cpu";
}

/* --- sign --- */

static void init_sign(void *options, size_t struct_size)
{
    bm_sign_options_init_sized(options, struct_size);
}

static bm_status call_sign(const void *options, bm_error *err)
{
    bm_summary *summary = PLACE;
    bm_status status = bm_job_sign(options, &summary, err);
    cr_expect_neq(status, BM_OK);
    cr_expect_eq(summary, PLACE);
    return status;
}

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
    const api_call call = {.type = "bm_sign_options",
                           .size = sizeof(bm_sign_options),
                           .least = 728,
                           .init = init_sign,
                           .fill = fill_sign,
                           .passes = BM_ERR_IO,
                           .call = call_sign,
                           .enums = sign_enums,
                           .n_enums = N_OF(sign_enums),
                           .reserved = sign_reserved,
                           .n_reserved = N_OF(sign_reserved),
                           .mistakes = sign_mistakes,
                           .n_mistakes = N_OF(sign_mistakes)};
    api_check(&call);
}

/* --- dedup --- */

static void init_dedup(void *options, size_t struct_size)
{
    bm_dedup_options_init_sized(options, struct_size);
}

static bm_status call_dedup(const void *options, bm_error *err)
{
    bm_summary *summary = PLACE;
    bm_status status = bm_job_dedup(options, &summary, err);
    cr_expect_neq(status, BM_OK);
    cr_expect_eq(summary, PLACE);
    return status;
}

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
    const api_call call = {.type = "bm_dedup_options",
                           .size = sizeof(bm_dedup_options),
                           .least = 744,
                           .init = init_dedup,
                           .fill = fill_dedup,
                           .passes = BM_ERR_IO,
                           .call = call_dedup,
                           .enums = dedup_enums,
                           .n_enums = N_OF(dedup_enums),
                           .reserved = dedup_reserved,
                           .n_reserved = N_OF(dedup_reserved),
                           .mistakes = dedup_mistakes,
                           .n_mistakes = N_OF(dedup_mistakes)};
    api_check(&call);
}

/* --- pairs --- */

static void init_pairs(void *options, size_t struct_size)
{
    bm_pairs_options_init_sized(options, struct_size);
}

static bm_status call_pairs(const void *options, bm_error *err)
{
    bm_summary *summary = PLACE;
    bm_status status = bm_job_pairs(options, &summary, err);
    cr_expect_neq(status, BM_OK);
    cr_expect_eq(summary, PLACE);
    return status;
}

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
    const api_call call = {.type = "bm_pairs_options",
                           .size = sizeof(bm_pairs_options),
                           .least = 784,
                           .init = init_pairs,
                           .fill = fill_pairs,
                           .passes = BM_ERR_IO,
                           .call = call_pairs,
                           .enums = pairs_enums,
                           .n_enums = N_OF(pairs_enums),
                           .reserved = pairs_reserved,
                           .n_reserved = N_OF(pairs_reserved),
                           .mistakes = pairs_mistakes,
                           .n_mistakes = N_OF(pairs_mistakes)};
    api_check(&call);
}

/* --- filter --- */

static void init_filter(void *options, size_t struct_size)
{
    bm_filter_options_init_sized(options, struct_size);
}

static bm_status call_filter(const void *options, bm_error *err)
{
    bm_summary *summary = PLACE;
    bm_status status = bm_job_filter(options, &summary, err);
    cr_expect_neq(status, BM_OK);
    cr_expect_eq(summary, PLACE);
    return status;
}

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
    const api_call call = {.type = "bm_filter_options",
                           .size = sizeof(bm_filter_options),
                           .least = 232,
                           .init = init_filter,
                           .fill = fill_filter,
                           .passes = BM_ERR_IO,
                           .call = call_filter,
                           .enums = filter_enums,
                           .n_enums = N_OF(filter_enums),
                           .reserved = filter_reserved,
                           .n_reserved = N_OF(filter_reserved),
                           .mistakes = filter_mistakes,
                           .n_mistakes = N_OF(filter_mistakes)};
    api_check(&call);
}

/* --- bm_job_overlap --- */

static void init_overlap(void *options, size_t struct_size)
{
    bm_overlap_options_init_sized(options, struct_size);
}

static bm_status call_overlap(const void *options, bm_error *err)
{
    bm_summary *summary = PLACE;
    bm_status status = bm_job_overlap(options, &summary, err);
    cr_expect_neq(status, BM_OK);
    cr_expect_eq(summary, PLACE);
    return status;
}

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
    const api_call call = {.type = "bm_overlap_options",
                           .size = sizeof(bm_overlap_options),
                           .least = 720,
                           .init = init_overlap,
                           .fill = fill_overlap,
                           .passes = BM_ERR_IO,
                           .call = call_overlap,
                           .enums = overlap_enums,
                           .n_enums = N_OF(overlap_enums),
                           .reserved = overlap_reserved,
                           .n_reserved = N_OF(overlap_reserved),
                           .mistakes = overlap_mistakes,
                           .n_mistakes = N_OF(overlap_mistakes)};
    api_check(&call);
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
