/* band_buckets.c -- bucket one band: radix partition, then a small hash table for each part.
 *
 * 1. Each key is mixed once more (one multiplication), so that keys of any origin spread. The top
 *    bits name its part; the low 32 bits, its tag, go beside the document's number into an entry:
 *
 *        entries   [ tag doc | tag doc | …  part 0 ][ … part 1 ][ … ]       8 bytes a document
 *
 *    Documents are counted and scattered in blocks, block by block in each part, so that a part
 *    lists its documents in ascending order whatever the threads did.
 * 2. A part (about 2,048 documents) is looked up in a table of its own (base/hash_table.h), which
 *    stays in the first caches. A slot holds the tag of a key and the last document that had it;
 *    where tags agree the two keys themselves are compared. An equal key appends the document to
 *    its chain. The table grows with the distinct keys, not with the documents, so a million copies
 *    of one document fill one slot.
 *
 * Against one table for the whole band: no cache miss a lookup, no prefetch, and parts are
 * independent, so that all threads work on one band and the memory does not grow with them. */
#include "lsh/band_buckets.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define PART_DOCS  2048u  /* documents of a part, about */
#define PARTS_MAX  4096u  /* write streams of the scatter */
#define BLOCK_DOCS 65536u /* documents of a block of the scatter, at least */
#define BLOCKS_MAX 64u    /* blocks of the scatter at most */

static uint64_t mix(uint64_t key)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    return key ^ key >> 32;
}

static size_t block_begin(const bm_band_buckets *b, size_t block)
{
    size_t size = (b->n_docs + b->n_blocks - 1) / b->n_blocks;
    size_t begin = block * size;
    return begin < b->n_docs ? begin : b->n_docs;
}

static bm_status count_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_band_buckets *b = ctx;
    for (size_t block = begin; block < end; block++) {
        size_t *counts = b->ends + block * b->n_parts;
        memset(counts, 0, b->n_parts * sizeof *counts);
        size_t stop = block_begin(b, block + 1);
        for (size_t doc = block_begin(b, block); doc < stop; doc++) {
            if (b->skip == NULL || b->skip[doc] == 0)
                counts[mix(b->keys[doc]) >> 1 >> b->part_shift]++;
        }
    }
    return BM_OK;
}

/* Turn counts into where each block's share of each part begins. */
static void sum_counts(bm_band_buckets *b)
{
    size_t sum = 0;
    for (size_t part = 0; part < b->n_parts; part++) {
        for (size_t block = 0; block < b->n_blocks; block++) {
            size_t *slot = &b->ends[block * b->n_parts + part];
            size_t count = *slot;
            *slot = sum;
            sum += count;
        }
    }
}

static bm_status scatter_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_band_buckets *b = ctx;
    for (size_t block = begin; block < end; block++) {
        size_t *ends = b->ends + block * b->n_parts;
        size_t stop = block_begin(b, block + 1);
        for (size_t doc = block_begin(b, block); doc < stop; doc++) {
            b->next[doc] = BM_NO_DOC;
            b->inner[doc] = 0;
            if (b->skip != NULL && b->skip[doc] != 0)
                continue;
            uint64_t mixed = mix(b->keys[doc]);
            b->entries[ends[mixed >> 1 >> b->part_shift]++] = mixed << 32 | doc;
        }
    }
    return BM_OK;
}

static uint64_t hash_again(const void *owner, uint32_t doc, uint64_t seed)
{
    return bm_hash_seeded(((const bm_band_buckets *)owner)->keys[doc], 0, seed);
}

static bool has_key(const void *owner, uint32_t doc, const void *key)
{
    return ((const bm_band_buckets *)owner)->keys[doc] == *(const uint64_t *)key;
}

/* Append the entry's document to the chain of its key, or begin a chain. */
static void chain(bm_band_buckets *b, bm_hash_table *table, uint64_t entry)
{
    const uint32_t doc = (uint32_t)entry;
    const uint64_t hash = table->seed == 0 ? entry : hash_again(b, doc, table->seed);
    const size_t at = bm_hash_table_find(table, hash, has_key, b, &b->keys[doc]);
    if (bm_hash_table_is_free(table, at)) {
        bm_hash_table_put(table, at, hash, doc);
        return;
    }
    b->next[bm_hash_table_number(table, at)] = doc;
    b->inner[doc] = 1;
    bm_hash_table_renumber(table, at, doc);
}

