/* SPDX-License-Identifier: Apache-2.0 */
/* search.h -- finds the documents of an index that are similar enough to given documents.
 *
 * For each document of a batch:
 *
 *     band keys -> postings of each band -> distinct candidates -> read the set (or words) of each
 *               -> similarity
 *
 * All documents of a batch are searched for together: their keys are looked up band by band in
 * ascending order, and sets are read in file order, so an index larger than memory is read
 * forwards. Answers do not depend on the batch, the threads or the order of look-ups. With the same
 * plan, `pairs` gives the same answer for the same two documents. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "index/search_hits.h"
#include "lsh/similarity.h"

/* The rule for comparing a document with documents of an index: by sets or by signatures, whichever
 * the index keeps. */
static inline bm_similarity_rule bm_search_rule(bm_store_kind kind, bm_word_rows words,
                                                double threshold)
{
    return (bm_similarity_rule){.verify =
                                    kind == BM_STORE_SETS ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE,
                                .measure = BM_MEASURE_JACCARD,
                                .words = words,
                                .threshold = threshold};
}

/* The answers of document i are list[begin[i]] … list[begin[i+1]-1], best first. Equally similar
 * answers are ordered by number. The struct must be {0} at first; its memory is reused for each
 * batch. */
typedef struct bm_search_result {
    size_t n;        /* the first n documents of the batch were searched for; without a bound on
                      * memory these are all */
    uint64_t *begin; /* n + 1 entries */
    bm_answer *list;
    size_t cap_begin, cap_list;
    size_t fits; /* how many different documents the next run tries to search for at once; 0: all,
                  * because the last run could search for all */
    /* candidates: pairs to compare; verified: candidates whose similarity was compared with the
     * threshold. Both are summed over all batches. A document that only repeats another
     * (batch->same) counts too. */
    uint64_t candidates, verified;
    /* candidates that bm_search_cfg.first excluded, summed in the same way; a pair counts once for
     * each key that leaves it out */
    uint64_t not_compared;
    /* with containment: queries for which every document of the index was read */
    uint64_t read_all;
    uint64_t steps; /* amount of work: pairs compared, entries read from the lists of crowded
                     * buckets, and kinds of documents compared */
} bm_search_result;

/* Search for a batch. BM_ERR_FORMAT: the index is damaged. BM_ERR_NOMEM. */
bm_status bm_search_run(const bm_search_cfg *cfg, const bm_search_batch *batch,
                        bm_search_result *result, bm_error *err);
void bm_search_result_reset(bm_search_result *result);
