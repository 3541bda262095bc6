/* turns.h -- the order in which stars take their turns (lsh/stars.h).
 *
 * Copies have one turn, that of their representative, at the place of the preferred of them. */
#ifndef BM_LSH_TURNS_H
#define BM_LSH_TURNS_H

#include "lsh/keep_rank.h"

typedef struct bm_turns {
    uint32_t *best;    /* of each representative: the preferred of its copies and itself; n */
    uint32_t *order;   /* representatives, preferred first; n_order */
    uint32_t *centres; /* of each representative (lsh/stars.h), nobody taken yet; n */
    size_t n, n_order;
} bm_turns;

/* `rep`: of each of n documents, the first of its copies; NULL: no two are copies. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_turns_make(const bm_keep_rank *rank, const uint32_t *rep, size_t n, bm_turns *out,
                        bm_error *err);
void bm_turns_reset(bm_turns *turns);

#endif
