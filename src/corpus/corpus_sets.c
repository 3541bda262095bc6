/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_sets.c -- stores sets in a column of memory or in a file of records, and moves them from
 * memory to the file.
 *
 *     column   [ 0 | 1 | 4 | … ]                        base/column.h: a set never moves
 *     file     [ record of 0 | of 1 | of 4 | … ]        representatives, in input order
 *
 * Space is reserved in input order, and any thread may store sets there. Saved records are at the
 * beginning of the file, without gaps, so their offsets can be computed from the sizes of the
 * documents.
 *
 * Tests: tests/unit/job/test_checkpoint_documents.c, tests/unit/job/test_corpus_spill.c,
 *        tests/unit/match/test_match_all_pairs.c */
#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "corpus/corpus_parts.h"
#include "lsh/candidates.h"
#include "spill/spill_saved.h"

/* === corpus budget ===
 *
 * Computes the peak memory of a job, for the documents so far and the next batch. It is the
 * greatest of three sums:
 *
 *     reading    columns + content hashes + tables + sets + keys + batches in flight
 *     matching   columns + sets + keys (or labels) + buckets, groups + sets read back
 *     grouping   columns + sets + labels of groups, members, similarities + sets read back
 *
 * All columns in files (bm_corpus_new_column) together take a fixed part of the memory. If keys are
 * in a file, making labels needs as much as matching: it has keys that are read back, and buckets,
 * but no groups. */

#define MATCH_BYTES   21u /* for each document: buckets 13, groups 4, heads of crowded buckets 4 */
#define EARLIER_BYTES 16u /* edges.h: bm_earlier_edges */
#define LABEL_BYTES   8u  /* bytes of buckets by keys; matching by labels does not need them */
#define GROUP_BYTES   13u /* grouping.c: members, reasons, scratch 9; groups of matching 4 */
#define COLUMN_BYTES  20u /* grouping.c: labels, kept documents, similarities, groups */
#define STAR_BYTES    20u /* grouping by edges: bm_turns, or matching a second time */

/* Bytes of all labels. For unfinished labels, the bytes are those that they take if no documents
 * share a key. */
static uint64_t label_bytes(const bm_corpus *corpus, size_t n)
{
    const uint64_t left = corpus->cfg.bands - corpus->keys.n_labels;
    return corpus->keys.label_bytes + left * (n * 3 / 16 + 1);
}

static uint64_t greater(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* Bytes in memory of the columns that may be in files, for n documents: places, texts, content
 * hashes (if `content`), and `more` bytes for each document. */
static uint64_t columns_apart(const bm_corpus *corpus, size_t n, bool content, size_t more)
{
    const bm_corpus_sets *sets = &corpus->sets;
    const bm_doc_copies *copies = &corpus->copies;
    bm_column_sums sums = {0};
    if (sets->state != BM_SETS_AGAIN)
        bm_column_sum(&sets->places_column, n * sizeof *sets->places, &sums);
    if (corpus->cfg.again.source != NULL)
        bm_column_sum(&sets->texts_column, n * sizeof *sets->texts, &sums);
    if (content && corpus->cfg.find_identical)
        bm_column_sum(&copies->content_column, n * sizeof *copies->content, &sums);
    *(bm_corpus_is_apart(corpus) ? &sums.in_file : &sums.in_memory) += n * more;
    return bm_column_held(&sums, bm_corpus_columns_part(corpus));
}

/* The most bytes that each of the three long phases of the job needs. */
typedef struct stretches {
    uint64_t reading, matching, grouping;
} stretches;

bm_corpus_sums bm_corpus_sums_now(const bm_corpus *corpus)
{
    const bm_doc_table *docs = corpus->cfg.docs;
    const uint64_t ids = docs != NULL ? bm_doc_table_shard_bytes(docs) : 0;
    return (bm_corpus_sums){.n = corpus->n,
                            .n_contents = corpus->copies.n,
                            .set_bytes = corpus->sets.bytes,
                            .row_bytes = docs != NULL ? bm_doc_table_bytes(docs) - ids : 0,
                            .id_bytes = ids};
}

/* Compute how many bytes each phase needs. The shards of content hashes count as one table, like
 * the shards of ids (model/ids.c). */
static stretches bytes_of(const bm_corpus *corpus, const bm_corpus_sums *sums)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    const bm_budget *budget = &cfg->budget;
    const size_t n = sums->n;
    uint64_t set_bytes = sums->set_bytes;
    bool sets_in_file = bm_corpus_sets_in_file(corpus),
         keys_in_file = corpus->keys.state != BM_KEYS_IN_MEMORY;
    const bool again = corpus->sets.state == BM_SETS_AGAIN;
    const size_t flags = sizeof *corpus->skip + !(sets_in_file || again); /* one byte of `sorted` */
    const size_t apart = sizeof *corpus->rep + sizeof *corpus->sizes;     /* may be in files while
                                                                       * documents are added */
    uint64_t keys = n * cfg->bands * sizeof(uint64_t), labels = keys, arena = 0;
    if (keys_in_file) {
        keys = BM_KEYS_BUFFER;
        labels = label_bytes(corpus, n);
    }
    if (sets_in_file)
        set_bytes = BM_SETS_BUFFER;
    arena = (sets_in_file || again ? budget->arena : 0) + (cfg->edges ? budget->arena : 0);
    uint64_t adding = sums->id_bytes + columns_apart(corpus, n, true, apart);
    if (sums->n_contents > 0)
        adding += bm_hash_table_bytes(sums->n_contents);
    const uint64_t held = n * flags + sums->row_bytes + set_bytes + budget->fixed;
    uint64_t beside = held + labels + n * (cfg->beside + apart);
    if (again) /* the arrays `at` and `before` of corpus_again.c */
        beside += n * (sizeof(uint32_t) + sizeof(uint8_t));
    return (stretches){
        .reading = held + keys + adding + greater(budget->batches, corpus->batch_bytes),
        .matching = beside + columns_apart(corpus, n, again, EARLIER_BYTES) + arena +
                    n * (MATCH_BYTES - (keys_in_file ? LABEL_BYTES : 0)),
        .grouping = beside + columns_apart(corpus, n, again, EARLIER_BYTES + COLUMN_BYTES) +
                    n * (GROUP_BYTES + (cfg->edges ? STAR_BYTES : 0)) +
                    greater(arena, corpus->longest + corpus->longest / 8)};
}

