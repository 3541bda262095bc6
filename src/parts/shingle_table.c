/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_table.c -- a bm_hash_table of shingle numbers. The key of a number is hashes[number].
 *
 * Tests: tests/unit/parts/test_shingle_table.c */
#include "parts/overlap_parts.h"

#include "base/error.h"
#include "base/memory.h"

static uint64_t slot_hash(const bm_shingle_table *table, uint64_t hash)
{
    return table->table.seed == 0 ? hash : bm_hash_seeded(hash, 0, table->table.seed);
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    const bm_shingle_table *table = owner;
    return bm_hash_seeded(table->hashes[number], 0, seed);
}

static bool has_hash(const void *owner, uint32_t number, const void *key)
{
    const bm_shingle_table *table = owner;
    return table->hashes[number] == *(const uint64_t *)key;
}

static size_t slot_of(const bm_shingle_table *table, uint64_t hash)
{
    return bm_hash_table_find(&table->table, slot_hash(table, hash), has_hash, table, &hash);
}

void bm_shingle_table_fetch(const bm_shingle_table *table, uint64_t hash)
{
    bm_hash_table_fetch(&table->table, slot_hash(table, hash));
}

uint32_t bm_shingle_table_find(const bm_shingle_table *table, uint64_t hash)
{
    const size_t at = slot_of(table, hash);
    return bm_hash_table_is_free(&table->table, at) ? BM_NO_SHINGLE
                                                    : bm_hash_table_number(&table->table, at);
}

bm_status bm_shingle_table_add(bm_shingle_table *table, uint64_t hash, uint32_t *number,
                               bm_error *err)
{
    BM_TRY(bm_hash_table_reserve(&table->table, hash_again, table, err));
    const size_t at = slot_of(table, hash);
    if (!bm_hash_table_is_free(&table->table, at)) {
        *number = bm_hash_table_number(&table->table, at);
        return BM_OK;
    }
    if (table->n >= UINT32_MAX - 1)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "the items have more than 2^32-2 shingles");
    BM_TRY(bm_grow_array(&table->hashes, &table->cap, table->n + 1, err));
    table->hashes[table->n] = hash;
    *number = (uint32_t)table->n++;
    bm_hash_table_put(&table->table, at, slot_hash(table, hash), *number);
    return BM_OK;
}

/* log2 of the number of words of the filter. */
static unsigned filter_bits(const bm_shingle_table *table)
{
    unsigned bits = 6;
    while (((uint64_t)64 << bits) < (uint64_t)table->n * BM_FILTER_BITS)
        bits++;
    return bits;
}

bm_status bm_shingle_table_end(bm_shingle_table *table, bm_error *err)
{
    const unsigned bits = filter_bits(table);
    if (table->n == 0) /* without slots, look-ups would fail */
        BM_TRY(bm_hash_table_clear(&table->table, 1, err));
    table->filter.shift = 64 - bits;
    BM_TRY(bm_new_zero(&table->filter.words, (size_t)1 << bits, err));
    for (size_t i = 0; i < table->n; i++)
        bm_hash_filter_add(&table->filter, table->hashes[i]);
    return BM_OK;
}

uint64_t bm_shingle_table_bytes(const bm_shingle_table *table)
{
    return table->cap * sizeof *table->hashes + table->table.cap_slots * sizeof(uint64_t) +
           ((uint64_t)sizeof(uint64_t) << filter_bits(table));
}

void bm_shingle_table_reset(bm_shingle_table *table)
{
    bm_free_all(table->hashes, table->filter.words);
    bm_hash_table_reset(&table->table);
    *table = (bm_shingle_table){0};
}
