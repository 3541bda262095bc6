/* bandmill/job.h: every call with options that are too short, too long, of no value that there is,
 * or with pointers missing; and what is read of a summary that is none. */
#include "tests/unit/jobs/public_api.h"

static const char *const nowhere[] = {"/nonexistent/in.jsonl"};
static const char *const hole[] = {"/nonexistent/in.jsonl", NULL};

static int take_nothing(void *ctx, const char *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}

/* Mistakes of parts, wherever the options have them. */
#define MISTAKE(type, name, statement)                                                             \
    static void type##_##name(void *options)                                                       \
    {                                                                                              \
        type *o = options;                                                                         \
        statement;                                                                                 \
    }
#define INPUT_MISTAKES(type)                                                                       \
    MISTAKE(type, no_input, o->input.n_paths = 0)                                                  \
    MISTAKE(type, no_paths, o->input.paths = NULL)                                                 \
    MISTAKE(type, hole_in_paths, (o->input.paths = hole, o->input.n_paths = 2))                    \
    MISTAKE(type, no_text_fields, o->input.n_text_fields = 1)                                      \
    MISTAKE(type, hole_in_text_fields, (o->input.text_fields = hole, o->input.n_text_fields = 2))  \
    MISTAKE(type, no_shingles, o->text.shingle_k = 0)                                              \
    MISTAKE(type, unknown_step, o->text.normalize = 1u << 31)                                      \
    MISTAKE(type, many_perms, o->sketch.perms = BM_PERMS_MAX + 1)                                  \
    MISTAKE(type, high_threshold, o->bands.threshold = 1.5)                                        \
    MISTAKE(type, full_recall, o->bands.recall = 1)                                                \
    MISTAKE(type, only_bands, o->bands.bands = 4)                                                  \
    MISTAKE(type, only_rows, o->bands.rows = 4)                                                    \
    MISTAKE(type, many_threads, o->resources.threads = BM_THREADS_MAX + 1)                         \
    MISTAKE(type, no_number, o->resources.checkpoint_seconds = (double)(0.0f / 0.0f))
