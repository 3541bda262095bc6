/* page_least.h -- of many pairs those of least similarity, of equal ones the first, with their ids. */
#ifndef BM_PAGE_PAGE_LEAST_H
#define BM_PAGE_PAGE_LEAST_H

#include "pipeline/page/page_content.h"

typedef struct bm_page_offer {
    bm_str a, b; /* borrowed during the call */
    double jaccard;
    bool known; /* a is a known document, of an earlier collection */
} bm_page_offer;

typedef struct bm_page_least_row {
    double jaccard;
    bool known;
    char *ids; /* both, one behind the other; owned */
    size_t len_a, len_b;
} bm_page_least_row;

typedef struct bm_page_least {
    size_t most;             /* stay; set by the caller */
    uint64_t of;             /* were offered */
    bm_page_least_row *rows; /* ascending */
    size_t n, cap;
} bm_page_least; /* {0}, but for `most` */

void bm_page_least_reset(bm_page_least *least);
/* A similarity that is not known is not offered. */
bm_status bm_page_least_offer(bm_page_least *least, const bm_page_offer *offer, bm_error *err);
/* Those that stayed are pairs to show. */
bm_status bm_page_least_show(const bm_page_least *least, bm_page_content *content,
                             bm_page_pairs *out, bm_error *err);

#endif
