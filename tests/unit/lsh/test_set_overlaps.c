/* SPDX-License-Identifier: Apache-2.0 */
/* test_set_overlaps.c -- counts of common hashes, compared with counting them one by one, for sets
 * of all sizes, arbitrary hashes, and many look-ups with one scratch. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "base/random.h"
#include "lsh/set_overlaps.h"
#include "tests/world/colliding.h"
#include "tests/world/sized.h"

enum { SETS = 60, MOST = 200, OTHERS = 300 };

typedef struct made {
    uint64_t hashes[MOST];
    uint32_t n;
} made;

/* Distinct hashes drawn from a pool of `pool` hashes; `spread` 1: consecutive small numbers. */
static void make_set(bm_random *random, uint32_t pool, uint64_t spread, made *out)
{
    const uint32_t wanted = (uint32_t)bm_random_range(random, 0, MOST);
    out->n = 0;
    for (uint32_t k = 0; k < pool && out->n < wanted; k++)
        if (bm_random_range(random, 0, 4) == 0)
            out->hashes[out->n++] = k * spread;
}

static uint32_t common(const made *x, const made *y)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < y->n; k++)
            n += x->hashes[i] == y->hashes[k];
    return n;
}

static void compare(uint64_t spread, uint32_t pool)
{
    static made sets[SETS], other;
    const uint64_t *pointers[SETS];
    uint32_t sizes[SETS];
    bm_random random;
    bm_overlap_index index = {0};
    bm_overlaps overlaps = {0};
    bm_random_init(&random, pool);
    for (int i = 0; i < SETS; i++) {
        make_set(&random, pool, spread, &sets[i]);
        pointers[i] = sets[i].hashes;
        sizes[i] = sets[i].n;
    }
    const bm_hash_sets given = {pointers, sizes, SETS};
    cr_assert_eq(bm_overlap_index_build(&given, &index, NULL), BM_OK);
    cr_assert_eq(bm_overlaps_open(&index, &overlaps, NULL), BM_OK);
    for (int turn = 0; turn < OTHERS; turn++) {
        size_t n_found = 0;
        make_set(&random, pool * 2, spread, &other);
        bm_overlaps_find(&overlaps, &index, other.hashes, other.n);
        for (uint32_t i = 0; i < SETS; i++) {
            const uint32_t wanted = common(&sets[i], &other);
            cr_assert_eq(overlaps.common[i], wanted, "set %u: %u, not %u", i, overlaps.common[i],
                         wanted);
            n_found += wanted > 0;
        }
        cr_assert_eq(overlaps.n_found, n_found);
        for (size_t i = 0; i < n_found; i++)
            cr_assert_gt(overlaps.common[overlaps.found[i]], 0);
    }
    bm_overlaps_close(&overlaps);
    bm_overlap_index_reset(&index);
}

Test(set_overlaps, are_those_that_counting_finds)
{
    compare(UINT64_C(0x9E3779B97F4A7C15), 900);
    compare(UINT64_C(0x9E3779B97F4A7C15), 100);
}

Test(set_overlaps, do_not_depend_on_what_the_hashes_are)
{
    compare(1, 500);                 /* 0, 1, 2 … */
    compare(UINT64_C(1) << 32, 500); /* only the high half varies */
    compare(UINT64_C(1) << 54, 500); /* only the top ten bits vary */
}

Test(set_overlaps, of_nothing_are_nothing)
{
    const bm_hash_sets none = {NULL, NULL, 0};
    const uint64_t hash = 7;
    const uint64_t *const empty[] = {&hash};
    const uint32_t zero = 0;
    bm_overlap_index index = {0};
    bm_overlaps overlaps = {0};
    cr_assert_eq(bm_overlap_index_build(&none, &index, NULL), BM_OK);
    cr_assert_eq(bm_overlaps_open(&index, &overlaps, NULL), BM_OK);
    bm_overlaps_find(&overlaps, &index, &hash, 1);
    cr_expect_eq(overlaps.n_found, 0);
    bm_overlaps_close(&overlaps);
    bm_overlap_index_reset(&index);
    cr_assert_eq(bm_overlap_index_build(&(bm_hash_sets){empty, &zero, 1}, &index, NULL), BM_OK);
    cr_assert_eq(bm_overlaps_open(&index, &overlaps, NULL), BM_OK);
    bm_overlaps_find(&overlaps, &index, &hash, 1);
    bm_overlaps_find(&overlaps, &index, &hash, 0);
    cr_expect_eq(overlaps.n_found, 0);
    bm_overlaps_close(&overlaps);
    bm_overlap_index_reset(&index);
    cr_expect_gt(bm_overlap_index_bytes(1000), 1000 * 24);
}

/* Hashes with equal tags: their mixed upper halves are equal. */
Test(set_overlaps, hashes_that_meet_in_one_place_take_no_more_than_a_factor)
{
    const uint64_t back = colliding_inverse(UINT64_C(0x9E3779B97F4A7C15));
    for (uint32_t n = 5000; n <= sized(80000, 10000); n *= 2) {
        uint64_t *hashes = malloc(n * sizeof *hashes);
        const uint64_t *sets[] = {hashes, hashes + n / 2};
        const uint32_t sizes[] = {n, n / 2};
        bm_overlap_index index = {0};
        bm_overlaps overlaps = {0};
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t mixed = (UINT64_C(0xABCDEF) << 32 | i) * back;
            hashes[i] = mixed ^ mixed >> 32;
        }
        cr_assert_eq(bm_overlap_index_build(&(bm_hash_sets){sets, sizes, 2}, &index, NULL), BM_OK);
        cr_expect_leq(index.table.n_steps, 24 * n, "%zu steps for %u hashes",
                      (size_t)index.table.n_steps, n);
        cr_assert_eq(bm_overlaps_open(&index, &overlaps, NULL), BM_OK);
        bm_overlaps_find(&overlaps, &index, hashes, n);
        cr_expect_eq(overlaps.common[0], n);
        cr_expect_eq(overlaps.common[1], n / 2);
        bm_overlaps_close(&overlaps);
        bm_overlap_index_reset(&index);
        free(hashes);
    }
}
