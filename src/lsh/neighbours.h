/* neighbours.h -- for each document those that a list of pairs joins it to, in CSR form.
 *
 *     begins   0       2   3           6        n_docs + 1 of them
 *     docs     3 9     |   0 | 1 2 8            the neighbours of document 0 are 3 and 9
 *     pairs    4 0     |   4 | ...              which pair each of them comes from */
#ifndef BM_LSH_NEIGHBOURS_H
#define BM_LSH_NEIGHBOURS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_pair_list {
    const bm_pair *pairs; /* borrowed; both ends below n_docs */
    size_t n, n_docs;
} bm_pair_list;

typedef struct bm_neighbours {
    size_t *begins; /* n_docs + 1 places in `docs` and `pairs` */
    uint32_t *docs; /* the other ends, in the order of their pairs */
    size_t *pairs;  /* numbers of the pairs; NULL where they were not asked for */
} bm_neighbours;    /* {0} is empty */

typedef enum bm_neighbours_with { BM_NEIGHBOURS_DOCS, BM_NEIGHBOURS_AND_PAIRS } bm_neighbours_with;

/* Both directions of every pair; a pair that is listed twice makes two neighbours. 8 bytes a
 * document and 8 a pair, 16 more a pair with numbers. BM_ERR_NOMEM, and `out` is empty. */
bm_status bm_neighbours_make(bm_pair_list list, bm_neighbours_with with, bm_neighbours *out,
                             bm_error *err);
void bm_neighbours_reset(bm_neighbours *neighbours);

#endif
