/* corpus.c -- appending, the table of sequences, lazy sorting.
 *
 * A representative's hashes are copied once, into a block of exactly their size, so nothing is ever
 * moved while pointers to it exist; or they are appended to a file (corpus_spill.c). The table of
 * sequences holds row numbers only and compares all 128 bits. */
#include "pipeline/corpus/corpus.h"

#include <string.h>

#include "base/error.h"
#include "lsh/verify.h"
#include "pipeline/corpus/corpus_spill.h"
#include "sketch/scheme.h"

#define SORT_GRAIN 64u
#define ROWS_AHEAD 8u /* rows between two steps of fetching */

void bm_corpus_init(bm_corpus *corpus, const bm_corpus_cfg *cfg)
{
    memset(corpus, 0, sizeof *corpus);
    corpus->cfg = *cfg;
}

void bm_corpus_reset(bm_corpus *corpus)
{
    for (size_t i = 0; i < corpus->n_blocks; i++)
        bm_free(corpus->blocks[i]);
    for (uint32_t b = 0; corpus->keys != NULL && b < corpus->cfg.bands; b++)
        bm_free(corpus->keys[b]);
    bm_free(corpus->blocks);
    bm_free(corpus->keys);
    bm_free(corpus->rep);
    bm_free(corpus->skip);
    bm_free(corpus->sorted);
    bm_free(corpus->sizes);
    bm_free(corpus->hashes);
    bm_free(corpus->sequence);
    bm_free(corpus->words);
    bm_free(corpus->slots);
    bm_corpus_spill_reset(corpus);
    memset(corpus, 0, sizeof *corpus);
}

/* --- growth --- */

bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    uint64_t needed = bm_corpus_bytes_needed(corpus, corpus->n, corpus->set_bytes) + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

static bm_status grow_array(void **array, size_t cap, size_t size, bm_error *err)
{
    void *grown = bm_resize(*array, cap, size);
    if (grown == NULL)
        return bm_fail_nomem(err, cap * size);
    *array = grown;
    return BM_OK;
}

#define GROW(field) grow_array((void **)&corpus->field, cap, sizeof *corpus->field, err)

static bm_status grow_keys(bm_corpus *corpus, size_t cap, bm_error *err)
{
    bm_status status = BM_OK;
    if (corpus->files.keys != NULL)
        return BM_OK;
    if (corpus->keys == NULL && corpus->cfg.bands > 0) {
        corpus->keys = bm_alloc_zero(corpus->cfg.bands, sizeof *corpus->keys);
        if (corpus->keys == NULL)
            return bm_fail_nomem(err, corpus->cfg.bands * sizeof *corpus->keys);
    }
    for (uint32_t b = 0; status == BM_OK && b < corpus->cfg.bands; b++)
        status = GROW(keys[b]);
    return status;
}

bm_status bm_corpus_grow(bm_corpus *corpus, size_t more, bm_error *err)
{
    size_t need = corpus->n + more;
    if (need <= corpus->cap)
        return BM_OK;
    bool in_memory = corpus->files.sets == NULL;
    size_t cap = corpus->cap + corpus->cap / 2 + 1024;
    cap = cap < need ? need : cap;
    bm_status status = GROW(rep);
    if (status == BM_OK)
        status = GROW(skip);
    if (status == BM_OK)
        status = GROW(sorted);
    if (status == BM_OK)
        status = GROW(sizes);
    if (status == BM_OK)
        status = in_memory ? GROW(hashes) : GROW(files.places);
    if (status == BM_OK && corpus->cfg.find_identical)
        status = GROW(sequence);
    if (status == BM_OK && corpus->cfg.perms > 0 && in_memory)
        status = GROW(words);
    if (status == BM_OK)
        status = grow_keys(corpus, cap, err);
    if (status == BM_OK)
        corpus->cap = cap;
    return status;
}

static bm_status add_block(bm_corpus *corpus, size_t n, size_t size, void **out, bm_error *err)
{
    void *blocks = corpus->blocks;
    bm_status status =
        bm_grow(&blocks, &corpus->cap_blocks, corpus->n_blocks + 1, sizeof *corpus->blocks, err);
    corpus->blocks = blocks;
    if (status != BM_OK)
        return status;
    *out = bm_alloc(n, size);
    if (*out == NULL)
        return bm_fail_nomem(err, n * size);
    corpus->set_bytes += n * size;
    corpus->blocks[corpus->n_blocks++] = *out;
    return BM_OK;
}

/* --- identical documents --- */

