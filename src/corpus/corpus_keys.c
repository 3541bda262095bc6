/* corpus_keys.c -- band keys as columns, as blocks of a file, as labels.
 *
 *     file   [ block 0: band 0 | band 1 | … ][ block 1: … ]       a record a band of block_rows
 *
 * Keys come back band by band, are bucketed, and stay as labels of 4 bytes (lsh/band_buckets.h), so
 * that the whole of them is never held. Keys that were made elsewhere become labels in any case: a
 * document that is in no bucket of a band has a label of its own there, so that the search meets it
 * with nobody, whatever its key would be equal to.
 *
 * Tests: tests/unit/job/test_corpus_spill.c
 * Tests: tests/unit/job/test_checkpoint_documents.c */
#include "corpus/corpus_keys.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "lsh/band_buckets.h"
#include "corpus/corpus_budget.h"

#define BLOCK_ROWS_LEAST 16u
#define BLOCK_ROWS_MOST  4096u

/* The only place where the state changes: a step on the way of corpus_keys.h. */
static void enter(bm_corpus_keys *keys, bm_keys_state state)
{
    assert((int)state == (int)keys->state + 1 ||
           (keys->state == BM_KEYS_IN_MEMORY && state == BM_KEYS_AS_LABELS));
    keys->state = state;
}

static void free_columns(bm_corpus_keys *keys, uint32_t bands)
{
    for (uint32_t b = 0; keys->columns != NULL && b < bands; b++)
        bm_free(keys->columns[b]);
    bm_free(keys->columns);
    keys->columns = NULL;
}

void bm_corpus_keys_reset(bm_corpus *corpus)
{
    bm_corpus_keys *keys = &corpus->keys;
    free_columns(keys, corpus->cfg.bands);
    for (uint32_t b = 0; keys->labels != NULL && b < corpus->cfg.bands; b++)
        bm_free(keys->labels[b]);
    bm_free(keys->labels);
    bm_free(keys->block);
    bm_spill_close(keys->file);
    memset(keys, 0, sizeof *keys);
}

/* --- adding --- */

bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t cap, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    if (keys->state != BM_KEYS_IN_MEMORY || bands == 0)
        return BM_OK;
    if (keys->columns == NULL)
        BM_TRY(bm_new_zero(&keys->columns, bands, err));
    for (uint32_t b = 0; b < bands; b++)
        BM_TRY(bm_corpus_column(&keys->columns[b], cap, sizeof **keys->columns, err));
    return BM_OK;
}

static bm_status write_block(bm_corpus_keys *keys, uint32_t bands, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint32_t b = 0; b < bands; b++)
        BM_TRY_OUT(bm_spill_add(keys->file, keys->block + b * keys->block_rows,
                                keys->block_rows * sizeof *keys->block, NULL, err));
out:
    keys->n_in_block = 0;
    return status;
}

static bm_status add_to_file(bm_corpus_keys *keys, uint32_t bands, const uint64_t *from, size_t n,
                             bm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (uint32_t b = 0; b < bands; b++)
            keys->block[b * keys->block_rows + keys->n_in_block] = from[i * bands + b];
        if (++keys->n_in_block == keys->block_rows)
            BM_TRY(write_block(keys, bands, err));
    }
    return BM_OK;
}

bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *from, size_t n, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    return keys->state == BM_KEYS_IN_MEMORY ? BM_OK
                                            : add_to_file(keys, corpus->cfg.bands, from, n, err);
}

void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *from, size_t first, size_t n)
{
    const bm_corpus_keys *keys = &corpus->keys;
    const uint32_t bands = keys->state == BM_KEYS_IN_MEMORY ? corpus->cfg.bands : 0;
    for (uint32_t b = 0; b < bands; b++) {
        uint64_t *column = keys->columns[b] + first;
        for (size_t i = 0; i < n; i++)
            column[i] = from[i * bands + b];
    }
}

/* --- to the file --- */

static bm_status copy_columns(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    for (size_t doc = 0; doc < corpus->n; doc++) {
        for (uint32_t b = 0; b < corpus->cfg.bands; b++)
            keys->block[b * keys->block_rows + keys->n_in_block] = keys->columns[b][doc];
        if (++keys->n_in_block == keys->block_rows)
            BM_TRY(write_block(keys, corpus->cfg.bands, err));
    }
    return BM_OK;
}

