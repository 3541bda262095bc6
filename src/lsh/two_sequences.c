/* SPDX-License-Identifier: Apache-2.0 */
/* two_sequences.c -- compares two sequences: their longest common run, and their edit distance.
 *
 * Tests: tests/reference/test_measure.py, tests/unit/lsh/test_edit_distance.c */
#include "lsh/two_sequences.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "lsh/verify.h"

/* === common run ===
 *
 * Finds the longest common run by bisection on its length: if a run of length n is common, a run of
 * n - 1 is too. To test a length, the windows of that length in b are sorted by their hash, and
 * each window of a is looked up. The hash is polynomial modulo 2^61 - 1, and is computed from
 * hashes of the list's prefixes (Karp and Rabin, 1987). Runs with the same hash are compared number
 * by number, so a collision only costs time. There are about log2(n) rounds, each linear except for
 * the look-ups. */

#define PRIME ((UINT64_C(1) << 61) - 1)
#define BASE  UINT64_C(0x1A3B5C7D9E2F4601) /* below the prime */

typedef struct list {
    const uint64_t *numbers;
    size_t n;
    uint64_t *sums; /* n + 1; sums[i] is the hash of the first i numbers */
} list;

typedef struct search {
    list a, b;
    /* for each window of b: the upper bits of its hash, and its index; work memory follows */
    uint64_t *sorted;
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

/* The hash of the `length` numbers from `at` on. `power` is BASE to the power of `length`. */
static uint64_t hash_of(const list *l, size_t at, size_t length, uint64_t power)
{
    return plus(l->sums[at + length], PRIME - times(l->sums[at], power));
}

static uint64_t key_of(uint64_t hash, size_t at)
{
    return hash >> 29 << 32 | at;
}

/* Find a common run of this length: the first in a, and its first occurrence in b. Returns false if
 * there is none. */
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
        bm_bisect b = {0, n};
        while (b.low < b.high)
            bm_bisect_go(&b, s->sorted[bm_middle(&b)] < key);
        for (; b.low < n && s->sorted[b.low] >> 32 == key >> 32; b.low++) {
            const size_t other = (uint32_t)s->sorted[b.low];
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
    /* the bisection finds the least length that no common run has */
    bm_bisect length = {1, (n_a < n_b ? n_a : n_b) + 1};
    *out = (bm_common_run){0};
    bm_status status = BM_OK;
    BM_TRY_OUT(sum_list(&s.a, err));
    BM_TRY_OUT(sum_list(&s.b, err));
    BM_TRY_OUT(bm_new(&s.sorted, 2 * n_b, err));
    while (length.low < length.high)
        bm_bisect_go(&length, find(&s, bm_middle(&length), out));
out:
    bm_free_all(s.a.sums, s.b.sums, s.sorted);
    return status;
}

/* === edit distance ===
 *
 * Myers' bit vectors, 64 rows at a time, within a band that is widened until it contains the path.
 *
 * D[i][j] is the distance of the first i code points of the shorter text (rows) and the first j of
 * the longer (columns). Myers, "A fast bit-vector algorithm for approximate string matching" (JACM
 * 1999), keeps the differences between 64 adjacent cells of a column in two words. Hyyrö (2003)
 * adds the step for a strip of rows below other rows, which needs only the differences from column
 * to column of the row above the strip.
 *
 *                 j ->   left          right
 *     i  strip 0   [ ----+==============+            ]     in the band: computed
 *        strip 1   [     +====|==============+       ]     left of it:  from above, one more a row
 *        strip 2   [          +====|==============+  ]     above the right end: one more a column
 *
 * A path of k steps stays between two diagonals (Ukkonen 1985). The values assumed for cells
 * outside the band are costs of some path, so they are never less than the distance. Hence the
 * result is never too small. If it is at most k, it is the distance; otherwise k is doubled. For
 * very similar texts, the work is their length times a few words.
 *
 * Strips are computed one after the other, each for all its columns. So the table that tells which
 * rows have a symbol needs only 64 rows, and its memory does not depend on the number of different
 * symbols. This is why edlib, the usual library, is not used: its symbols are bytes, and two texts
 * in Chinese or Korean often have more than 256 different characters. */

#define STRIP     64u
#define K_LEAST   64u
#define NO_SYMBOL UINT32_MAX

typedef struct problem {
    bm_points rows, columns; /* the shorter and the longer text, without common prefix and suffix */
    bm_hash_table symbols;   /* the different code points of the rows */
    uint32_t *of_row;        /* for each row: the number of its symbol */
    /* for each column: the number of its symbol; NO_SYMBOL: no row has this symbol */
    uint32_t *of_column;
    /* bottom row of the strip above: the distance at each column 0 … n */
    uint32_t *bottom;
    uint64_t *has;   /* for each symbol: a bit for each row of the strip: has the row the symbol? */
    uint32_t *first; /* for each symbol: a row that has the symbol */
} problem;

/* --- symbols --- */

static uint32_t point_of(const problem *p, uint32_t symbol)
{
    return p->rows.points[p->first[symbol]];
}

static uint64_t point_hash(uint32_t point, uint64_t seed)
{
    return seed == 0 ? point * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(point, 0, seed);
}

static uint64_t symbol_hash(const void *owner, uint32_t symbol, uint64_t seed)
{
    return point_hash(point_of(owner, symbol), seed);
}

static bool has_point(const void *owner, uint32_t symbol, const void *point)
{
    return point_of(owner, symbol) == *(const uint32_t *)point;
}

static size_t slot_of(const problem *p, uint32_t point)
{
    return bm_hash_table_find(&p->symbols, point_hash(point, p->symbols.seed), has_point, p,
                              &point);
}

static bm_status number_symbols(problem *p, bm_error *err)
{
    const size_t m = p->rows.n, n = p->columns.n;
    BM_TRY(bm_new(&p->of_row, m, err));
    BM_TRY(bm_new(&p->first, m, err));
    BM_TRY(bm_new_zero(&p->has, m, err));
    BM_TRY(bm_new(&p->of_column, n, err));
    BM_TRY(bm_new(&p->bottom, n + 1, err));
    for (size_t i = 0; i < m; i++) {
        BM_TRY(bm_hash_table_reserve(&p->symbols, symbol_hash, p, err));
        const uint32_t point = p->rows.points[i];
        const size_t at = slot_of(p, point);
        if (bm_hash_table_is_free(&p->symbols, at)) {
            p->first[p->symbols.n] = (uint32_t)i;
            bm_hash_table_put(&p->symbols, at, point_hash(point, p->symbols.seed),
                              (uint32_t)p->symbols.n);
        }
        p->of_row[i] = bm_hash_table_number(&p->symbols, at);
    }
    for (size_t j = 0; j < n; j++) {
        const size_t at = slot_of(p, p->columns.points[j]);
        p->of_column[j] = bm_hash_table_is_free(&p->symbols, at)
                              ? NO_SYMBOL
                              : bm_hash_table_number(&p->symbols, at);
    }
    return BM_OK;
}

/* --- a strip --- */

typedef struct strip {
    size_t first, n;    /* first: the first row, counted from 0; n: number of rows */
    size_t left, right; /* columns left+1 ... right are computed */
    size_t above;       /* the last column that was computed in the strip above */
} strip;

/* Compute the bottom row of this strip from the bottom row of the strip above. */
static void fill_strip(problem *p, const strip *s)
{
    const unsigned last = (unsigned)s->n - 1;
    uint64_t up = ~UINT64_C(0),
             down = 0; /* up: rows whose cell is one more than the cell above; down: one less */
    uint32_t above = p->bottom[s->left], here = above + (uint32_t)s->n;
    p->bottom[s->left] = here;
    for (size_t j = s->left + 1; j <= s->right; j++) {
        const uint32_t symbol = p->of_column[j - 1];
        uint64_t equal = symbol == NO_SYMBOL ? 0 : p->has[symbol];
        const uint32_t next = j <= s->above ? p->bottom[j] : above + 1;
        const uint64_t more = next > above, less = next < above;
        const uint64_t vertical = equal | down;
        equal |= less;
        const uint64_t zero = (((equal & up) + up) ^ up) | equal;
        uint64_t right_more = down | ~(zero | up), right_less = up & zero;
        here += (uint32_t)(right_more >> last & 1) - (uint32_t)(right_less >> last & 1);
        right_more = right_more << 1 | more;
        right_less = right_less << 1 | less;
        up = right_less | ~(vertical | right_more);
        down = right_more & vertical;
        above = next;
        p->bottom[j] = here;
    }
}

/* Return the distance if it is at most k, else some number greater than k. */
static uint64_t within(problem *p, uint64_t k)
{
    const size_t m = p->rows.n, n = p->columns.n;
    /* widths of the band before and after the diagonal */
    const uint64_t before = (k - (n - m)) / 2, behind = n - m + before;
    size_t right = behind < n ? (size_t)behind : n;
    for (size_t j = 0; j <= right; j++)
        p->bottom[j] = (uint32_t)j;
    for (size_t first = 0; first < m; first += STRIP) {
        strip s = {.first = first, .n = m - first < STRIP ? m - first : STRIP, .above = right};
        const uint64_t end = first + s.n + behind;
        s.left = first > before ? (size_t)(first - before) : 0;
        s.right = right = end < n ? (size_t)end : n;
        for (size_t i = 0; i < s.n; i++)
            p->has[p->of_row[first + i]] |= UINT64_C(1) << i;
        fill_strip(p, &s);
        for (size_t i = 0; i < s.n; i++)
            p->has[p->of_row[first + i]] = 0;
    }
    return p->bottom[n];
}

/* --- both texts --- */

static void drop_common_ends(bm_points *x, bm_points *y)
{
    size_t most = x->n < y->n ? x->n : y->n, same = 0;
    while (same < most && x->points[same] == y->points[same])
        same++;
    *x = (bm_points){x->points + same, x->n - same};
    *y = (bm_points){y->points + same, y->n - same};
    for (most -= same, same = 0; same < most;) {
        if (x->points[x->n - 1 - same] != y->points[y->n - 1 - same])
            break;
        same++;
    }
    x->n -= same;
    y->n -= same;
}

bm_status bm_edit_distance(bm_points x, bm_points y, uint64_t *distance, bm_error *err)
{
    drop_common_ends(&x, &y);
    problem p = {.rows = x.n < y.n ? x : y, .columns = x.n < y.n ? y : x};
    const size_t n = p.columns.n;
    *distance = n;
    if (p.rows.n == 0)
        return BM_OK;
    bm_status status = BM_OK;
    BM_TRY_OUT(number_symbols(&p, err));
    for (uint64_t k = n - p.rows.n + K_LEAST;; k *= 2) {
        k = k < n ? k : n;
        *distance = within(&p, k);
        if (*distance <= k)
            break;
    }
out:
    bm_hash_table_reset(&p.symbols);
    bm_free_all(p.of_row, p.first, p.has, p.of_column, p.bottom);
    return status;
}
