/* search.h -- documents against an index: those of it that reach a threshold.
 *
 * For each document that is asked for:
 *
 *     band keys -> postings of each band -> candidates, each once -> its set (or words), read -> similarity
 *
 * A batch is asked as one: its keys are looked up band by band in ascending order, and sets are read in the order
 * in which they lie in the file, so that an index larger than memory is read forwards. Answers do not depend on the
 * batch, the threads or the order of look-ups: they are those that `pairs` would give between the two documents with
 * the same plan. */
#ifndef BM_INDEX_SEARCH_H
#define BM_INDEX_SEARCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "store/store_view.h"

/* Documents to look up; borrowed. */
typedef struct bm_search_batch {
    size_t n;
    const uint64_t *keys;        /* n * facts.bands */
    const uint32_t *n_shingles;  /* of each; 0: it finds nothing */
    const uint64_t *const *sets; /* SETS: of each n_shingles hashes, ascending, distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words */
    const bm_str *ids;           /* of each, for skip_same_id; else NULL */
    /* What the sets lie in, where they are not in order yet: those that are compared are sorted there. NULL: they are. */
    uint64_t *unsorted;
    /* Of each the first of the batch with the same set (or words), itself where none is before it: that one alone is asked,
     * and answers for the others, which have no answers of their own. Not with skip_same_id. NULL: all differ. */
    const uint32_t *same;
} bm_search_batch;

typedef struct bm_search_cfg {
    const bm_store_view *view;
    const bm_store_facts *facts;
    uint32_t word_bytes; /* of the words of signatures: 4 or 8 */
    bm_pool *pool;       /* NULL: this thread alone */
    double threshold;
    uint32_t top;      /* best answers of each document; 0: all */
    bool skip_same_id; /* a document is no answer to one of its own id */
    /* Bytes that what is found may take; 0: no bound. Where a batch finds more, the first of its
     * documents are answered (bm_search_result.n), one at least, and the caller comes again with the
     * rest. */
    uint64_t memory;
} bm_search_cfg;

typedef struct bm_answer {
    uint32_t number; /* of the document in the index */
    double similarity;
} bm_answer;

/* The answers of document i are list[begin[i]] … list[begin[i+1]-1]: best first, of equal ones the number that is
 * less. {0} before; the same memory serves batch after batch. */
typedef struct bm_search_result {
    size_t n; /* documents that are answered: all of the batch, where memory is not bounded */
    uint64_t *begin; /* n + 1 */
    bm_answer *list;
    size_t cap_begin, cap_list;
    size_t
        fits; /* different documents that a run could ask for at once, where it could not ask for all; else 0 */
    uint64_t candidates, verified; /* summed over all batches, for each document that is answered */
} bm_search_result;

/* BM_ERR_NOMEM, BM_ERR_FORMAT (damaged). */
bm_status bm_search_run(const bm_search_cfg *cfg, const bm_search_batch *batch,
                        bm_search_result *result, bm_error *err);
void bm_search_result_reset(bm_search_result *result);

#endif
