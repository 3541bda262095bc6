/* SPDX-License-Identifier: Apache-2.0 */
/* device_list.c -- the public listing of devices.
 *
 * Tests: tests/cli/cases/devices.sh, tests/fault/device/answers.sh, tests/fault/device/shapes.sh,
 *        tests/parity/test_probe_opencl.c, tests/unit/jobs/test_public_api.c */
#include <bandmill/device.h>
#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "devices/device_set.h"
#include "model/option_check.h"
#include "model/scheme_facts.h"
#include "opencl/cl_backend.h"
#include "program/program.h"
#include "sketch/scheme.h"

struct bm_device_list {
    bm_device_pick all;
};

BM_OPTIONS_INIT(device_list, 0)

static bm_status open_list(const bm_device_options *device, const bm_callbacks *callbacks,
                           bm_device_list **out, bm_error *err)
{
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the list given");
    bm_device_list *list = NULL;
    BM_TRY(bm_new_zero(&list, 1, err));
    bm_status status = bm_device_pick_list(device, callbacks, &list->all, err);
    if (status == BM_OK)
        *out = list;
    else
        bm_free(list);
    return status;
}

bm_status bm_device_list_open(bm_device_list **out, bm_error *err)
{
    return open_list(&(bm_device_options){0}, NULL, out, err);
}

bm_status bm_device_list_open_with(const bm_device_list_options *options, bm_device_list **out,
                                   bm_error *err)
{
    bm_device_list_options used = device_list_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_device_list_options, callbacks), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.device = &used.device}, err));
    return open_list(&used.device, &used.callbacks, out, err);
}

size_t bm_device_list_count(const bm_device_list *list)
{
    return list != NULL ? list->all.n : 0;
}

const bm_device_info *bm_device_list_at(const bm_device_list *list, size_t index)
{
    return list != NULL && index < list->all.n ? &list->all.devices[index] : NULL;
}

const char *bm_device_list_note(const bm_device_list *list)
{
    return list != NULL ? list->all.why : "";
}

bool bm_device_list_broken(const bm_device_list *list)
{
    return list != NULL && list->all.broken;
}

void bm_device_list_close(bm_device_list *list)
{
    if (list == NULL)
        return;
    bm_device_pick_reset(&list->all);
    bm_free(list);
}

/* device_probe -- the function of the library that the probe process calls (opencl/cl_child.h). */

bm_status bm_device_probe(const char *device, const char *cache_dir, bm_error *err)
{
    return bm_backend_opencl_try(device, cache_dir, err);
}

/* device_self_test -- the public self-test: checks known answers on a device.
 *
 * The self-test signs documents with the same calls as a job, and compares words and keys with the
 * scalar reference, which defines the scheme. The documents have 0 hashes, 1 hash, and numbers of
 * hashes close to each block size. Each scheme is tested with several numbers of permutations. */

/* --- known answers --- */

static const uint32_t test_sizes[] = {0,  1,  2,  3,   7,    8,    15, 16,   17,
                                      63, 64, 65, 118, 1000, 5000, 0,  40000};
#define N_TEST_DOCS (sizeof test_sizes / sizeof test_sizes[0])
typedef struct test_case {
    uint64_t offsets[N_TEST_DOCS + 1];
    uint64_t *hashes;
    double *weights;
    uint32_t *words;
    uint64_t *keys;
    const bm_scheme_ops *scheme;
    uint32_t perms, bands, rows;
    bool stuck; /* a device no longer answers, and may use this memory at any time: never freed */
    const char *cache_dir;
    bm_device_settings settings;
    bm_callbacks callbacks;
} test_case;

static bm_status case_open(test_case *test, bm_error *err)
{
    for (size_t i = 0; i < N_TEST_DOCS; i++)
        test->offsets[i + 1] = test->offsets[i] + test_sizes[i];
    size_t n = (size_t)test->offsets[N_TEST_DOCS];
    test->hashes = bm_alloc(n, sizeof *test->hashes);
    test->weights = bm_alloc(n, sizeof *test->weights);
    test->words = bm_alloc(N_TEST_DOCS * BM_PERMS_MAX, sizeof(uint64_t));
    test->keys = bm_alloc(N_TEST_DOCS * BM_PERMS_MAX, sizeof *test->keys);
    if (test->hashes == NULL || test->weights == NULL || test->words == NULL || test->keys == NULL)
        return bm_fail_nomem(err, n * sizeof *test->hashes);
    uint64_t state = UINT64_C(0x0123456789ABCDEF);
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        test->hashes[i] = state ^ (state >> 29);
        test->weights[i] = (double)(1 + (state >> 40)) * 0x1p-12;
    }
    return BM_OK;
}

