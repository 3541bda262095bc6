/* length_pairs.h -- every pair whose sizes allow the threshold, compared: exact, without LSH and
 * without an index (--candidates length). */
#ifndef BM_LSH_LENGTH_PAIRS_H
#define BM_LSH_LENGTH_PAIRS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "lsh/candidates_job.h"

/* Documents by size. The position of a document is its place in `docs`. */
typedef struct bm_length_order {
    const uint32_t *docs;  /* n of them, by size, then by number (bm_order_by_size) */
    const uint32_t *sizes; /* of each document, by number; none is 0 */
    size_t n;
    double threshold; /* above 0, at most 1 */
} bm_length_order;

/* The documents before the one at x that may reach the threshold with it are those from this
 * position on. */
size_t bm_length_first(const bm_length_order *order, size_t x);
/* And the last document that may reach it with the one at y is before this position. */
size_t bm_length_end(const bm_length_order *order, size_t y);
/* How many pairs there are of which one may reach it with the other. */
uint64_t bm_length_count(const bm_length_order *order);

/* The sets of the positions begin … end-1 are at hand. */
typedef struct bm_length_sets {
    size_t begin, end;
    const uint64_t *const *sets; /* of position begin + i: sets[i], ascending */
} bm_length_sets;

typedef struct bm_length_job {
    const bm_length_order *order;
    bool uncompared; /* pairs are handed on as they are: sets are not looked at, and the similarity
                        of a pair says nothing */
    bm_pool *pool;   /* NULL: this thread alone */
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks; /* NULL: none */
} bm_length_job;

typedef struct bm_length_join bm_length_join;

/* `job` and what it points to stay borrowed. BM_ERR_USAGE: threshold. */
bm_status bm_length_join_open(const bm_length_job *job, bm_length_join **out, bm_error *err);
void bm_length_join_close(bm_length_join *join); /* NULL is fine */
uint64_t bm_length_join_bytes(void);             /* of memory that a join takes */
/* Calls `fn`, on this thread, with the pairs of one document of `smaller` and one of `larger` at a
 * later position that reach the threshold, exact, a before b, in chunks of 1,024 at most. Their
 * order is not that of the documents; it does not depend on threads. The two may be the same, or
 * overlap. Stage "compare", unit "pairs": of all that the order has. */
bm_status bm_length_join_run(bm_length_join *join, const bm_length_sets *smaller,
                             const bm_length_sets *larger, bm_error *err);
uint64_t bm_length_join_compared(const bm_length_join *join); /* pairs, so far */

#endif
