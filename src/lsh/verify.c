/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c -- counts the hashes that two sorted sets share, and decides whether they are enough.
 *
 * The similarity of a pair is the double (double)common / (double)(n_x + n_y - common), and a pair
 * is accepted if that double is >= the threshold. Rounded division is monotone, so for given sizes
 * there is a least `common` that is enough. It is estimated as t(n_x+n_y)/(1+t), then moved until
 * the expression above confirms it. From there on only integers are compared: the merge stops when
 * the hashes found, plus all that could still be found, are fewer than this number. So no pair is
 * lost to rounding.
 *
 * The merge is `intersect`. If one set is far longer than the other, there is no merge: each hash
 * of the shorter set is looked up in the longer one by galloping.
 *
 * Pure functions; any thread.
 *
 * Tests: tests/unit/lsh/test_containment.c, tests/unit/lsh/test_hashes_sort.c,
 *        tests/unit/lsh/test_intersect.c, tests/unit/lsh/test_verify.c,
 *        tests/unit/lsh/test_weighted_jaccard.c */
#include "lsh/verify.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

/* === intersect ===
 *
 * Chooses the loop that counts the common elements of two sets.
 *
 * Galloping is faster if the ratio of sizes is about 32 or more. Such pairs occur only at low
 * thresholds, or without a threshold. Vector loops are faster from a few elements on. */

#define GALLOP_RATIO 32u
#define VECTOR_MIN   8u

/* If the sets have at least `least` hashes in common, returns true and sets *common to their
 * number. Otherwise returns false, and *common is undefined. The fastest loop for the sizes and the
 * processor is chosen; the result does not depend on it. */
static bool intersect(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    size_t shorter = x.n < y.n ? x.n : y.n, longer = x.n < y.n ? y.n : x.n;
    if (longer / GALLOP_RATIO > shorter)
        return bm_intersect_gallop(x, y, least, common);
#if defined(__x86_64__)
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX512))
        return bm_intersect_avx512(x, y, least, common);
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX2))
        return bm_intersect_avx2(x, y, least, common);
#endif
    return bm_intersect_merge(x, y, least, common);
}

/* === weighted jaccard ===
 *
 * One merge of two sorted lists adds up two sums.
 *
 * Pure functions; any thread. */

double bm_weighted_jaccard(bm_weighted_set x, bm_weighted_set y)
{
    const double *of_x = x.weights, *of_y = y.weights;
    double both = 0, either = 0;
    size_t i = 0, j = 0;
    while (i < x.n && j < y.n) {
        if (x.hashes[i] < y.hashes[j]) {
            either += of_x[i++];
        } else if (x.hashes[i] > y.hashes[j]) {
            either += of_y[j++];
        } else {
            const double a = of_x[i++], b = of_y[j++];
            both += a < b ? a : b;
            either += a < b ? b : a;
        }
    }
    while (i < x.n)
        either += of_x[i++];
    while (j < y.n)
        either += of_y[j++];
    return either > 0 ? both / either : 0;
}

double bm_weighted_sum(bm_weighted_set set)
{
    double sum = 0;
    for (size_t i = 0; i < set.n; i++)
        sum += set.weights[i];
    return sum;
}

/* === containment ===
 *
 * The least number is estimated in double, then moved until whole numbers confirm it.
 *
 * If either of two sets is held by the other, the smaller set is, because it needs fewer hashes in
 * common. ("Held" is defined in verify.h.)
 *
 * Pure functions; any thread. */

__extension__ typedef unsigned __int128 wide;

bool bm_share_of(double share, bm_share *out)
{
    if (!(share > 0 && share <= 1))
        return false;
    uint64_t below = 1;
    for (unsigned decimals = 0; decimals <= BM_SHARE_DECIMALS; decimals++, below *= 10) {
        /* `above` and `below` are less than 2^53, so their quotient is the double that is nearest
         * to the decimal fraction. */
        const double above = nearbyint(share * (double)below), nearest = above / (double)below;
        if (above >= 1 && nearest >= share && nearest <= share) {
            *out = (bm_share){(uint64_t)above, below};
            return true;
        }
    }
    return false;
}

static bool is_enough(bm_share share, uint64_t common, uint32_t n)
{
    return (wide)common * share.below >= (wide)share.above * n;
}

uint32_t bm_share_least(bm_share share, uint32_t n)
{
    if (share.above == share.below)
        return n;
    uint64_t least = (uint64_t)((double)share.above / (double)share.below * (double)n);
    while (least > 0 && is_enough(share, least - 1, n))
        least--;
    while (!is_enough(share, least, n))
        least++;
    return (uint32_t)least;
}

double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share)
{
    size_t common = 0;
    const uint32_t least = bm_share_least(share, n_x < n_y ? n_x : n_y);
    if (!intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common))
        return -1;
    return bm_jaccard(common, n_x, n_y);
}

