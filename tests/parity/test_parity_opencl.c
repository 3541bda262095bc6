/* SPDX-License-Identifier: Apache-2.0 */
/* On every OpenCL device here, both families of kernels give the words and keys of the scalar
 * reference. A covering selection (parity_able.h) decides which numbers of words run on which
 * device with which family.
 *
 * Without a device the tests are skipped, with the reason. BANDMILL_REQUIRE_OPENCL=N: fewer than N
 * platforms is a failure. BANDMILL_TEST_DEVICE=opencl:P.D: only that device, which must exist. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "opencl/cl_listing.h"
#include "opencl/cl_backend.c"
#include "opencl/cl_cache.h"
#include "opencl/cl_link_rate.h"
#include "base/memory.h"
#include "tests/parity/parity_able.h"
#include "tests/parity/parity_batch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_folder.h"

static const char *const families[] = {"cpu", "gpu"};

typedef struct devices {
    bm_device_info *infos;
    size_t n;
} devices;

static devices find_devices(void)
{
    bm_cl_listing listing;
    bm_error err = {0};
    world_ok(bm_cl_list(&listing, &err), &err);
    devices d = {.infos = listing.rows};
    for (size_t i = 0; i < listing.n; ++i)
        if (d.infos[i].kind != BM_DEVICE_CL_NONE)
            d.infos[d.n++] = d.infos[i];
    size_t platforms = 0;
    for (size_t i = 0; i < d.n; ++i)
        platforms += i == 0 || strcmp(d.infos[i].platform, d.infos[i - 1].platform) != 0;
    const char *required = getenv("BANDMILL_REQUIRE_OPENCL");
    if (required != NULL)
        cr_assert_geq(platforms, strtoul(required, NULL, 10), "%zu OpenCL platforms here; %s",
                      platforms, listing.note);
    const char *only = getenv("BANDMILL_TEST_DEVICE");
    if (only != NULL) {
        size_t n = 0;
        for (size_t i = 0; i < d.n; ++i)
            if (strcmp(d.infos[i].spec, only) == 0)
                d.infos[n++] = d.infos[i];
        d.n = n;
        cr_assert_eq(n, 1, "there is no device %s", only);
    }
    if (d.n == 0)
        cr_skip("no OpenCL device: %s", listing.note);
    return d;
}

/* `limit`: of a buffer, 0: the device's. staged: the device does not use the task's memory
 * directly. */
static bm_backend *open_staged(const bm_backend_cfg *cfg, const char *family, size_t limit,
                               bool staged)
{
    const bm_device_settings settings = {.kernel_family = family, .buffer_limit_bytes = limit};
    bm_backend_cfg own = *cfg;
    own.settings = &settings;
    bm_backend *backend = NULL;
    bm_error err = {0};
    bm_status status = bm_cl_backend_open(
        &own, &(bm_cl_open_options){.no_probe = true, .no_zero_copy = staged}, &backend, &err);
    cr_assert_eq(status, BM_OK, "%s %s: %s", cfg->device, family, err.message);
    return backend;
}

static bm_backend *open_device(const bm_backend_cfg *cfg, const char *family, size_t limit)
{
    return open_staged(cfg, family, limit, false);
}

static void sign(bm_backend *backend, bm_sign_task *task)
{
    bm_error err = {0};
    world_ok(backend->ops->submit(backend, task, &err), &err);
    world_ok(backend->ops->wait(backend, task, &err), &err);
}

/* Sizes for each path: empty, one hash, incomplete quads, packed, a chunk of its own, in parts. */
static size_t make_sizes(uint32_t *sizes, uint32_t longest)
{
    static const uint32_t edges[] = {0,   1,    2,    3,    4, 5,    0,    0,    17,
                                     118, 1023, 1024, 1025, 0, 4095, 4096, 4097, 1};
    uint64_t state = 5;
    size_t n = 0;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; ++i)
        sizes[n++] = edges[i];
    for (size_t i = 0; i < 200; ++i)
        sizes[n++] = (uint32_t)(world_random(&state) % 240);
    sizes[n++] = longest;
    for (size_t i = 0; i < 20; ++i)
        sizes[n++] = (uint32_t)(world_random(&state) % 3);
    sizes[n++] = 70000;
    sizes[n++] = 0;
    return n;
}

