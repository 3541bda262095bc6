/* SPDX-License-Identifier: Apache-2.0 */
/* set_overlaps.c -- an inverted index with counters.
 *
 *     filter   16 bits a hash or more: rules out most hashes that are in no set
 *     table    hash -> its number                (base/hash_table.h)
 *     hashes   number -> range in `list`
 *     list     [ sets with hash a | sets with hash b | … ]
 *
 * A look-up is exact at any similarity. It takes one step for each hash, and one for each set that
 * has the hash. So it is cheap if sets have little in common. Hashes are mixed once more, because
 * hashes that are an input may be unevenly distributed.
 *
 * Tests: tests/unit/lsh/test_set_overlaps.c */
#include "lsh/set_overlaps.h"

#include "base/error.h"
#include "base/memory.h"

#define FILTER_BITS_EACH 16u

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9E3779B97F4A7C15);
}

/* Return the least b with 2^b >= n, but at least 6 and at most 62. */
static unsigned bits_for(uint64_t n)
{
    unsigned bits = 6;
    while (bits < 62 && UINT64_C(1) << bits < n)
        bits++;
    return bits;
}

uint64_t bm_overlap_index_bytes(uint64_t n_hashes)
{
    return bm_hash_table_bytes(n_hashes) + n_hashes * (sizeof(bm_overlap_hash) + sizeof(uint32_t)) +
           (UINT64_C(1) << bits_for(FILTER_BITS_EACH * n_hashes)) / 8;
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_hash_seeded(((const bm_overlap_index *)owner)->hashes[number].key, 0, seed);
}

static bool has_hash(const void *owner, uint32_t number, const void *key)
{
    return ((const bm_overlap_index *)owner)->hashes[number].key == *(const uint64_t *)key;
}

/* Return the hash that the table uses: `mixed`, or another hash if the table drew a seed. */
static uint64_t table_hash(const bm_overlap_index *index, uint64_t hash, uint64_t mixed)
{
    return index->table.seed == 0 ? mixed : bm_hash_seeded(hash, 0, index->table.seed);
}

/* Return the entry of the hash, or NULL if the index does not have it. */
static bm_overlap_hash *look_up(const bm_overlap_index *index, uint64_t hash, uint64_t mixed)
{
    const size_t at =
        bm_hash_table_find(&index->table, table_hash(index, hash, mixed), has_hash, index, &hash);
    return bm_hash_table_is_free(&index->table, at)
               ? NULL
               : &index->hashes[bm_hash_table_number(&index->table, at)];
}

static uint64_t filter_bit(const bm_overlap_index *index, uint64_t mixed)
{
    return mixed >> (64 - index->filter_bits);
}

static bm_status count_hash(bm_overlap_index *index, uint64_t hash, bm_error *err)
{
    const uint64_t mixed = mix(hash), bit = filter_bit(index, mixed);
    BM_TRY(bm_hash_table_reserve(&index->table, hash_again, index, err));
    const uint64_t placed = table_hash(index, hash, mixed);
    const size_t at = bm_hash_table_find(&index->table, placed, has_hash, index, &hash);
    if (bm_hash_table_is_free(&index->table, at)) {
        index->hashes[index->table.n] = (bm_overlap_hash){.key = hash};
        bm_hash_table_put(&index->table, at, placed, (uint32_t)index->table.n);
    }
    index->hashes[bm_hash_table_number(&index->table, at)].n++;
    index->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    return BM_OK;
}

static bm_status count_hashes(bm_overlap_index *index, const bm_hash_sets *sets, bm_error *err)
{
    for (size_t i = 0; i < sets->n; i++) {
        for (uint32_t k = 0; k < sets->sizes[i]; k++)
            BM_TRY(count_hash(index, sets->sets[i][k], err));
    }
    return BM_OK;
}

