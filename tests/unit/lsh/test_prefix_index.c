/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_index.c -- the inverted index of a block: its lists, compared with a search of every
 * prefix; its blocks; its bounds. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "lsh/prefix_index.h"
#include "lsh/all_pairs.c"
#include "lsh/verify.h"
#include "tests/world/colliding.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"

enum { N = 400, LONGEST = 90 };

typedef struct corpus {
    uint64_t hashes[N][LONGEST];
    const uint64_t *docs[N];
    uint32_t sizes[N], order[N];
    bm_set_list sets;
    bm_shingle_counts counts;
    bm_sized_sets sized;
} corpus;

static corpus c; /* sizes ascend, so the order by size is the order by number */

static void make(uint64_t words, bm_join_rule rule)
{
    for (size_t i = 0; i < N; i++) {
        uint64_t scratch[LONGEST];
        size_t n = 1 + i * (LONGEST - 1) / N;
        for (size_t k = 0; k < n; k++) /* distinct shingles, some far more frequent than others */
            c.hashes[i][k] = world_draw() % words * (world_draw() % words) << 8 | k;
        bm_hashes_sort(c.hashes[i], n, scratch);
        c.docs[i] = c.hashes[i];
        c.sizes[i] = (uint32_t)n;
        c.order[i] = (uint32_t)i;
    }
    c.sets = (bm_set_list){.docs = c.docs, .sizes = c.sizes, .n_docs = N};
    cr_assert_eq(bm_shingle_counts_make(&c.counts, &c.sets, NULL, NULL), BM_OK);
    c.sized = (bm_sized_sets){
        .sets = &c.sets, .order = c.order, .n = N, .counts = &c.counts, .rule = rule};
}

/* The keys that the index must have for each document. */
static struct {
    uint64_t keys[LONGEST];
    size_t n, n_alone;
} wanted[N];

/* n - c + 1, where c is the least number of common shingles with which two documents of n reach the
 * threshold. */
static size_t indexed(size_t n)
{
    size_t common = 0;
    while (bm_jaccard(common, n, n) < c.sized.rule.threshold)
        common++;
    return n - common + 1;
}

static void want(void)
{
    for (size_t doc = 0; doc < N; doc++) {
        uint64_t scratch[LONGEST];
        size_t length = indexed(c.sizes[doc]);
        bm_rare_prefix_size size =
            bm_rare_prefix(&c.counts, c.docs[doc], c.sizes[doc], length,
                           (bm_rare_prefix_buffers){wanted[doc].keys, scratch});
        wanted[doc].n = size.n_keys;
        wanted[doc].n_alone = size.n_alone;
    }
}

/* The rank of `key` among the wanted keys of the document; SIZE_MAX: not among them. */
static size_t rank_of(size_t doc, uint64_t key)
{
    for (size_t i = 0; i < wanted[doc].n && wanted[doc].keys[i] <= key; i++)
        if (wanted[doc].keys[i] == key)
            return wanted[doc].n_alone + i;
    return SIZE_MAX;
}

/* Expects the list of `key` to have all documents of the block with that key. */
static void expect_list(const bm_prefix_index *index, uint64_t key)
{
    size_t at = bm_prefix_index_find(index, key);
    for (size_t y = index->begin; y < index->end; y++) {
        size_t rank = rank_of(y, key);
        bool here = at < index->n_entries && index->entries[at].key == key &&
                    index->entries[at].position == y;
        cr_assert_eq(here, rank != SIZE_MAX);
        if (here)
            cr_assert_eq(index->entries[at++].rank, rank);
    }
    cr_assert(at >= index->n_entries || index->entries[at].key != key);
}

static bm_status build(bm_prefix_index *index, bm_prefix_block block)
{
    return bm_prefix_index_build(index, &block, NULL);
}

Test(prefix_index, a_list_names_everybody_of_the_block_who_has_the_key)
{
    static const double thresholds[] = {.2, .5, .8, 1};
    for (int round = 0; round < 4; round++) {
        make(4 + world_draw() % 20, (bm_join_rule){BM_MEASURE_JACCARD, thresholds[round]});
        want();
        for (size_t begin = 0, blocks = 0; begin < N; blocks++) {
            bm_prefix_index index;
            bm_pool *pool = NULL;
            cr_assert_eq(bm_pool_open(1 + blocks % 3, &pool, NULL), BM_OK);
            uint64_t memory = round % 2 == 0 ? 0 : 200000;
            cr_assert_eq(build(&index, (bm_prefix_block){&c.sized, begin, memory, 0, pool}), BM_OK);
            bm_pool_close(pool);
            cr_assert(index.begin == begin && index.end > begin && index.end <= N);
            cr_assert(memory == 0 ? index.end == N : index.bytes <= memory);
            size_t n_entries = 0;
            for (size_t x = begin; x < index.end; x++) {
                size_t n_keys, n_alone;
                const uint64_t *keys = bm_prefix_index_keys(&index, x, &n_keys, &n_alone);
                for (size_t k = 0; k < n_keys; k++) {
                    expect_list(&index, keys[k]);
                    bool again = k > 0 && keys[k] == keys[k - 1];
                    n_entries += !again && rank_of(x, keys[k]) != SIZE_MAX;
                }
            }
            cr_assert_eq(n_entries, index.n_entries);
            begin = index.end;
            bm_prefix_index_reset(&index);
        }
        bm_shingle_counts_reset(&c.counts);
    }
}

