/* corpus_room.c -- what goes to files, and when.
 *
 * Where the job at its fullest (corpus_budget.c) would pass --memory, sets go first, being by far
 * the largest (8 bytes a shingle), then band keys (8 bytes a band). A document without both costs
 * what docs/memory.md says.
 *
 * Tests: tests/unit/job/test_corpus_spill.c */
#include "corpus/corpus_room.h"

#include "base/error.h"
#include "corpus/corpus_budget.h"
#include "corpus/corpus_keys.h"
#include "corpus/corpus_sets.h"

#define FORESEEN_SPARE 1.05
#define FORESEEN_MOST  4.0

/* Rows to make room for, where the inputs so far hold `need`: as many as all of them seem to hold, since to grow is
 * to copy, and to wait for those who write to the columns. No more than four times as many, for the rest may be
 * different. What is never touched is no memory. */
static size_t foresee(const bm_corpus *corpus, size_t need, uint64_t read)
{
    const double all = (double)corpus->cfg.input_bytes,
                 fold = read > 0 ? all / (double)read * FORESEEN_SPARE : 1;
    size_t cap = corpus->cap + corpus->cap / 2 + 1024;
    cap = cap < need ? need : cap;
    const size_t foreseen = (size_t)((double)need * (fold < FORESEEN_MOST ? fold : FORESEEN_MOST));
    return foreseen > cap ? foreseen : cap;
}

static bm_status grow(bm_corpus *corpus, size_t need, uint64_t read, bm_error *err)
{
    if (need <= corpus->cap)
        return BM_OK;
    const size_t cap = foresee(corpus, need, read);
    BM_TRY(bm_corpus_column(&corpus->rep, cap, sizeof *corpus->rep, err));
    BM_TRY(bm_corpus_column(&corpus->skip, cap, sizeof *corpus->skip, err));
    BM_TRY(bm_corpus_column(&corpus->sizes, cap, sizeof *corpus->sizes, err));
    if (corpus->cfg.find_identical)
        BM_TRY(bm_corpus_column(&corpus->copies.content, cap, sizeof *corpus->copies.content, err));
    BM_TRY(bm_corpus_sets_grow(corpus, cap, err));
    BM_TRY(bm_corpus_keys_grow(corpus, cap, err));
    corpus->cap = cap;
    return BM_OK;
}

static bool fits(const bm_corpus *corpus, size_t n, uint64_t set_bytes)
{
    uint64_t memory = corpus->cfg.memory;
    return memory == 0 || bm_corpus_bytes_needed(corpus, n, set_bytes) <= memory;
}

/* Move to files what would not fit beside n documents with so many bytes of sets. */
static bm_status spill(bm_corpus *corpus, size_t n, uint64_t set_bytes, uint64_t read,
                       bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    if (!cfg->spill_now && fits(corpus, n, set_bytes))
        return BM_OK;
    if (cfg->temp_dir != NULL && (cfg->hashes || cfg->words.uints > 0))
        BM_TRY(bm_corpus_move_sets(corpus, set_bytes, read, err));
    if (cfg->temp_dir != NULL && (cfg->spill_now || !fits(corpus, n, set_bytes)))
        BM_TRY(bm_corpus_move_keys(corpus, read, err));
    if (fits(corpus, n, set_bytes))
        return BM_OK;
    return bm_corpus_too_large(corpus, n, bm_corpus_bytes_needed(corpus, n, set_bytes), err);
}

bm_status bm_corpus_room(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err)
{
    bm_corpus *corpus = ctx;
    const bm_corpus_cfg *cfg = &corpus->cfg;
    bm_status status = BM_OK;
    corpus->batch_bytes = 0;
    *free = bm_corpus_free_bytes(corpus);
    if (*free < wanted && cfg->temp_dir != NULL && corpus->sets.bytes > BM_SETS_BUFFER)
        status = bm_corpus_move_sets(corpus, corpus->sets.bytes, cfg->input_bytes, err);
    *free = bm_corpus_free_bytes(corpus);
    return status;
}

/* What the bytes needed depend on beside documents and sets. */
static void see_batch(bm_corpus *corpus, const bm_corpus_more *more)
{
    corpus->batch_bytes = more->batch_bytes;
    corpus->longest = corpus->longest > more->longest ? corpus->longest : more->longest;
}

bool bm_corpus_moves_for(bm_corpus *corpus, const bm_corpus_more *more)
{
    const size_t n = corpus->n + more->docs;
    see_batch(corpus, more);
    return n > corpus->cap || corpus->cfg.spill_now ||
           !fits(corpus, n, corpus->sets.bytes + more->set_bytes);
}

bm_status bm_corpus_make_room(bm_corpus *corpus, const bm_corpus_more *more, bm_error *err)
{
    size_t n = corpus->n + more->docs;
    if (n > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run",
                       (unsigned)BM_DOCS_MAX);
    see_batch(corpus, more);
    BM_TRY(spill(corpus, n, corpus->sets.bytes + more->set_bytes, more->input_bytes_read, err));
    return grow(corpus, n, more->input_bytes_read, err);
}
