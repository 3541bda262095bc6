/* page_graph.h -- the largest chained group: its links, what holds it together, and where it is drawn. */
#ifndef BM_PAGE_PAGE_GRAPH_H
#define BM_PAGE_PAGE_GRAPH_H

#include "pipeline/context/settings.h"
#include "pipeline/page/page_content.h"

#define BM_PAGE_NODES_MAX   120u  /* documents that are drawn */
#define BM_PAGE_WEAKEST_MAX 10u   /* links that are listed */
#define BM_PAGE_SETS_MAX    4096u /* documents whose links are computed again */

/* Fill content->graph with the members, and the links where pairs.tsv has them. *wants_sets: it has not, and the
 * members' shingles are wanted. */
bm_status bm_page_graph_load(const bm_settings *settings, bm_page_content *content,
                             bool *wants_sets, bm_error *err);
/* The links from the members' shingles; of all of them, or there are no links. `settings` as the report says. */
bm_status bm_page_graph_link(const bm_settings *settings, bm_page_content *content,
                             const bm_page_doc *members, bm_error *err);
/* Bridges, articulation points, weakest links, and the documents that are drawn. */
bm_status bm_page_graph_draw(bm_page_content *content, bm_error *err);

#endif
