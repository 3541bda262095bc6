/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs_counts.c -- counts made part by part are those of the whole table, and none is
 * below the number of times that a hash was added. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/base/scratch.h"
#include "lsh/shingle_counts.h"
#include "match/match_all_pairs.h"

enum { DISTINCT = 30000, N = 200000, TABLE_BITS = 17 };

/* Hash k is added about N / (k + 1) times: some thousands of times, most once or never. */
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
    cr_assert_eq(bm_part_counts_open(dir, TABLE_BITS, part_bits, &parts, NULL), BM_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(bm_part_counts_add(parts, hashes[i], NULL), BM_OK);
    cr_assert_eq(bm_part_counts_end(parts, pool, &meter, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) {
        uint32_t count;
        cr_assert_eq(bm_part_counts_next(parts, hashes[i], &count, NULL), BM_OK);
        cr_assert_eq(count, bm_shingle_counts_get(&whole, hashes[i]));
    }
    for (size_t k = 0; k < DISTINCT; k++) {
        uint32_t got = bm_shingle_counts_get(&whole, bm_shingle_mix(k * spread));
        cr_assert(got >= times[k] || got == 65535);
    }
    cr_assert_geq(bm_part_counts_written(parts), (uint64_t)N * 10); /* hashes and counts */
    bm_part_counts_close(parts);
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
        cr_assert_eq(bm_part_counts_open(temp.root, 16, 4, &parts, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert_eq(bm_part_counts_add(parts, UINT64_MAX, NULL), BM_OK);
        cr_assert_eq(bm_part_counts_end(parts, pool, &meter, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert(bm_part_counts_next(parts, UINT64_MAX, &count, NULL) == BM_OK && count == 1);
        bm_part_counts_close(parts);
    }
    bm_pool_close(pool);
    bm_meter_reset(&meter);
    scratch_close(&temp);
}

Test(all_pairs_counts, more_parts_need_less_until_their_buffers_weigh_more)
{
    uint64_t n = (uint64_t)1 << 31, least = UINT64_MAX;
    for (unsigned bits = 1; bits <= BM_PART_BITS_MAX; bits++) {
        uint64_t bytes = bm_part_counts_bytes(n, 31, bits);
        cr_assert(bytes < least && bytes > bm_shingle_counts_bytes(31 - bits));
        least = bytes;
    }
    cr_assert_lt(least, (uint64_t)50 << 20); /* for 16 GiB of sets */
    cr_assert_gt(bm_part_counts_bytes(100000, 17, 8), bm_part_counts_bytes(100000, 17, 1));
}

Test(all_pairs_counts, no_directory_is_an_error)
{
    bm_part_counts *parts = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_part_counts_open("/nowhere/at/all", 16, 2, &parts, &err), BM_ERR_IO);
    cr_assert(parts == NULL && err.message[0] != '\0');
}
