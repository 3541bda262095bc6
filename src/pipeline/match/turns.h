/* turns.h -- which document of two is rather kept, and the order in which stars take their turns.
 *
 * Copies have one turn, that of their representative, at the place of the preferred of them. */
#ifndef BM_MATCH_TURNS_H
#define BM_MATCH_TURNS_H

#include <bandmill/types.h>

#include "model/doc_table.h"

typedef struct bm_preference {
    const bm_doc_table *docs; /* for the lengths of texts; borrowed */
    bm_keep keep;
} bm_preference;

/* Is x preferred to y? Ties go to the first. */
bool bm_preferred(const bm_preference *preference, uint32_t x, uint32_t y);
/* best[x] = the preferred of the documents whose owner is x, UINT32_MAX: none; n, filled. */
void bm_preferred_of(const bm_preference *preference, const uint32_t *owner, size_t n,
                     uint32_t *best);

typedef struct bm_turns {
    uint32_t *best;    /* of each representative: the preferred of its copies and itself; n */
    uint32_t *order;   /* representatives, preferred first; n_order */
    uint32_t *centres; /* of each representative (lsh/stars.h), nobody taken yet; n */
    size_t n, n_order;
} bm_turns;

/* `rep`: of each of n documents, the first of its copies. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_turns_make(const bm_preference *preference, const uint32_t *rep, size_t n,
                        bm_turns *out, bm_error *err);
void bm_turns_reset(bm_turns *turns);

#endif
