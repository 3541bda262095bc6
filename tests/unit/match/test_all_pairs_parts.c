/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs_parts.c -- static functions of src/match/match_all_pairs.c. */
#include "match/match_all_pairs.c"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "all_pairs_world.h"
#include "lsh/shingle_counts.h"
#include "tests/unit/base/scratch.h"

/* === counts ===
 *
 * Counts made part by part equal those of one whole table, and no count is below the number of
 * times that a hash was added. */

enum { DISTINCT = 30000, N = 200000, TABLE_BITS = 17 };

/* Hash k is added about N / (k + 1) times: a few hashes thousands of times, most once or never. */
static uint32_t *draw_all(uint64_t spread, uint64_t *hashes)
{
    uint32_t *times = calloc(DISTINCT, sizeof *times);
    uint64_t state = 5;
    for (size_t i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t k = (size_t)(state >> 33) % DISTINCT / (1 + (size_t)(state >> 20) % 5000);
        times[k]++;
        hashes[i] = bm_shingle_mix(k * spread);
    }
    return times;
}

static void expect_parts(const char *dir, unsigned part_bits, uint32_t threads, uint64_t spread)
{
    static uint64_t hashes[N];
    uint32_t *times = draw_all(spread, hashes);
    bm_shingle_counts whole;
    bm_part_counts *parts;
    bm_pool *pool;
    bm_meter meter;
    bm_meter_init(&meter, NULL);
    cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
    cr_assert_eq(bm_shingle_counts_open(&whole, TABLE_BITS, NULL), BM_OK);
    bm_shingle_counts_add(&whole, hashes, N, false);
    cr_assert_eq(part_counts_open(dir, TABLE_BITS, part_bits, &parts, NULL), BM_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(part_counts_add(parts, hashes[i], NULL), BM_OK);
    cr_assert_eq(part_counts_end(parts, pool, &meter, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) {
        uint32_t count;
        cr_assert_eq(part_counts_next(parts, hashes[i], &count, NULL), BM_OK);
        cr_assert_eq(count, bm_shingle_counts_get(&whole, hashes[i]));
    }
    for (size_t k = 0; k < DISTINCT; k++) {
        uint32_t got = bm_shingle_counts_get(&whole, bm_shingle_mix(k * spread));
        cr_assert(got >= times[k] || got == 65535);
    }
    cr_assert_geq(part_counts_written(parts), (uint64_t)N * 10); /* hashes and counts */
    part_counts_close(parts);
    bm_shingle_counts_reset(&whole);
    bm_pool_close(pool);
    bm_meter_reset(&meter);
    free(times);
}

Test(all_pairs_counts, parts_hold_what_the_whole_table_holds)
{
    scratch temp;
    scratch_open(&temp);
    for (unsigned part_bits = 1; part_bits <= BM_PART_BITS_MAX; part_bits++)
        expect_parts(temp.root, part_bits, 1 + part_bits % 3, part_bits % 2 ? 1 : 0x100000001);
    scratch_close(&temp);
}

Test(all_pairs_counts, none_at_all_and_one_alone)
{
    scratch temp;
    bm_pool *pool;
    bm_meter meter;
    bm_meter_init(&meter, NULL);
    scratch_open(&temp);
    cr_assert_eq(bm_pool_open(2, &pool, NULL), BM_OK);
    for (uint64_t n = 0; n < 2; n++) {
        bm_part_counts *parts;
        uint32_t count = 7;
        cr_assert_eq(part_counts_open(temp.root, 16, 4, &parts, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert_eq(part_counts_add(parts, UINT64_MAX, NULL), BM_OK);
        cr_assert_eq(part_counts_end(parts, pool, &meter, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert(part_counts_next(parts, UINT64_MAX, &count, NULL) == BM_OK && count == 1);
        part_counts_close(parts);
    }
    bm_pool_close(pool);
    bm_meter_reset(&meter);
    scratch_close(&temp);
}

Test(all_pairs_counts, more_parts_need_less_until_their_buffers_weigh_more)
{
    uint64_t n = (uint64_t)1 << 31, least = UINT64_MAX;
    for (unsigned bits = 1; bits <= BM_PART_BITS_MAX; bits++) {
        uint64_t bytes = part_counts_bytes(n, 31, bits);
        cr_assert(bytes < least && bytes > bm_shingle_counts_bytes(31 - bits));
        least = bytes;
    }
    cr_assert_lt(least, (uint64_t)50 << 20); /* for 16 GiB of sets */
    cr_assert_gt(part_counts_bytes(100000, 17, 8), part_counts_bytes(100000, 17, 1));
}

Test(all_pairs_counts, no_directory_is_an_error)
{
    bm_part_counts *parts = NULL;
    bm_error err = {0};
    cr_assert_eq(part_counts_open("/nowhere/at/all", 16, 2, &parts, &err), BM_ERR_IO);
    cr_assert(parts == NULL && err.message[0] != '\0');
}

/* === window ===
 *
 * Every set comes exactly once, in order of size, whatever the capacity of the window; and again
 * after a restart. */

Test(all_pairs_window, every_set_comes_once_in_order_and_again)
{
    static const uint64_t most[] = {1, 5000, 100000, (uint64_t)1 << 30};
    for (int round = 0; round < 4; round++) {
        drawn *s = make_sets(500 + (size_t)round, 80, (uint64_t)round, 1 + (uint32_t)round % 2);
        bm_corpus corpus;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        uint32_t order[600];
        size_t n, windows = 0;
        bm_set_list list = {.sizes = s->sizes, .skip = corpus.skip, .n_docs = s->n};
        cr_assert_eq(bm_order_by_size(&list, order, &n, NULL), BM_OK);
        bm_set_window w = {
            .corpus = &corpus, .order = order, .n = n, .most = most[round], .pool = s->pool};
        for (int pass = 0; pass < 2; pass++) {
            size_t next = 0;
            bm_status status;
            while ((status = set_window_next(&w, NULL)) == BM_OK) {
                cr_assert(w.begin == next && w.end > next && w.begin % BM_PREFIX_RANGE == 0);
                cr_assert(w.end % BM_PREFIX_RANGE == 0 || w.end == n);
                next = w.end;
                windows++;
                for (size_t at = w.begin; at < w.end; at++) {
                    uint32_t doc = order[at];
                    const uint64_t *set = bm_set_window_set(&w, at);
                    for (size_t k = 0; k < s->sizes[doc]; k++) /* the sets were added backwards */
                        cr_assert_eq(set[k], s->docs[doc][s->sizes[doc] - 1 - k]);
                    /* the window's copy belongs to the caller, who may overwrite it */
                    memset(bm_set_window_set(&w, at), 0, s->sizes[doc] * 8);
                }
            }
            cr_assert(status == BM_NOT_FOUND && next == n);
        }
        cr_assert(round != 3 || windows == 2, "one window a pass");
        cr_assert(round != 0 || windows == 2 * ((n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE));
        set_window_reset(&w);
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
}
