/* all_pairs_counts.c -- a table of counters larger than memory.
 *
 * A shingle's counter is chosen by the leading bits of its mixed hash. Shingles whose first
 * part_bits agree are a part: no other shingle touches their counters.
 *
 *     1. add     hashes go to the file, by part, a block of 2,048 at a time
 *                    [ part 0 | part 3 | part 0 | part 1 | … ]
 *     2. end     part by part: its blocks are read, counted, read again, and their counts written,
 *                in the order of the blocks
 *     3. next    hashes come again in the same order, and take the next count of their part
 *
 * A whole table would be read at random, once for every shingle; here everything is read and
 * written from front to back, block by block. Disk: 8 bytes a shingle, and 2 for its count.
 * Threads: one adds and asks; counting uses the pool. */
#include "match/all_pairs_counts.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/shingle_counts.h"
#include "spill/spill_file.h"

#define BLOCK       2048u
#define BATCH       16u /* blocks whose counts are made at once */
#define WRITE_BYTES ((size_t)64 << 10)

typedef struct part {
    uint64_t n;       /* shingles */
    uint64_t at;      /* counts that were taken */
    uint64_t *blocks; /* places in the file of hashes, later in that of counts */
    size_t cap;
    uint64_t *hashes; /* the block being filled */
    uint16_t *counts; /* the block being asked */
} part;

struct bm_part_counts {
    char *dir;
    unsigned table_bits, part_bits;
    size_t n_parts;
    part *parts;
    uint64_t *hashes;
    uint16_t *counts;
    bm_spill_file *hash_file, *count_file;
    uint64_t written;
};

/* The part that is being counted. */
typedef struct counting {
    bm_part_counts *all;
    part *part;
    bm_shingle_counts table;
    bool shared;
    size_t first;     /* block of the batch at hand */
    uint16_t *counts; /* of the batch at hand */
} counting;

uint64_t bm_part_counts_bytes(uint64_t n, unsigned table_bits, unsigned part_bits)
{
    uint64_t parts = (uint64_t)1 << part_bits;
    uint64_t places = (n / BLOCK + parts * 8) * 2 * sizeof(uint64_t);
    uint64_t buffers = parts * BLOCK * sizeof(uint64_t) + 2 * WRITE_BYTES;
    uint64_t table = bm_shingle_counts_bytes(table_bits - part_bits) +
                     (uint64_t)BATCH * BLOCK * sizeof(uint16_t);
    return places + buffers + table;
}

bm_status bm_part_counts_open(const char *dir, unsigned table_bits, unsigned part_bits,
                              bm_part_counts **out, bm_error *err)
{
    bm_part_counts *c = NULL;
    BM_TRY(bm_new_zero(&c, 1, err));
    c->table_bits = table_bits;
    c->part_bits = part_bits;
    c->n_parts = (size_t)1 << part_bits;
    c->dir = bm_strdup(dir);
    c->parts = bm_alloc_zero(c->n_parts, sizeof *c->parts);
    c->hashes = bm_alloc(c->n_parts * BLOCK, sizeof *c->hashes);
    bm_status status = BM_OK;
    if (c->dir == NULL || c->parts == NULL || c->hashes == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, c->n_parts * BLOCK * sizeof *c->hashes));
    status = bm_spill_open(dir, BM_SPILL_PREFIXES, WRITE_BYTES, &c->hash_file, err);
out:
    if (status != BM_OK) {
        bm_part_counts_close(c);
        return status;
    }
    for (size_t i = 0; i < c->n_parts; i++)
        c->parts[i].hashes = c->hashes + i * BLOCK;
    *out = c;
    return BM_OK;
}

void bm_part_counts_close(bm_part_counts *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; c->parts != NULL && i < c->n_parts; i++)
        bm_free(c->parts[i].blocks);
    bm_spill_close(c->hash_file);
    bm_spill_close(c->count_file);
    bm_free(c->parts);
    bm_free(c->hashes);
    bm_free(c->counts);
    bm_free(c->dir);
    bm_free(c);
}

uint64_t bm_part_counts_written(const bm_part_counts *c)
{
    return c->written;
}

/* --- 1. add --- */

static size_t n_blocks(const part *p)
{
    return (size_t)((p->n + BLOCK - 1) / BLOCK);
}

/* How many shingles a block has. */
static size_t block_size(const part *p, size_t block)
{
    uint64_t left = p->n - (uint64_t)block * BLOCK;
    return left < BLOCK ? (size_t)left : BLOCK;
}

static bm_status write_block(bm_part_counts *c, part *p, bm_error *err)
{
    size_t block = n_blocks(p) - 1, n = block_size(p, block);
    BM_TRY(bm_grow(&p->blocks, &p->cap, block + 1, sizeof *p->blocks, err));
    return bm_spill_add(c->hash_file, p->hashes, n * sizeof *p->hashes, &p->blocks[block], err);
}

