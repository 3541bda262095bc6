/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that ends its process ends only the probe: PoCL with a broken cache. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl/cl_listing.h"
#include "opencl/cl_backend.h"
#include "base/memory.h"
#include "tests/world/world_folder.h"

static void shell(const char *format, const char *dir)
{
    char command[512];
    snprintf(command, sizeof command, format, dir);
    cr_assert_eq(system(command), 0, "%s", command);
}

static bm_status open_and_close(const char *spec, const char *cache, bm_error *err)
{
    const bm_device_settings settings = {.probe_program = PROBE_PROGRAM};
    bm_backend_cfg cfg = {.sketch = {.perms = 32, .seed = 1},
                          .bands = 4,
                          .rows = 8,
                          .device = spec,
                          .settings = &settings,
                          .cache_dir = cache};
    bm_backend *backend = NULL;
    bm_status status = bm_backend_opencl.open(&cfg, &backend, err);
    bm_backend_close(backend);
    return status;
}

/* Devices of platforms whose name contains `platform`. The parent process has not called OpenCL
 * yet, so the environment variables take effect. */
static bm_device_info *find(const char *platform, size_t *n)
{
    bm_cl_listing listing;
    cr_assert_eq(bm_cl_list(&listing, NULL), BM_OK);
    bm_device_info *all = listing.rows;
    const char *note = listing.note;
    *n = 0;
    for (size_t i = 0; i < listing.n; ++i)
        if (all[i].kind != BM_DEVICE_CL_NONE && strstr(all[i].platform, platform) != NULL)
            all[(*n)++] = all[i];
    if (*n == 0) {
        cr_assert_null(getenv("BANDMILL_REQUIRE_OPENCL"), "no device of %s: %s", platform, note);
        bm_free(all);
        cr_skip("no device of %s: %s", platform, note);
    }
    return all;
}

Test(probe_opencl, every_device_opens_behind_a_probe)
{
    char dir[256];
    size_t n;
    cr_assert(world_folder_make(NULL, dir, sizeof dir));
    bm_device_info *devices = find("", &n);
    for (size_t i = 0; i < n; ++i) {
        bm_error err = {0};
        cr_assert_eq(open_and_close(devices[i].spec, dir, &err), BM_OK, "%s", err.message);
    }
    shell("test $(ls %s/opencl/*.clbin | wc -l) -gt 0", dir);
    bm_free(devices);
    cr_assert_eq(world_folder_remove(dir), 0);
}

Test(probe_opencl, a_broken_cache_of_pocl_is_an_error_not_an_abort)
{
    char dir[256], ours[300];
    size_t n;
    cr_assert(world_folder_make(NULL, dir, sizeof dir));
    snprintf(ours, sizeof ours, "%s/ours", dir);
    setenv("POCL_CACHE_DIR", dir, 1);
    bm_device_info *devices = find("Portable", &n);
    bm_error err = {0};
    cr_assert_eq(open_and_close(devices[0].spec, ours, &err), BM_OK, "%s", err.message);
    shell("find %s -type f -not -path '*/ours/*' -size +0 -exec truncate -s 10 {} +", dir);
    cr_assert_eq(open_and_close(devices[0].spec, ours, &err), BM_ERR_DEVICE,
                 "a broken cache was not noticed");
    cr_assert_not_null(strstr(err.message, "ended a trial run with signal"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "POCL_CACHE_DIR"), "%s", err.message);
    bm_free(devices);
    cr_assert_eq(world_folder_remove(dir), 0);
}
