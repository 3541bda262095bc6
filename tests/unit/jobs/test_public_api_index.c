/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/index.h: calls with options that are missing, too short or too long, have invalid or
 * conflicting values, or lack pointers. Queries are in test_public_api_query.c. */
#include "tests/unit/jobs/public_api.h"
#include "tests/world/world_text.h"

#include <math.h>

#define NOWHERE "/nonexistent/index"
static const char *const paths[] = {"/nonexistent/in.jsonl"}, *const hole[] = {"a", NULL};

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
    const char *const ids[] = {"a"};
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
    expect_field(bm_index_inspect(NULL, &json, &err), &err, "path");
    expect_field(bm_index_inspect("/nonexistent", NULL, &err), &err, "json");
    cr_expect_null(summary);
    cr_expect_null(json);
}

/* --- every field --- */

#define CALL(name, type)                                                                           \
    static void init_##name(void *options, size_t struct_size)                                     \
    {                                                                                              \
        type##_init_sized(options, struct_size);                                                   \
    }                                                                                              \
    static bm_status call_##name(const void *options, bm_error *err)                               \
    {                                                                                              \
        bm_summary *summary = PLACE;                                                               \
        bm_status status = bm_job_index_##name(options, &summary, err);                            \
        cr_expect_neq(status, BM_OK);                                                              \
        cr_expect_eq(summary, PLACE);                                                              \
        return status;                                                                             \
    }
CALL(build, bm_index_build_options)
CALL(add, bm_index_add_options)
CALL(remove, bm_index_remove_options)
CALL(compact, bm_index_compact_options)

#define FILL_ENUMS(type)                                                                           \
    ENUM(type, input.format, BM_FORMAT_MIXED, "format"),                                           \
        ENUM(type, input.duplicate_ids, BM_DUPLICATE_IDS_REPLACE, "duplicate_ids"),                \
        ENUM(type, input.on_error, BM_ON_ERROR_SKIP, "on_error"), TEXT_ENUMS(type),                \
        SKETCH_ENUMS(type), DEVICE_ENUMS(type)
#define FILL_RESERVED(type)                                                                        \
    TEXT_RESERVED(type), SKETCH_RESERVED(type), RESERVED(type, bands.reserved, "bands"),           \
        DEVICE_RESERVED(type)
#define ENDS_RESERVED(type)                                                                        \
    RESERVED(type, resources.reserved, "resources"), RESERVED(type, output.reserved, "output"),    \
        RESERVED(type, callbacks.reserved, "callbacks")
#define FILL_MISTAKES(type)                                                                        \
    {"paths", {SET(type, input.n_paths, 0)}}, {"paths", {SET(type, input.paths, NULL)}},           \
        {"shingle_k", {SET(type, text.shingle_k, 0)}},                                             \
        {"perms", {SET(type, sketch.perms, BM_PERMS_MAX + 1)}},                                    \
        {"bands", {SET(type, bands.bands, 4)}},                                                    \
        {"threads", {SET(type, resources.threads, BM_THREADS_MAX + 1)}},                           \
    {                                                                                              \
        "set_fields",                                                                              \
        {                                                                                          \
            SET(type, set_fields, UINT64_C(1) << 63)                                               \
        }                                                                                          \
    }

static void fill_build(void *options)
{
    bm_index_build_options *o = options;
    o->input.paths = paths;
    o->input.n_paths = 1;
    o->output.path = "/tmp/bm_never_made";
    o->device.device = "cpu";
}

Test(public_api_index, build_checks_its_options)
{
    static const api_field build_enums[] = {
        FILL_ENUMS(bm_index_build_options),
        ENUM(bm_index_build_options, store, BM_INDEX_SIGNATURES, "store")};
    static const api_field build_reserved[] = {FILL_RESERVED(bm_index_build_options),
                                               ENDS_RESERVED(bm_index_build_options)};
    const api_mistake build_mistakes[] = {
        FILL_MISTAKES(bm_index_build_options),
        {"threshold", {SET(bm_index_build_options, bands.threshold, 1.5)}},
        {"path", {SET(bm_index_build_options, output.path, NULL)}}};
    API_CHECK(build, bm_index_build_options, 736, BM_ERR_IO);
}