/* === hashes sort ===
 *
 * Sorts a document's shingle hashes, from a handful to ten million.
 *
 * Most significant digit first. A step finds the highest bit in which the hashes differ. The digit
 * is the `width` bits from there on. The step counts the digits, and scatters the hashes from one
 * array into another:
 *
 *     from  [ . . . . . . . . . . ]      count the digits, sum them up
 *     to    [ 00 | 01  | 10 |  11 ]      each part is sorted by the next digits
 *
 * `width` is at most 11. Otherwise it is chosen so that parts of evenly spread hashes have less
 * than one element on average; so one insertion sort finishes the parts of a typical document (30
 * to 300 hashes). A long part is split again. Because the digit begins at the highest differing
 * bit, small integers, or hashes with a common prefix, cause no useless steps. A digit has at least
 * 4 bits, unless fewer are left. So at most 16 steps of 8 KiB are on the stack (3 for ten million
 * typical hashes), and work is linear in n for any input.
 *
 * For n >= 2^17 the digit has 9 bits, so that the write streams stay within the caches and the TLB.
 * A set larger than the scratch is first partitioned in place: each hash is moved to the part of
 * its digit, and the hash found there is moved next, until the cycle closes (American flag sort).
 * The parts are then sorted with the scratch.
 *
 * The constants are the best of a few dozen tried: 5 ns a hash at n = 118, 6 at 3,000, 13 at 10^7.
 * No state; any thread. n is below 2^32. */

#define SMALL      14u /* insertion sort is used up to this many hashes */
#define WIDTH_MAX  11u
#define WIDTH_LONG 9u
#define LONG       ((size_t)1 << 17)

static void insertion_sort(uint64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        size_t k = i;
        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* A digit: the position of its lowest bit, and how many values it takes. */
typedef struct digit {
    unsigned shift;
    size_t n_values;
    uint64_t mask;
} digit;

/* Choose the digit that begins at the highest bit in which the hashes differ. Returns false if all
 * hashes are equal. */
static bool choose_digit(const uint64_t *v, size_t n, digit *out)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= v[i] ^ v[0];
    if (differ == 0)
        return false;
    /* bits from the highest differing one on */
    unsigned top = 64 - (unsigned)__builtin_clzll(differ);
    unsigned width = n >= LONG ? WIDTH_LONG : 64 - (unsigned)__builtin_clzll(n);
    if (width > WIDTH_MAX)
        width = WIDTH_MAX;
    if (width > top)
        width = top;
    out->shift = top - width;
    out->n_values = (size_t)1 << width;
    out->mask = out->n_values - 1;
    return true;
}

/* Count the digits in end[], and scatter the hashes. Afterwards end[k] is the end of part k.
 * Returns the length of the longest part. */
static uint32_t scatter(const uint64_t *from, uint64_t *to, size_t n, digit d, uint32_t *end)
{
    memset(end, 0, d.n_values * sizeof *end);
    for (size_t i = 0; i < n; i++)
        end[(from[i] >> d.shift) & d.mask]++;
    uint32_t sum = 0, longest = 0;
    for (size_t k = 0; k < d.n_values; k++) {
        uint32_t count = end[k];
        end[k] = sum;
        sum += count;
        longest = count > longest ? count : longest;
    }
    for (size_t i = 0; i < n; i++)
        to[end[(from[i] >> d.shift) & d.mask]++] = from[i];
    return longest;
}

/* Sort from[0 … n-1]. The result is in `from` or, if `swap`, in `to`. The other array is work
 * memory. */
static void sort_part(uint64_t *from, uint64_t *to, size_t n, bool swap)
{
    digit d;
    if (n <= SMALL || !choose_digit(from, n, &d)) {
        if (n <= SMALL)
            insertion_sort(from, n);
        if (swap && n != 0)
            memcpy(to, from, n * sizeof *to);
        return;
    }
    uint32_t end[1u << WIDTH_MAX];
    uint32_t longest = scatter(from, to, n, d, end);
    if (d.shift == 0 || longest <= SMALL) {
        if (d.shift != 0)
            insertion_sort(to, n); /* fast, because a hash moves at most by the length of its
                                      part */
        if (!swap)
            memcpy(from, to, n * sizeof *from);
        return;
    }
    size_t begin = 0;
    for (size_t k = 0; k < d.n_values; k++) {
        sort_part(to + begin, from + begin, end[k] - begin, !swap);
        begin = end[k];
    }
}

void bm_hashes_sort(uint64_t *hashes, size_t n, uint64_t *scratch)
{
    sort_part(hashes, scratch, n, false);
}

