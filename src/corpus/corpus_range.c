/* corpus_range.c -- keys are copied, sets sorted where they lie, or read back from their file.
 *
 * Tests: tests/unit/job/test_corpus_range.c */
#include "corpus/corpus_range.h"

#include <string.h>

#include "base/error.h"
#include "lsh/verify.h"
#include "corpus/corpus.h"

#define SET_GRAIN 512u

void bm_corpus_range_reset(bm_corpus_range *range)
{
    bm_free(range->docs);
    bm_free(range->sizes);
    bm_free(range->keys);
    bm_free(range->sets);
    bm_free(range->words);
    bm_free(range->arena);
    *range = (bm_corpus_range){0};
}

/* Columns for `cap` documents. */
static bm_status grow(const bm_corpus *corpus, bm_corpus_range *range, size_t cap, bm_error *err)
{
    BM_TRY(bm_grow_array(&range->keys, &range->cap_keys, cap * corpus->cfg.bands, err));
    if (corpus->cfg.words.uints > 0)
        BM_TRY(bm_grow_array(&range->words, &range->cap_words, cap * corpus->cfg.words.uints, err));
    if (cap <= range->cap)
        return BM_OK;
    BM_TRY(bm_corpus_column(&range->docs, cap, sizeof *range->docs, err));
    BM_TRY(bm_corpus_column(&range->sizes, cap, sizeof *range->sizes, err));
    BM_TRY(bm_corpus_column(&range->sets, cap, sizeof *range->sets, err));
    range->cap = cap;
    return BM_OK;
}

/* How many rows from range->next on; *hashes: in their sets. */
static size_t count_rows(const bm_corpus *corpus, const bm_corpus_range *range, uint64_t most,
                         uint64_t *hashes)
{
    const uint64_t each =
        corpus->cfg.bands * sizeof(uint64_t) + corpus->cfg.words.uints * sizeof(uint32_t);
    const uint64_t fit = each > 0 ? most / BM_RANGE_PART / each : 0;
    const uint64_t n_rows = fit < BM_RANGE_ROWS ? BM_RANGE_ROWS : fit;
    size_t row = range->next;
    *hashes = 0;
    for (; row < corpus->n && row - range->next < n_rows; row++) {
        const uint64_t size = corpus->skip[row] ? 0 : corpus->sizes[row];
        if (*hashes > 0 && (*hashes + size) * sizeof(uint64_t) > most)
            break;
        *hashes += size;
    }
    return row - range->next;
}

/* Keys of all rows, of which those stay that can be compared. */
static bm_status take_rows(const bm_corpus *corpus, bm_corpus_range *range, size_t n_rows,
                           bm_error *err)
{
    const uint32_t bands = corpus->cfg.bands;
    bm_status status = bm_corpus_copy_keys(corpus, range->next, n_rows, range->keys, err);
    range->n = 0;
    for (size_t i = 0; status == BM_OK && i < n_rows; i++) {
        const size_t row = range->next + i;
        if (corpus->skip[row])
            continue;
        range->docs[range->n] = (uint32_t)row;
        range->sizes[range->n] = corpus->sizes[row];
        memmove(range->keys + range->n++ * bands, range->keys + i * bands,
                bands * sizeof *range->keys);
    }
    range->next += n_rows;
    return status;
}

/* --- sets --- */

typedef struct reading {
    const bm_corpus *corpus;
    bm_corpus_range *range;
} reading;

static bm_status sort(uint64_t *hashes, size_t n, bm_error *err)
{
    const size_t cap = n < 16 ? 16 : n < BM_SORT_SCRATCH ? n : BM_SORT_SCRATCH;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, cap, err));
    bm_hashes_sort_within(hashes, n, scratch, cap);
    bm_free(scratch);
    return BM_OK;
}

bm_status bm_corpus_copy_set(bm_set_reader *reader, size_t row, void *to, bm_error *err)
{
    const bm_corpus *corpus = reader->corpus;
    const size_t words = corpus->cfg.words.uints,
                 len = words > 0 ? words * sizeof(uint32_t) : corpus->sizes[row] * sizeof(uint64_t);
    BM_TRY(bm_set_reader_copy(reader, row, to, len, err));
    return words > 0 ? BM_OK : sort(to, corpus->sizes[row], err);
}

static bm_status read_some(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const reading *r = ctx;
    const bm_corpus_range *range = r->range;
    const size_t perms = r->corpus->cfg.words.uints;
    bm_set_reader reader = {.corpus = r->corpus};
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        void *to = perms > 0 ? (void *)(range->words + i * perms)
                             : range->arena + (range->sets[i] - range->arena);
        BM_TRY_OUT(bm_corpus_copy_set(&reader, range->docs[i], to, err));
    }
out:
    bm_set_reader_reset(&reader);
    return status;
}

static bm_status sort_in_memory(bm_corpus *corpus, bm_corpus_range *range, bm_pool *pool,
                                bm_error *err)
{
    BM_TRY(bm_corpus_sort_docs(corpus, range->docs, range->n, pool, err));
    for (size_t i = 0; i < range->n; i++)
        range->sets[i] = corpus->sets.hashes[range->docs[i]];
    return BM_OK;
}

static bm_status place_in_arena(bm_corpus_range *range, uint64_t hashes, bm_error *err)
{
    size_t at = 0;
    BM_TRY(bm_grow_array(&range->arena, &range->cap_arena, (size_t)hashes, err));
    for (size_t i = 0; i < range->n; i++) {
        range->sets[i] = range->arena + at;
        at += range->sizes[i];
    }
    return BM_OK;
}

bm_status bm_corpus_range_next(bm_corpus *corpus, uint64_t most, bm_pool *pool,
                               bm_corpus_range *range, bm_error *err)
{
    const bool in_file = bm_corpus_sets_in_file(corpus), words = corpus->cfg.words.uints > 0;
    reading r = {corpus, range};
    uint64_t hashes;
    if (range->next >= corpus->n)
        return BM_NOT_FOUND;
    const size_t n_rows = count_rows(corpus, range, most, &hashes);
    BM_TRY(grow(corpus, range, n_rows, err));
    BM_TRY(take_rows(corpus, range, n_rows, err));
    if (!in_file && !words)
        return sort_in_memory(corpus, range, pool, err);
    if (in_file)
        BM_TRY(bm_spill_flush(corpus->sets.file, err));
    if (!words)
        BM_TRY(place_in_arena(range, hashes, err));
    return bm_pool_for(pool, (bm_pool_split){range->n, SET_GRAIN}, read_some, &r, err);
}