/* `plan`: perms, bands and rows. Runs two of the four pairs of two devices and two families, chosen
 * by `turn`: each family and each device once. */
static void check_scheme(const devices *d, bm_scheme scheme, const uint32_t plan[3], size_t turn)
{
    const uint32_t perms = plan[0], bands = plan[1];
    uint32_t sizes[512];
    bm_backend_cfg cfg = {.sketch = {.perms = perms, .seed = perms + 1, .scheme = scheme},
                          .bands = bands,
                          .rows = plan[2]};
    parity_batch batch;
    const size_t n = make_sizes(sizes, 300000);
    parity_make(&batch, &cfg, sizes, n, perms);
    for (size_t i = 0; i < d->n; ++i)
        for (size_t s = 0; s < 2; ++s) {
            char what[256];
            if (d->n > 1 && (i + s + turn) % 2 != 0 && !parity_whole())
                continue;
            if (!parity_able(&d->infos[i], families[s]))
                continue;
            snprintf(what, sizeof what, "%s, %s, %u permutations", d->infos[i].name, families[s],
                     perms);
            cfg.device = d->infos[i].spec;
            cfg.cache_dir = parity_programs(&d->infos[i]);
            bm_backend *backend = open_device(&cfg, families[s], 0);
            for (int wanted = 1; wanted < (bands > 0 ? 4 : 2); ++wanted) {
                bm_sign_task task = parity_task(&batch, 0, n, wanted & 1, wanted & 2);
                parity_forget(&batch);
                sign(backend, &task);
                parity_compare(&batch, wanted & 1, wanted & 2, what);
            }
            backend->ops->close(backend);
        }
    parity_free(&batch);
}

static void check_plans(bm_scheme scheme, const uint32_t (*plans)[3], size_t n)
{
    devices d = find_devices();
    for (size_t i = 0; i < n; ++i)
        check_scheme(&d, scheme, plans[i], i + 1);
    bm_free(d.infos);
}

Test(parity_opencl, few_permutations_equal_the_reference)
{
    static const uint32_t plans[][3] = {{1, 1, 1}, {16, 0, 0}, {100, 33, 3}};
    check_plans(BM_SCHEME_AFFINE32, plans, sizeof plans / sizeof *plans);
}

Test(parity_opencl, many_permutations_equal_the_reference)
{
    static const uint32_t plans[][3] = {{128, 16, 8}, {256, 20, 12}, {1024, 1, 1024}};
    check_plans(BM_SCHEME_AFFINE32, plans, sizeof plans / sizeof *plans);
}

/* Numbers of bins on both sides of each threshold of the kernels: offers that name their donor,
 * documents per round. */
Test(parity_opencl, oph_of_any_number_of_bins_equals_the_reference)
{
    static const uint32_t plans[][3] = {
        {1, 1, 1}, {62, 7, 8}, {128, 16, 8}, {257, 32, 8}, {1024, 1, 1024}};
    check_plans(BM_SCHEME_OPH, plans, sizeof plans / sizeof *plans);
}

/* The last vector of words and the last team's words are incomplete. */
Test(parity_opencl, the_schemes_of_others_equal_the_reference)
{
    static const uint32_t plan[3] = {130, 13, 10};
    devices d = find_devices();
    const bm_scheme_ops *ops;
    size_t turn = 1;
    for (bm_scheme scheme = BM_SCHEME_LEGACY; (ops = bm_scheme_get(scheme)) != NULL; ++scheme) {
        /* text_dedup uses legacy's kernels */
        if (ops->device.sign_cpu != NULL && scheme != BM_SCHEME_TEXT_DEDUP)
            check_scheme(&d, scheme, plan, turn++);
    }
    bm_free(d.infos);
}

/* Hashes for which a * h + b mod 2^64 is at a boundary of the reduction mod 2^61 - 1: random hashes
 * never reach it. */