static stretches bytes_now(const bm_corpus *corpus)
{
    const bm_corpus_sums now = bm_corpus_sums_now(corpus);
    return bytes_of(corpus, &now);
}

uint64_t bm_corpus_free_bytes(const bm_corpus *corpus)
{
    const uint64_t memory = corpus->cfg.memory,
                   held = bytes_now(corpus).reading -
                          greater(corpus->cfg.budget.batches, corpus->batch_bytes);
    return memory > held ? memory - held : 0;
}

uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, const bm_corpus_sums *sums)
{
    stretches s = bytes_of(corpus, sums);
    return greater(greater(s.reading, s.matching), s.grouping);
}

bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    uint64_t needed = bytes_now(corpus).matching + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus)
{
    const uint64_t memory = corpus->cfg.memory, needed = bytes_now(corpus).matching;
    if (memory == 0)
        return 0;
    return memory > needed ? memory - needed : 1;
}

bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the job needs more than `memory` allows (%llu MiB; its first %llu documents "
                   "need %llu MiB)",
                   (unsigned long long)(corpus->cfg.memory >> 20), (unsigned long long)n,
                   (unsigned long long)(needed >> 20) + 1);
}

bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    const bm_corpus_sums now = bm_corpus_sums_now(corpus);
    uint64_t needed = bm_corpus_bytes_needed(corpus, &now) + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

/* Check that temp_dir has enough space for a file that now has `bytes` bytes and will grow. Its
 * final size is estimated from the share of the input that was read. BM_ERR_IO: there is not enough
 * space. */
static bm_status corpus_check_disk(const bm_corpus *corpus, uint64_t bytes,
                                   uint64_t input_bytes_read, bm_error *err)
{
    double whole = (double)bytes;
    if (corpus->cfg.input_bytes > input_bytes_read && input_bytes_read > 0)
        whole *= (double)corpus->cfg.input_bytes / (double)input_bytes_read;
    return bm_spill_check_space(corpus->cfg.temp_dir, (uint64_t)whole, err);
}

/* === corpus keys ===
 *
 * Stores band keys in columns, in blocks of a file, or as labels.
 *
 *     file      [ block 0: band 0 | band 1 | … ][ block 1: … ]    a record for each band of a block
 *     columns   keys of the documents after these blocks; without a file, of all documents
 *
 * Keys are read back one band at a time, sorted into buckets, and replaced by labels
 * (lsh/candidates.h), so they are never all in memory. The keys of another program (cfg.given_keys)
 * always become labels. If a document is in no bucket of a band, its label there is its own, so the
 * search does not pair it with other documents, whatever its key is. */