static void fill_list(bm_overlap_index *index, const bm_hash_sets *sets)
{
    uint32_t at = 0;
    for (size_t i = 0; i < index->table.n; i++) {
        index->hashes[i].begin = at;
        at += index->hashes[i].n;
    }
    for (size_t i = 0; i < sets->n; i++)
        for (uint32_t k = 0; k < sets->sizes[i]; k++) {
            const uint64_t hash = sets->sets[i][k];
            index->list[look_up(index, hash, mix(hash))->begin++] = (uint32_t)i;
        }
    for (size_t i = 0; i < index->table.n; i++)
        index->hashes[i].begin -= index->hashes[i].n;
}

bm_status bm_overlap_index_build(const bm_hash_sets *sets, bm_overlap_index *out, bm_error *err)
{
    uint64_t n = 0;
    for (size_t i = 0; i < sets->n; i++)
        n += sets->sizes[i];
    if (n > UINT32_MAX)
        return bm_fail(err, BM_ERR_NOMEM, "%llu hashes in one index (below 2^32)",
                       (unsigned long long)n);
    bm_overlap_index index = {.n_sets = sets->n, .filter_bits = bits_for(FILTER_BITS_EACH * n)};
    index.hashes = bm_alloc((size_t)n, sizeof *index.hashes);
    index.filter = bm_alloc_zero(((size_t)1 << index.filter_bits) / 64, sizeof *index.filter);
    index.list = bm_alloc((size_t)n, sizeof *index.list);
    bm_status status = BM_OK;
    BM_TRY_OUT(index.hashes != NULL && index.filter != NULL && index.list != NULL
                   ? bm_hash_table_clear(&index.table, (size_t)n, err)
                   : bm_fail_nomem(err, (size_t)bm_overlap_index_bytes(n)));
    status = count_hashes(&index, sets, err);
out:
    if (status != BM_OK) {
        bm_overlap_index_reset(&index);
        return status;
    }
    fill_list(&index, sets);
    *out = index;
    return BM_OK;
}

void bm_overlap_index_reset(bm_overlap_index *index)
{
    bm_free(index->hashes);
    bm_hash_table_reset(&index->table);
    bm_free_all(index->filter, index->list);
    *index = (bm_overlap_index){0};
}

bm_status bm_overlaps_open(const bm_overlap_index *index, bm_overlaps *out, bm_error *err)
{
    bm_overlaps overlaps = {.common = bm_alloc_zero(index->n_sets, sizeof *overlaps.common),
                            .found = bm_alloc(index->n_sets, sizeof *overlaps.found)};
    if (overlaps.common == NULL || overlaps.found == NULL) {
        bm_overlaps_close(&overlaps);
        return bm_fail_nomem(err, index->n_sets * sizeof *overlaps.common);
    }
    *out = overlaps;
    return BM_OK;
}

void bm_overlaps_close(bm_overlaps *overlaps)
{
    bm_free_all(overlaps->common, overlaps->found);
    *overlaps = (bm_overlaps){0};
}

/* Return the sets that have a hash, ascending; *n becomes their number. NULL: no set has it. */
static const uint32_t *overlap_sets(const bm_overlap_index *index, uint64_t hash, size_t *n)
{
    const uint64_t mixed = mix(hash), bit = filter_bit(index, mixed);
    *n = 0;
    if ((index->filter[bit / 64] >> bit % 64 & 1) == 0)
        return NULL;
    const bm_overlap_hash *known = look_up(index, hash, mixed);
    if (known == NULL)
        return NULL;
    *n = known->n;
    return index->list + known->begin;
}

void bm_overlaps_find(bm_overlaps *overlaps, const bm_overlap_index *index, const uint64_t *hashes,
                      size_t n)
{
    for (size_t i = 0; i < overlaps->n_found; i++)
        overlaps->common[overlaps->found[i]] = 0;
    overlaps->n_found = 0;
    for (size_t k = 0; k < n; k++) {
        size_t n_sets;
        const uint32_t *sets = overlap_sets(index, hashes[k], &n_sets);
        for (size_t i = 0; i < n_sets; i++)
            if (overlaps->common[sets[i]]++ == 0)
                overlaps->found[overlaps->n_found++] = sets[i];
    }
}
