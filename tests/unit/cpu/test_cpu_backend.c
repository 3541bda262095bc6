/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend, called through its table of operations, against the scalar reference of
 * scheme and keys. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "base/system.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/random.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"
#include "tests/world/sized.h"

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};

typedef struct batch {
    size_t n_docs;
    uint64_t *offsets, *hashes;
} batch;

/* Documents of very different lengths, the first offset not 0. */
static batch make_batch(uint32_t seed, size_t n_docs)
{
    static const size_t lengths[] = {0, 1, 2, 7, 16, 118, 1023, 1024, 1025, 3000};
    bm_random random;
    bm_random_init(&random, seed);
    batch out = {.n_docs = n_docs, .offsets = bm_alloc(n_docs + 1, sizeof(uint64_t))};
    out.offsets[0] = 13;
    for (size_t d = 0; d < n_docs; d++)
        out.offsets[d + 1] = out.offsets[d] + lengths[bm_random_range(&random, 0, 10)];
    size_t n = (size_t)out.offsets[n_docs];
    out.hashes = bm_alloc(n, sizeof *out.hashes);
    for (size_t i = 0; i < n; i++)
        out.hashes[i] = bm_random_u64(&random);
    return out;
}

static void free_batch(batch *b)
{
    bm_free(b->offsets);
    bm_free(b->hashes);
}

static bm_backend *open_scheme(bm_scheme scheme, const uint32_t plan[3], const char *cpu)
{
    bm_backend_cfg cfg = {.sketch = {.perms = plan[0], .seed = 1, .scheme = scheme},
                          .bands = plan[1],
                          .rows = plan[2],
                          .device = "cpu",
                          .cpu = cpu};
    bm_backend *backend = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_backend_cpu.open(&cfg, &backend, &err), BM_OK, "%s", err.message);
    return backend;
}

static bm_backend *open_cpu(uint32_t perms, uint32_t bands, uint32_t rows, const char *cpu)
{
    return open_scheme(BM_SCHEME_AFFINE32, (const uint32_t[]){perms, bands, rows}, cpu);
}

typedef struct expected {
    uint32_t *words;
    uint64_t *keys;
} expected;

/* The words and keys of every document by the reference, also those that the task does not want. */
static expected sign_by_reference(bm_scheme scheme, const bm_sign_task *task,
                                  const uint32_t plan[3])
{
    const size_t row = bm_scheme_row_uints(scheme, plan[0]);
    expected out = {bm_alloc(task->n_docs * row, sizeof *out.words),
                    bm_alloc(task->n_docs * plan[1], sizeof *out.keys)};
    bm_scheme_params params;
    bm_sketch_options options = {.perms = plan[0], .seed = 1, .scheme = scheme};
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    for (size_t d = 0; d < task->n_docs; d++) {
        size_t n = (size_t)(task->offsets[d + 1] - task->offsets[d]);
        params.ops->sign(&params, task->hashes + task->offsets[d], n, out.words + d * row);
        bm_band_keys_of(bm_scheme_value_bytes(params.ops->scheme))(
            out.words + d * row, plan[1], plan[2], n == 0, out.keys + d * plan[1]);
    }
    bm_scheme_params_reset(&params);
    return out;
}

static void free_expected(expected *e)
{
    bm_free(e->words);
    bm_free(e->keys);
}

/* The words and keys of the task are as expected. The task's `words` or `keys` may be NULL. */
static void expect_same(bm_scheme scheme, const bm_sign_task *task, const uint32_t plan[3],
                        const expected *right, const char *what)
{
    const uint32_t perms = plan[0], bands = plan[1], rows = plan[2];
    const size_t row = bm_scheme_row_uints(scheme, perms);
    for (size_t d = 0; d < task->n_docs; d++) {
        size_t n = (size_t)(task->offsets[d + 1] - task->offsets[d]);
        if (task->words != NULL)
            cr_assert_arr_eq(
                task->words + d * row, right->words + d * row, row * sizeof *right->words,
                "words of document %zu (%zu hashes), %u permutations, %s", d, n, perms, what);
        if (task->keys != NULL)
            cr_assert_arr_eq(
                task->keys + d * bands, right->keys + d * bands, bands * sizeof *right->keys,
                "keys of document %zu (%zu hashes), %u x %u, %s", d, n, bands, rows, what);
    }
}

static void expect_reference(const bm_sign_task *task, uint32_t perms, uint32_t bands,
                             uint32_t rows, const char *what)
{
    const uint32_t plan[3] = {perms, bands, rows};
    expected right = sign_by_reference(BM_SCHEME_AFFINE32, task, plan);
    expect_same(BM_SCHEME_AFFINE32, task, plan, &right, what);
    free_expected(&right);
}

