/* group.h -- labels from a list of pairs, for the calls of the library.
 *
 * BM_ERR_INPUT: a pair of a document that there is not, or an order that does not have each
 * document once; `labels` is as it was. */
#ifndef BM_INMEM_GROUP_H
#define BM_INMEM_GROUP_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "lsh/link_graph.h"

/* Connected components of the pairs: labels[i] (filled, list.n_docs) is the smallest document of
 * i's group. */
bm_status bm_group_components(bm_pair_list list, uint32_t *labels, bm_error *err);
/* Stars: in `order` (a permutation of the documents; NULL: as they are numbered) each document not
 * yet taken becomes the centre of its untaken neighbours; labels[i] is the centre. Each document
 * but the centres is itself a pair with its label. */
bm_status bm_group_stars(bm_pair_list list, const uint32_t *order, uint32_t *labels, bm_error *err);

#endif