static void fill_add(void *options)
{
    bm_index_add_options *o = options;
    o->input.paths = paths;
    o->input.n_paths = 1;
    o->path = NOWHERE;
}

Test(public_api_index, add_checks_its_options)
{
    static const api_field add_enums[] = {FILL_ENUMS(bm_index_add_options)};
    static const api_field add_reserved[] = {FILL_RESERVED(bm_index_add_options),
                                             ENDS_RESERVED(bm_index_add_options)};
    const api_mistake add_mistakes[] = {
        FILL_MISTAKES(bm_index_add_options),
        {"path", {SET(bm_index_add_options, path, NULL)}},
        {"write", {SET(bm_index_add_options, unique, true)}},
        {"follow", {SET(bm_index_add_options, follow, true)}},
        {"threshold", {SET(bm_index_add_options, threshold, .5)}},
        {"threshold", {SET(bm_index_add_options, threshold, NAN)}},
        {"follow",
         {SET(bm_index_add_options, follow, true),
          SET(bm_index_add_options, write, world_write_nothing)}},
    };
    API_CHECK(add, bm_index_add_options, 776, BM_ERR_IO);
}

static void fill_remove(void *options)
{
    bm_index_remove_options *o = options;
    o->path = NOWHERE;
    o->ids = paths;
    o->n_ids = 1;
}

Test(public_api_index, remove_checks_its_options)
{
    static const api_field remove_reserved[] = {ENDS_RESERVED(bm_index_remove_options)};
    const api_mistake remove_mistakes[] = {
        {"path", {SET(bm_index_remove_options, path, NULL)}},
        {"ids", {SET(bm_index_remove_options, n_ids, 0)}},
        {"ids", {SET(bm_index_remove_options, ids, NULL)}},
        {"ids", {SET(bm_index_remove_options, ids, hole), SET(bm_index_remove_options, n_ids, 2)}},
        {"threads", {SET(bm_index_remove_options, resources.threads, BM_THREADS_MAX + 1)}}};
    api_check(&(const api_call){API_CALL(remove, bm_index_remove_options, 224, BM_ERR_IO),
                                API_TABLE(remove, reserved), API_TABLE(remove, mistakes)});
}

static void fill_compact(void *options)
{
    ((bm_index_compact_options *)options)->path = NOWHERE;
}

Test(public_api_index, compact_checks_its_options)
{
    static const api_field compact_reserved[] = {ENDS_RESERVED(bm_index_compact_options)};
    const api_mistake compact_mistakes[] = {
        {"path", {SET(bm_index_compact_options, path, NULL)}},
        {"threads", {SET(bm_index_compact_options, resources.threads, BM_THREADS_MAX + 1)}}};
    api_check(&(const api_call){API_CALL(compact, bm_index_compact_options, 200, BM_ERR_IO),
                                API_TABLE(compact, reserved), API_TABLE(compact, mistakes)});
}

API_INIT(check, bm_index_check_options)

static bm_status call_check(const void *options, bm_error *err)
{
    return bm_job_index_check(options, err);
}

static void fill_check(void *options)
{
    ((bm_index_check_options *)options)->path = NOWHERE;
}

Test(public_api_index, check_checks_its_options)
{
    static const api_field check_reserved[] = {
        RESERVED(bm_index_check_options, resources.reserved, "resources"),
        RESERVED(bm_index_check_options, callbacks.reserved, "callbacks")};
    const api_mistake check_mistakes[] = {
        {"path", {SET(bm_index_check_options, path, NULL)}},
        {"threads", {SET(bm_index_check_options, resources.threads, BM_THREADS_MAX + 1)}}};
    api_check(&(const api_call){API_CALL(check, bm_index_check_options, 160, BM_ERR_IO),
                                API_TABLE(check, reserved), API_TABLE(check, mistakes)});
}