typedef struct trial {
    const char *isa;
    bm_scheme scheme;
    const uint32_t *plan;
    int alone; /* the output to ask for alone; 1: words, 2: keys */
} trial;

/* On one instruction set, asks for words or keys alone, then for both. */
static void expect_on(const trial *t, const batch *b, const expected *right)
{
    bm_backend *backend = open_scheme(t->scheme, t->plan, t->isa);
    const size_t n_words = b->n_docs * bm_scheme_row_uints(t->scheme, t->plan[0]);
    const size_t n_keys = b->n_docs * t->plan[1];
    uint32_t *words = bm_alloc(n_words, sizeof *words);
    uint64_t *keys = bm_alloc(n_keys, sizeof *keys);
    for (int both = 0; both < 2; both++) {
        const int wanted = both ? 3 : t->alone;
        memset(words, 0x5A, n_words * sizeof *words);
        memset(keys, 0x5A, n_keys * sizeof *keys);
        bm_sign_task task = {.offsets = b->offsets,
                             .hashes = b->hashes,
                             .n_docs = b->n_docs,
                             .words = (wanted & 1) != 0 ? words : NULL,
                             .keys = (wanted & 2) != 0 ? keys : NULL};
        cr_assert_eq(backend->ops->submit(backend, &task, NULL), BM_OK);
        cr_assert_eq(backend->ops->wait(backend, &task, NULL), BM_OK);
        expect_same(t->scheme, &task, t->plan, right, t->isa);
    }
    cr_expect_eq(backend->ops->drain(backend, NULL), BM_OK);
    backend->ops->close(backend);
    bm_free(words);
    bm_free(keys);
}

/* The output asked for alone (words or keys) alternates over plans and instruction sets. That is
 * enough, because all words of a document are made before either output is written. */
static void expect_reference_on_every_isa(bm_scheme scheme)
{
    static const uint32_t plans[][3] = {{1, 1, 1},     {16, 16, 1},    {100, 20, 5},
                                        {128, 16, 8},  {128, 42, 3},   {256, 20, 12},
                                        {260, 20, 13}, {1024, 1, 1024}};
    int ran = 0;
    batch b = make_batch(3, sized(60, 12));
    const bm_sign_task all = {.offsets = b.offsets, .hashes = b.hashes, .n_docs = b.n_docs};
    for (int p = 0; p < (int)(sizeof plans / sizeof plans[0]); p++) {
        expected right = sign_by_reference(scheme, &all, plans[p]);
        ran = 0;
        for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
            bm_isa isa;
            if (bm_isa_choose(isas[i], &isa, NULL) != BM_OK)
                continue;
            const trial t = {isas[i], scheme, plans[p], 1 + (p + ran++) % 2};
            expect_on(&t, &b, &right);
        }
        cr_expect_geq(ran, 1);
        free_expected(&right);
    }
    free_batch(&b);
}

Test(cpu_backend, words_and_keys_equal_the_reference_on_every_instruction_set)
{
    expect_reference_on_every_isa(BM_SCHEME_AFFINE32);
}

Test(cpu_backend, words_and_keys_of_oph_equal_the_reference_on_every_instruction_set)
{
    expect_reference_on_every_isa(BM_SCHEME_OPH);
}

Test(cpu_backend, words_and_keys_of_the_schemes_of_others_equal_the_reference)
{
    for (bm_scheme scheme = BM_SCHEME_LEGACY; bm_scheme_get(scheme) != NULL; scheme++)
        expect_reference_on_every_isa(scheme);
}

