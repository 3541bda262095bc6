/* all_pairs_window.h -- sets of a corpus, read back from its file in the order of the documents'
 * sizes, as many at a time as a bound allows. */
#ifndef BM_MATCH_ALL_PAIRS_WINDOW_H
#define BM_MATCH_ALL_PAIRS_WINDOW_H

#include "lsh/prefix_index.h"
#include "corpus/corpus.h"

/* `words` holds for each range of BM_PREFIX_RANGE positions: as many words for the caller's use,
 * then the sets of its documents, as they lie in the file, one after another. */
typedef struct bm_set_window {
    bm_corpus *corpus;
    const uint32_t *order; /* documents by size */
    size_t n;
    uint64_t most; /* bytes; one range may need more */
    bm_pool *pool;
    size_t begin, end; /* positions at hand: begin is a multiple of BM_PREFIX_RANGE */
    uint64_t *words;
    size_t *at; /* of each position at hand: where its set begins */
    uint64_t *places;
    size_t cap_words, cap_docs;
} bm_set_window;

#define BM_SET_WINDOW_DOC 24u /* bytes of a document beside its set */

/* Fill in the first five fields before. Reads the next documents, the first time the first ones.
 * BM_NOT_FOUND (and no error) behind the last; the call after that begins anew. */
bm_status bm_set_window_next(bm_set_window *window, bm_error *err);
void bm_set_window_reset(bm_set_window *window);
/* Bytes of a window of one range, whichever: of the last whole one, and what is behind it. */
uint64_t bm_set_window_least(const bm_set_window *window);

static inline size_t bm_set_window_size(const bm_set_window *window, size_t position)
{
    return window->corpus->sizes[window->order[position]];
}

static inline uint64_t *bm_set_window_set(const bm_set_window *window, size_t position)
{
    return window->words + window->at[position - window->begin];
}

#endif
