/* index_check.c -- all of the file, as the store checks it, and the settings that stand in it.
 *
 * Tests: tests/cli/cases/index_check.sh, tests/unit/jobs/test_public_api_index.c */
#include <bandmill/index.h>

#include <limits.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/sized_struct.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "index/index_place.h"
#include "index/index_settings.h"
#include "store/store_view.h"

static const bm_index_check_options defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_index_check_options_init_sized(bm_index_check_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &defaults, sizeof defaults);
}

static bm_status take(const bm_index_check_options *options, bm_index_check_options *o,
                      bm_error *err)
{
    *o = defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_check_options, callbacks), o, err));
    const bm_option_parts parts = {.resources = &o->resources, .callbacks = &o->callbacks};
    BM_TRY(bm_option_parts_check(&parts, err));
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no index given");
    return BM_OK;
}

static void say(void *ctx, const char *what)
{
    const bm_index_check_options *o = ctx;
    if (o->wrong != NULL)
        o->wrong(o->wrong_ctx, what);
}

/* Does this version know what the index says of itself? */
static bm_status check_settings(const bm_index_check_options *o, const char *path, bm_error *err)
{
    bm_store *store = NULL;
    bm_settings settings = {.input = BM_INPUT_DEFAULTS,
                            .text = BM_TEXT_DEFAULTS,
                            .sketch = BM_SKETCH_DEFAULTS,
                            .bands = BM_BAND_DEFAULTS};
    const bm_store_cfg cfg = {.mode = BM_STORE_READ};
    bm_error why = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(path, &cfg, &store, &why));
    status = bm_index_settings_take(bm_store_facts_of(store), path, &settings, &why);
out:
    bm_store_close(store);
    bm_settings_reset(&settings);
    if (status == BM_ERR_FORMAT)
        say((void *)(uintptr_t)o, why.message);
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err)
{
    bm_index_check_options o;
    bm_pool *pool = NULL;
    char path[PATH_MAX];
    bm_status status = BM_OK;
    BM_TRY_OUT(take(options, &o, err));
    BM_TRY_OUT(bm_index_find(o.path, path, sizeof path, err));
    BM_TRY_OUT(
        bm_pool_open(o.resources.threads != 0 ? o.resources.threads : bm_cpu_count(), &pool, err));
    const bm_store_check_cfg cfg = {.pool = pool, .say = say, .ctx = &o};
    BM_TRY_OUT(bm_store_check(path, &cfg, err));
    status = check_settings(&o, path, err);
out:
    bm_pool_close(pool);
    return status;
}