#define BLOCK_ROWS_LEAST 16u
#define BLOCK_ROWS_MOST  4096u

/* All changes of the state of keys are made here. */
static void enter(bm_corpus_keys *keys, bm_keys_state state)
{
    assert(state > keys->state);
    keys->state = state;
}

static void free_columns(bm_corpus_keys *keys, uint32_t bands)
{
    for (uint32_t b = 0; keys->pages != NULL && b < bands; b++)
        bm_column_reset(&keys->pages[b]);
    bm_free(keys->pages);
    bm_free(keys->columns);
    keys->pages = NULL;
    keys->columns = NULL;
}

void bm_corpus_keys_reset(bm_corpus *corpus)
{
    bm_corpus_keys *keys = &corpus->keys;
    free_columns(keys, corpus->cfg.bands);
    for (uint32_t b = 0; b < keys->n_labels; b++)
        bm_band_labels_reset(&keys->labels[b]);
    bm_free(keys->labels);
    bm_spill_close(keys->file);
    memset(keys, 0, sizeof *keys);
}

/* --- adding --- */

bm_status bm_corpus_keys_grow(bm_corpus *corpus, size_t n, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    if (keys->state != BM_KEYS_IN_MEMORY || bands == 0)
        return BM_OK;
    if (keys->columns == NULL)
        BM_TRY(bm_new_zero(&keys->columns, bands, err));
    if (keys->pages == NULL)
        BM_TRY(bm_new_zero(&keys->pages, bands, err));
    for (uint32_t b = 0; b < bands; b++) {
        BM_TRY(bm_column_grow(&keys->pages[b], n * sizeof **keys->columns, NULL, err));
        if (keys->columns[b] == NULL)
            keys->columns[b] = keys->pages[b].data;
    }
    return BM_OK;
}

/* Of the first n rows of the columns, write those that form full blocks. Move the remaining rows to
 * the front. */
static bm_status write_blocks(bm_corpus_keys *keys, uint32_t bands, size_t n, bm_error *err)
{
    const size_t rows = keys->block_rows, full = n / rows * rows;
    for (size_t at = 0; at < full; at += rows)
        for (uint32_t b = 0; b < bands; b++)
            BM_TRY(bm_spill_add(keys->file, keys->columns[b] + at, rows * sizeof **keys->columns,
                                NULL, err));
    for (uint32_t b = 0; b < bands; b++)
        memmove(keys->columns[b], keys->columns[b] + full, (n - full) * sizeof **keys->columns);
    keys->begin += full;
    return BM_OK;
}

static void put(const bm_corpus *corpus, const uint64_t *from, size_t first, size_t n)
{
    const bm_corpus_keys *keys = &corpus->keys;
    const uint32_t bands = corpus->cfg.bands;
    for (uint32_t b = 0; b < bands; b++) {
        uint64_t *column = keys->columns[b] + (first - keys->begin);
        for (size_t i = 0; i < n; i++)
            column[i] = from[i * bands + b];
    }
}

bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *from, size_t n, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    const uint32_t bands = corpus->cfg.bands;
    for (size_t i = 0; i < n && keys->state != BM_KEYS_IN_MEMORY;) {
        const size_t row = corpus->n + i, left = keys->begin + keys->block_rows - row;
        const size_t some = n - i < left ? n - i : left;
        put(corpus, from + i * bands, row, some);
        if (some == left)
            BM_TRY(write_blocks(keys, bands, keys->block_rows, err));
        i += some;
    }
    return BM_OK;
}

void bm_corpus_put_keys(const bm_corpus *corpus, const uint64_t *from, size_t first, size_t n)
{
    if (corpus->keys.state == BM_KEYS_IN_MEMORY)
        put(corpus, from, first, n);
}

/* --- to the file --- */

static size_t record_bytes(const bm_corpus_keys *keys)
{
    return BM_SPILL_RECORD + keys->block_rows * sizeof **keys->columns;
}

