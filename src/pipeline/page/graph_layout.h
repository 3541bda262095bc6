/* graph_layout.h -- where the documents of a group are drawn: linked ones near each other. */
#ifndef BM_PAGE_GRAPH_LAYOUT_H
#define BM_PAGE_GRAPH_LAYOUT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_graph_point {
    double x, y; /* 0 to 1 */
} bm_graph_point;

/* Points for n nodes and these links between them (numbers of nodes, two a link). Of the same graph always the same
 * points, on every machine: additions, multiplications, divisions and roots alone. Quadratic in n, which should be some
 * hundreds. BM_ERR_NOMEM. */
bm_status bm_graph_layout(size_t n, const uint32_t *links, size_t n_links, bm_graph_point *points,
                          bm_error *err);

#endif
