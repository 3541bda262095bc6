/* SPDX-License-Identifier: Apache-2.0 */
/* test_low_halves.c -- random hashes pass, whatever their number and repetition; shifted numbers,
 * and hashes that differ in few bits of the low half, do not. Of many hashes, every 64th document
 * counts. */
#include "model/low_halves.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/random.h"
#include "tests/world/world_random.h"

static bm_low_halves seen;

static void begin(void)
{
    bm_low_halves_begin(&seen, "hashes.npy", BM_SCHEME_AFFINE32);
}

/* Adds a document of one hash. */
static bm_status add_one(uint64_t hash)
{
    static const uint64_t offsets[] = {0, 1};
    bm_error err;
    return bm_low_halves_add(&seen, offsets, &hash, 1, &err);
}

/* The status of the first check that fails; BM_OK if all pass. */
static bm_status of_random(uint64_t n, unsigned shift)
{
    uint64_t state = n;
    bm_status status = BM_OK;
    begin();
    for (uint64_t i = 0; i < n && status == BM_OK; i++)
        status = add_one(world_random(&state) << shift);
    return status == BM_OK ? bm_low_halves_check(&seen, NULL) : status;
}

static bm_status of_numbers(uint64_t n, unsigned shift, uint64_t times)
{
    bm_status status = BM_OK;
    begin();
    for (uint64_t i = 0; i < n * times && status == BM_OK; i++)
        status = add_one((i % n) << shift);
    return status == BM_OK ? bm_low_halves_check(&seen, NULL) : status;
}

Test(low_halves, random_hashes_pass_at_every_size)
{
    begin();
    cr_expect_eq(bm_low_halves_check(&seen, NULL), BM_OK, "none");
    for (uint64_t n = 1; n < 4000000; n = n * 3 / 2 + 1)
        cr_expect_eq(of_random(n, 0), BM_OK, "%lu", (unsigned long)n);
}

Test(low_halves, small_numbers_pass)
{
    for (uint64_t n = 1; n < 300000; n = n * 2 + 1)
        cr_expect_eq(of_numbers(n, 0, 2), BM_OK, "%lu", (unsigned long)n);
}

Test(low_halves, shifted_numbers_are_refused)
{
    bm_error err;
    for (uint64_t n = 2; n < 300000; n = n * 2 + 1)
        cr_expect_eq(of_numbers(n, 32, 1), BM_ERR_INPUT, "%lu", (unsigned long)n);
    cr_expect_eq(of_numbers(1000000, 16, 1), BM_ERR_INPUT);
    cr_expect_eq(of_random(1000000, 20), BM_ERR_INPUT, "of the low half 12 bits differ");
    cr_expect_eq(of_random(3000, 8), BM_OK, "24 bits are enough for few");
    of_numbers(2000, 32, 1);
    bm_low_halves_check(&seen, &err);
    cr_expect_not_null(strstr(err.message, "affine32"));
    cr_expect_not_null(strstr(err.message, "about 1 distinct low halves"));
}

Test(low_halves, they_are_checked_when_their_number_has_doubled)
{
    uint64_t n = 0;
    begin();
    while (add_one(n << 32) == BM_OK)
        n++;
    cr_expect_eq(n + 1, BM_LOW_HALVES_FIRST);
    begin();
    for (n = 0; n < BM_LOW_HALVES_FIRST; n++) /* good hashes first: the next check covers both */
        cr_assert_eq(add_one(n), BM_OK);
    while (add_one(n << 32) == BM_OK)
        n++;
    cr_expect_eq(n + 1, 2 * BM_LOW_HALVES_FIRST);
}

Test(low_halves, of_many_every_64th_document_counts_however_they_are_cut)
{
    enum { N = 1 << 16, EACH = 32 };
    static uint64_t hashes[(size_t)N * EACH], offsets[N + 1];
    static bm_low_halves other;
    uint64_t state = 3;
    for (size_t i = 0; i < (size_t)N * EACH; i++)
        hashes[i] = world_random(&state);
    for (size_t i = 0; i <= N; i++)
        offsets[i] = i * EACH;
    begin();
    bm_error err;
    cr_assert_eq(bm_low_halves_add(&seen, offsets, hashes, N, &err), BM_OK);
    bm_low_halves_begin(&other, "hashes.npy", BM_SCHEME_AFFINE32);
    for (size_t i = 0, n; i < N; i += n) {
        n = i % 7 + 1 < N - i ? i % 7 + 1 : N - i;
        cr_assert_eq(bm_low_halves_add(&other, offsets + i, hashes, n, &err), BM_OK);
    }
    cr_expect_arr_eq(seen.whole, other.whole, sizeof seen.whole);
    cr_expect_arr_eq(seen.low, other.low, sizeof seen.low);
    begin(); /* shifted hashes after so many good ones that only a sample is checked */
    size_t i = 0;
    for (; i < BM_LOW_HALVES_ALL; i++)
        cr_assert_eq(add_one(hashes[i]), BM_OK);
    while (i < (UINT64_C(1) << 26) && add_one((uint64_t)i << 32) == BM_OK)
        i++;
    cr_expect_lt(i, UINT64_C(1) << 26);
}