Test(parity_opencl, values_at_the_modulus_equal_the_reference)
{
    static const uint64_t high[] = {0, 1, 6, 7}, low[] = {0, 1, 2, 5, 6, 7, 8};
    enum { PERMS = 37, DOCS = PERMS * 4 * 14 };
    const uint64_t modulus = (UINT64_C(1) << 61) - 1;
    static uint32_t sizes[DOCS];
    devices d = find_devices();
    bm_backend_cfg cfg = {.sketch = {.perms = PERMS, .seed = 7, .scheme = BM_SCHEME_DATATROVE}};
    bm_scheme_params params;
    bm_error err = {0};
    parity_batch batch;
    for (size_t i = 0; i < DOCS; ++i)
        sizes[i] = 1;
    parity_make(&batch, &cfg, sizes, DOCS, 1);
    world_ok(bm_scheme_draw(&cfg.sketch, &params, &err), &err);
    uint64_t *hash = batch.hashes + batch.offsets[0];
    size_t odd = 0;
    for (size_t k = 0; k < PERMS; ++k) {
        /* Newton's iteration for the inverse of an odd a mod 2^64: each step doubles the right
         * bits */
        uint64_t inverse = 1;
        for (int step = 0; step < 6; ++step)
            inverse *= 2 - params.a64[k] * inverse;
        odd += params.a64[k] % 2;
        for (size_t i = 0; i < 4; ++i)
            for (size_t j = 0; j < 14; ++j) {
                const uint64_t rest = j < 7 ? low[j] : modulus - low[j - 7];
                *hash++ = ((high[i] << 61 | rest) - params.b64[k]) * inverse;
            }
    }
    cr_assert_gt(odd, 5);
    parity_answer(&batch, &cfg);
    for (size_t i = 0; i < d.n; ++i)
        for (size_t s = 0; s < 2; ++s) {
            if (!parity_able(&d.infos[i], families[s]))
                continue;
            cfg.device = d.infos[i].spec;
            bm_backend *backend = open_device(&cfg, families[s], 0);
            bm_sign_task task = parity_task(&batch, 0, DOCS, true, false);
            parity_forget(&batch);
            sign(backend, &task);
            parity_compare(&batch, true, false, d.infos[i].name);
            backend->ops->close(backend);
        }
    bm_scheme_params_reset(&params);
    parity_free(&batch);
    bm_free(d.infos);
}

/* Parameter rows for devices that are not here, and the extremes that bench/kernel_tune tries.
 * Intel's compiler for CPUs crashes on the first four, which have the longest loops. */
Test(parity_opencl, rows_of_parameters_equal_the_reference)
{
    static const char *const rows[] = {"*,*,*,gpu,16,8,4,64,256,256,256,4096,128,0,8",
                                       "*,*,*,gpu,16,8,8,128,64,64,64,100,128,0,4",
                                       "*,*,*,gpu,16,8,4,512,1024,1024,256,16384,512,0,16",
                                       "*,*,*,gpu,16,8,2,1024,128,128,64,1024,32,0,16",
                                       "*,*,*,gpu,16,8,2,256,512,300,300,512,128,0,2",
                                       "*,*,*,cpu,4,3,4,64,256,1000,2000,700,256,0,4",
                                       "*,*,*,gpu,16,8,1,128,64,32,32,16384,32,0,4",
                                       "*,*,*,cpu,8,16,4,64,256,16384,262144,262144,1024,1,4"};
    devices d = find_devices();
    enum { DOCS = 60 };
    uint32_t sizes[DOCS];
    uint64_t state = 5;
    for (size_t i = 0; i < DOCS; ++i)
        sizes[i] = i < 40 ? (uint32_t)i : (uint32_t)(world_random(&state) % 3000);
    bm_backend_cfg cfg = {.sketch = {.perms = 128, .seed = 3}, .bands = 16, .rows = 8};
    parity_batch batch;
    parity_make(&batch, &cfg, sizes, DOCS, 6);
    for (size_t i = 0; i < d.n; ++i)
        for (size_t r = strstr(d.infos[i].platform, "Intel") != NULL ? 4 : 0;
             r < sizeof rows / sizeof *rows; ++r) {
            /* each row on one device only */
            if (d.n > 1 && r >= 4 && (i + r) % 2 != 0 && !parity_whole())
                continue;
            if (strstr(rows[r], ",cpu,") != NULL && !parity_able(&d.infos[i], "cpu"))
                continue;
            bm_backend *backend = NULL;
            bm_error err = {0};
            cfg.device = d.infos[i].spec;
            cfg.cache_dir = parity_programs(&d.infos[i]);
            const bm_device_settings settings = {.kernel_params = rows[r]};
            cfg.settings = &settings;
            cr_assert_eq(
                bm_cl_backend_open(&cfg, &(bm_cl_open_options){.no_probe = true}, &backend, &err),
                BM_OK, "%s: %s: %s", cfg.device, rows[r], err.message);
            parity_forget(&batch);
            bm_sign_task task = parity_task(&batch, 0, DOCS, true, true);
            sign(backend, &task);
            parity_compare(&batch, true, true, rows[r]);
            backend->ops->close(backend);
        }
    parity_free(&batch);
    bm_free(d.infos);
}

