/* hashes_sort.c -- sort a document's shingle hashes, from a handful to ten million.
 *
 * Most significant digit first. One step finds the highest bit in which the hashes differ, takes
 * the digit of `width` bits below it, counts, and scatters the hashes into the other of two arrays:
 *
 *     from  [ . . . . . . . . . . ]      count the digits, sum them up
 *     to    [ 00 | 01  | 10 |  11 ]      each part is sorted by the next digits, in turn
 *
 * width is chosen so that parts of evenly spread hashes hold less than one element: the parts of a
 * typical document (30 to 300) are then finished by one insertion sort. A part that is still long
 * is split again. Because the digit begins at the highest differing bit, small integers or hashes
 * with a common prefix need no empty rounds. A digit has at least 4 bits, so at most 16 steps of
 * 8 KiB stand on the stack (3 for ten million hashes as they come), and work is linear in n for any
 * input.
 *
 * For n >= 2^17 the digit has 9 bits, so that its write streams stay within the caches and the TLB.
 * A set of more than its scratch holds is parted in place first: each hash is put where its digit
 * belongs, and the one that lay there goes on in turn, until the circle closes (the American flag
 * sort). The parts are then sorted with the scratch that there is.
 *
 * The constants are the best of a few dozen tried: 5 ns a hash at n = 118, 6 at 3,000, 13 at 10^7.
 * No state, any thread. n below 2^32. */
#include "lsh/verify.h"

#include <string.h>

#define SMALL      14u /* insertion sort up to here */
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

/* The position of the digit: its lowest bit, and how many values it takes. */
typedef struct digit {
    unsigned shift;
    size_t n_values;
    uint64_t mask;
} digit;

/* false: all hashes are equal. */
static bool choose_digit(const uint64_t *v, size_t n, digit *out)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= v[i] ^ v[0];
    if (differ == 0)
        return false;
    unsigned top = 64 - (unsigned)__builtin_clzll(differ); /* bits that are not all the same */
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

/* Count into end[] and scatter; end[k] is then where part k ends. Returns the longest part. */
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

/* Sort from[0 … n-1] into `from` itself or, where `swap`, into `to`; the other is scratch. */
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
            insertion_sort(to, n); /* nothing moves farther than its part is long */
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

/* Part the hashes by the digit in place; end[k] is then where part k ends. */
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

void bm_hashes_sort_within(uint64_t *hashes, size_t n, uint64_t *scratch, size_t cap)
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
        bm_hashes_sort_within(hashes + begin, end[k] - begin, scratch, cap);
        begin = end[k];
    }
}