bm_status bm_part_counts_add(bm_part_counts *c, uint64_t mixed, bm_error *err)
{
    part *p = &c->parts[mixed >> (64 - c->part_bits)];
    p->hashes[p->n++ % BLOCK] = mixed << c->part_bits;
    return p->n % BLOCK == 0 ? write_block(c, p, err) : BM_OK;
}

/* --- 2. end --- */

static bm_status read_hashes(const counting *k, size_t block, uint64_t *hashes, bm_error *err)
{
    return bm_spill_read(k->all->hash_file, k->part->blocks[block], hashes,
                         block_size(k->part, block) * sizeof *hashes, err);
}

static bm_status count_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    counting *k = ctx;
    for (size_t block = begin; block < end; block++) {
        uint64_t hashes[BLOCK];
        BM_TRY(read_hashes(k, block, hashes, err));
        bm_shingle_counts_add(&k->table, hashes, block_size(k->part, block), k->shared);
    }
    return BM_OK;
}

static bm_status ask_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const counting *k = ctx;
    for (size_t i = begin; i < end; i++) {
        uint64_t hashes[BLOCK];
        size_t n = block_size(k->part, k->first + i);
        BM_TRY(read_hashes(k, k->first + i, hashes, err));
        for (size_t h = 0; h < n; h++)
            k->counts[i * BLOCK + h] = (uint16_t)bm_shingle_counts_get(&k->table, hashes[h]);
    }
    return BM_OK;
}

static bm_status count_part(counting *k, bm_pool *pool, bm_error *err)
{
    bm_part_counts *c = k->all;
    part *p = k->part;
    size_t n = n_blocks(p);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_shingle_counts_open(&k->table, c->table_bits - c->part_bits, err));
    status = bm_pool_for(pool, (bm_pool_split){n, 1}, count_blocks, k, err);
out:
    for (k->first = 0; status == BM_OK && k->first < n; k->first += BATCH) {
        size_t many = n - k->first < BATCH ? n - k->first : BATCH;
        status = bm_pool_for(pool, (bm_pool_split){many, 1}, ask_blocks, k, err);
        for (size_t i = 0; status == BM_OK && i < many; i++)
            status = bm_spill_add(c->count_file, k->counts + i * BLOCK,
                                  block_size(p, k->first + i) * sizeof *k->counts,
                                  &p->blocks[k->first + i], err);
    }
    bm_shingle_counts_reset(&k->table);
    return status;
}

/* The hashes are not needed any more: their file goes, their memory is taken by counts. */
static bm_status begin_asking(bm_part_counts *c, bm_error *err)
{
    c->written = bm_spill_bytes(c->hash_file) + bm_spill_bytes(c->count_file);
    bm_spill_close(c->hash_file);
    bm_free(c->hashes);
    c->hash_file = NULL;
    c->hashes = NULL;
    BM_TRY(bm_new(&c->counts, c->n_parts * BLOCK, err));
    for (size_t i = 0; i < c->n_parts; i++)
        c->parts[i].counts = c->counts + i * BLOCK;
    return bm_spill_flush(c->count_file, err);
}

bm_status bm_part_counts_end(bm_part_counts *c, bm_pool *pool, bm_meter *meter, bm_error *err)
{
    counting k = {.all = c, .shared = bm_pool_size(pool) > 1};
    for (size_t i = 0; i < c->n_parts; i++) {
        if (c->parts[i].n % BLOCK != 0)
            BM_TRY(write_block(c, &c->parts[i], err));
    }
    BM_TRY(bm_spill_flush(c->hash_file, err));
    BM_TRY(bm_spill_open(c->dir, BM_SPILL_PREFIXES, WRITE_BYTES, &c->count_file, err));
    BM_TRY(bm_new(&k.counts, (size_t)BATCH * BLOCK, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < c->n_parts; i++) {
        k.part = &c->parts[i];
        BM_TRY_OUT(bm_meter_check(meter, err));
        BM_TRY_OUT(count_part(&k, pool, err));
    }
out:
    bm_free(k.counts);
    return status == BM_OK ? begin_asking(c, err) : status;
}

/* --- 3. next --- */

bm_status bm_part_counts_next(bm_part_counts *c, uint64_t mixed, uint32_t *count, bm_error *err)
{
    part *p = &c->parts[mixed >> (64 - c->part_bits)];
    bm_status status = BM_OK;
    size_t block = (size_t)(p->at / BLOCK);
    if (p->at % BLOCK == 0)
        status = bm_spill_read(c->count_file, p->blocks[block], p->counts,
                               block_size(p, block) * sizeof *p->counts, err);
    *count = status == BM_OK ? p->counts[p->at++ % BLOCK] : 0;
    return status;
}
