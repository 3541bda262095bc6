/* df_table.c -- a sorted list of keys, in chunks of memory or in blocks of a file.
 *
 *     memory   chunks of 65,536 keys and frequencies     starts: where the keys of each leading bits begin
 *     file     [ 512 keys | 512 frequencies ][ … ]       firsts: the first key of each block
 *
 * Keys are mixed, so that their leading bits spread evenly and a look-up in memory is a scan of a few
 * keys. In a file, the hashes that are looked up together are sorted first and each block that they need
 * is read once; pages come from the system's cache as long as it has room.
 *
 * Tests: tests/unit/corpus/test_df_count.c */
#include "corpus/df_table.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/affine32.h"
#include "base/error.h"
#include "base/memory.h"
#include "spill/spill_file.h"

#define CHUNK         ((size_t)1 << 16) /* entries */
#define BLOCK         ((size_t)512)     /* entries; a divisor of CHUNK */
#define ENTRY_BYTES   (sizeof(uint64_t) + sizeof(uint32_t))
#define BLOCK_BYTES   (BLOCK * ENTRY_BYTES)
#define AHEAD         ((size_t)16) /* look-ups at a time */
#define PER_START     8u           /* entries of a start, about */
#define WRITE_BYTES   ((size_t)256 << 10)
#define STEP_OF_COUNT UINT64_C(0x9E3779B97F4A7C15)

typedef struct chunk {
    uint64_t keys[CHUNK];
    uint32_t df[CHUNK];
} chunk;

typedef struct block {
    uint64_t keys[BLOCK];
    uint32_t df[BLOCK];
} block;

struct bm_df_table {
    bm_df_cfg cfg;
    bm_df_facts facts;
    /* In memory: */
    chunk **chunks;
    size_t n_chunks, cap_chunks;
    uint64_t *starts; /* n_starts + 1 */
    size_t n_starts;
    unsigned shift; /* of a key to its start */
    /* In a file: */
    bm_spill_file *file;
    block *last; /* being filled */
    size_t n_last;
    uint64_t *firsts;
    size_t n_blocks, cap_blocks;
};

uint64_t bm_df_key(uint64_t hash)
{
    return bm_fmix64(hash);
}

bm_status bm_df_table_open(const bm_df_cfg *cfg, bm_df_table **out, bm_error *err)
{
    bm_df_table *table = NULL;
    BM_TRY(bm_new_zero(&table, 1, err));
    table->cfg = *cfg;
    *out = table;
    return BM_OK;
}

static void free_chunks(bm_df_table *table)
{
    for (size_t i = 0; i < table->n_chunks; i++)
        bm_free(table->chunks[i]);
    bm_free(table->chunks);
    table->chunks = NULL;
    table->n_chunks = table->cap_chunks = 0;
}

void bm_df_table_close(bm_df_table *table)
{
    if (table == NULL)
        return;
    free_chunks(table);
    bm_spill_close(table->file);
    bm_free(table->starts);
    bm_free(table->last);
    bm_free(table->firsts);
    bm_free(table);
}

const bm_df_facts *bm_df_table_facts(const bm_df_table *table)
{
    return &table->facts;
}

uint64_t bm_df_table_bytes(const bm_df_table *table)
{
    uint64_t bytes = sizeof *table + (uint64_t)table->n_chunks * sizeof(chunk);
    if (table->starts != NULL)
        bytes += (table->n_starts + 1) * sizeof *table->starts;
    if (table->file != NULL)
        bytes += table->cap_blocks * sizeof *table->firsts + WRITE_BYTES;
    return bytes;
}

/* --- adding --- */

/* The last block is full, or the end is there. */
static bm_status write_block(bm_df_table *table, bm_error *err)
{
    const size_t n = table->n_last;
    if (n == 0)
        return BM_OK;
    BM_TRY(bm_grow(&table->firsts, &table->cap_blocks, table->n_blocks + 1, sizeof *table->firsts,
                   err));
    for (size_t i = n; i < BLOCK; i++) { /* of the very last: no key comes twice */
        table->last->keys[i] = table->last->keys[n - 1];
        table->last->df[i] = table->last->df[n - 1];
    }
    table->firsts[table->n_blocks++] = table->last->keys[0];
    table->n_last = 0;
    return bm_spill_add(table->file, table->last, sizeof *table->last, NULL, err);
}

