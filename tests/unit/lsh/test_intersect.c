/* SPDX-License-Identifier: Apache-2.0 */
/* test_intersect.c -- each loop that counts common hashes, and the choice among them, compared with
 * looking up every hash. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "base/system.h"
#include "lsh/verify.c"

#include "tests/world/world_random.h"

/* A sorted set of about n distinct values below `range` (0: any), in an allocation of exactly its
 * size, so the address sanitizer catches reads past its end. */
static uint64_t *make_set(size_t n, uint64_t range, size_t *n_out)
{
    uint64_t *v = malloc(n * 8 + 8), scratch[512];
    for (size_t i = 0; i < n; i++)
        v[i] = range == 0 ? world_draw() : world_draw() % range;
    bm_hashes_sort(v, n, scratch);
    *n_out = bm_hashes_distinct(v, n);
    uint64_t *exact = malloc(*n_out * 8 + (*n_out == 0));
    for (size_t i = 0; i < *n_out; i++)
        exact[i] = v[i];
    free(v);
    return exact;
}

static size_t naive(bm_sorted_set x, bm_sorted_set y)
{
    size_t common = 0;
    for (size_t i = 0; i < x.n; i++)
        for (size_t j = 0; j < y.n; j++)
            common += x.hashes[i] == y.hashes[j];
    return common;
}

typedef bool (*loop)(bm_sorted_set, bm_sorted_set, size_t, size_t *);

static void check(loop count)
{
    static const uint64_t ranges[] = {0, 40, 150, 600, 5000};
    for (int round = 0; round < 6000; round++) {
        size_t n_x, n_y, common = 0;
        uint64_t range = ranges[round % 5];
        size_t most = round % 3 == 0 ? 12 : 300;
        uint64_t *in_x = make_set(world_draw() % most, range, &n_x),
                 *in_y = make_set(world_draw() % 300, range, &n_y);
        bm_sorted_set x = {in_x, n_x}, y = {in_y, n_y};
        size_t wanted = naive(x, y);
        cr_assert(count(x, y, 0, &common));
        cr_assert_eq(common, wanted, "%zu for %zu (%zu, %zu)", common, wanted, n_x, n_y);
        for (size_t least = wanted > 3 ? wanted - 3 : 0; least < wanted + 4; least++) {
            common = 0;
            bool enough = count(x, y, least, &common);
            cr_assert_eq(enough, wanted >= least);
            cr_assert(!enough || common == wanted);
        }
        cr_assert(count(x, x, n_x, &common));
        cr_assert_eq(common, n_x);
        free(in_x);
        free(in_y);
    }
}

Test(intersect, merge_equals_looking_each_up)
{
    check(bm_intersect_merge);
}

Test(intersect, gallop_equals_looking_each_up)
{
    check(bm_intersect_gallop);
}

Test(intersect, the_chosen_loop_equals_looking_each_up)
{
    check(intersect);
}

#if defined(__x86_64__)
Test(intersect, avx2_equals_looking_each_up)
{
    if (!bm_isa_available(BM_ISA_AVX2))
        cr_skip("no AVX2 here");
    check(bm_intersect_avx2);
}

Test(intersect, avx512_equals_looking_each_up)
{
    if (!bm_isa_available(BM_ISA_AVX512))
        cr_skip("no AVX-512 here");
    check(bm_intersect_avx512);
}
#endif

Test(intersect, a_long_set_against_a_short_one_is_counted_right)
{
    enum { N_MANY = 100000 };
    uint64_t *y = malloc(N_MANY * 8);
    for (uint64_t i = 0; i < N_MANY; i++)
        y[i] = i * 3;
    for (int round = 0; round < 2000; round++) {
        uint64_t x[8], scratch[8];
        size_t n = world_draw() % 9, wanted = 0, common = 0;
        for (size_t i = 0; i < n; i++)
            x[i] = world_draw() % (N_MANY * 3 + 50);
        bm_hashes_sort(x, n, scratch);
        n = bm_hashes_distinct(x, n);
        for (size_t i = 0; i < n; i++)
            wanted += x[i] % 3 == 0 && x[i] < N_MANY * 3;
        bm_sorted_set few = {x, n}, many = {y, N_MANY};
        cr_assert(intersect(few, many, 0, &common));
        cr_assert_eq(common, wanted);
        cr_assert_eq(intersect(many, few, wanted + 1, &common), false);
    }
    free(y);
}