/* perms_used: the first words of a full signature, computed alone; oph has no such prefix. */
Test(cpu_backend, the_first_words_may_be_had_alone_where_the_scheme_allows_it)
{
    enum { K = 128, USED = 70, DOCS = 30 };
    batch b = make_batch(21, DOCS);
    bm_backend_cfg cfg = {
        .sketch = {.perms = K, .seed = 1}, .perms_used = USED, .bands = 7, .rows = 10};
    bm_backend *all = open_cpu(K, 7, 10, NULL), *some = NULL;
    static uint32_t x[DOCS * K], y[DOCS * USED];
    static uint64_t x_keys[DOCS * 7], y_keys[DOCS * 7];
    bm_sign_task whole = {
        .offsets = b.offsets, .hashes = b.hashes, .n_docs = DOCS, .words = x, .keys = x_keys};
    bm_sign_task part = {
        .offsets = b.offsets, .hashes = b.hashes, .n_docs = DOCS, .words = y, .keys = y_keys};
    cr_assert_eq(bm_backend_cpu.open(&cfg, &some, NULL), BM_OK);
    cr_assert_eq(all->ops->submit(all, &whole, NULL), BM_OK);
    cr_assert_eq(some->ops->submit(some, &part, NULL), BM_OK);
    for (size_t d = 0; d < DOCS; d++)
        cr_assert_arr_eq(x + d * K, y + d * USED, USED * sizeof *y);
    cr_assert_arr_eq(x_keys, y_keys, sizeof x_keys);
    all->ops->close(all);
    some->ops->close(some);
    bm_backend *none = NULL;
    cfg.sketch.scheme = BM_SCHEME_OPH;
    cr_expect_eq(bm_backend_cpu.open(&cfg, &none, NULL), BM_ERR_USAGE);
    cfg.perms_used = K;
    cr_expect_eq(bm_backend_cpu.open(&cfg, &none, NULL), BM_OK);
    bm_backend_cpu.close(none);
    cfg.sketch.scheme = BM_SCHEME_AFFINE32;
    cfg.perms_used = K + 1;
    cr_expect_eq(bm_backend_cpu.open(&cfg, &none, NULL), BM_ERR_USAGE);
    free_batch(&b);
}

Test(cpu_backend, nothing_is_written_past_the_last_document)
{
    batch b = make_batch(9, 8);
    bm_backend *backend = open_cpu(100, 3, 33, NULL);
    uint32_t *words = bm_alloc(8 * 100 + 16, sizeof *words);
    uint64_t *keys = bm_alloc(8 * 3 + 8, sizeof *keys);
    memset(words, 0x5A, (8 * 100 + 16) * sizeof *words);
    memset(keys, 0x5A, (8 * 3 + 8) * sizeof *keys);
    bm_sign_task task = {
        .offsets = b.offsets, .hashes = b.hashes, .n_docs = 8, .words = words, .keys = keys};
    cr_assert_eq(backend->ops->submit(backend, &task, NULL), BM_OK);
    expect_reference(&task, 100, 3, 33, "best");
    for (size_t i = 0; i < 16; i++)
        cr_expect_eq(words[8 * 100 + i], UINT32_C(0x5A5A5A5A));
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(keys[8 * 3 + i], UINT64_C(0x5A5A5A5A5A5A5A5A));
    backend->ops->close(backend);
    bm_free(words);
    bm_free(keys);
    free_batch(&b);
}

Test(cpu_backend, no_documents_and_empty_documents_need_no_hashes)
{
    bm_backend *backend = open_cpu(64, 8, 8, NULL);
    const uint64_t offsets[] = {0, 0, 0};
    uint32_t words[2 * 64] = {0};
    uint64_t keys[2 * 8] = {0};
    bm_sign_task none = {.offsets = offsets, .words = words, .keys = keys}, empty = none;
    empty.n_docs = 2;
    cr_assert_eq(backend->ops->submit(backend, &none, NULL), BM_OK);
    cr_expect(words[0] == 0 && keys[0] == 0);
    cr_assert_eq(backend->ops->submit(backend, &empty, NULL), BM_OK);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_eq(words[i], UINT32_MAX);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cr_expect_eq(keys[i], UINT64_MAX);
    backend->ops->close(backend);
}

Test(cpu_backend, a_document_of_ten_million_hashes_equals_the_merge_of_its_parts)
{
    const size_t n = sized(10000000, 2500000), parts = 1000;
    uint64_t *hashes = bm_alloc(n, sizeof *hashes);
    for (size_t i = 0; i < n; i++)
        hashes[i] = i * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t whole_offsets[] = {0, n};
    uint64_t *offsets = bm_alloc(parts + 1, sizeof *offsets);
    for (size_t p = 0; p <= parts; p++)
        offsets[p] = n / parts * p;
    uint32_t whole[16], *words = bm_alloc(parts * 16, sizeof *words);
    bm_backend *backend = open_cpu(16, 0, 0, NULL);
    bm_sign_task one = {.offsets = whole_offsets, .hashes = hashes, .n_docs = 1, .words = whole};
    bm_sign_task many = {.offsets = offsets, .hashes = hashes, .n_docs = parts, .words = words};
    cr_assert_eq(backend->ops->submit(backend, &one, NULL), BM_OK);
    cr_assert_eq(backend->ops->submit(backend, &many, NULL), BM_OK);
    for (size_t i = 0; i < 16; i++) {
        uint32_t least = UINT32_MAX; /* the minimum of a union is the minimum of the minima */
        for (size_t p = 0; p < parts; p++)
            least = words[p * 16 + i] < least ? words[p * 16 + i] : least;
        cr_expect_eq(whole[i], least);
        cr_expect_lt(whole[i], sized(1u << 13, 1u << 15), "the least of so many uniform words");
    }
    backend->ops->close(backend);
    bm_free(hashes);
    bm_free(offsets);
    bm_free(words);
}

