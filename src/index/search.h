/* SPDX-License-Identifier: Apache-2.0 */
/* search.h -- finds the documents of an index that reach a threshold with given documents.
 *
 * For each document that is asked for:
 *
 *     band keys -> postings of each band -> candidates, each once -> its set (or words), read
 *               -> similarity
 *
 * A batch is asked as one: its keys are looked up band by band in ascending order, and sets are
 * read in the order in which they lie in the file, so that an index larger than memory is read
 * forwards. Answers do not depend on the batch, the threads or the order of look-ups: `pairs` would
 * give the same ones between the two documents with the same plan. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "index/search_hits.h"
#include "lsh/similarity.h"

/* How documents are compared with documents of an index: by its sets, or by its words. */
static inline bm_similarity_rule bm_search_rule(bm_store_kind kind, bm_word_rows words,
                                                double threshold)
{
    return (bm_similarity_rule){.verify =
                                    kind == BM_STORE_SETS ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE,
                                .measure = BM_MEASURE_JACCARD,
                                .words = words,
                                .threshold = threshold};
}

/* The answers of document i are list[begin[i]] … list[begin[i+1]-1]: best first, of equal ones the
 * number that is less. {0} before; the same memory serves batch after batch. */
typedef struct bm_search_result {
    size_t n; /* documents that are answered: all of the batch, where memory is not bounded */
    uint64_t *begin; /* n + 1 */
    bm_answer *list;
    size_t cap_begin, cap_list;
    size_t fits; /* different documents that a run could ask for at once, where it could not ask for
                    all; else 0 */
    uint64_t candidates, verified; /* summed over all batches, for each document that is answered */
    uint64_t
        not_compared; /* beyond `first`, likewise; a pair once for each key that leaves it out */
    uint64_t
        read_all;   /* by containment: of them, for how many every document of the index was read */
    uint64_t steps; /* of the comparisons: pairs, lists of crowded buckets, and kinds in them */
} bm_search_result;

/* BM_ERR_NOMEM, BM_ERR_FORMAT (damaged). */
bm_status bm_search_run(const bm_search_cfg *cfg, const bm_search_batch *batch,
                        bm_search_result *result, bm_error *err);
void bm_search_result_reset(bm_search_result *result);
