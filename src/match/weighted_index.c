/* weighted_index.c -- the heaviest shingles of each document, in buckets by their leading bits.
 *
 * What is left out loses no pair. Let x and y be documents of similarity J >= t, S the sum of the
 * weights of x, and M the sum of the smaller weights of what both have: J = M / (sum of the greater
 * weights), and that sum is at least S. So M >= t S. Leave elements of x out, the lightest first, as
 * long as those left out weigh less than t S together. If y had none of the others, all that both have
 * would be among those left out, and M < t S: so one of the heavier elements of x, which the index has,
 * is in y. That holds for any x, whatever order elements are left out in: the heaviest are kept since
 * they are the fewest, and mostly the rarest. One side of a pair is enough: y is looked up with all of
 * its elements.
 *
 * Rounding: a sum of n doubles that are above 0 is off by less than n e of itself, e = 2^-53, so the
 * similarity as it is computed by less than (2 n + 1) e of itself with n = 2 L, L the elements of the
 * longest set; and S, and what is left of it, by 2 L e of S. All of it is less than 8 (L + 1) e of t S
 * and of S; as much and more is taken off the share (bm_weighted_share), which keeps more elements.
 *
 * Tests: tests/unit/match/test_weighted_pairs.c */
#include "match/weighted_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/shingle_counts.h"

#define PER_BUCKET 2u /* entries, about */

typedef struct heavy {
    uint64_t hash;
    double weight;
} heavy;

double bm_weighted_share(double threshold, size_t longest)
{
    const double off = 0x1p-49 * ((double)longest + 1);
    return threshold - off * (1 + threshold);
}

static int heaviest_first(const void *x, const void *y)
{
    const heavy *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

bm_status bm_weighted_index_add(bm_weighted_index *index, bm_weighted_set set, double share,
                                void *scratch, bm_error *err)
{
    const double sum = bm_weighted_sum(set);
    heavy *list = scratch;
    double left = sum;
    BM_TRY(bm_grow_array(&index->sums, &index->cap_docs, index->n_docs + 1, err));
    BM_TRY(bm_grow_array(&index->entries, &index->cap, index->n + set.n, err));
    for (size_t i = 0; i < set.n; i++)
        list[i] = (heavy){set.hashes[i], set.weights[i]};
    if (set.n > 1)
        qsort(list, set.n, sizeof *list, heaviest_first);
    for (size_t i = 0; i < set.n && left >= share * sum; i++) {
        index->entries[index->n++] =
            (bm_weighted_entry){bm_shingle_mix(list[i].hash), index->n_docs};
        left -= list[i].weight;
    }
    index->sums[index->n_docs++] = sum;
    return BM_OK;
}

bm_status bm_weighted_index_build(bm_weighted_index *index, bm_error *err)
{
    unsigned bits = 1;
    while (bits < 40 && index->n >> bits >= PER_BUCKET)
        bits++;
    const size_t n_buckets = (size_t)1 << bits;
    bm_weighted_entry *ordered = bm_alloc(index->n, sizeof *ordered);
    bm_free(index->starts);
    index->starts = bm_alloc_zero(n_buckets + 2, sizeof *index->starts);
    index->bits = bits;
    if (ordered == NULL || index->starts == NULL) {
        bm_free(ordered);
        return bm_fail_nomem(err, index->n * sizeof *ordered);
    }
    size_t *ends = index->starts + 1; /* of bucket b: its begin, until its entries are placed */
    for (size_t i = 0; i < index->n; i++)
        ends[(index->entries[i].key >> (64 - bits)) + 1]++;
    for (size_t b = 0; b < n_buckets; b++)
        ends[b + 1] += ends[b];
    for (size_t i = 0; i < index->n; i++)
        ordered[ends[index->entries[i].key >> (64 - bits)]++] = index->entries[i];
    bm_free(index->entries);
    index->entries = ordered;
    index->cap = index->n;
    return BM_OK;
}

void bm_weighted_index_expect(const bm_weighted_index *index, uint64_t hash)
{
    __builtin_prefetch(&index->starts[bm_shingle_mix(hash) >> (64 - index->bits)]);
}

size_t bm_weighted_index_find(const bm_weighted_index *index, uint64_t hash, uint64_t *key,
                              size_t *begin)
{
    *key = bm_shingle_mix(hash);
    const size_t bucket = (size_t)(*key >> (64 - index->bits));
    *begin = index->starts[bucket];
    return index->starts[bucket + 1];
}

void bm_weighted_index_clear(bm_weighted_index *index)
{
    index->n_docs = 0;
    index->n = 0;
}

void bm_weighted_index_reset(bm_weighted_index *index)
{
    bm_free(index->sums);
    bm_free(index->entries);
    bm_free(index->starts);
    memset(index, 0, sizeof *index);
}
