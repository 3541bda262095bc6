/* SPDX-License-Identifier: Apache-2.0 */
/* test_rare_prefix.c -- prefixes: their lengths, compared with trying every number; and the
 * guarantee that all_pairs.c needs: two documents at the threshold share a key of their prefixes.
 */
#include "lsh/prefix_index.c"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/verify.h"

#include "tests/world/world_random.h"

Test(rare_prefix, least_share_is_the_first_number_whose_quotient_reaches_the_threshold)
{
    for (size_t n = 1; n <= 60; n++) {
        for (size_t num = 1; num <= 60; num++) {
            double at = (double)num / 60, around[] = {at, nextafter(at, 0), nextafter(at, 1)};
            for (int i = 0; i < 3; i++) {
                size_t wanted = 0;
                while (wanted < n && (double)wanted / (double)n < around[i])
                    wanted++;
                cr_assert_eq(bm_least_share(n, around[i]), wanted);
            }
        }
    }
}

Test(rare_prefix, lengths_leave_out_one_less_than_what_must_be_shared)
{
    for (size_t n = 0; n <= 60; n++) {
        for (size_t num = 1; num <= 60; num++) {
            double at = (double)num / 60, around[] = {at, nextafter(at, 0), nextafter(at, 1)};
            for (int i = 0; i < 3; i++) {
                if (around[i] > 1)
                    continue;
                size_t probe = 0, index = 0; /* fewest shingles shared with a larger document */
                while (probe < n && (double)probe / (double)n < around[i])
                    probe++;
                while (index < n && (double)index / (double)(2 * n - index) < around[i])
                    index++;
                const bm_join_rule jaccard = {BM_MEASURE_JACCARD, around[i]},
                                   containment = {BM_MEASURE_CONTAINMENT, around[i]};
                cr_assert_eq(bm_prefix_to_probe(jaccard, n), n == 0 ? 0 : n - probe + 1);
                cr_assert_eq(prefix_to_index(jaccard, n), n == 0 ? 0 : n - index + 1);
                cr_assert_eq(bm_prefix_to_probe(containment, n), n);
                cr_assert_eq(prefix_to_index(containment, n), n == 0 ? 0 : n - probe + 1);
                cr_assert_leq(index == 0 ? 0 : n - index, n - probe);
            }
        }
    }
}

enum { N = 80, LONGEST = 30 };

typedef struct corpus {
    uint64_t hashes[N][LONGEST];
    const uint64_t *docs[N];
    uint32_t sizes[N];
    bm_set_list sets;
    bm_shingle_counts counts;
} corpus;

static void make(corpus *c, uint64_t words)
{
    for (size_t i = 0; i < N; i++) {
        uint64_t scratch[LONGEST];
        size_t n = world_draw() % (LONGEST + 1);
        for (size_t k = 0; k < n; k++)
            c->hashes[i][k] = world_draw() % words * (world_draw() % words);
        if (i > 0 && world_draw() % 2 == 0) {
            size_t from = world_draw() % i;
            n = c->sizes[from];
            memcpy(c->hashes[i], c->hashes[from], n * 8);
            for (size_t k = 0; k < n; k++)
                if (world_draw() % 8 == 0)
                    c->hashes[i][k] = world_draw() % words;
        }
        bm_hashes_sort(c->hashes[i], n, scratch);
        c->sizes[i] = (uint32_t)bm_hashes_distinct(c->hashes[i], n);
        c->docs[i] = c->hashes[i];
    }
    c->sets = (bm_set_list){.docs = c->docs, .sizes = c->sizes, .n_docs = N};
    cr_assert_eq(bm_shingle_counts_make(&c->counts, &c->sets, NULL, NULL), BM_OK);
}

static size_t prefix(const corpus *c, size_t doc, size_t length, uint64_t *keys, size_t *n_alone)
{
    uint64_t scratch[LONGEST];
    bm_rare_prefix_size size = bm_rare_prefix(&c->counts, c->docs[doc], c->sizes[doc], length,
                                              (bm_rare_prefix_buffers){keys, scratch});
    *n_alone = size.n_alone;
    return size.n_keys;
}