static bm_status add_to_file(bm_df_table *table, uint64_t key, uint32_t df, bm_error *err)
{
    bm_status status = table->n_last == BLOCK ? write_block(table, err) : BM_OK;
    table->last->keys[table->n_last] = key;
    table->last->df[table->n_last++] = df;
    return status;
}

static bm_status move_to_file(bm_df_table *table, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed;
    bm_status status = BM_OK;
    if (table->cfg.temp_dir == NULL)
        return bm_fail(err, BM_ERR_NOMEM,
                       "the document frequencies of more than %zu shingles are more than `memory` "
                       "allows",
                       n);
    BM_TRY(bm_new(&table->last, 1, err));
    BM_TRY_OUT(
        bm_spill_open(table->cfg.temp_dir, BM_SPILL_FREQUENCIES, WRITE_BYTES, &table->file, err));
    for (size_t i = 0; i < n; i++) {
        const chunk *from = table->chunks[i / CHUNK];
        BM_TRY_OUT(add_to_file(table, from->keys[i % CHUNK], from->df[i % CHUNK], err));
    }
out:
    free_chunks(table);
    return status;
}

static bm_status add_to_memory(bm_df_table *table, uint64_t key, uint32_t df, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed;
    if (n == table->n_chunks * CHUNK) {
        BM_TRY(bm_grow(&table->chunks, &table->cap_chunks, table->n_chunks + 1,
                       sizeof *table->chunks, err));
        chunk *more = NULL;
        BM_TRY(bm_new(&more, 1, err));
        table->chunks[table->n_chunks++] = more;
    }
    table->chunks[n / CHUNK]->keys[n % CHUNK] = key;
    table->chunks[n / CHUNK]->df[n % CHUNK] = df;
    return BM_OK;
}

/* Would one more chunk, with the starts of all, be too much? */
static bool is_full(const bm_df_table *table)
{
    const uint64_t chunks = table->n_chunks + 1;
    return table->facts.n_listed == table->n_chunks * CHUNK && table->cfg.table_memory != 0 &&
           chunks * (sizeof(chunk) + CHUNK / PER_START * 2 * sizeof *table->starts) >
               table->cfg.table_memory;
}

bm_status bm_df_table_add(bm_df_table *table, uint64_t key, uint32_t df, bm_error *err)
{
    bm_df_facts *facts = &table->facts;
    const uint64_t sum = bm_fmix64(key ^ df * STEP_OF_COUNT);
    bm_status status = BM_OK;
    facts->n_shingles++;
    facts->digest.lo += sum;
    facts->digest.hi += bm_fmix64(sum + key);
    if (df < 2)
        return BM_OK;
    if (table->file == NULL && is_full(table))
        BM_TRY_OUT(move_to_file(table, err));
    status =
        table->file != NULL ? add_to_file(table, key, df, err) : add_to_memory(table, key, df, err);
out:
    facts->n_listed += status == BM_OK;
    return status;
}

static uint64_t key_at(const bm_df_table *table, size_t i)
{
    return table->chunks[i / CHUNK]->keys[i % CHUNK];
}

/* Where the keys begin whose leading bits are 0, 1, 2 …  */
static bm_status make_starts(bm_df_table *table, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed;
    unsigned bits = 1;
    while (bits < 40 && (n >> bits) >= PER_START)
        bits++;
    table->n_starts = (size_t)1 << bits;
    table->shift = 64 - bits;
    BM_TRY(bm_new(&table->starts, table->n_starts + 1, err));
    size_t i = 0;
    for (size_t s = 0; s <= table->n_starts; s++) {
        while (i < n && key_at(table, i) >> table->shift < s)
            i++;
        table->starts[s] = i;
    }
    return BM_OK;
}