bm_status bm_corpus_move_keys(bm_corpus *corpus, uint64_t input_bytes_read, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    uint32_t bands = corpus->cfg.bands;
    if (bands == 0 || keys->state != BM_KEYS_IN_MEMORY)
        return BM_OK;
    BM_TRY(corpus_check_disk(corpus, (uint64_t)corpus->n * bands * sizeof **keys->columns,
                             input_bytes_read, err));
    size_t rows = BM_KEYS_BUFFER / (bands * sizeof **keys->columns);
    rows = rows < BLOCK_ROWS_LEAST ? BLOCK_ROWS_LEAST : rows;
    keys->block_rows = rows > BLOCK_ROWS_MOST ? BLOCK_ROWS_MOST : rows;
    BM_TRY(
        bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_KEYS, record_bytes(keys), &keys->file, err));
    if (corpus->n > 0)
        BM_TRY(write_blocks(keys, bands, corpus->n, err));
    BM_TRY(bm_corpus_keys_grow(corpus, keys->block_rows, err));
    for (uint32_t b = 0; b < bands; b++)
        bm_column_trim(&keys->pages[b], keys->block_rows * sizeof **keys->columns);
    enter(keys, BM_KEYS_IN_FILE);
    bm_memory_trim();
    return BM_OK;
}

bm_status bm_corpus_keys_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    if (keys->state != BM_KEYS_IN_FILE || keys->file_bytes != 0)
        return BM_OK;
    const size_t n = corpus->n - keys->begin;
    /* pad the last block with zeros */
    for (uint32_t b = 0; b < corpus->cfg.bands && n > 0; b++)
        memset(keys->columns[b] + n, 0, (keys->block_rows - n) * sizeof **keys->columns);
    if (n > 0)
        BM_TRY(write_blocks(keys, corpus->cfg.bands, keys->block_rows, err));
    BM_TRY(bm_spill_flush(keys->file, err));
    keys->file_bytes = bm_spill_bytes(keys->file);
    free_columns(keys, corpus->cfg.bands);
    return BM_OK;
}

/* Read the record that has the keys of `band` in `block`. */
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

/* Buffers for making labels. `keys` receives keys that are read back. With cfg.given_keys, `none`
 * marks the documents that have no key in the band. */
typedef struct label_buffers {
    uint64_t *keys;
    uint8_t *none;
    bm_pool *pool;
} label_buffers;

/* Set *out to the keys of a band: its column, or buffers->keys, to which keys are read back. */
static bm_status keys_of(const bm_corpus *corpus, uint32_t band, const label_buffers *buffers,
                         const uint64_t **out, bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    *out = buffers->keys;
    if (keys->state == BM_KEYS_IN_MEMORY) {
        *out = keys->columns[band];
        return BM_OK;
    }
    column c = {corpus, band, buffers->keys};
    size_t n_blocks = (corpus->n + keys->block_rows - 1) / keys->block_rows;
    return bm_pool_for(buffers->pool, (bm_pool_split){n_blocks, 4}, read_blocks, &c, err);
}

/* Mark in `none` the documents that are in no bucket of the band. */
static void find_none(const bm_corpus *corpus, const uint64_t *band_keys, uint8_t *none)
{
    for (size_t doc = 0; doc < corpus->n; doc++)
        none[doc] = corpus->skip[doc] != 0 || band_keys[doc] == BM_NO_BAND_KEY;
}

/* Make the labels of a band from its keys, and free its column. */
static bm_status make_label(bm_corpus *corpus, uint32_t band, const label_buffers *buffers,
                            bm_band_buckets *buckets, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    const uint64_t *band_keys;
    bm_status status = BM_OK;
    BM_TRY_OUT(keys_of(corpus, band, buffers, &band_keys, err));
    if (buffers->none != NULL)
        find_none(corpus, band_keys, buffers->none);
    BM_TRY_OUT(bm_band_buckets_fill(buckets, band_keys, err));
    BM_TRY_OUT(bm_band_buckets_label(buckets, &keys->labels[band], err));
    keys->label_bytes += keys->labels[keys->n_labels++].bytes;
    status = bm_corpus_check_matching(corpus, 0, err);
out:
    if (keys->columns != NULL) {
        bm_column_reset(&keys->pages[band]);
        keys->columns[band] = NULL;
    }
    return status;
}

static bm_status make_labels(bm_corpus *corpus, const label_buffers *buffers, bm_error *err)
{
    bm_band_buckets buckets;
    BM_TRY(bm_band_buckets_init(&buckets, corpus->n,
                                buffers->none != NULL ? buffers->none : corpus->skip, buffers->pool,
                                err));
    bm_status status = BM_OK;
    for (uint32_t b = 0; b < corpus->cfg.bands; b++)
        BM_TRY_OUT(make_label(corpus, b, buffers, &buckets, err));
out:
    bm_band_buckets_reset(&buckets);
    return status;
}