Test(rare_prefix, documents_at_the_threshold_have_a_key_in_common_and_share_no_more_than_its_places)
{
    static const double thresholds[] = {1e-300, .1, .3, .5, 2.0 / 3, .8, .9, 1};
    static corpus c;
    size_t n_meet = 0, n_pairs = 0;
    for (int round = 0; round < 64; round++) {
        make(&c, 5 + world_draw() % 60);
        const bm_measure measure = round % 2 == 0 ? BM_MEASURE_JACCARD : BM_MEASURE_CONTAINMENT;
        double t = thresholds[round / 2 % 8];
        const bm_join_rule rule = {measure, t};
        for (uint32_t a = 0; a < N; a++) {
            for (uint32_t b = 0; b < N; b++) {
                if (a == b || c.sizes[a] < c.sizes[b])
                    continue;
                uint64_t of_a[LONGEST], of_b[LONGEST];
                size_t alone_a, alone_b;
                size_t n_a = prefix(&c, a, bm_prefix_to_probe(rule, c.sizes[a]), of_a, &alone_a);
                size_t n_b = prefix(&c, b, prefix_to_index(rule, c.sizes[b]), of_b, &alone_b);
                size_t i = 0, j = 0;
                while (i < n_a && j < n_b && of_a[i] != of_b[j])
                    of_a[i] < of_b[j] ? i++ : j++;
                bool met = i < n_a && j < n_b;
                size_t common = bm_hashes_common(c.docs[a], c.sizes[a], c.docs[b], c.sizes[b]);
                const double similarity = measure == BM_MEASURE_JACCARD
                                              ? bm_jaccard(common, c.sizes[a], c.sizes[b])
                                              : (double)common / c.sizes[b];
                cr_assert(met || !(similarity >= t) || c.sizes[b] == 0);
                if (met) {
                    cr_assert_leq(common, c.sizes[a] - alone_a - i);
                    cr_assert_leq(common, c.sizes[b] - alone_b - j);
                }
                n_meet += met && measure == BM_MEASURE_JACCARD;
                n_pairs += measure == BM_MEASURE_JACCARD;
            }
        }
        bm_shingle_counts_reset(&c.counts);
    }
    cr_assert(n_meet > 0 && n_meet < n_pairs / 2, "a filter that lets all pass is none");
}

Test(rare_prefix, keys_are_those_of_the_rarest_shingles_in_ascending_order)
{
    static corpus c;
    make(&c, 20);
    for (size_t doc = 0; doc < N; doc++) {
        size_t n = c.sizes[doc], n_alone, wanted_alone = 0;
        uint64_t all[LONGEST], some[LONGEST];
        for (size_t k = 0; k < n; k++) {
            size_t n_docs = 0;
            for (size_t other = 0; other < N; other++)
                n_docs += bm_hashes_common(&c.docs[doc][k], 1, c.docs[other], c.sizes[other]);
            uint32_t count = bm_shingle_counts_get(&c.counts, bm_shingle_mix(c.docs[doc][k]));
            cr_assert_geq(count, n_docs);
            wanted_alone += count == 1;
        }
        size_t n_all = prefix(&c, doc, n, all, &n_alone);
        cr_assert_eq(n_alone, wanted_alone);
        cr_assert_eq(n_all, n - n_alone);
        for (size_t k = 0; k < n_all; k++) {
            cr_assert(all[k] >> 48 > 1);
            cr_assert(k == 0 || all[k - 1] <= all[k]);
        }
        for (size_t length = 0; length <= n; length++) {
            size_t got = prefix(&c, doc, length, some, &n_alone);
            cr_assert_eq(got, length > n_alone ? length - n_alone : 0);
            cr_assert_eq(memcmp(some, all, got * sizeof *all), 0);
        }
    }
    bm_shingle_counts_reset(&c.counts);
}
