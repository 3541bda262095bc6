/* SPDX-License-Identifier: Apache-2.0 */
/* test_shingle_counts.c -- counters without keys: never too low, exact where there is room, the
 * same for any number of threads. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "lsh/shingle_counts.h"

enum { N = 3000, LONG = 300 };

typedef struct corpus {
    uint64_t *hashes;
    const uint64_t *docs[N];
    uint32_t sizes[N];
    uint8_t skip[N];
    bm_set_list sets;
} corpus;

/* Shingle k is in every document whose number is divisible by k / 2 + 1, so in 3000 down to 1
 * documents; every fifth document is skipped. The hash of shingle k is k * `spread`. */
static corpus *make(uint64_t spread)
{
    corpus *c = calloc(1, sizeof *c);
    c->hashes = malloc((size_t)N * LONG * 8);
    for (size_t i = 0; i < N; i++) {
        uint64_t *doc = c->hashes + i * LONG;
        for (uint64_t k = 0; k < 2 * N && c->sizes[i] < LONG; k++)
            if (i % (k / 2 + 1) == 0)
                doc[c->sizes[i]++] = k * spread;
        c->docs[i] = doc;
        c->skip[i] = i % 5 == 4;
    }
    c->sets = (bm_set_list){.docs = c->docs, .sizes = c->sizes, .skip = c->skip, .n_docs = N};
    return c;
}

static void drop(corpus *c)
{
    free(c->hashes);
    free(c);
}

/* The number of documents, without the skipped ones, that contain shingle k. */
static void truth(const corpus *c, uint64_t spread, uint32_t counts[2 * N])
{
    memset(counts, 0, 2 * N * sizeof *counts);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < c->sizes[i] && !c->skip[i]; k++)
            counts[c->docs[i][k] / spread]++;
}

Test(shingle_counts, no_count_is_too_low_and_most_are_exact_whatever_the_hashes_are_like)
{
    static const uint64_t spreads[] = {1, 3, 0x10000, 0x100000000, 0x4000000000001};
    static uint32_t wanted[2 * N];
    for (int s = 0; s < 5; s++) {
        corpus *c = make(spreads[s]);
        truth(c, spreads[s], wanted);
        bm_shingle_counts counts;
        cr_assert_eq(bm_shingle_counts_make(&counts, &c->sets, NULL, NULL), BM_OK);
        size_t exact = 0, used = 0;
        for (uint64_t k = 0; k < 2 * N; k++) {
            uint32_t got = bm_shingle_counts_get(&counts, bm_shingle_mix(k * spreads[s]));
            cr_assert_geq(got, wanted[k]);
            exact += wanted[k] != 0 && got == wanted[k];
            used += wanted[k] != 0;
        }
        cr_assert(used > 4000 && exact > used * 9 / 10, "%zu of %zu", exact, used);
        bm_shingle_counts_reset(&counts);
        drop(c);
    }
}

Test(shingle_counts, threads_count_what_one_counts)
{
    corpus *c = make(1);
    bm_shingle_counts one, other;
    cr_assert_eq(bm_shingle_counts_make(&one, &c->sets, NULL, NULL), BM_OK);
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        bm_pool *pool;
        cr_assert_eq(bm_pool_open(threads, &pool, NULL), BM_OK);
        cr_assert_eq(bm_shingle_counts_make(&other, &c->sets, pool, NULL), BM_OK);
        cr_assert(one.low_bits == other.low_bits && one.high_bits == other.high_bits);
        cr_assert_eq(memcmp(one.low, other.low, (size_t)1 << one.low_bits), 0);
        cr_assert_eq(memcmp(one.high, other.high, (size_t)4 << one.high_bits), 0);
        bm_shingle_counts_reset(&other);
        bm_pool_close(pool);
    }
    bm_shingle_counts_reset(&one);
    drop(c);
}

