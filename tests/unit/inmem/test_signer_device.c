/* SPDX-License-Identifier: Apache-2.0 */
/* Which device a signer takes, and that every OpenCL device of this machine gives the same
 * signatures as the CPU: for texts and hashes, with several threads, in calls and in tasks. Without
 * such devices only the first two tests check anything. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>
#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

enum { N = 4000, PERMS = 48, BANDS = 6, ROWS = 8 };

static bm_str texts[N];
static char data[N * 500];

static void make(void)
{
    world_fill(data, sizeof data, 77, " abcdef");
    for (size_t i = 0; i < N; i++)
        texts[i] = (bm_str){data + i * 500, i % 13 == 0 ? 0 : i * 7 % 500};
    texts[100] = (bm_str){data, sizeof data / 2}; /* longer than a range */
}

static bm_status open_on(const char *device, uint32_t threads, bm_signer **out, bm_error *err)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = PERMS;
    options.bands.bands = BANDS;
    options.bands.rows = ROWS;
    options.band_keys = true;
    options.device.device = device;
    options.resources.threads = threads;
    options.resources.memory = 1 << 20; /* so that there are several batches */
    return bm_signer_open(&options, out, err);
}

Test(signer_device, auto_and_nothing_open_something_and_say_what)
{
    static const char *const words[] = {NULL, "auto", "cpu"};
    for (size_t i = 0; i < 3; i++) {
        bm_signer *signer = NULL;
        bm_error err = {0};
        cr_assert_eq(open_on(words[i], 2, &signer, &err), BM_OK, "%s", err.message);
        cr_assert_neq(bm_signer_describe(signer)->device[0], 0);
        cr_assert(words[i] != NULL || strcmp(bm_signer_describe(signer)->device, "cpu") == 0);
        bm_signer_close(signer);
    }
}

Test(signer_device, what_names_no_device_or_several_is_refused)
{
    bm_signer *signer = NULL;
    bm_device_list *list = NULL;
    cr_assert_eq(open_on("no such device", 1, &signer, NULL), BM_ERR_DEVICE);
    cr_assert_eq(open_on("", 1, &signer, NULL), BM_ERR_USAGE);
    cr_assert_eq(bm_device_list_open(&list, NULL), BM_OK);
    char both[80] = "cpu";
    for (size_t i = 1; i < bm_device_list_count(list); i++) {
        if (bm_device_list_at(list, i)->usable) {
            snprintf(both, sizeof both, "cpu,%s", bm_device_list_at(list, i)->spec);
            cr_assert_eq(open_on(both, 1, &signer, NULL), BM_ERR_USAGE);
        }
    }
    bm_device_list_close(list);
    cr_assert_null(signer);
}

Test(signer_device, settings_of_the_device_are_handed_on)
{
    bm_device_list *list = NULL;
    cr_assert_eq(bm_device_list_open(&list, NULL), BM_OK);
    for (size_t i = 1; i < bm_device_list_count(list); i++) {
        bm_signer_options options;
        bm_signer *signer = NULL;
        bm_signer_options_init(&options);
        options.device.device = bm_device_list_at(list, i)->spec;
        options.device.kernel_params = "no such row";
        if (bm_device_list_at(list, i)->usable)
            cr_assert_neq(bm_signer_open(&options, &signer, NULL), BM_OK);
        cr_assert_null(signer);
    }
    bm_device_list_close(list);
}

typedef struct rows {
    uint32_t words[N * PERMS], counts[N];
    uint64_t keys[N * BANDS];
} rows;

static bm_signer_out out_of(rows *r)
{
    memset(r, 0xAB, sizeof *r);
    return (bm_signer_out){.struct_size = sizeof(bm_signer_out),
                           .signatures = r->words,
                           .keys = r->keys,
                           .n_shingles = r->counts};
}

static void expect_same(const rows *x, const rows *y)
{
    cr_assert(memcmp(x->words, y->words, sizeof x->words) == 0);
    cr_assert(memcmp(x->keys, y->keys, sizeof x->keys) == 0);
    cr_assert(memcmp(x->counts, y->counts, sizeof x->counts) == 0);
}

/* Signs the texts, their hashes, and the texts as tasks; all must give the wanted rows. */
static void expect_device(const char *spec, uint32_t threads, const bm_documents *hashes,
                          const rows *wanted)
{
    bm_signer *signer = NULL;
    bm_error err = {0};
    rows *got = malloc(3 * sizeof *got);
    bm_documents docs = bm_documents_of_texts(texts, N);
    uint64_t tasks[3];
    cr_assert_eq(open_on(spec, threads, &signer, &err), BM_OK, "%s: %s", spec, err.message);
    cr_assert_str_eq(bm_signer_describe(signer)->device, spec);
    bm_signer_out out = out_of(&got[0]);
    cr_assert_eq(bm_signer_sign(signer, &docs, &out, &err), BM_OK, "%s", err.message);
    expect_same(&got[0], wanted);
    out = out_of(&got[0]);
    cr_assert_eq(bm_signer_sign(signer, hashes, &out, &err), BM_OK, "%s", err.message);
    expect_same(&got[0], wanted);
    for (int i = 0; i < 3; i++) {
        out = out_of(&got[i]);
        cr_assert_eq(bm_signer_submit(signer, i == 1 ? hashes : &docs, &out, &tasks[i], NULL),
                     BM_OK);
    }
    for (int i = 2; i >= 0; i--) {
        cr_assert_eq(bm_signer_wait(signer, tasks[i], &err), BM_OK, "%s", err.message);
        expect_same(&got[i], wanted);
    }
    bm_signer_close(signer);
    free(got);
}

Test(signer_device, each_opencl_device_signs_what_the_cpu_signs_for_any_number_of_threads)
{
    make();
    rows *wanted = malloc(sizeof *wanted);
    bm_signer *signer = NULL;
    bm_signer_out out = out_of(wanted);
    bm_shingle_options options;
    bm_shingle_options_init(&options);
    bm_hash_sets *sets = NULL;
    cr_assert_eq(open_on("cpu", 1, &signer, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign_texts(signer, texts, N, &out, NULL), BM_OK);
    bm_signer_close(signer);
    cr_assert_eq(bm_shingle_texts(&options, texts, N, &sets, NULL), BM_OK);
    bm_documents hashes = bm_hash_sets_documents(sets);
    bm_device_list *list = NULL;
    cr_assert_eq(bm_device_list_open(&list, NULL), BM_OK);
    for (size_t i = 0; i < bm_device_list_count(list); i++) {
        const bm_device_info *device = bm_device_list_at(list, i);
        for (uint32_t threads = 1; device->usable && threads < 5; threads++)
            expect_device(device->spec, threads, &hashes, wanted);
    }
    bm_device_list_close(list);
    bm_hash_sets_free(sets);
    free(wanted);
}
