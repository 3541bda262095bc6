/* SPDX-License-Identifier: Apache-2.0 */
/* bm_shingle_texts against XXH3 of known shingles, and against itself with other orders, threads
 * and limits. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "model/stream_hash.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"
#include "tests/world/world_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static bm_shingle_options defaults(void)
{
    bm_shingle_options options;
    bm_shingle_options_init(&options);
    return options;
}

static uint64_t xxh(const char *s)
{
    return XXH3_64bits(s, strlen(s));
}

Test(hash_sets, hashes_are_xxh3_of_the_shingles_each_once_in_order_of_first_occurrence)
{
    bm_shingle_options options = defaults();
    options.text.shingle_k = 2;
    bm_str texts[] = {
        world_str("To be, or not TO BE"), {NULL, 0}, world_str("one"), world_str("\xFF x")};
    const uint64_t wanted[] = {xxh("to be"),  xxh("be or"), xxh("or not"),
                               xxh("not to"), xxh("one"),   xxh("x")};
    static const uint64_t offsets[] = {0, 4, 4, 5, 6};
    bm_hash_sets *sets = NULL;
    cr_assert_eq(bm_shingle_texts(&options, texts, 4, &sets, NULL), BM_OK);
    cr_assert_eq(bm_hash_sets_count(sets), 4);
    cr_assert(memcmp(bm_hash_sets_offsets(sets), offsets, sizeof offsets) == 0);
    cr_assert(memcmp(bm_hash_sets_hashes(sets), wanted, sizeof wanted) == 0);
    bm_hash_sets_free(sets);
}

Test(hash_sets, content_hashes_are_of_all_shingles_in_order_and_of_the_text)
{
    bm_shingle_options options = defaults();
    options.text.shingle_k = 1;
    options.sorted = true;
    bm_str texts[] = {world_str("To be, or not TO BE"),
                      {NULL, 0},
                      world_str("to be -- or not to be"),
                      world_str("not to be or to be")};
    const uint64_t run[] = {xxh("to"), xxh("be"), xxh("or"), xxh("not"), xxh("to"), xxh("be")};
    bm_content_sums sums = {0};
    bm_content_add(run, 6, 0, &sums);
    bm_hash128 right = bm_content_end(&sums, 6);
    right.hi ^= xxh("to be or not to be");
    bm_hash_sets *sets = NULL;
    cr_assert_eq(bm_shingle_texts(&options, texts, 4, &sets, NULL), BM_OK);
    const uint64_t *found = bm_hash_sets_content(sets);
    cr_expect_arr_eq(found, &right, sizeof right);
    cr_expect_arr_eq(found + 4, &right, sizeof right);
    cr_expect_arr_neq(found + 6, &right, sizeof right, "the same shingles in another order");
    cr_expect(found[2] == 0 && found[3] == 0);
    cr_expect_null(bm_hash_sets_content(NULL));
    bm_hash_sets_free(sets);
}

enum { N = 5000 };
static char *data;
static bm_str texts[N];

/* Texts of 0 … 2000 words from a small vocabulary, so that words repeat; one has a megabyte. */
static void make(void)
{
    uint64_t state = 3;
    size_t at = 0;
    data = malloc(((size_t)N * 300 + (1 << 20)) * 2);
    for (size_t i = 0; i < N; i++) {
        size_t words = i == 4321 ? 200000 : i % 10 == 0 ? 0 : i % 97 * 3, begin = at;
        for (size_t w = 0; w < words; w++) {
            at += (size_t)sprintf(data + at, "%u ", world_below(&state, 1000));
        }
        texts[i] = (bm_str){data + begin, at - begin};
    }
}

Test(hash_sets, any_threads_make_the_same_and_sorted_is_the_same_sorted)
{
    make();
    bm_shingle_options options = defaults();
    options.text.shingle_k = 1;
    options.resources.threads = 1;
    bm_hash_sets *one = NULL, *other = NULL;
    cr_assert_eq(bm_shingle_texts(&options, texts, N, &one, NULL), BM_OK);
    const uint64_t *offsets = bm_hash_sets_offsets(one);
    uint64_t *hashes = malloc(offsets[N] * 8 + 8);
    memcpy(hashes, bm_hash_sets_hashes(one), offsets[N] * 8);
    for (int sorted = 0; sorted < 2; sorted++) {
        options.sorted = sorted == 1;
        for (size_t i = 0; sorted && i < N; i++)
            qsort(hashes + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), 8, world_ascending);
        for (uint32_t threads = 1; threads <= 8; threads++) {
            options.resources.threads = threads;
            cr_assert_eq(bm_shingle_texts(&options, texts, N, &other, NULL), BM_OK);
            cr_assert(memcmp(bm_hash_sets_offsets(other), offsets, (N + 1) * 8) == 0);
            cr_assert(memcmp(bm_hash_sets_hashes(other), hashes, offsets[N] * 8) == 0);
            bm_hash_sets_free(other);
        }
    }
    bm_hash_sets_free(one);
    free(hashes);
    free(data);
}

Test(hash_sets, no_texts_make_an_empty_set_of_sets)
{
    bm_shingle_options options = defaults();
    bm_hash_sets *sets = NULL;
    cr_assert_eq(bm_shingle_texts(&options, NULL, 0, &sets, NULL), BM_OK);
    cr_assert(bm_hash_sets_count(sets) == 0 && bm_hash_sets_offsets(sets)[0] == 0);
    bm_hash_sets_free(sets);
    bm_hash_sets_free(NULL);
    cr_assert(bm_hash_sets_count(NULL) == 0 && bm_hash_sets_offsets(NULL) == NULL &&
              bm_hash_sets_hashes(NULL) == NULL);
}

Test(hash_sets, cancelled_or_too_large_they_leave_nothing)
{
    make();
    bm_shingle_options options = defaults();
    bm_hash_sets *sets = NULL;
    options.resources.threads = 3;
    options.resources.memory = 10000;
    cr_assert_eq(bm_shingle_texts(&options, texts, N, &sets, NULL), BM_ERR_NOMEM);
    cr_assert_null(sets);
    options.resources.memory = 0;
    options.callbacks.cancelled = world_stop_asked;
    int cancelled = 0;
    for (int at = 0; sets == NULL; at++) {
        world_asked a = {.left = at, .by = pthread_self()};
        options.callbacks.ctx = &a;
        bm_status status = bm_shingle_texts(&options, texts, N, &sets, NULL);
        cr_assert(status == (sets == NULL ? BM_ERR_CANCELLED : BM_OK) && !a.other);
        cancelled += status != BM_OK;
    }
    cr_assert_gt(cancelled, 0);
    bm_hash_sets_free(sets);
    free(data);
}