static bm_status load_labels(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    bm_corpus_keys *keys = &corpus->keys;
    const bool in_file = keys->state == BM_KEYS_IN_FILE, given = corpus->cfg.given_keys;
    size_t rows = in_file ? corpus->n + keys->block_rows : 0; /* the last block is padded to
                                                               * block_rows */
    bm_status status = BM_OK;
    keys->labels = bm_alloc_zero(corpus->cfg.bands, sizeof *keys->labels);
    label_buffers buffers = {.keys = in_file ? bm_alloc(rows, sizeof *buffers.keys) : NULL,
                             .none = given ? bm_alloc(corpus->n, 1) : NULL,
                             .pool = pool};
    if (keys->labels == NULL || (in_file && buffers.keys == NULL) ||
        (given && buffers.none == NULL))
        status = bm_fail_nomem(err, rows * sizeof *buffers.keys + corpus->n);
    else
        status = make_labels(corpus, &buffers, err);
    bm_free(buffers.keys);
    bm_free(buffers.none);
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
                            .labels = keys->labels};
    return status;
}

/* --- copied --- */

bm_status bm_corpus_copy_keys(const bm_corpus *corpus, size_t first, size_t n, uint64_t *to,
                              bm_error *err)
{
    const bm_corpus_keys *keys = &corpus->keys;
    const uint32_t bands = corpus->cfg.bands;
    const size_t rows = keys->block_rows, end = first + n;
    size_t row = first;
    uint64_t *scratch = NULL;
    bm_status status = BM_OK;
    if (row < keys->begin) {
        BM_TRY(bm_new(&scratch, rows, err));
        BM_TRY_OUT(bm_spill_flush(keys->file, err));
    }
    while (row < keys->begin && row < end) {
        const size_t block = row / rows, from = row % rows;
        const size_t some = end - row < rows - from ? end - row : rows - from;
        for (uint32_t b = 0; b < bands; b++) {
            BM_TRY_OUT(read_record(corpus, block, b, scratch, err));
            for (size_t i = 0; i < some; i++)
                to[(row - first + i) * bands + b] = scratch[from + i];
        }
        row += some;
    }
    for (uint32_t b = 0; b < bands; b++)
        for (size_t i = row; i < end; i++)
            to[(i - first) * bands + b] = keys->columns[b][i - keys->begin];
out:
    bm_free(scratch);
    return status;
}

bm_status bm_corpus_new_column(const bm_corpus *corpus, size_t bytes, bm_column *out, bm_error *err)
{
    return bm_column_grow(out, bytes, bm_corpus_is_apart(corpus) ? corpus->cfg.temp_dir : NULL,
                          err);
}

bm_status bm_corpus_new_column_beside(const bm_corpus *corpus, size_t bytes, bm_column *out,
                                      bm_error *err)
{
    const uint64_t memory = corpus->cfg.memory;
    if (memory == 0 || bytes_now(corpus).grouping + bytes <= memory)
        return bm_corpus_new_column(corpus, bytes, out, err);
    return bm_column_grow(out, bytes, corpus->cfg.temp_dir, err);
}

void bm_corpus_leave(const bm_corpus *corpus)
{
    bm_column_leave(&corpus->rep_column);
    bm_column_leave(&corpus->sizes_column);
    bm_column_leave(&corpus->copies.content_column);
    bm_column_leave(&corpus->sets.places_column);
    bm_column_leave(&corpus->sets.texts_column);
}

/* All changes of the state of sets after bm_corpus_init are made here. */
static void sets_enter(bm_corpus_sets *sets, bm_sets_state state)
{
    assert(sets->state == BM_SETS_IN_MEMORY);
    sets->state = state;
}

/* Does the corpus store sets at all? */
static bool has_sets(const bm_corpus *corpus)
{
    return corpus->sets.state != BM_SETS_AGAIN &&
           (corpus->cfg.hashes || corpus->cfg.words.uints > 0);
}

static void free_memory(bm_corpus_sets *sets)
{
    bm_column_reset(&sets->sorted_column);
    sets->sorted = NULL;
    bm_column_reset(&sets->column);
    sets->bytes = 0;
}

static void free_places(bm_corpus_sets *sets)
{
    bm_column_reset(&sets->places_column);
    sets->places = NULL;
}

