/* SPDX-License-Identifier: Apache-2.0 */
/* match_all_pairs.h -- finds the edges of --candidates all, by an exact search among all pairs,
 * without bands. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/meter.h"
#include "base/threads.h"
#include "corpus/corpus.h"
#include "lsh/prefix_index.h"
#include "match/edges.h"

/* all_pairs_counts -- counts the documents of each shingle. Used if the counters do not fit into
 * memory: they are made part by part, in files. */

#define BM_PART_BITS_MAX 8u

typedef struct bm_part_counts bm_part_counts;

/* all_pairs_window -- sets of a corpus, read back from its file in the order of the documents'
 * sizes. A window has as many sets as a limit allows.
 *
 * For each range of BM_PREFIX_RANGE positions, `words` has BM_PREFIX_RANGE words for the caller's
 * use, then the sets of the documents, one after another in the form of the file. */

typedef struct bm_set_window {
    bm_corpus *corpus;
    const uint32_t *order; /* n documents, in order of size */
    size_t n;
    uint64_t most; /* limit for the bytes of a window; a single range may need more */
    bm_pool *pool;
    /* the positions in the window are begin … end-1; `begin` is a multiple of BM_PREFIX_RANGE */
    size_t begin, end;
    uint64_t *words;
    size_t *at;          /* for each position in the window: index of its set in `words` */
    uint64_t *by_number; /* document number << 32 | index in the window, sorted; later scratch
                          * memory */
    size_t cap_words, cap_docs;
} bm_set_window;

/* bytes that a window has for each document, in addition to its set */
#define BM_SET_WINDOW_DOC 24u

static inline size_t bm_set_window_size(const bm_set_window *window, size_t position)
{
    return window->corpus->sizes[window->order[position]];
}

static inline uint64_t *bm_set_window_set(const bm_set_window *window, size_t position)
{
    return window->words + window->at[position - window->begin];
}

/* Find the edges of `match`. Call bm_match_begin first. BM_ERR_NOMEM: the job's memory is too
 * little for the search. BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_all_pairs(bm_match *match, const bm_callbacks *callbacks, bm_error *err);

/* Like bm_match_all_pairs, for a threshold of 0: compares all pairs of representatives that have
 * shingles. */
bm_status bm_match_every_pair(bm_match *match, bm_error *err);