Test(prefix_index, a_block_has_some_documents_however_little_memory_there_is)
{
    make(40, (bm_join_rule){BM_MEASURE_JACCARD, .5});
    bm_prefix_index index;
    cr_assert_eq(build(&index, (bm_prefix_block){&c.sized, 0, 1, 1000, NULL}), BM_OK);
    cr_assert_eq(index.end, BM_PREFIX_RANGE);
    bm_prefix_index_reset(&index);
    cr_assert_eq(build(&index, (bm_prefix_block){&c.sized, N - 3, 1, 0, NULL}), BM_OK);
    cr_assert_eq(index.end, N);
    bm_prefix_index_reset(&index);
    bm_shingle_counts_reset(&c.counts);
}

Test(prefix_index, a_search_finds_each_document_at_the_threshold_once_and_none_that_sizes_rule_out)
{
    static const double thresholds[] = {.1, .3, .6, .9};
    size_t n_found = 0;
    for (int round = 0; round < 4; round++) {
        make(4, (bm_join_rule){BM_MEASURE_JACCARD, thresholds[round]});
        for (size_t begin = 0; begin < N;) {
            bm_prefix_index index;
            bm_prefix_finder finder;
            cr_assert_eq(build(&index, (bm_prefix_block){&c.sized, begin, 1000000, 0, NULL}),
                         BM_OK);
            cr_assert_eq(prefix_finder_open(&finder, &c.sized, &index, NULL), BM_OK);
            finder.stamp = UINT32_MAX - 5; /* the stamp soon overflows and starts again */
            for (size_t x = begin; x < N; x++) {
                cr_assert_eq(prefix_find(&finder, x, NULL), BM_OK);
                uint8_t found[N] = {0};
                for (size_t i = 0; i < finder.n_found; i++) {
                    size_t y = finder.found[i];
                    cr_assert(y >= begin && y < index.end && y < x && !found[y]);
                    cr_assert_geq(c.sizes[y], bm_least_share(c.sizes[x], thresholds[round]));
                    found[y] = 1;
                }
                for (size_t y = begin; y < index.end && y < x; y++) {
                    size_t common = bm_hashes_common(c.docs[x], c.sizes[x], c.docs[y], c.sizes[y]);
                    double similarity = bm_jaccard(common, c.sizes[x], c.sizes[y]);
                    cr_assert(found[y] || !(similarity >= thresholds[round]));
                }
                n_found += finder.n_found;
            }
            prefix_finder_close(&finder);
            begin = index.end;
            bm_prefix_index_reset(&index);
        }
        bm_shingle_counts_reset(&c.counts);
    }
    cr_assert_gt(n_found, 1000);
}

/* Two documents with the same shingles, whose keys agree in the bits that select a slot. */
Test(prefix_index, shingles_that_meet_in_one_place_take_no_more_than_a_factor)
{
    const size_t n = sized(60000, 20000);
    uint64_t *hashes = malloc(2 * n * sizeof *hashes);
    const uint64_t *docs[] = {hashes, hashes};
    const uint32_t sizes[] = {(uint32_t)n, (uint32_t)n}, order[] = {0, 1};
    for (uint64_t i = 0; i < n; i++) { /* the middle bits of the mixed hash are 0 */
        uint64_t x = i << 48;
        x = (x ^ x >> 32) * colliding_inverse(UINT64_C(0xD6E8FEB86659FD93));
        hashes[i] = (x ^ x >> 32) * colliding_inverse(UINT64_C(0x9E3779B97F4A7C15));
        cr_assert_eq(bm_shingle_mix(hashes[i]), i << 48);
    }
    bm_hashes_sort(hashes, n, hashes + n);
    bm_set_list sets = {.docs = docs, .sizes = sizes, .n_docs = 2};
    bm_shingle_counts counts;
    bm_prefix_index index;
    cr_assert_eq(bm_shingle_counts_make(&counts, &sets, NULL, NULL), BM_OK);
    const bm_sized_sets both = {
        .sets = &sets, .order = order, .n = 2, .counts = &counts, .rule = {BM_MEASURE_JACCARD, .1}};
    cr_assert_eq(bm_prefix_index_build(&index, &(bm_prefix_block){&both, 0, 0, 0, NULL}, NULL),
                 BM_OK);
    cr_assert_gt(index.n_entries, n / 2);
    uint64_t steps = 0;
    for (size_t part = 0; part < (size_t)1 << index.part_bits; part++)
        steps += index.parts[part].table.n_steps;
    cr_expect_leq(steps, 24 * index.n_entries + (BM_HASH_PATIENCE << index.part_bits),
                  "%zu steps for %zu entries", (size_t)steps, index.n_entries);
    for (size_t i = 0; i < index.n_entries; i++) {
        const size_t at = bm_prefix_index_find(&index, index.entries[i].key);
        cr_assert(at == i || (at + 1 == i && index.entries[at].key == index.entries[i].key));
    }
    bm_prefix_index_reset(&index);
    bm_shingle_counts_reset(&counts);
    free(hashes);
}