Test(parity_opencl, tasks_in_flight_end_in_order_and_a_prefix_of_permutations_is_a_prefix)
{
    devices d = find_devices();
    enum { TASKS = 12, DOCS = 300 };
    static uint32_t sizes[TASKS * DOCS];
    uint64_t state = 77;
    for (size_t i = 0; i < TASKS * DOCS; ++i)
        sizes[i] = (uint32_t)(world_random(&state) % 200) * (i % 7 != 0);
    bm_backend_cfg cfg = {
        .sketch = {.perms = 256, .seed = 9}, .perms_used = 100, .bands = 33, .rows = 3};
    parity_batch batch;
    parity_make(&batch, &cfg, sizes, TASKS * DOCS, 1);
    for (size_t i = 0; i < d.n; ++i)
        for (size_t s = 0; s < 2; ++s) {
            bm_error err = {0};
            if (!parity_able(&d.infos[i], families[s]))
                continue;
            cfg.device = d.infos[i].spec;
            cfg.cache_dir = parity_programs(&d.infos[i]);
            bm_backend *backend = open_device(&cfg, families[s], 0);
            bm_sign_task tasks[TASKS];
            parity_forget(&batch);
            for (size_t t = 0; t < TASKS; ++t) {
                tasks[t] = parity_task(&batch, t * DOCS, DOCS, t % 3 != 1, t % 3 != 0);
                if (t >= backend->depth)
                    cr_assert_eq(backend->ops->wait(backend, &tasks[t - backend->depth], &err),
                                 BM_OK);
                world_ok(backend->ops->submit(backend, &tasks[t], &err), &err);
            }
            cr_assert_eq(backend->ops->drain(backend, &err), BM_OK);
            for (size_t t = 0; t < TASKS; ++t) {
                parity_batch part = batch;
                part.n_docs = DOCS;
                part.offsets += t * DOCS;
                part.words += t * DOCS * batch.row, part.right_words += t * DOCS * batch.row;
                part.keys += t * DOCS * batch.bands, part.right_keys += t * DOCS * batch.bands;
                parity_compare(&part, t % 3 != 1, t % 3 != 0, "task in flight");
            }
            backend->ops->close(backend);
        }
    parity_free(&batch);
    bm_free(d.infos);
}

/* Uses a plan whose programs other tests here compile too. */
static void check_cut(bm_scheme scheme, const uint32_t plan[3], uint64_t distinct)
{
    devices d = find_devices();
    uint32_t sizes[512];
    bm_backend_cfg cfg = {.sketch = {.perms = plan[0], .seed = 3, .scheme = scheme},
                          .bands = plan[1],
                          .rows = plan[2]};
    parity_batch batch;
    const size_t n = make_sizes(sizes, 100000);
    parity_make_docs(&batch, &cfg, &(parity_docs){sizes, n, 8, distinct});
    for (size_t i = 0; i < d.n; ++i)
        for (size_t s = 0; s < 3; ++s) { /* the third setting: the CPU family without zero copy */
            if (!parity_able(&d.infos[i], families[s % 2]))
                continue;
            cfg.device = d.infos[i].spec;
            cfg.cache_dir = parity_programs(&d.infos[i]);
            bm_backend *backend = open_staged(&cfg, families[s % 2], 65536,
                                              s == 2); /* at most 8,192 hashes per batch */
            bm_sign_task task = parity_task(&batch, 0, n, true, true);
            parity_forget(&batch);
            sign(backend, &task);
            parity_compare(&batch, true, true, "cut");
            task = parity_task(&batch, 0, n, false, true);
            parity_forget(&batch);
            sign(backend, &task);
            parity_compare(&batch, false, true, "cut, keys alone");
            backend->ops->close(backend);
        }
    parity_free(&batch);
    bm_free(d.infos);
}