Test(shingle_counts, a_count_stays_at_its_greatest)
{
    enum { MANY = 70000 };
    static const uint64_t hash = 42;
    static const uint64_t *docs[MANY];
    static uint32_t sizes[MANY];
    for (size_t i = 0; i < MANY; i++) {
        docs[i] = &hash;
        sizes[i] = 1;
    }
    for (size_t n = 1; n <= MANY; n = n < 300 ? n + 1 : n * 3) {
        bm_set_list sets = {.docs = docs, .sizes = sizes, .n_docs = n};
        bm_shingle_counts counts;
        cr_assert_eq(bm_shingle_counts_make(&counts, &sets, NULL, NULL), BM_OK);
        cr_assert_eq(bm_shingle_counts_get(&counts, bm_shingle_mix(hash)), n < 65535 ? n : 65535);
        bm_shingle_counts_reset(&counts);
    }
    bm_set_list sets = {.docs = docs, .sizes = sizes, .n_docs = MANY};
    bm_shingle_counts counts;
    cr_assert_eq(bm_shingle_counts_make(&counts, &sets, NULL, NULL), BM_OK);
    cr_assert_eq(bm_shingle_counts_get(&counts, bm_shingle_mix(hash)), 65535);
    bm_shingle_counts_reset(&counts);
}

/* Hashes that share a counter, each in many documents: mixing is one to one, so hashes are drawn
 * until enough of them have the leading bits wanted. */
Test(shingle_counts, what_goes_beyond_a_full_counter_does_not_depend_on_who_came_first)
{
    enum { SHARERS = 3, TIMES = 300 };
    uint64_t mixed[SHARERS];
    for (uint64_t hash = 0, n = 0; n < SHARERS; hash++)
        if (bm_shingle_mix(hash) >> 48 == 77)
            mixed[n++] = bm_shingle_mix(hash);
    bm_shingle_counts one_by_one, in_turns;
    cr_assert_eq(bm_shingle_counts_open(&one_by_one, 16, NULL), BM_OK);
    cr_assert_eq(bm_shingle_counts_open(&in_turns, 16, NULL), BM_OK);
    for (int i = 0; i < SHARERS; i++)
        for (int k = 0; k < TIMES; k++)
            bm_shingle_counts_add(&one_by_one, &mixed[i], 1, false);
    for (int k = 0; k < TIMES; k++)
        bm_shingle_counts_add(&in_turns, mixed, SHARERS, k % 2 == 0);
    for (int i = 0; i < SHARERS; i++) {
        cr_assert_eq(bm_shingle_counts_get(&one_by_one, mixed[i]), SHARERS * TIMES);
        cr_assert_eq(bm_shingle_counts_get(&in_turns, mixed[i]), SHARERS * TIMES);
    }
    bm_shingle_counts_reset(&one_by_one);
    bm_shingle_counts_reset(&in_turns);
}

Test(shingle_counts, a_table_made_part_by_part_holds_the_same_numbers)
{
    corpus *c = make(1);
    bm_shingle_counts whole;
    cr_assert_eq(bm_shingle_counts_make(&whole, &c->sets, NULL, NULL), BM_OK);
    for (unsigned bits = 1; bits <= 5; bits += 2) {
        size_t n_asked = 0;
        for (uint64_t part = 0; part < (uint64_t)1 << bits; part++) {
            bm_shingle_counts counts;
            cr_assert_eq(bm_shingle_counts_open(&counts, whole.low_bits - bits, NULL), BM_OK);
            for (int asking = 0; asking < 2; asking++) {
                for (size_t i = 0; i < N; i++) {
                    for (size_t k = 0; k < c->sizes[i] && !c->skip[i]; k++) {
                        uint64_t mixed = bm_shingle_mix(c->docs[i][k]), left = mixed << bits;
                        if (mixed >> (64 - bits) != part)
                            continue;
                        if (!asking)
                            bm_shingle_counts_add(&counts, &left, 1, false);
                        else
                            cr_assert_eq(bm_shingle_counts_get(&counts, left),
                                         bm_shingle_counts_get(&whole, mixed));
                        n_asked += asking != 0;
                    }
                }
            }
            bm_shingle_counts_reset(&counts);
        }
        cr_assert_gt(n_asked, 10000);
    }
    bm_shingle_counts_reset(&whole);
    drop(c);
}

Test(shingle_counts, bytes_are_one_to_two_a_shingle)
{
    for (uint64_t shingles = 1; shingles < (uint64_t)1 << 34; shingles *= 3) {
        uint64_t bytes = bm_shingle_counts_bytes(bm_shingle_counts_bits(shingles));
        cr_assert(bytes > shingles && bytes < shingles * 65 / 32 + 68000);
    }
}
