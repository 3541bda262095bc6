/* SPDX-License-Identifier: Apache-2.0 */
/* The store in which cws keeps elements: each element is found again until the store is emptied,
 * and what the store holds changes no word. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "cpu/cws_kept.h"
#include "base/random.h"
#include "sketch/scheme.h"
#include "tests/world/colliding.h"

enum { PERMS = 70, SMALL = 64 << 10, N_DOCS = 40, N_ELEMENTS = 300, N_THREADS = 4 };

static bm_cws_kept *open_kept(bm_scheme_params *params, size_t bytes)
{
    const bm_sketch_options options = {.perms = PERMS, .seed = 6, .scheme = BM_SCHEME_CWS};
    bm_cws_kept *kept = NULL;
    cr_assert_eq(bm_scheme_draw(&options, params, NULL), BM_OK);
    cr_assert_eq(bm_cws_kept_open(params, bytes, &kept, NULL), BM_OK);
    return kept;
}

/* Hashes that differ in the upper bits, in the lower bits or in all; one of them is 0. */
static uint64_t hash_of(uint32_t i)
{
    const uint64_t k = i / 3;
    return i % 3 == 0 ? k << 48 : i % 3 == 1 ? k + 1 : (k + 1) * BM_CWS_GOLDEN;
}

Test(cws_kept, elements_are_found_again_until_a_store_is_full)
{
    bm_scheme_params params;
    bm_cws_kept *kept = open_kept(&params, 0);
    bm_cws_store *store = NULL;
    cr_assert_eq(bm_cws_kept_borrow(kept, &store, NULL), BM_OK);
    cr_expect_gt(store->n_max, 4000);
    cr_expect_leq(store->n_max * (size_t)(store->stride + sizeof *store->slots), (size_t)4 << 20);
    for (uint32_t i = 0; i < store->n_max; i++) {
        cr_assert_eq(bm_cws_store_find(store, hash_of(i), i), BM_CWS_NONE, "%u", i);
        bm_cws_store_reserve(store, 1);
        cr_assert_eq(bm_cws_store_add(store, hash_of(i)), i);
    }
    for (uint32_t i = 0; i < store->n_max; i++)
        for (uint32_t guess = i; guess <= store->n_max; guess += store->n_max - i)
            cr_assert_eq(bm_cws_store_find(store, hash_of(i), guess), i);
    bm_cws_store_reserve(store, BM_CWS_BLOCK);
    for (uint32_t i = 0; i < store->n_max; i++)
        cr_assert_eq(bm_cws_store_find(store, hash_of(i), i), BM_CWS_NONE);
    bm_cws_kept_return(kept, store);
    bm_cws_kept_close(kept);
    bm_scheme_params_reset(&params);
}

/* Elements whose products with BM_CWS_GOLDEN have the same upper bits. The store tolerates a block
 * of them, then draws a seed. */
Test(cws_kept, elements_that_meet_in_one_place_take_no_more_than_a_seed)
{
    const uint64_t back = colliding_inverse(BM_CWS_GOLDEN);
    bm_scheme_params params;
    bm_cws_kept *kept = open_kept(&params, 0);
    bm_cws_store *store = NULL;
    size_t n = 0;
    cr_assert_eq(bm_cws_kept_borrow(kept, &store, NULL), BM_OK);
    for (; n < store->n_max; n += BM_CWS_BLOCK) {
        bm_cws_store_reserve(store, BM_CWS_BLOCK);
        for (uint64_t i = n; i < n + BM_CWS_BLOCK; i++) {
            const uint32_t slot = bm_cws_store_add(store, i * back);
            cr_assert_eq(bm_cws_store_find(store, i * back, BM_CWS_NONE), slot);
        }
    }
    cr_expect_neq(store->table.seed, 0);
    cr_expect_leq(store->table.n_steps, 24 * n + (size_t)BM_CWS_BLOCK * BM_CWS_BLOCK,
                  "%zu steps for %zu elements", (size_t)store->table.n_steps, n);
    bm_cws_kept_return(kept, store);
    bm_cws_kept_close(kept);
    bm_scheme_params_reset(&params);
}