/* Partition the hashes by the digit in place. Afterwards end[k] is the end of part k. */
static void part_in_place(uint64_t *v, size_t n, digit d, uint32_t *end)
{
    uint32_t next[1u << WIDTH_MAX], sum = 0;
    memset(next, 0, d.n_values * sizeof *next);
    for (size_t i = 0; i < n; i++)
        next[(v[i] >> d.shift) & d.mask]++;
    for (size_t k = 0; k < d.n_values; k++) {
        const uint32_t count = next[k];
        next[k] = sum;
        sum += count;
        end[k] = sum;
    }
    for (size_t k = 0; k < d.n_values; k++) {
        while (next[k] < end[k]) {
            uint64_t x = v[next[k]];
            size_t to = (x >> d.shift) & d.mask;
            while (to != k) {
                const uint64_t other = v[next[to]];
                v[next[to]++] = x;
                x = other;
                to = (x >> d.shift) & d.mask;
            }
            v[next[k]++] = x;
        }
    }
}

/* Sort n hashes with `cap` words of scratch; `cap` is at least 16, or n. */
static void sort_within(uint64_t *hashes, size_t n, uint64_t *scratch, size_t cap)
{
    digit d;
    if (n <= cap) {
        sort_part(hashes, scratch, n, false);
        return;
    }
    if (!choose_digit(hashes, n, &d))
        return;
    uint32_t end[1u << WIDTH_MAX];
    part_in_place(hashes, n, d, end);
    size_t begin = 0;
    for (size_t k = 0; k < d.n_values && d.shift != 0; k++) {
        sort_within(hashes + begin, end[k] - begin, scratch, cap);
        begin = end[k];
    }
}

bm_status bm_sorter_sort(bm_sorter *sorter, uint64_t *hashes, size_t n, bm_error *err)
{
    const size_t most = sorter->most != 0 ? sorter->most : BM_SORT_SCRATCH;
    const size_t wanted = n < most ? n : most;
    if (n <= SMALL) {
        insertion_sort(hashes, n);
        return BM_OK;
    }
    if (sorter->cap < wanted) {
        const size_t twice = 2 * sorter->cap < most ? 2 * sorter->cap : most;
        const size_t cap = twice < wanted ? wanted : twice;
        bm_free(sorter->scratch);
        sorter->cap = 0;
        BM_TRY(bm_new(&sorter->scratch, cap, err));
        sorter->cap = cap;
    }
    sort_within(hashes, n, sorter->scratch, sorter->cap);
    return BM_OK;
}

void bm_sorter_reset(bm_sorter *sorter)
{
    bm_free(sorter->scratch);
    *sorter = (bm_sorter){0};
}

size_t bm_hashes_distinct(uint64_t *hashes, size_t n)
{
    size_t left = n != 0;
    for (size_t i = 1; i < n; i++) {
        hashes[left] = hashes[i];
        left += hashes[i] != hashes[left - 1];
    }
    return left;
}

size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y)
{
    size_t common = 0;
    intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, 0, &common);
    return common;
}

double bm_jaccard(size_t common, size_t n_x, size_t n_y)
{
    size_t all = n_x + n_y - common;
    return all == 0 ? 0 : (double)common / (double)all;
}

/* Computes c = J (n_x + n_y) / (1 + J). The relative error is a few 2^-53, so the error is less
 * than a half for any sets of fewer than 2^50 hashes. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y)
{
    return (size_t)(jaccard * ((double)n_x + (double)n_y) / (1 + jaccard) + 0.5);
}

size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold)
{
    size_t most = n_x < n_y ? n_x : n_y;
    if (!(bm_jaccard(most, n_x, n_y) >= threshold))
        return SIZE_MAX;
    if (threshold <= 0)
        return 0;
    double estimate = threshold * ((double)n_x + (double)n_y) / (1 + threshold);
    size_t common = estimate >= (double)most ? most : (size_t)estimate;
    while (common > 0 && bm_jaccard(common - 1, n_x, n_y) >= threshold)
        common--;
    while (bm_jaccard(common, n_x, n_y) < threshold)
        common++;
    return common;
}

static double jaccard_at_least(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y,
                               double threshold)
{
    size_t least = bm_jaccard_least_common(n_x, n_y, threshold);
    size_t common = 0;
    if (least == SIZE_MAX ||
        !intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common))
        return -1;
    return bm_jaccard(common, n_x, n_y);
}

/* |and| / |smaller set| in double; 0 if a set is empty. */
static double containment(size_t common, size_t n_x, size_t n_y)
{
    const size_t least = n_x < n_y ? n_x : n_y;
    return least == 0 ? 0 : (double)common / (double)least;
}

size_t bm_least_share(size_t n, double threshold)
{
    double estimate = threshold * (double)n;
    size_t share = estimate >= (double)n ? n : (size_t)estimate;
    while (share > 0 && (double)(share - 1) / (double)n >= threshold)
        share--;
    while (share < n && (double)share / (double)n < threshold)
        share++;
    return share;
}

double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold)
{
    size_t common = 0;
    if (measure == BM_MEASURE_JACCARD)
        return jaccard_at_least(x, n_x, y, n_y, threshold);
    const size_t least = bm_least_share(n_x < n_y ? n_x : n_y, threshold);
    return intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common)
               ? containment(common, n_x, n_y)
               : -1;
}
