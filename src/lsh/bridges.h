/* bridges.h -- what holds a group together: pairs and documents without which it falls apart. */
#ifndef BM_LSH_BRIDGES_H
#define BM_LSH_BRIDGES_H

#include "lsh/link_graph.h"

typedef struct bm_bridge {
    size_t pair;
    size_t n_a, n_b; /* documents that stay with pair.a, and with pair.b */
} bm_bridge;

typedef struct bm_articulation_point { /* a document that holds parts of its component together */
    uint32_t doc;
    uint32_t n_parts; /* into which its component falls without it: 2 or more */
} bm_articulation_point;

typedef struct bm_bridges {
    bm_bridge *bridges; /* by pair */
    size_t n_bridges, cap_bridges;
    bm_articulation_point *articulation_points; /* by document */
    size_t n_articulation_points, cap_articulation_points;
} bm_bridges; /* {0} is empty */

/* Find those of every component of the graph. BM_ERR_NOMEM. */
bm_status bm_bridges_find(const bm_link_graph *graph, bm_bridges *out, bm_error *err);
void bm_bridges_reset(bm_bridges *bridges);

#endif