void bm_corpus_sets_reset(bm_corpus_sets *sets)
{
    free_memory(sets);
    free_places(sets);
    bm_column_reset(&sets->texts_column);
    bm_free(sets->stored);
    bm_free(sets->arena);
    bm_spill_close(sets->file);
    memset(sets, 0, sizeof *sets);
}

/* --- adding --- */

void bm_corpus_sets_clear(bm_corpus *corpus, size_t first, size_t n)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (sets->state == BM_SETS_AGAIN || n == 0) /* the columns may not exist yet */
        return;
    if (sets->sorted != NULL)
        memset(sets->sorted + first, 0, n);
    memset(sets->places + first, 0, n * sizeof *sets->places);
}

/* Reserve memory for sets after the existing ones. */
static bm_status place_in_memory(bm_corpus_sets *sets, size_t len, uint64_t **out, bm_error *err)
{
    BM_TRY(bm_column_grow(&sets->column, (size_t)sets->bytes + len, NULL, err));
    *out = (uint64_t *)sets->column.data + sets->bytes / sizeof **out;
    sets->bytes += len;
    return BM_OK;
}

/* Bytes that a set of `len` bytes takes; 0 if it is empty. In a file, the record's header is added.
 * In memory, the bytes are rounded up to a multiple of 8. */
static uint64_t placed_bytes(size_t len, bool in_file)
{
    const size_t unit = sizeof(uint64_t);
    return len == 0 ? 0 : in_file ? BM_SPILL_RECORD + len : (len + unit - 1) / unit * unit;
}

/* Bytes of a document's set; 0 for a copy or an empty document, which has no set. */
static size_t corpus_set_len(const bm_corpus *corpus, size_t row)
{
    if (corpus->rep[row] != row)
        return 0;
    if (corpus->cfg.words.uints > 0)
        return corpus->cfg.words.uints * sizeof(uint32_t);
    return corpus->cfg.hashes ? corpus->sizes[row] * bm_corpus_element_bytes(corpus) : 0;
}

static bm_set_sums sum_sets(const bm_corpus *corpus, size_t first, size_t end, bool in_file)
{
    bm_set_sums sums = {0};
    for (size_t row = first; has_sets(corpus) && row < end; row++) {
        const size_t len = corpus_set_len(corpus, row);
        sums.bytes += placed_bytes(len, in_file);
        sums.n += len != 0;
    }
    return sums;
}

bm_set_sums bm_corpus_sum_batch(const bm_corpus *corpus, const bm_ingest_batch *batch)
{
    const bm_ingest_copies *found = &batch->copies;
    const uint64_t n_copies = atomic_load(&found->n);
    const bool in_file = bm_corpus_sets_in_file(corpus);
    if (!has_sets(corpus))
        return (bm_set_sums){0};
    if (corpus->cfg.words.uints > 0) {
        const uint64_t n = batch->n_docs - n_copies;
        const size_t len = corpus->cfg.words.uints * sizeof(uint32_t);
        return (bm_set_sums){.n = n, .bytes = n * placed_bytes(len, in_file)};
    }
    const uint64_t n = found->n_filled - n_copies,
                   n_elements = found->n_shingles - atomic_load(&found->n_copied);
    return (bm_set_sums){.n = n,
                         .bytes = n_elements * bm_corpus_element_bytes(corpus) +
                                  (in_file ? n * BM_SPILL_RECORD : 0)};
}

bm_set_sums bm_corpus_sum_sets(const bm_corpus *corpus, size_t first, size_t end)
{
    return sum_sets(corpus, first, end, bm_corpus_sets_in_file(corpus));
}

/* Set the places of rows first … end-1. Their records begin at offset `place` of the file. */
static void place_records(bm_corpus *corpus, size_t first, size_t end, uint64_t place)
{
    for (size_t row = first; row < end; row++) {
        corpus->sets.places[row].record = place;
        place += placed_bytes(corpus_set_len(corpus, row), true);
    }
}

bm_status bm_corpus_place_sets(bm_corpus *corpus, size_t first, size_t n, const bm_set_sums *sums,
                               bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (!has_sets(corpus) || n == 0)
        return BM_OK;
    sets->n_placed = first + n;
    if (sums->n == 0)
        return BM_OK;
    return bm_corpus_sets_in_file(corpus)
               ? bm_spill_reserve(sets->file, sums->n, sums->bytes, &sets->places[first].record,
                                  err)
               : place_in_memory(sets, sums->bytes, &sets->places[first].set, err);
}