Test(parity_opencl, a_task_beyond_the_limits_of_buffers_is_cut_and_a_document_beyond_them_too)
{
    check_cut(BM_SCHEME_AFFINE32, (const uint32_t[]){128, 16, 8}, 0);
}

/* With few different hashes even long documents have empty bins, in their parts and as a whole. */
Test(parity_opencl,
     a_task_of_oph_beyond_the_limits_is_cut_and_bins_that_stay_empty_are_filled_at_the_end)
{
    check_cut(BM_SCHEME_OPH, (const uint32_t[]){128, 16, 8}, 0);
    check_cut(BM_SCHEME_OPH, (const uint32_t[]){128, 16, 8}, 40);
    check_cut(BM_SCHEME_OPH, (const uint32_t[]){128, 16, 8}, 3);
}

/* Documents larger than any batch: 64-bit words are merged on the host, and those of lance cannot
 * be merged. */
Test(parity_opencl, tasks_of_the_schemes_of_others_beyond_the_limits_are_cut_and_put_together)
{
    check_cut(BM_SCHEME_AFFINE64, (const uint32_t[]){130, 13, 10}, 0);
    check_cut(BM_SCHEME_LANCE, (const uint32_t[]){130, 13, 10}, 0);
}

Test(parity_opencl, a_cached_program_is_used_again_and_a_damaged_one_is_made_again)
{
    devices d = find_devices();
    char dir[256], command[2048];
    cr_assert(world_folder_make(NULL, dir, sizeof dir));
    bm_backend_cfg cfg = {
        .sketch = {.perms = 32, .seed = 1}, .bands = 4, .rows = 8, .cache_dir = dir};
    for (size_t i = 0; i < d.n; ++i) {
        cfg.device = d.infos[i].spec;
        /* Each command damages the cache entry in one way; the last leaves it intact. */
        static const char *const damages[] = {"true", "truncate -s -1 %s/opencl/*.clbin",
                                              "truncate -s 20 %s/opencl/*.clbin",
                                              ("f=$(echo %s/opencl/*.clbin); printf X | dd of=$f "
                                               "bs=1 seek=$(($(stat -c %%s $f) / 2)) "
                                               "conv=notrunc 2>/dev/null"),
                                              "printf garbage | tee %s/opencl/*.clbin >/dev/null"};
        bm_backend *backend = open_device(&cfg, NULL, 0);
        cr_assert_not(((const cl_backend *)backend)->was_cached, "the first is built");
        backend->ops->close(backend);
        for (size_t k = 0; k < sizeof damages / sizeof *damages; ++k) {
            snprintf(command, sizeof command, damages[k], dir);
            cr_assert_eq(system(command), 0, "%s", command);
            backend = open_device(&cfg, NULL, 0);
            cr_assert_eq(((const cl_backend *)backend)->was_cached, k == 0, "%s: %s",
                         d.infos[i].name, damages[k]);
            cr_assert_eq(((const cl_backend *)backend)->n_checks, 14u * (32 + 4));
            backend->ops->close(backend);
            backend = open_device(&cfg, NULL, 0);
            cr_assert(((const cl_backend *)backend)->was_cached, "%s: rewritten after %s",
                      d.infos[i].name, damages[k]);
            backend->ops->close(backend);
        }
        snprintf(command, sizeof command, "rm %s/opencl/*.clbin", dir);
        cr_assert_eq(system(command), 0);
    }
    snprintf(command, sizeof command, "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
    bm_free(d.infos);
}

/* The key of the only cache entry other than `not_this`. */
static bm_cl_key only_key(const char *dir, bm_cl_key not_this)
{
    char path[128];
    bm_cl_key found = {0};
    snprintf(path, sizeof path, "%s/opencl", dir);
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        bm_cl_key key;
        if (sscanf(e->d_name, "%16" SCNx64 "%16" SCNx64 ".clbin", &key.hi, &key.lo) == 2 &&
            key.lo != not_this.lo)
            found = key;
    }
    closedir(folder);
    cr_assert(found.lo != 0);
    return found;
}