static size_t record_bytes(const bm_corpus_keys *keys)
{
    return BM_SPILL_RECORD + keys->block_rows * sizeof *keys->block;
}

bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    if (bands == 0 || keys->state != BM_KEYS_IN_MEMORY)
        return BM_OK;
    BM_TRY(bm_corpus_check_disk(corpus, (uint64_t)corpus->n * bands * sizeof *keys->block,
                                input_bytes_read, err));
    size_t rows = BM_KEYS_BUFFER / (bands * sizeof *keys->block);
    rows = rows < BLOCK_ROWS_LEAST ? BLOCK_ROWS_LEAST : rows;
    keys->block_rows = rows > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : rows;
    BM_TRY(bm_new_zero(&keys->block, keys->block_rows * bands, err));
    BM_TRY(
        bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_KEYS, record_bytes(keys), &keys->file, err));
    enter(keys, BM_KEYS_GOING_TO_FILE);
    BM_TRY(copy_columns(corpus, err));
    free_columns(keys, bands);
    bm_memory_trim();
    return BM_OK;
}

bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    if (keys->state != BM_KEYS_GOING_TO_FILE)
        return BM_OK;
    /* the last block is written whole, as the others are */
    if (keys->n_in_block > 0)
        BM_TRY(write_block(keys, corpus->cfg.bands, err));
    BM_TRY(bm_spill_flush(keys->file, err));
    keys->file_bytes = bm_spill_bytes(keys->file);
    bm_free(keys->block);
    keys->block = NULL;
    enter(keys, BM_KEYS_IN_FILE);
    return BM_OK;
}

/* The record of a band of a block. */
static bm_status read_record(const bm_corpus *corpus, size_t block, uint32_t band, uint64_t *to,
                             bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    uint64_t number = block * corpus->cfg.bands + band;
    return bm_spill_read(keys->file, BM_SPILL_HEADER + number * record_bytes(keys), to,
                         keys->block_rows * sizeof *to, err);
}

/* --- as labels --- */

typedef struct column {
    const bm_corpus *corpus;
    uint32_t band;
    uint64_t *to;
} column;

static bm_status read_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const column *c = ctx;
    for (size_t block = begin; block < end; block++)
        BM_TRY(read_record(c->corpus, block, c->band, c->to + block * c->corpus->keys.block_rows,
                           err));
    return BM_OK;
}

/* The room that labels are made in: for keys that are read back, and, where keys were made elsewhere,
 * for who has none of a band. */
typedef struct label_room {
    uint64_t *keys;
    uint8_t *none;
    bm_pool *pool;
} label_room;

/* The keys of a band: the column, or read back. */
static bm_status keys_of(const bm_corpus *corpus, uint32_t band, const label_room *room,
                         const uint64_t **out, bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    *out = room->keys;
    if (keys->state == BM_KEYS_IN_MEMORY) {
        *out = keys->columns[band];
        return BM_OK;
    }
    column c = {corpus, band, room->keys};
    size_t n_blocks = (corpus->n + keys->block_rows - 1) / keys->block_rows;
    return bm_pool_for(room->pool, (bm_pool_split){n_blocks, 4}, read_blocks, &c, err);
}

/* Which documents are in no bucket of the band: `none`, filled. */
static void find_none(const bm_corpus *corpus, const uint64_t *band_keys, uint8_t *none)
{
    for (size_t doc = 0; doc < corpus->n; doc++)
        none[doc] = corpus->skip[doc] != 0 || band_keys[doc] == BM_NO_BAND_KEY;
}

/* Fill the labels of a band from its keys; a column is given back. */
static bm_status make_label(bm_corpus *corpus, uint32_t band, const label_room *room,
                            bm_band_buckets *buckets, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    const uint64_t *band_keys;
    bm_status status = BM_OK;
    BM_TRY_OUT(keys_of(corpus, band, room, &band_keys, err));
    if (room->none != NULL)
        find_none(corpus, band_keys, room->none);
    BM_TRY_OUT(bm_band_buckets_fill(buckets, band_keys, err));
    keys->labels[band] = bm_alloc(corpus->n, sizeof **keys->labels);
    if (keys->labels[band] == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, corpus->n * sizeof **keys->labels));
    bm_band_buckets_label(buckets, keys->labels[band]);
