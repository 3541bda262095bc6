/* turns.c -- representatives, put to the places of the ranks of their preferred copies, and closed up.
 *
 * Tests: tests/unit/lsh/test_keep_rank.c, tests/unit/match/test_match_stars.c */
#include "lsh/turns.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"

bm_status bm_turns_make(const bm_keep_rank *rank, const uint32_t *rep, size_t n, bm_turns *out,
                        bm_error *err)
{
    *out = (bm_turns){.n = n};
    out->best = bm_alloc(n, sizeof *out->best);
    out->order = bm_alloc(n, sizeof *out->order);
    out->centres = bm_alloc(n, sizeof *out->centres);
    if (out->best == NULL || out->order == NULL || out->centres == NULL) {
        bm_turns_reset(out);
        return bm_fail_nomem(err, n * sizeof *out->best);
    }
    if (rep != NULL)
        bm_keep_rank_best(rank, rep, n, out->best);
    for (size_t i = 0; i < n; i++) {
        out->order[i] = UINT32_MAX;
        out->centres[i] = BM_NOT_TAKEN;
        if (rep == NULL)
            out->best[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++) {
        if (rep == NULL || rep[i] == i)
            out->order[bm_keep_rank_of(rank, out->best[i])] = (uint32_t)i;
    }
    for (size_t i = 0; i < n; i++)
        if (out->order[i] != UINT32_MAX)
            out->order[out->n_order++] = out->order[i];
    return BM_OK;
}

void bm_turns_reset(bm_turns *turns)
{
    bm_free(turns->best);
    bm_free(turns->order);
    bm_free(turns->centres);
    memset(turns, 0, sizeof *turns);
}
