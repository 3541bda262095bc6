/* index_build.c -- a new index of documents.
 *
 * Tests: tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include "base/error.h"
#include "base/sized_struct.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "pipeline/context/settings.h"

static const bm_index_check_options check_defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_index_check_options_init_sized(bm_index_check_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &check_defaults, sizeof check_defaults);
}

bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    (void)out;
    bm_status status = bm_settings_of_index_build(options, &settings, err);
    return status == BM_OK ? bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version") : status;
}

bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    (void)out;
    bm_status status = bm_settings_of_index_add(options, &settings, err);
    return status == BM_OK ? bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version") : status;
}

bm_status bm_job_index_remove(const bm_index_remove_options *options, bm_summary **out,
                              bm_error *err)
{
    bm_settings settings;
    (void)out;
    bm_status status = bm_settings_of_index_remove(options, &settings, err);
    return status == BM_OK ? bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version") : status;
}

bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err)
{
    bm_index_check_options o = check_defaults;
    bm_status status =
        bm_sized_take(options, BM_SIZED_TYPE(bm_index_check_options, callbacks), &o, err);
    const bm_option_parts parts = {.resources = &o.resources, .callbacks = &o.callbacks};
    if (status == BM_OK)
        status = bm_option_parts_check(&parts, err);
    if (status == BM_OK && o.path == NULL)
        status = bm_fail_field(err, "path", "no index given");
    return status == BM_OK ? bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version") : status;
}

bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                               bm_error *err)
{
    bm_settings settings;
    (void)out;
    bm_status status = bm_settings_of_index_compact(options, &settings, err);
    return status == BM_OK ? bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version") : status;
}

bm_status bm_index_info(const char *path, char **json, bm_error *err)
{
    if (path == NULL || json == NULL)
        return bm_fail_field(err, path == NULL ? "path" : "json", "no index given");
    return bm_fail(err, BM_ERR_UNSUPPORTED, "not in this version");
}
