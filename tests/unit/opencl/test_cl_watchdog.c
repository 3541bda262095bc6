#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>

#include "backend/backend.h"

/* What happens when a driver hangs is shown by tests/fault/device_faults.sh, with the program. */

Test(cl_guard, an_open_that_fails_tells_why_and_leaves_nobody_behind)
{
    char device[] = "opencl:77.0", folder[] = "";
    bm_text_options text = {.shingle_k = 5};
    bm_callbacks callbacks = {0};
    bm_backend_cfg cfg = {.sketch = {.perms = 16, .seed = 1},
                          .device = device,
                          .cpu = NULL,
                          .cache_dir = folder,
                          .text = &text,
                          .callbacks = &callbacks};
    for (int i = 0; i < 20; i++) {
        bm_backend *backend = NULL;
        bm_error err = {0};
        cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, &err), BM_ERR_DEVICE);
        cr_assert_null(backend);
        cr_assert_not_null(strstr(err.message, "opencl:77.0"), "%s", err.message);
        cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, NULL), BM_ERR_DEVICE);
    }
    cr_assert_eq(bm_devices_left_behind(), 0);
    bm_backend_opencl.close(NULL);
}

Test(cl_guard, a_configuration_that_cannot_be_is_refused_as_it_is_without_a_guard)
{
    bm_backend_cfg cfg = {.sketch = {.perms = 0}, .device = "opencl:0.0"};
    bm_backend *backend = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, &err), BM_ERR_USAGE);
    cr_assert_not_null(strstr(err.message, "permutations"), "%s", err.message);
}