bm_status bm_corpus_put_sets(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                             const uint32_t *words, size_t first, bm_error *err)
{
    const bm_corpus_sets *sets = &corpus->sets;
    const bool in_file = bm_corpus_sets_in_file(corpus);
    const bool weighted = corpus->cfg.weighted && corpus->cfg.words.uints == 0;
    bm_spill_put put = {.file = sets->file};
    uint64_t *scratch = NULL;
    size_t cap = 0;
    bm_status status = BM_OK;
    bm_set_place place = {0};
    if (has_sets(corpus) && shingles->n_docs > 0)
        place = sets->places[first];
    for (size_t i = 0; has_sets(corpus) && i < shingles->n_docs; i++) {
        const size_t row = first + i, len = corpus_set_len(corpus, row);
        if (len == 0) /* a copy or an empty document; arrays of the batch may be NULL */
            continue;
        const void *set = corpus->cfg.words.uints > 0
                              ? (const void *)(words + i * corpus->cfg.words.uints)
                              : (const void *)(shingles->hashes + shingles->offsets[i]);
        sets->places[row] = place;
        if (in_file)
            place.record += placed_bytes(len, true);
        else
            place.set += placed_bytes(len, false) / sizeof *place.set;
        if (in_file && weighted)
            BM_TRY_OUT(bm_grow_array(&scratch, &cap, len / sizeof *scratch, err));
        char *to = (void *)(in_file ? scratch : sets->places[row].set);
        if (weighted) { /* weights follow the hashes */
            memcpy(to, set, len / 2);
            memcpy(to + len / 2, shingles->weights + shingles->offsets[i], len / 2);
            set = to;
        } else if (!in_file) {
            memcpy(to, set, len);
        }
        if (in_file)
            BM_TRY_OUT(bm_spill_put_add(&put, sets->places[row].record, set, len, err));
    }
out:
    bm_free(scratch);
    return bm_spill_put_end(&put, status, err);
}

bm_status bm_corpus_sets_end(bm_corpus *corpus, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    if (sets->file == NULL || sets->state == BM_SETS_IN_MEMORY || sets->file_bytes != 0)
        return BM_OK;
    BM_TRY(bm_spill_flush(sets->file, err));
    sets->file_bytes = bm_spill_bytes(sets->file);
    return BM_OK;
}

/* --- records --- */

void bm_set_reader_reset(bm_set_reader *reader)
{
    bm_buf_reset(&reader->get.buf);
    bm_free(reader->own);
    bm_sorter_reset(&reader->sorter);
}

bm_status bm_set_reader_copy(bm_set_reader *reader, size_t row, void *to, size_t len, bm_error *err)
{
    const bm_corpus_sets *sets = &reader->corpus->sets;
    reader->get.file = sets->file;
    if (row % BM_DOC_LEAVE_ROWS == 0 && reader->left_for != row + 1) {
        bm_corpus_leave(reader->corpus);
        reader->left_for = row + 1;
    }
    if (len == 0) /* the row has no record */
        return BM_OK;
    if (bm_corpus_sets_in_file(reader->corpus))
        return bm_spill_get_read(&reader->get, sets->places[row].record, to, len, err);
    memcpy(to, sets->places[row].set, len);
    return BM_OK;
}

bm_status bm_set_reader_get(bm_set_reader *reader, size_t row, const void **out, bm_error *err)
{
    const size_t len = corpus_set_len(reader->corpus, row);
    *out = bm_corpus_sets_in_file(reader->corpus) ? NULL : reader->corpus->sets.places[row].set;
    if (*out != NULL)
        return BM_OK;
    BM_TRY(bm_grow(&reader->own, &reader->cap_own, len, 1, err));
    *out = reader->own;
    return bm_set_reader_copy(reader, row, reader->own, len, err);
}

/* --- to the file --- */

static bm_status open_file(bm_corpus *corpus, bm_spill_file **out, bm_error *err)
{
    return bm_spill_open(corpus->cfg.temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, out, err);
}

/* Append the sets in memory that the file does not have. Sets *end to the first row without a set,
 * whose text was not read yet (bm_corpus_hash_sink). */
static bm_status append_sets(bm_corpus *corpus, size_t *end, bm_error *err)
{
    const bm_corpus_sets *sets = &corpus->sets;
    for (*end = sets->saved.n_docs; *end < sets->n_placed; ++*end) {
        const size_t len = corpus_set_len(corpus, *end);
        if (len > 0)
            BM_TRY(bm_spill_add(sets->file, sets->places[*end].set, len, NULL, err));
    }
    return BM_OK;
}