out:
    if (keys->columns != NULL) {
        bm_free(keys->columns[band]);
        keys->columns[band] = NULL;
    }
    return status;
}

static bm_status make_labels(bm_corpus *corpus, const label_room *room, bm_error *err)
{
    bm_band_buckets buckets;
    BM_TRY(bm_band_buckets_init(&buckets, corpus->n, room->none != NULL ? room->none : corpus->skip,
                                room->pool, err));
    bm_status status = BM_OK;
    for (uint32_t b = 0; b < corpus->cfg.bands; b++)
        BM_TRY_OUT(make_label(corpus, b, room, &buckets, err));
out:
    bm_band_buckets_reset(&buckets);
    return status;
}

static bm_status load_labels(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    const bool in_file = keys->state == BM_KEYS_IN_FILE, given = corpus->cfg.given_keys;
    size_t rows = in_file ? corpus->n + keys->block_rows : 0; /* the last block is padded */
    bm_status status = BM_OK;
    keys->labels = bm_alloc_zero(corpus->cfg.bands, sizeof *keys->labels);
    label_room room = {.keys = in_file ? bm_alloc(rows, sizeof *room.keys) : NULL,
                       .none = given ? bm_alloc(corpus->n, 1) : NULL,
                       .pool = pool};
    if (keys->labels == NULL || (in_file && room.keys == NULL) || (given && room.none == NULL))
        status = bm_fail_nomem(err, rows * sizeof *room.keys + corpus->n);
    else
        status = make_labels(corpus, &room, err);
    bm_free(room.keys);
    bm_free(room.none);
    if (status != BM_OK)
        return status;
    free_columns(keys, corpus->cfg.bands);
    bm_spill_close(keys->file);
    keys->file = NULL;
    enter(keys, BM_KEYS_AS_LABELS);
    return BM_OK;
}

bm_status bm_corpus_keyset(bm_corpus *corpus, bm_pool *pool, bm_band_keyset *out, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    bm_status status = BM_OK;
    if (keys->state == BM_KEYS_IN_FILE ||
        (keys->state == BM_KEYS_IN_MEMORY && corpus->cfg.given_keys && corpus->n > 0))
        status = load_labels(corpus, pool, err);
    *out = (bm_band_keyset){.bands = corpus->cfg.bands,
                            .n_docs = corpus->n,
                            .keys = (const uint64_t *const *)keys->columns,
                            .skip = corpus->skip,
                            .labels = (const uint32_t *const *)keys->labels};
    return status;
}

/* --- copied --- */

/* Documents first … end-1. */
typedef struct key_range {
    size_t first, end;
    uint64_t *to;
    uint64_t *scratch; /* of a record */
} key_range;

/* Copy the keys of those of the documents that are in this block of the file, or in the last block,
 * which is still in memory. */
static bm_status copy_block(const bm_corpus *corpus, size_t block, const key_range *range,
                            bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    size_t begin = block * keys->block_rows, end = begin + keys->block_rows;
    bool is_written = end <= corpus->n;
    size_t from = range->first > begin ? range->first : begin;
    size_t until = range->end < end ? range->end : end;
    for (uint32_t b = 0; b < bands; b++) {
        const uint64_t *rows = keys->block + b * keys->block_rows;
        if (is_written) {
            BM_TRY(read_record(corpus, block, b, range->scratch, err));
            rows = range->scratch;
        }
        for (size_t row = from; row < until; row++)
            range->to[(row - range->first) * bands + b] = rows[row - begin];
    }
    return BM_OK;
}

bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    key_range range = {.first = first, .end = first + n, .to = to};
    if (keys->state == BM_KEYS_IN_MEMORY) {
        for (uint32_t b = 0; b < bands; b++)
            for (size_t i = 0; i < n; i++)
                to[i * bands + b] = keys->columns[b][first + i];
        return BM_OK;
    }
    BM_TRY(bm_new(&range.scratch, keys->block_rows, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_spill_flush(keys->file, err));
    for (size_t block = first / keys->block_rows; block * keys->block_rows < range.end; block++)
        BM_TRY_OUT(copy_block(corpus, block, &range, err));
out:
    bm_free(range.scratch);
    return status;
}
