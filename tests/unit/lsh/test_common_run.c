/* test_common_run.c -- the longest common run against the table of all pairs of places. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "lsh/two_sequences.h"
#include "tests/unit/base/sized.h"

static uint64_t state = 7;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static bm_common_run plain(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b)
{
    bm_common_run best = {0};
    for (size_t i = 0; i < n_a; i++) {
        for (size_t j = 0; j < n_b; j++) {
            size_t n = 0;
            while (i + n < n_a && j + n < n_b && a[i + n] == b[j + n])
                n++;
            if (n > best.n)
                best = (bm_common_run){n, i, j};
        }
    }
    return best;
}

Test(common_run, is_the_longest_and_of_these_the_first)
{
    static uint64_t a[120], b[120];
    for (int round = 0; round < (int)sized(4000, 800); round++) {
        const uint64_t symbols = 1 + draw() % (round % 2 == 0 ? 3 : 60);
        const size_t n_a = draw() % 120, n_b = draw() % 120;
        for (size_t i = 0; i < n_a; i++)
            a[i] = draw() % symbols * 0x9E3779B97F4A7C15u;
        for (size_t i = 0; i < n_b; i++)
            b[i] = round % 5 == 0 || n_a == 0 || draw() % 4 == 0
                       ? draw() % symbols * 0x9E3779B97F4A7C15u
                       : a[(i + (size_t)round) % n_a];
        const bm_common_run wanted = plain(a, n_a, b, n_b);
        bm_common_run got;
        cr_assert_eq(bm_common_run_find(a, n_a, b, n_b, &got, NULL), BM_OK);
        cr_assert(got.n == wanted.n && got.a == wanted.a && got.b == wanted.b,
                  "%zu at %zu, %zu for %zu at %zu, %zu", got.n, got.a, got.b, wanted.n, wanted.a,
                  wanted.b);
    }
}