bm_status bm_corpus_move_sets(bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                              bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    size_t end;
    if (bm_corpus_sets_in_file(corpus) || !has_sets(corpus))
        return BM_OK;
    BM_TRY(corpus_check_disk(corpus, bytes, input_bytes_read, err));
    if (sets->file == NULL)
        BM_TRY(open_file(corpus, &sets->file, err));
    BM_TRY(append_sets(corpus, &end, err));
    sets_enter(sets, BM_SETS_IN_FILE);
    place_records(corpus, 0, end, BM_SPILL_HEADER);
    free_memory(sets);
    bm_memory_trim();
    return BM_OK;
}

void bm_corpus_drop_sets(bm_corpus *corpus)
{
    bm_corpus_sets *sets = &corpus->sets;
    free_memory(sets);
    free_places(sets);
    sets_enter(sets, BM_SETS_AGAIN);
    bm_memory_trim();
}

/* --- saving and restoring --- */

uint64_t bm_corpus_unsaved_bytes(const bm_corpus *corpus)
{
    const bm_corpus_sets *sets = &corpus->sets;
    return bm_corpus_sets_in_file(corpus) || !has_sets(corpus) || sets->saved.bytes > sets->bytes
               ? 0
               : sets->bytes - sets->saved.bytes;
}

void bm_corpus_sets_in_folder(bm_corpus *corpus, int folder)
{
    corpus->sets.in_folder = true;
    corpus->sets.folder = folder;
}

static int folder_of(const bm_corpus_sets *sets)
{
    return sets->in_folder ? sets->folder : AT_FDCWD;
}

/* Give the file a name, if it has none. If sets are in memory and there is no file, make it
 * first. */
static bm_status name_file(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    bm_spill_file *file = sets->file;
    bm_status status = BM_OK;
    if (bm_corpus_sets_have_name(corpus))
        return BM_OK;
    if (file == NULL)
        BM_TRY_OUT(open_file(corpus, &file, err));
    status = bm_spill_save_in(file, folder_of(sets), path, err);
out:
    if (status != BM_OK) {
        if (sets->file == NULL)
            bm_spill_close(file);
        return status;
    }
    sets->file = file;
    sets->saved.bytes = BM_SPILL_HEADER;
    return BM_OK;
}

/* Record that the file has the sets of all rows before `end`. */
static void count_saved(bm_corpus *corpus, size_t end)
{
    bm_saved_sets *saved = &corpus->sets.saved;
    const bm_set_sums more = sum_sets(corpus, saved->n_docs, end, true);
    saved->n_docs = end;
    saved->bytes += more.bytes;
    saved->records += more.n;
}

bm_status bm_corpus_save_sets(bm_corpus *corpus, const char *path, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    size_t end = corpus->n;
    if (!has_sets(corpus))
        return BM_OK;
    BM_TRY(name_file(corpus, path, err));
    if (sets->state == BM_SETS_IN_MEMORY)
        BM_TRY(append_sets(corpus, &end, err));
    count_saved(corpus, end);
    return bm_spill_flush(sets->file, err);
}

bm_status bm_corpus_restore_sets(bm_corpus *corpus, const char *path, uint64_t bytes,
                                 uint64_t records, bm_error *err)
{
    bm_corpus_sets *sets = &corpus->sets;
    bm_spill_saved what = {.path = path, .kind = BM_SPILL_SETS, .bytes = bytes, .records = records};
    if (corpus->cfg.again.source != NULL && records == 0 && sets->state == BM_SETS_IN_MEMORY)
        sets_enter(sets, BM_SETS_AGAIN);
    if (!has_sets(corpus))
        return BM_OK;
    BM_TRY(bm_spill_reopen_in(folder_of(sets), &what, BM_SETS_BUFFER, &sets->file, err));
    sets_enter(sets, BM_SETS_IN_FILE);
    sets->saved.bytes = BM_SPILL_HEADER;
    return BM_OK;
}

void bm_corpus_sets_place(bm_corpus *corpus, size_t first, size_t n)
{
    if (bm_corpus_sets_in_file(corpus)) {
        place_records(corpus, first, first + n, corpus->sets.saved.bytes);
        count_saved(corpus, first + n);
    }
}