typedef struct shared_job {
    bm_backend *backend;
    bm_sign_task *tasks;
} shared_job;

static bm_status submit_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    shared_job *job = ctx;
    bm_status status = BM_OK;
    for (size_t i = begin; i < end && status == BM_OK; i++)
        status = job->backend->ops->submit(job->backend, &job->tasks[i], err);
    return status;
}

Test(cpu_backend, threads_may_submit_to_one_backend_at_once)
{
    enum { TASKS = 24 };
    bm_backend *backend = open_cpu(128, 16, 8, NULL);
    cr_assert(backend->parallel);
    batch batches[TASKS];
    bm_sign_task tasks[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        batches[i] = make_batch(100 + i, 20);
        tasks[i] = (bm_sign_task){.offsets = batches[i].offsets,
                                  .hashes = batches[i].hashes,
                                  .n_docs = 20,
                                  .words = bm_alloc(20 * 128, sizeof(uint32_t)),
                                  .keys = bm_alloc(20 * 16, sizeof(uint64_t))};
    }
    bm_pool *pool = NULL;
    cr_assert_eq(bm_pool_open(4, &pool, NULL), BM_OK);
    shared_job job = {backend, tasks};
    cr_assert_eq(bm_pool_for(pool, (bm_pool_split){TASKS, 1}, submit_range, &job, NULL), BM_OK);
    bm_pool_close(pool);
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_reference(&tasks[i], 128, 16, 8, "threads");
        bm_free(tasks[i].words);
        bm_free(tasks[i].keys);
        free_batch(&batches[i]);
    }
    backend->ops->close(backend);
}

Test(cpu_backend, bad_settings_are_refused)
{
    static const struct {
        uint32_t perms, bands, rows;
        const char *cpu;
    } bad[] = {{0, 0, 0, NULL},     {1025, 0, 0, NULL},    {128, 16, 0, NULL},
               {128, 0, 8, NULL},   {128, 17, 8, NULL},    {128, 65536, 65537, NULL},
               {128, 0, 0, "sse9"}, {128, 0, 0, "avx512 "}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bm_backend_cfg cfg = {.sketch = {.perms = bad[i].perms, .seed = 1},
                              .bands = bad[i].bands,
                              .rows = bad[i].rows,
                              .cpu = bad[i].cpu};
        bm_backend *backend = NULL;
        bm_error err = {0};
        cr_expect_eq(bm_backend_cpu.open(&cfg, &backend, &err), BM_ERR_USAGE, "row %zu", i);
        cr_expect_null(backend);
        cr_expect_neq(err.message[0], '\0');
    }
    bm_backend_cpu.close(NULL);
}

Test(cpu_backend, keys_of_a_backend_without_bands_are_an_error)
{
    bm_backend *backend = open_cpu(16, 0, 0, NULL);
    const uint64_t offsets[] = {0, 1}, hash = 5;
    uint64_t key = 42;
    bm_sign_task task = {.offsets = offsets, .hashes = &hash, .n_docs = 1, .keys = &key};
    cr_expect_eq(backend->ops->submit(backend, &task, NULL), BM_ERR_INTERNAL);
    cr_expect_eq(key, 42);
    backend->ops->close(backend);
}

Test(cpu_backend, the_device_names_processor_and_instruction_set)
{
    bm_device_info info;
    bm_backend_cpu_info(NULL, &info);
    cr_expect_str_eq(info.spec, "cpu");
    cr_expect_str_eq(info.platform, "native");
    cr_expect_str_eq(info.driver, bm_isa_name(bm_isa_best()));
    cr_expect(info.usable && info.kind == BM_DEVICE_NATIVE);
    cr_expect(info.name[0] != '\0' && info.compute_units >= 1 && info.memory_bytes > 0);
    bm_backend_cpu_info("scalar", &info);
    cr_expect_str_eq(info.driver, "scalar");
    bm_backend_cpu_info("sse9", &info);
    cr_expect_not(info.usable);
    cr_expect_not_null(strstr(info.why, "sse9"));
}