Test(parity_opencl, the_binary_of_another_kernel_in_the_cache_is_found_out)
{
    devices d = find_devices();
    for (size_t i = 0; i < d.n; ++i) {
        char dir[256];
        cr_assert(world_folder_make(NULL, dir, sizeof dir));
        bm_backend_cfg ours = {.sketch = {.perms = 32, .seed = 1},
                               .bands = 4,
                               .rows = 8,
                               .device = d.infos[i].spec,
                               .cache_dir = dir};
        bm_backend_cfg foreign = ours; /* the same kernels and arguments, but other keys */
        foreign.bands = 4;
        foreign.rows = 4;
        bm_backend *backend = open_device(&ours, NULL, 0);
        backend->ops->close(backend);
        const bm_cl_key key = only_key(dir, (bm_cl_key){0});
        backend = open_device(&foreign, NULL, 0);
        backend->ops->close(backend);
        bm_cl_cache cache;
        void *binary = NULL;
        size_t len = 0;
        cr_assert_eq(bm_cl_cache_open(&cache, dir, NULL), BM_OK);
        cr_assert_eq(bm_cl_cache_load(&cache, only_key(dir, key), &binary, &len, NULL), BM_OK);
        cr_assert_eq(bm_cl_cache_store(&cache, key, binary, len, NULL), BM_OK,
                     "the other's code, with a right checksum");
        bm_free(binary);
        bm_cl_cache_close(&cache);
        for (int again = 0; again < 2; ++again) {
            backend = open_device(&ours, NULL, 0);
            cr_assert_eq(((const cl_backend *)backend)->was_cached, again == 1, "%s",
                         d.infos[i].name);
            backend->ops->close(backend);
        }
        cr_assert_eq(world_folder_remove(dir), 0);
    }
    bm_free(d.infos);
}

Test(parity_opencl, a_device_that_is_not_there_is_a_device_error_that_names_it)
{
    devices d = find_devices();
    static const char *const specs[] = {"opencl:99.0", "opencl:0.99", "opencl:", "opencl:0.0x", ""};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        bm_backend_cfg cfg = {.sketch = {.perms = 16}, .device = specs[i], .cache_dir = ""};
        bm_backend *backend = NULL;
        bm_error err = {0};
        cr_assert_eq(bm_backend_opencl.open(&cfg, &backend, &err), BM_ERR_DEVICE, "%s", specs[i]);
        cr_assert_null(backend);
        cr_assert_not_null(strstr(err.message, specs[i]), "%s", err.message);
    }
    bm_free(d.infos);
}

Test(parity_opencl, the_rate_of_copies_is_measured_both_ways_and_needs_a_device_and_bytes)
{
    devices d = find_devices();
    double up = 0, down = 0;
    bm_error err = {0};
    for (size_t i = 0; i < d.n; ++i) {
        world_ok(bm_opencl_link_rate(d.infos[i].spec, 1 << 20, &up, &down, &err), &err);
        cr_assert(up > 1e6 && down > 1e6, "%s: %g and %g bytes a second", d.infos[i].name, up,
                  down);
    }
    up = down = 7;
    cr_assert_eq(bm_opencl_link_rate("opencl:99.0", 1 << 20, &up, &down, &err), BM_ERR_DEVICE);
    cr_assert_eq(bm_opencl_link_rate("opencl:0.0", 0, &up, &down, &err), BM_ERR_USAGE);
    cr_assert(up == 7 && down == 7, "after a failure outputs are as before");
    bm_free(d.infos);
}