static size_t sequence_slot(const bm_corpus *corpus, bm_hash128 sequence)
{
    size_t at = (size_t)sequence.lo & (corpus->n_slots - 1);
    for (; corpus->slots[at] != 0; at = (at + 1) & (corpus->n_slots - 1)) {
        const bm_hash128 *other = &corpus->sequence[corpus->slots[at] - 1];
        if (other->lo == sequence.lo && other->hi == sequence.hi)
            break;
    }
    return at;
}

static bm_status rehash(bm_corpus *corpus, bm_error *err)
{
    size_t n_slots = corpus->n_slots == 0 ? 4096 : corpus->n_slots * 2;
    uint32_t *old = corpus->slots;
    size_t n_old = corpus->n_slots;
    corpus->slots = bm_alloc_zero(n_slots, sizeof *corpus->slots);
    if (corpus->slots == NULL) {
        corpus->slots = old;
        return bm_fail_nomem(err, n_slots * sizeof *corpus->slots);
    }
    corpus->n_slots = n_slots;
    for (size_t i = 0; i < n_old; i++)
        if (old[i] != 0)
            corpus->slots[sequence_slot(corpus, corpus->sequence[old[i] - 1])] = old[i];
    bm_free(old);
    return BM_OK;
}

/* The representative of row `row`, whose sequence is set. */
static bm_status find_rep(bm_corpus *corpus, uint32_t row, bm_error *err)
{
    corpus->rep[row] = row;
    if (!corpus->cfg.find_identical || corpus->sizes[row] == 0)
        return BM_OK;
    if (((size_t)row + 1) * 4 > corpus->n_slots * 3) {
        bm_status status = rehash(corpus, err);
        if (status != BM_OK)
            return status;
    }
    size_t at = sequence_slot(corpus, corpus->sequence[row]);
    if (corpus->slots[at] == 0) {
        corpus->slots[at] = row + 1;
        return BM_OK;
    }
    corpus->rep[row] = corpus->slots[at] - 1;
    corpus->n_identical++;
    return BM_OK;
}

/* --- adding --- */

bm_status bm_corpus_add_keys(bm_corpus *corpus, const uint64_t *keys, size_t first, size_t n,
                             bm_error *err)
{
    uint32_t bands = corpus->cfg.bands;
    if (bands == 0)
        return BM_OK;
    if (corpus->files.keys != NULL)
        return bm_corpus_spill_keys(corpus, keys, n, err);
    for (uint32_t b = 0; b < bands; b++) {
        uint64_t *column = corpus->keys[b] + first;
        for (size_t i = 0; i < n; i++)
            column[i] = keys[i * bands + b];
    }
    return BM_OK;
}

/* In memory every row has words of its own, in the file representatives only. */
static bm_status add_word_rows(bm_corpus *corpus, const uint32_t *words, size_t first, size_t n,
                               bm_error *err)
{
    uint32_t perms = corpus->cfg.perms;
    bm_status status = BM_OK;
    if (corpus->files.sets != NULL) {
        for (size_t i = 0; status == BM_OK && i < n; i++) {
            size_t row = first + i;
            if (corpus->rep[row] == row)
                status =
                    bm_corpus_spill_set(corpus, row, words + i * perms, perms * sizeof *words, err);
            else
                corpus->files.places[row] = corpus->files.places[corpus->rep[row]];
        }
        return status;
    }
    void *block;
    status = add_block(corpus, n * perms, sizeof *words, &block, err);
    if (status != BM_OK)
        return status;
    memcpy(block, words, n * perms * sizeof *words);
    for (size_t i = 0; i < n; i++)
        corpus->words[first + i] = (const uint32_t *)block + i * perms;
    return BM_OK;
}

static bm_status spill_hashes(bm_corpus *corpus, const bm_shingle_batch *shingles, size_t first,
                              bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < shingles->n_docs; i++) {
        size_t row = first + i, n = corpus->sizes[row];
        corpus->files.places[row] = 0;
        if (n > 0 && corpus->rep[row] == row)
            status = bm_corpus_spill_set(corpus, row, shingles->hashes + shingles->offsets[i],
                                         n * sizeof *shingles->hashes, err);
        else
            corpus->files.places[row] = corpus->files.places[corpus->rep[row]];
    }
    return status;
}

static uint64_t new_set_bytes(const bm_corpus *corpus, const bm_shingle_batch *shingles,
                              size_t first)
{
    uint64_t total = 0;
    for (size_t i = 0; i < shingles->n_docs; i++)
        if (corpus->rep[first + i] == first + i)
            total += corpus->sizes[first + i];
    return total * sizeof(uint64_t);
}