#define INPUT_MISTAKE_ROWS(type)                                                                   \
    {"paths", type##_no_input}, {"paths", type##_no_paths}, {"paths", type##_hole_in_paths},       \
        {"text_fields", type##_no_text_fields}, {"text_fields", type##_hole_in_text_fields},       \
        {"shingle_k", type##_no_shingles}, {"normalize", type##_unknown_step},                     \
        {"perms", type##_many_perms}, {"threshold", type##_high_threshold},                        \
        {"recall", type##_full_recall}, {"bands", type##_only_bands}, {"rows", type##_only_rows},  \
        {"threads", type##_many_threads},                                                          \
    {                                                                                              \
        "checkpoint_seconds", type##_no_number                                                     \
    }

#define JOB_ENUMS(type) INPUT_ENUMS(type), TEXT_ENUMS(type), SKETCH_ENUMS(type), DEVICE_ENUMS(type)
#define JOB_RESERVED(type)                                                                         \
    RESERVED(type, input.reserved, "input"), TEXT_RESERVED(type), SKETCH_RESERVED(type),           \
        RESERVED(type, bands.reserved, "bands"), DEVICE_RESERVED(type),                            \
        RESERVED(type, resources.reserved, "resources"),                                           \
        RESERVED(type, output.reserved, "output"), RESERVED(type, callbacks.reserved, "callbacks")

/* A call that gives a summary leaves the place for it as it was when it fails. */
#define CALL(function, type)                                                                       \
    static bm_status call_##function(const void *options, bm_error *err)                           \
    {                                                                                              \
        bm_summary *const before = (bm_summary *)(uintptr_t)0x10;                                  \
        bm_summary *summary = before;                                                              \
        bm_status status = function((const type *)options, &summary, err);                         \
        cr_expect_neq(status, BM_OK);                                                              \
        cr_expect_eq(summary, before);                                                             \
        return status;                                                                             \
    }                                                                                              \
    static void init_##function(void *options, size_t struct_size)                                 \
    {                                                                                              \
        type##_init_sized((type *)options, struct_size);                                           \
    }
#define FILL(function, type)                                                                       \
    static void fill_##function(void *options)                                                     \
    {                                                                                              \
        type *o = options;                                                                         \
        o->input.paths = nowhere;                                                                  \
        o->input.n_paths = 1;                                                                      \
        o->output.path = "/tmp/bm_never_made";                                                     \
        o->device.device = "cpu";                                                                  \
    }

/* --- sign --- */

CALL(bm_job_sign, bm_sign_options)
FILL(bm_job_sign, bm_sign_options)
INPUT_MISTAKES(bm_sign_options)
MISTAKE(bm_sign_options, no_output, o->output.path = NULL)

static const api_field sign_enums[] = {JOB_ENUMS(bm_sign_options)};
static const api_field sign_reserved[] = {JOB_RESERVED(bm_sign_options)};
static const api_mistake sign_mistakes[] = {INPUT_MISTAKE_ROWS(bm_sign_options),
                                            {"output", bm_sign_options_no_output}};

Test(public_api_job, sign_checks_its_options)
{
    const api_call call = {.type = "bm_sign_options",
                           .size = sizeof(bm_sign_options),
                           .init = init_bm_job_sign,
                           .fill = fill_bm_job_sign,
                           .passes = BM_ERR_IO,
                           .call = call_bm_job_sign,
                           .enums = sign_enums,
                           .n_enums = N_OF(sign_enums),
                           .reserved = sign_reserved,
                           .n_reserved = N_OF(sign_reserved),
                           .mistakes = sign_mistakes,
                           .n_mistakes = N_OF(sign_mistakes)};
    api_check(&call);
}

/* --- dedup --- */

CALL(bm_job_dedup, bm_dedup_options)
FILL(bm_job_dedup, bm_dedup_options)
INPUT_MISTAKES(bm_dedup_options)
MISTAKE(bm_dedup_options, no_output, o->output.path = NULL)

static const api_field dedup_enums[] = {
    JOB_ENUMS(bm_dedup_options), ENUM(bm_dedup_options, verify, BM_VERIFY_NONE, "verify"),
    ENUM(bm_dedup_options, cluster, BM_CLUSTER_STAR, "cluster"),
    ENUM(bm_dedup_options, keep, BM_KEEP_SHORTEST, "keep"), /* 4000 crashed once */
    ENUM(bm_dedup_options, kept, BM_KEPT_NO, "kept")};
static const api_field dedup_reserved[] = {JOB_RESERVED(bm_dedup_options)};
static const api_mistake dedup_mistakes[] = {INPUT_MISTAKE_ROWS(bm_dedup_options),
                                             {"output", bm_dedup_options_no_output}};

Test(public_api_job, dedup_checks_its_options)
{
    const api_call call = {.type = "bm_dedup_options",
                           .size = sizeof(bm_dedup_options),
                           .init = init_bm_job_dedup,
                           .fill = fill_bm_job_dedup,
                           .passes = BM_ERR_IO,
                           .call = call_bm_job_dedup,
                           .enums = dedup_enums,
                           .n_enums = N_OF(dedup_enums),
                           .reserved = dedup_reserved,
                           .n_reserved = N_OF(dedup_reserved),
                           .mistakes = dedup_mistakes,
                           .n_mistakes = N_OF(dedup_mistakes)};
    api_check(&call);
}

/* --- pairs --- */

CALL(bm_job_pairs, bm_pairs_options)
FILL(bm_job_pairs, bm_pairs_options)
INPUT_MISTAKES(bm_pairs_options)
MISTAKE(bm_pairs_options, no_place, o->output.path = NULL)
MISTAKE(bm_pairs_options, all_by_signature,
        (o->candidates = BM_CANDIDATES_ALL, o->verify = BM_VERIFY_SIGNATURE))

static const api_field pairs_enums[] = {
    JOB_ENUMS(bm_pairs_options),
    ENUM(bm_pairs_options, candidates, BM_CANDIDATES_ALL, "candidates"),
    ENUM(bm_pairs_options, verify, BM_VERIFY_NONE, "verify"),
    ENUM(bm_pairs_options, identical, BM_IDENTICAL_CHAIN, "identical")};
static const api_field pairs_reserved[] = {JOB_RESERVED(bm_pairs_options)};
static const api_mistake pairs_mistakes[] = {INPUT_MISTAKE_ROWS(bm_pairs_options),
                                             {"write", bm_pairs_options_no_place},
                                             {"verify", bm_pairs_options_all_by_signature}};

Test(public_api_job, pairs_checks_its_options)
{
    const api_call call = {.type = "bm_pairs_options",
                           .size = sizeof(bm_pairs_options),
                           .init = init_bm_job_pairs,
                           .fill = fill_bm_job_pairs,
                           .passes = BM_ERR_IO,
                           .call = call_bm_job_pairs,
                           .enums = pairs_enums,
                           .n_enums = N_OF(pairs_enums),
                           .reserved = pairs_reserved,
                           .n_reserved = N_OF(pairs_reserved),
                           .mistakes = pairs_mistakes,
                           .n_mistakes = N_OF(pairs_mistakes)};
    api_check(&call);
}

/* --- filter --- */

CALL(bm_job_filter, bm_filter_options)

static void fill_bm_job_filter(void *options)
{
    bm_filter_options *o = options;
    o->path = "/nonexistent/dedup";
    o->output.path = "/tmp/bm_never_made";
}

MISTAKE(bm_filter_options, no_directory, o->path = NULL)
MISTAKE(bm_filter_options, no_paths, o->n_paths = 1)
MISTAKE(bm_filter_options, hole_in_paths, (o->paths = hole, o->n_paths = 2))
MISTAKE(bm_filter_options, nothing_to_write, o->kept = BM_KEPT_NO)
MISTAKE(bm_filter_options, no_output, o->output.path = NULL)
MISTAKE(bm_filter_options, many_threads, o->resources.threads = BM_THREADS_MAX + 1)

static const api_field filter_enums[] = {ENUM(bm_filter_options, kept, BM_KEPT_NO, "kept")};
static const api_field filter_reserved[] = {
    RESERVED(bm_filter_options, resources.reserved, "resources"),
    RESERVED(bm_filter_options, output.reserved, "output"),
    RESERVED(bm_filter_options, callbacks.reserved, "callbacks")};
static const api_mistake filter_mistakes[] = {
    {"path", bm_filter_options_no_directory},   {"paths", bm_filter_options_no_paths},
    {"paths", bm_filter_options_hole_in_paths}, {"kept", bm_filter_options_nothing_to_write},
    {"output", bm_filter_options_no_output},    {"threads", bm_filter_options_many_threads}};

Test(public_api_job, filter_checks_its_options)
{
    const api_call call = {.type = "bm_filter_options",
                           .size = sizeof(bm_filter_options),
                           .init = init_bm_job_filter,
                           .fill = fill_bm_job_filter,
                           .passes = BM_ERR_FORMAT,
                           .call = call_bm_job_filter,
                           .enums = filter_enums,
                           .n_enums = N_OF(filter_enums),
                           .reserved = filter_reserved,
                           .n_reserved = N_OF(filter_reserved),
                           .mistakes = filter_mistakes,
                           .n_mistakes = N_OF(filter_mistakes)};
    api_check(&call);
}

/* --- places for what comes out --- */

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
    fill_bm_job_sign(&sign);
    fill_bm_job_dedup(&dedup);
    fill_bm_job_pairs(&pairs);
    fill_bm_job_filter(&filter);
    pairs.write = take_nothing;
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
    cr_expect_eq(json, before);
}
