/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "devices/device_set.h"
#include "sketch/scheme.h"

Test(device_open, the_native_cpu_is_opened_whatever_device_the_configuration_names)
{
    const bm_backend_cfg cfg = {.sketch = {.perms = 16, .seed = 1}, .device = "opencl:77.0"};
    const uint64_t offsets[] = {0, 3}, hashes[] = {1, 2, 3};
    uint32_t words[16], right[16];
    bm_device_info native;
    bm_backend *backend = NULL;
    bm_scheme_params params;
    bm_error err = {0};
    bm_backend_cpu_info(NULL, &native);
    cr_assert_eq(bm_device_open(&native, &cfg, &backend, &err), BM_OK, "%s", err.message);
    cr_assert_eq(backend->info.kind, BM_DEVICE_NATIVE);
    bm_sign_task task = {.offsets = offsets, .hashes = hashes, .n_docs = 1, .words = words};
    cr_assert_eq(backend->ops->submit(backend, &task, &err), BM_OK);
    bm_backend_close(backend);
    cr_assert_eq(bm_scheme_draw(&cfg.sketch, &params, &err), BM_OK);
    params.ops->sign(&params, hashes, 3, right);
    cr_expect_arr_eq(words, right, sizeof words);
    bm_scheme_params_reset(&params);
    bm_backend_close(NULL);
}

Test(device_open, an_opencl_device_that_is_not_there_is_an_error_that_names_it)
{
    const bm_device_info info = {.kind = BM_DEVICE_CL_GPU, .spec = "opencl:77.0"};
    const bm_backend_cfg cfg = {.sketch = {.perms = 16, .seed = 1}, .device = "cpu"};
    bm_backend *backend = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_device_open(&info, &cfg, &backend, &err), BM_ERR_DEVICE);
    cr_expect_null(backend);
    cr_expect_not_null(strstr(err.message, "opencl:77.0"), "%s", err.message);
}