/* Copy the sets of rows first … first+n-1 that are their own representatives; copies point at
 * theirs. */
static bm_status add_hashes(bm_corpus *corpus, const bm_shingle_batch *shingles, size_t first,
                            bm_error *err)
{
    if (corpus->files.sets != NULL)
        return spill_hashes(corpus, shingles, first, err);
    size_t total = (size_t)new_set_bytes(corpus, shingles, first) / sizeof(uint64_t);
    void *block;
    bm_status status = add_block(corpus, total, sizeof(uint64_t), &block, err);
    if (status != BM_OK)
        return status;
    uint64_t *to = block;
    for (size_t i = 0; i < shingles->n_docs; i++) {
        size_t row = first + i;
        if (corpus->rep[row] != row) {
            corpus->hashes[row] = corpus->hashes[corpus->rep[row]];
            continue;
        }
        corpus->hashes[row] = to;
        if (corpus->sizes[row] > 0) /* else there may be no array at all */
            memcpy(to, shingles->hashes + shingles->offsets[i], corpus->sizes[row] * sizeof *to);
        to += corpus->sizes[row];
    }
    return BM_OK;
}

static void set_sizes(bm_corpus *corpus, const bm_shingle_batch *shingles, size_t first)
{
    for (size_t i = 0; i < shingles->n_docs; i++) {
        size_t row = first + i;
        corpus->sizes[row] = (uint32_t)(shingles->offsets[i + 1] - shingles->offsets[i]);
        corpus->sorted[row] = 0;
        if (corpus->hashes != NULL)
            corpus->hashes[row] = NULL;
        if (corpus->cfg.find_identical)
            corpus->sequence[row] = shingles->sequence[i];
    }
}

/* The table is larger than any cache: fetch the slot of a row to come, and for a nearer one, whose
 * slot is there by now, the sequence that it points to. */
static void expect_rows(const bm_corpus *corpus, size_t row, size_t end)
{
    if (corpus->n_slots == 0)
        return;
    size_t mask = corpus->n_slots - 1;
    if (row + 2 * ROWS_AHEAD < end)
        __builtin_prefetch(&corpus->slots[(size_t)corpus->sequence[row + 2 * ROWS_AHEAD].lo & mask],
                           1);
    if (row + ROWS_AHEAD < end) {
        uint32_t slot = corpus->slots[(size_t)corpus->sequence[row + ROWS_AHEAD].lo & mask];
        if (slot != 0)
            __builtin_prefetch(&corpus->sequence[slot - 1]);
    }
}

/* Which of the rows are copies, once their sizes and sequences are set. */
bm_status bm_corpus_find_copies(bm_corpus *corpus, size_t first, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        uint32_t row = (uint32_t)(first + i);
        expect_rows(corpus, row, first + n);
        status = find_rep(corpus, row, err);
        corpus->skip[row] = corpus->sizes[row] == 0 || corpus->rep[row] != row;
    }
    return status;
}

/* Bytes that the batch adds to what is kept of sets, at most. */
static uint64_t batch_bytes(const bm_corpus *corpus, const bm_shingle_batch *shingles)
{
    uint64_t hashes = corpus->cfg.hashes ? bm_shingle_batch_hashes(shingles) : 0;
    return hashes * sizeof(uint64_t) +
           (uint64_t)shingles->n_docs * corpus->cfg.perms * sizeof(uint32_t);
}

bm_status bm_corpus_add(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_shingle_batch *shingles = &batch->shingles;
    size_t n = shingles->n_docs;
    if (n == 0)
        return BM_OK;
    bm_status status =
        bm_corpus_make_room(corpus, n, batch_bytes(corpus, shingles), batch->bytes_read, err);
    if (status == BM_OK)
        status = bm_corpus_grow(corpus, n, err);
    if (status != BM_OK)
        return status;
    set_sizes(corpus, shingles, first_row);
    status = bm_corpus_find_copies(corpus, first_row, n, err);
    if (status == BM_OK && corpus->cfg.hashes)
        status = add_hashes(corpus, shingles, first_row, err);
    if (status == BM_OK && corpus->cfg.perms > 0)
        status = add_word_rows(corpus, batch->words, first_row, n, err);
    if (status == BM_OK)
        status = bm_corpus_add_keys(corpus, batch->keys, first_row, n, err);
    if (status == BM_OK)
        corpus->n += n;
    return status;
}