Test(cws_kept, a_store_is_lent_to_one_at_a_time_and_kept)
{
    bm_cws_store *stores[BM_IDLE_PLACES + 2], *again = NULL;
    bm_scheme_params params;
    bm_cws_kept *kept = open_kept(&params, SMALL);
    for (size_t i = 0; i < BM_IDLE_PLACES + 2; i++) {
        cr_assert_eq(bm_cws_kept_borrow(kept, &stores[i], NULL), BM_OK);
        cr_assert_geq(stores[i]->n_max, BM_CWS_BLOCK);
        for (size_t k = 0; k < i; k++)
            cr_assert_neq(stores[i], stores[k]);
    }
    for (size_t i = 0; i < BM_IDLE_PLACES + 2; i++)
        bm_cws_kept_return(kept, stores[i]);
    cr_assert_eq(bm_cws_kept_borrow(kept, &again, NULL), BM_OK);
    size_t known = 0; /* which store is lent again depends on the current processor */
    while (known < BM_IDLE_PLACES + 2 && stores[known] != again)
        known++;
    cr_expect_lt(known, BM_IDLE_PLACES + 2);
    bm_cws_kept_return(kept, again);
    bm_cws_kept_close(kept);
    bm_scheme_params_reset(&params);
}

/* Documents that share elements; in all more elements than a small store holds. */
typedef struct corpus {
    bm_backend *backend;
    uint64_t offsets[N_DOCS + 1], hashes[N_DOCS * N_ELEMENTS];
    double weights[N_DOCS * N_ELEMENTS];
    uint32_t expected[N_DOCS * PERMS];
} corpus;

static void make_corpus(corpus *c)
{
    bm_random random;
    bm_scheme_params params;
    bm_cws_kept_close(open_kept(&params, SMALL));
    bm_random_init(&random, 12);
    for (size_t d = 0; d < N_DOCS; d++) {
        c->offsets[d + 1] = (d + 1) * N_ELEMENTS;
        for (size_t i = 0; i < N_ELEMENTS; i++) {
            c->hashes[d * N_ELEMENTS + i] = hash_of(bm_random_u32(&random) % 2000);
            c->weights[d * N_ELEMENTS + i] = 1 + bm_random_u32(&random) % 9;
        }
        bm_scheme_cws.sign_weighted(&params, c->hashes + d * N_ELEMENTS,
                                    c->weights + d * N_ELEMENTS, N_ELEMENTS,
                                    c->expected + d * PERMS);
    }
    bm_scheme_params_reset(&params);
}

/* Signs all documents three times; each thread starts at another document. */
static void *sign(void *ctx)
{
    corpus *c = ctx;
    static atomic_uint n_begun;
    const size_t first = atomic_fetch_add(&n_begun, 1) * 7 % N_DOCS;
    for (size_t d = first; d < first + 3 * N_DOCS; d++) {
        uint32_t words[PERMS];
        bm_sign_task task = {.offsets = c->offsets + d % N_DOCS,
                             .hashes = c->hashes,
                             .weights = c->weights,
                             .n_docs = 1,
                             .words = words};
        if (c->backend->ops->submit(c->backend, &task, NULL) != BM_OK ||
            memcmp(words, c->expected + d % N_DOCS * PERMS, sizeof words) != 0)
            return "words differ from those of the reference";
    }
    return NULL;
}

Test(cws_kept, what_a_store_holds_changes_no_word_for_any_threads)
{
    static corpus c;
    const bm_backend_cfg cfg = {.sketch = {.perms = PERMS, .seed = 6, .scheme = BM_SCHEME_CWS},
                                .kept_bytes = SMALL};
    pthread_t threads[N_THREADS];
    make_corpus(&c);
    cr_assert_eq(bm_backend_cpu.open(&cfg, &c.backend, NULL), BM_OK);
    for (size_t i = 0; i < N_THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, sign, &c), 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        void *wrong;
        cr_assert_eq(pthread_join(threads[i], &wrong), 0);
        cr_expect_null(wrong, "%s", (const char *)wrong);
    }
    bm_backend_close(c.backend);
}