static bm_status chain_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    bm_band_buckets *b = ctx;
    bm_hash_table *table = &b->tables[thread];
    const size_t *ends = b->ends + (b->n_blocks - 1) * b->n_parts; /* of the last block: of all */
    for (size_t part = begin; part < end; part++) {
        BM_TRY(bm_hash_table_clear(table, PART_DOCS, err));
        for (size_t i = part == 0 ? 0 : ends[part - 1]; i < ends[part]; i++) {
            BM_TRY(bm_hash_table_reserve(table, hash_again, b, err));
            chain(b, table, b->entries[i]);
        }
    }
    return BM_OK;
}

bm_status bm_band_buckets_init(bm_band_buckets *b, size_t n_docs, const uint8_t *skip,
                               bm_pool *pool, bm_error *err)
{
    unsigned part_bits = 0;
    while (((size_t)1 << part_bits) < PARTS_MAX && n_docs >> part_bits > PART_DOCS)
        part_bits++;
    size_t blocks = n_docs / BLOCK_DOCS;
    uint32_t threads = pool == NULL ? 1 : bm_pool_size(pool);
    *b = (bm_band_buckets){.n_docs = n_docs, .skip = skip};
    b->n_parts = (size_t)1 << part_bits;
    b->part_shift = 63 - part_bits;
    b->n_blocks = blocks < 1 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    b->pool = n_docs > BLOCK_DOCS && threads > 1 ? pool : NULL;
    b->next = bm_alloc(n_docs, sizeof *b->next);
    b->inner = bm_alloc(n_docs, sizeof *b->inner);
    b->entries = bm_alloc(n_docs, sizeof *b->entries);
    b->ends = bm_alloc(b->n_blocks * b->n_parts, sizeof *b->ends);
    b->tables = bm_alloc_zero(threads, sizeof *b->tables);
    if (b->next != NULL && b->inner != NULL && b->entries != NULL && b->ends != NULL &&
        b->tables != NULL)
        return BM_OK;
    bm_band_buckets_reset(b);
    return bm_fail_nomem(err, n_docs * 13);
}

static bm_status run(bm_band_buckets *b, size_t n, bm_pool_range_fn fn, bm_error *err)
{
    return b->pool == NULL ? fn(b, 0, 0, n, err)
                           : bm_pool_for(b->pool, (bm_pool_split){n, 1}, fn, b, err);
}

bm_status bm_band_buckets_fill(bm_band_buckets *b, const uint64_t *keys, bm_error *err)
{
    b->keys = keys;
    BM_TRY(run(b, b->n_blocks, count_blocks, err));
    sum_counts(b);
    BM_TRY(run(b, b->n_blocks, scatter_blocks, err));
    return run(b, b->n_parts, chain_parts, err);
}

/* --- labels --- */

void bm_band_buckets_label(const bm_band_buckets *b, uint32_t *labels)
{
    for (size_t doc = 0; doc < b->n_docs; doc++) {
        if (b->inner[doc] != 0)
            continue;
        labels[doc] = (uint32_t)doc;
        for (uint32_t at = b->next[doc]; at != BM_NO_DOC; at = b->next[at])
            labels[at] = (uint32_t)doc;
    }
}

void bm_band_buckets_fill_labels(bm_band_buckets *b, const uint32_t *labels)
{
    uint64_t *last = b->entries; /* of the chain that a document begins */
    for (size_t doc = 0; doc < b->n_docs; doc++) {
        b->next[doc] = BM_NO_DOC;
        b->inner[doc] = 0;
        last[doc] = doc;
        if (b->skip != NULL && b->skip[doc] != 0)
            continue;
        uint32_t first = labels[doc];
        if (first == doc)
            continue;
        b->next[last[first]] = (uint32_t)doc;
        b->inner[doc] = 1;
        last[first] = doc;
    }
}

void bm_band_buckets_reset(bm_band_buckets *b)
{
    uint32_t threads = b->pool == NULL ? 1 : bm_pool_size(b->pool);
    for (uint32_t i = 0; b->tables != NULL && i < threads; i++)
        bm_hash_table_reset(&b->tables[i]);
    bm_free(b->tables);
    bm_free(b->ends);
    bm_free(b->entries);
    bm_free(b->inner);
    bm_free(b->next);
    *b = (bm_band_buckets){0};
}
