/* common_run.c -- a length is tried by the hashes of all windows, and the longest found by bisection.
 *
 * Where a run of length n is common, so is one of n - 1. For a length, the windows of b are sorted by a polynomial hash
 * modulo 2^61 - 1, which is made of sums over the beginnings of the list (Karp and Rabin, 1987), and each window of a is
 * looked for. What has the same hash is compared, number by number, so a collision costs time alone. About log2(n) rounds,
 * linear but for the look-ups.
 *
 * Tests: tests/unit/lsh/test_common_run.c, tests/reference/test_measure.py */
#include "lsh/two_sequences.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

#define PRIME ((UINT64_C(1) << 61) - 1)
#define BASE  UINT64_C(0x1A3B5C7D9E2F4601) /* below the prime */

typedef struct list {
    const uint64_t *numbers;
    size_t n;
    uint64_t *sums; /* n + 1: of the first i numbers */
} list;

typedef struct search {
    list a, b;
    uint64_t *
        sorted; /* windows of b: the upper bits of their hashes, and where they begin; scratch behind them */
} search;

static uint64_t times(uint64_t x, uint64_t y)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)x * y;
    const uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t plus(uint64_t x, uint64_t y)
{
    const uint64_t sum = x + y;
    return sum >= PRIME ? sum - PRIME : sum;
}

static bm_status sum_list(list *l, bm_error *err)
{
    BM_TRY(bm_new(&l->sums, l->n + 1, err));
    l->sums[0] = 0;
    for (size_t i = 0; i < l->n; i++)
        l->sums[i + 1] = plus(times(l->sums[i], BASE), l->numbers[i] % PRIME);
    return BM_OK;
}

/* `power`: of the base, to the length. */
static uint64_t hash_of(const list *l, size_t at, size_t length, uint64_t power)
{
    return plus(l->sums[at + length], PRIME - times(l->sums[at], power));
}

static uint64_t key_of(uint64_t hash, size_t at)
{
    return hash >> 29 << 32 | at;
}

/* The first common run of this length: in a, then in b. False: there is none. */
static bool find(search *s, size_t length, bm_common_run *out)
{
    const size_t n = s->b.n - length + 1;
    uint64_t power = 1;
    for (size_t i = 0; i < length; i++)
        power = times(power, BASE);
    for (size_t at = 0; at < n; at++)
        s->sorted[at] = key_of(hash_of(&s->b, at, length, power), at);
    bm_hashes_sort(s->sorted, n, s->sorted + s->b.n);
    for (size_t at = 0; at + length <= s->a.n; at++) {
        const uint64_t hash = hash_of(&s->a, at, length, power), key = key_of(hash, 0);
        size_t low = 0, high = n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (s->sorted[middle] < key)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < n && s->sorted[low] >> 32 == key >> 32; low++) {
            const size_t other = (uint32_t)s->sorted[low];
            if (hash_of(&s->b, other, length, power) != hash ||
                memcmp(s->a.numbers + at, s->b.numbers + other, length * sizeof *s->a.numbers) != 0)
                continue;
            *out = (bm_common_run){length, at, other};
            return true;
        }
    }
    return false;
}

bm_status bm_common_run_find(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b,
                             bm_common_run *out, bm_error *err)
{
    search s = {.a = {.numbers = a, .n = n_a}, .b = {.numbers = b, .n = n_b}};
    size_t low = 0,
           high = n_a < n_b ? n_a : n_b; /* a run of `low` is common, none is longer than `high` */
    *out = (bm_common_run){0};
    bm_status status = BM_OK;
    BM_TRY_OUT(sum_list(&s.a, err));
    BM_TRY_OUT(sum_list(&s.b, err));
    BM_TRY_OUT(bm_new(&s.sorted, 2 * n_b, err));
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (find(&s, middle, out))
            low = middle;
        else
            high = middle - 1;
    }
out:
    bm_free(s.a.sums);
    bm_free(s.b.sums);
    bm_free(s.sorted);
    return status;
}