bm_status bm_corpus_add_words(bm_corpus *corpus, const uint32_t *words, const uint64_t *keys,
                              const uint32_t *n_shingles, size_t n, bm_error *err)
{
    size_t first = corpus->n;
    bm_status status =
        bm_corpus_make_room(corpus, n, (uint64_t)n * corpus->cfg.perms * sizeof *words, 0, err);
    if (status == BM_OK)
        status = bm_corpus_grow(corpus, n, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        corpus->rep[first + i] = (uint32_t)(first + i);
        corpus->sizes[first + i] = n_shingles[i];
        corpus->skip[first + i] = n_shingles[i] == 0;
        corpus->sorted[first + i] = 0;
        if (corpus->hashes != NULL)
            corpus->hashes[first + i] = NULL;
    }
    if (status == BM_OK && corpus->cfg.perms > 0)
        status = add_word_rows(corpus, words, first, n, err);
    if (status == BM_OK)
        status = bm_corpus_add_keys(corpus, keys, first, n, err);
    if (status == BM_OK)
        corpus->n += n;
    return status;
}

bm_status bm_corpus_fill_hashes(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                                bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_shingle_batch *shingles = &batch->shingles;
    if (first_row + shingles->n_docs > corpus->n)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs hold more documents than were signed (%llu were)",
                       (unsigned long long)corpus->n);
    for (size_t i = 0; i < shingles->n_docs; i++)
        if (corpus->sizes[first_row + i] != shingles->offsets[i + 1] - shingles->offsets[i])
            return bm_fail(err, BM_ERR_FORMAT,
                           "document %llu is not the one that was signed (its shingles differ)",
                           (unsigned long long)(first_row + i));
    bm_status status =
        bm_corpus_make_room(corpus, 0, batch_bytes(corpus, shingles), batch->bytes_read, err);
    if (status != BM_OK)
        return status;
    set_sizes(corpus, shingles, first_row);
    status = bm_corpus_find_copies(corpus, first_row, shingles->n_docs, err);
    return status == BM_OK ? add_hashes(corpus, shingles, first_row, err) : status;
}

bm_status bm_corpus_end_adding(bm_corpus *corpus, bm_error *err)
{
    bm_free(corpus->sequence);
    bm_free(corpus->slots);
    corpus->sequence = NULL;
    corpus->slots = NULL;
    corpus->n_slots = 0;
    bm_corpus_trim();
    return bm_corpus_spill_end(corpus, err);
}

/* --- reading --- */

typedef struct sort_job {
    bm_corpus *corpus;
    uint32_t *docs;
    size_t n, cap;
} sort_job;

static bm_status sort_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    sort_job *job = ctx;
    bm_corpus *corpus = job->corpus;
    size_t largest = 0;
    for (size_t i = begin; i < end; i++)
        largest = corpus->sizes[job->docs[i]] > largest ? corpus->sizes[job->docs[i]] : largest;
    uint64_t *scratch = bm_alloc(largest, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, largest * sizeof *scratch);
    for (size_t i = begin; i < end; i++)
        bm_hashes_sort(corpus->hashes[job->docs[i]], corpus->sizes[job->docs[i]], scratch);
    bm_free(scratch);
    return BM_OK;
}

static bm_status want_sorted(sort_job *job, uint32_t doc, bm_error *err)
{
    uint32_t rep = job->corpus->rep[doc];
    if (job->corpus->sorted[rep])
        return BM_OK;
    void *docs = job->docs;
    bm_status status = bm_grow(&docs, &job->cap, job->n + 1, sizeof *job->docs, err);
    job->docs = docs;
    if (status != BM_OK)
        return status;
    job->docs[job->n++] = rep;
    job->corpus->sorted[rep] = 1;
    return BM_OK;
}

static bm_status sort_wanted(sort_job *job, bm_status status, bm_pool *pool, bm_error *err)
{
    if (status == BM_OK)
        status = bm_pool_for(pool, (bm_pool_split){job->n, SORT_GRAIN}, sort_range, job, err);
    bm_free(job->docs);
    return status;
}

bm_status bm_corpus_sort(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                         bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        status = want_sorted(&job, pairs[i].a, err);
        if (status == BM_OK)
            status = want_sorted(&job, pairs[i].b, err);
    }
    return sort_wanted(&job, status, pool, err);
}

bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < corpus->n; i++)
        status = want_sorted(&job, (uint32_t)i, err);
    return sort_wanted(&job, status, pool, err);
}