static bm_status case_compare(const test_case *test, const bm_device_info *device,
                              const bm_scheme_params *params, uint32_t *n_checks, bm_error *err)
{
    const bm_scheme scheme = params->ops->scheme;
    const size_t row = bm_scheme_row_uints(scheme, test->perms);
    uint32_t words[2 * BM_PERMS_MAX];
    uint64_t keys[BM_PERMS_MAX];
    for (size_t d = 0; d < N_TEST_DOCS; d++) {
        const uint64_t *hashes = test->hashes + test->offsets[d];
        if (params->ops->weighted)
            params->ops->sign_weighted(params, hashes, test->weights + test->offsets[d],
                                       test_sizes[d], words);
        else
            params->ops->sign(params, hashes, test_sizes[d], words);
        bm_band_keys_of(bm_scheme_value_bytes(scheme))(words, test->bands, test->rows,
                                                       test_sizes[d] == 0, keys);
        bool same = memcmp(words, test->words + d * row, row * sizeof *words) == 0 &&
                    memcmp(keys, test->keys + d * test->bands, test->bands * sizeof *keys) == 0;
        if (!same)
            return bm_fail_at(
                err, BM_ERR_SELFTEST, device->spec, 0,
                "wrong answer for a document of %u shingles, %u permutations of %s (device %s)",
                test_sizes[d], test->perms, bm_option_name(BM_OPTION_SCHEME, scheme), device->name);
        *n_checks += test->perms + test->bands;
    }
    return BM_OK;
}

static bm_status case_run(test_case *test, const bm_device_info *device, uint32_t *n_checks,
                          bm_error *err)
{
    bm_backend *backend = NULL;
    bm_scheme_params params = {0};
    bm_backend_cfg cfg = {
        .sketch = {.perms = test->perms, .seed = 1, .scheme = test->scheme->scheme},
        .bands = test->bands,
        .rows = test->rows,
        .cache_dir = test->cache_dir,
        .settings = &test->settings,
        .callbacks = &test->callbacks};
    bm_status status = BM_OK;
    BM_TRY_OUT(test->scheme->draw(&cfg.sketch, &params, err));
    BM_TRY_OUT(bm_device_open(device, &cfg, &backend, err));
    bm_sign_task task = {.offsets = test->offsets,
                         .hashes = test->hashes,
                         .weights = test->weights,
                         .n_docs = N_TEST_DOCS,
                         .words = test->words,
                         .keys = test->keys};
    BM_TRY_OUT(backend->ops->submit(backend, &task, err));
    BM_TRY_OUT(backend->ops->wait(backend, &task, err));
    status = case_compare(test, device, &params, n_checks, err);
out:
    if (backend != NULL) {
        backend->ops->drain(backend, NULL);
        test->stuck = backend->stuck;
        bm_backend_close(backend);
    }
    bm_scheme_params_reset(&params);
    return status;
}

static void case_free(test_case *test)
{
    if (test == NULL || test->stuck)
        return;
    bm_free_all(test->hashes, test->weights, test->words, test->keys, test);
}

/* Test every scheme for which the device has kernels, with the numbers of permutations listed in
 * the row of the scheme. */
static bm_status test_device(test_case *test, const bm_device_info *device, uint32_t *n_checks,
                             bm_error *err)
{
    for (size_t s = 0; (test->scheme = bm_scheme_at(s)) != NULL; s++) {
        const uint32_t *perms = test->scheme->test_perms;
        if (device->kind != BM_DEVICE_NATIVE && test->scheme->device.sign_cpu == NULL)
            continue;
        for (; *perms != 0; perms++) {
            test->perms = *perms;
            test->rows = test->perms < 4 ? 1 : 4;
            test->bands = test->perms / test->rows;
            BM_TRY(case_run(test, device, n_checks, err));
        }
    }
    return BM_OK;
}

BM_OPTIONS_INIT(self_test, 0)

bm_status bm_device_self_test(const bm_self_test_options *options, uint32_t *n_checks,
                              bm_error *err)
{
    bm_self_test_options used = self_test_defaults;
    bm_device_pick pick = {0};
    uint32_t checks = 0;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_self_test_options, device), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.device = &used.device}, err));
    test_case *test = NULL;
    BM_TRY(bm_new_zero(&test, 1, err));
    test->cache_dir = used.device.cache_dir;
    test->settings = bm_device_settings_of(&used.device);
    test->callbacks = used.callbacks;
    if (used.device.device == NULL)
        used.device.device = "cpu";
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_device_pick_open(&used.device, NULL, &pick, err));
    BM_TRY_OUT(case_open(test, err));
    for (size_t i = 0; i < pick.n; i++)
        BM_TRY_OUT(test_device(test, &pick.devices[i], &checks, err));
out:
    if (n_checks != NULL)
        *n_checks = checks;
    case_free(test);
    bm_device_pick_reset(&pick);
    return status;
}
