/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/cl_backend.h"

/* tests/fault/device/deaths.sh tests a hanging driver with the whole program. */

Test(cl_watchdog, an_open_that_fails_tells_why_and_leaves_nobody_behind)
{
    char device[] = "opencl:77.0", folder[] = "";
    bm_text_options text = {.shingle_k = 5};
    bm_callbacks callbacks = {0};
    char none[] = "", row[] = "*,*,*,gpu,16,8,4,64,256,256,256,4096,128,0,4";
    uint32_t n_stuck = 0;
    const bm_device_settings settings = {.probe_program = none,
                                         .tuning_path = none,
                                         .kernel_family = "gpu",
                                         .kernel_params = row,
                                         .n_stuck = &n_stuck};
    bm_backend_cfg cfg = {.sketch = {.perms = 16, .seed = 1},
                          .device = device,
                          .cpu = NULL,
                          .cache_dir = folder,
                          .text = &text,
                          .settings = &settings,
                          .callbacks = &callbacks};
    for (int i = 0; i < 20; i++) {
        bm_backend *backend = NULL;
        bm_error err = {0};
        cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, &err), BM_ERR_DEVICE);
        cr_assert_null(backend);
        cr_assert_not_null(strstr(err.message, "opencl:77.0"), "%s", err.message);
        cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, NULL), BM_ERR_DEVICE);
    }
    cr_assert_eq(n_stuck, 0);
    bm_backend_opencl.close(NULL);
}

Test(cl_watchdog, a_configuration_that_cannot_be_is_refused_as_it_is_without_a_watchdog)
{
    bm_backend_cfg cfg = {.sketch = {.perms = 0}, .device = "opencl:0.0"};
    bm_backend *backend = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, &err), BM_ERR_USAGE);
    cr_assert_not_null(strstr(err.message, "permutations"), "%s", err.message);
}