bm_status bm_df_table_end(bm_df_table *table, uint64_t n_docs, uint64_t run_bytes, bm_error *err)
{
    bm_df_facts *facts = &table->facts;
    facts->n_docs = n_docs;
    facts->digest.lo = bm_fmix64(facts->digest.lo + n_docs * STEP_OF_COUNT);
    facts->digest.hi = bm_fmix64(facts->digest.hi + facts->digest.lo + facts->n_shingles);
    facts->file_bytes = run_bytes;
    if (table->file == NULL)
        return make_starts(table, err);
    bm_status status = BM_OK;
    BM_TRY_OUT(write_block(table, err));
    status = bm_spill_flush(table->file, err);
out:
    facts->file_bytes += bm_spill_bytes(table->file);
    bm_free(table->last);
    table->last = NULL;
    return status;
}

/* --- looking up --- */

static uint32_t look_up_one(const bm_df_table *table, uint64_t key)
{
    size_t i = (size_t)table->starts[key >> table->shift];
    size_t end = (size_t)table->starts[(key >> table->shift) + 1];
    while (end - i > 8) { /* keys that were made to lie side by side */
        const size_t middle = i + (end - i) / 2;
        if (table->chunks[middle / CHUNK]->keys[middle % CHUNK] < key)
            i = middle + 1;
        else
            end = middle + 1;
    }
    for (; i < end; i++) {
        const chunk *at = table->chunks[i / CHUNK];
        if (at->keys[i % CHUNK] >= key)
            return at->keys[i % CHUNK] == key ? at->df[i % CHUNK] : 1;
    }
    return 1;
}

/* AHEAD of them at most: each waits for memory twice, all at the same time. */
static void look_up_some(const bm_df_table *table, const uint64_t *hashes, size_t n, uint32_t *df)
{
    uint64_t keys[AHEAD];
    for (size_t i = 0; i < n; i++) {
        keys[i] = bm_df_key(hashes[i]);
        __builtin_prefetch(&table->starts[keys[i] >> table->shift]);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = (size_t)table->starts[keys[i] >> table->shift];
        if (at < table->facts.n_listed)
            __builtin_prefetch(&table->chunks[at / CHUNK]->keys[at % CHUNK]);
    }
    for (size_t i = 0; i < n; i++)
        df[i] = look_up_one(table, keys[i]);
}

/* The last block whose first key is not above `key`, or the first. */
static size_t block_of(const bm_df_table *table, uint64_t key)
{
    size_t begin = 0, end = table->n_blocks;
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (table->firsts[middle] <= key)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

static uint32_t look_up_in(const block *b, uint64_t key)
{
    size_t begin = 0, end = BLOCK;
    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (b->keys[middle] <= key)
            begin = middle;
        else
            end = middle;
    }
    return b->keys[begin] == key ? b->df[begin] : 1;
}

typedef struct wanted {
    uint64_t key;
    size_t at;
} wanted;

static int by_key(const void *x, const void *y)
{
    const wanted *a = x, *b = y;
    return (a->key > b->key) - (a->key < b->key);
}

static bm_status look_up_in_file(const bm_df_table *table, const uint64_t *hashes, size_t n,
                                 uint32_t *df, bm_error *err)
{
    bm_status status = BM_OK;
    size_t have = SIZE_MAX;
    wanted *list = bm_alloc(n, sizeof *list);
    block *b = bm_alloc(1, sizeof *b);
    if (list == NULL || b == NULL)
        status = bm_fail_nomem(err, n * sizeof *list + sizeof *b);
    for (size_t i = 0; status == BM_OK && i < n; i++)
        list[i] = (wanted){bm_df_key(hashes[i]), i};
    if (status == BM_OK && n > 1)
        qsort(list, n, sizeof *list, by_key);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        const size_t at = block_of(table, list[i].key);
        if (at != have)
            status =
                bm_spill_read(table->file, BM_SPILL_HEADER + at * (BM_SPILL_RECORD + sizeof *b), b,
                              sizeof *b, err);
        have = at;
        if (status == BM_OK)
            df[list[i].at] = look_up_in(b, list[i].key);
    }
    bm_free(list);
    bm_free(b);
    return status;
}

bm_status bm_df_table_look_up(const bm_df_table *table, const uint64_t *hashes, size_t n,
                              uint32_t *df, bm_error *err)
{
    if (table->file != NULL)
        return n == 0 ? BM_OK : look_up_in_file(table, hashes, n, df, err);
    for (size_t i = 0; i < n; i += AHEAD)
        look_up_some(table, hashes + i, n - i < AHEAD ? n - i : AHEAD, df + i);
    return BM_OK;
}
