/* candidate_walk.c -- handing a chunk of candidates on, and stopping in time.
 *
 * Tests: tests/unit/lsh/test_candidates.c, tests/unit/lsh/test_bucket_join.c */
#include "lsh/candidate_walk.h"

#include "base/error.h"

bm_status bm_candidate_walk_check(const bm_candidate_walk *w, bm_error *err)
{
    const bm_callbacks *callbacks = w->job.callbacks;
    if (callbacks != NULL && callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    return BM_OK;
}

bm_status bm_candidate_walk_flush(bm_candidate_walk *w, bm_error *err)
{
    BM_TRY(bm_candidate_walk_check(w, err));
    if (w->n_pairs == 0)
        return BM_OK;
    size_t n = w->n_pairs;
    w->n_pairs = 0;
    return w->job.fn(w->job.ctx, w->pairs, n, err);
}
