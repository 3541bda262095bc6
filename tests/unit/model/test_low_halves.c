/* test_low_halves.c -- random hashes pass, however many and however often each; shifted numbers,
 * and those of which few bits of the low half differ, do not. */
#include "model/low_halves.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/random.h"

static bm_low_halves seen;

static bm_status check(void)
{
    bm_error err;
    return bm_low_halves_check(&seen, "hashes.npy", BM_SCHEME_AFFINE32, &err);
}

/* Count n hashes: random ones, shifted. */
static bm_status of_random(uint64_t n, unsigned shift)
{
    uint64_t state = n;
    seen = (bm_low_halves){0};
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t hash = bm_splitmix64(&state) << shift;
        bm_low_halves_add(&seen, &hash, 1);
    }
    return check();
}

static bm_status of_numbers(uint64_t n, unsigned shift, uint64_t times)
{
    seen = (bm_low_halves){0};
    for (uint64_t i = 0; i < n * times; i++) {
        const uint64_t hash = (i % n) << shift;
        bm_low_halves_add(&seen, &hash, 1);
    }
    return check();
}

Test(low_halves, random_hashes_pass_at_every_size)
{
    cr_expect_eq(check(), BM_OK, "none");
    for (uint64_t n = 1; n < 2000000; n = n * 3 / 2 + 1)
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
    cr_expect_eq(of_random(10000, 8), BM_OK, "24 bits are enough for few");
    of_numbers(2000, 32, 1);
    bm_low_halves_check(&seen, "hashes.npy", BM_SCHEME_AFFINE32, &err);
    cr_expect_not_null(strstr(err.message, "affine32"));
    cr_expect_not_null(strstr(err.message, "about 1 distinct low halves"));
}
