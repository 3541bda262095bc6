/* known.h -- documents of an earlier collection, an index or signatures, that documents of this job reach the
 * threshold with.
 *
 * Of each document of the job the known one that is most like it; and which documents have a known one in common,
 * which joins them. Copies have what their representative has. Memory grows with the known documents that were found, not
 * with the pairs. Threads: one at a time. */
#ifndef BM_MATCH_KNOWN_H
#define BM_MATCH_KNOWN_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "lsh/union_find.h"

#define BM_NO_KNOWN  UINT32_MAX
#define BM_KNOWN_DOC 28u /* bytes a document: here 16, and 12 while they are grouped */

/* That a document of the job found a known one. */
typedef struct bm_known_link {
    uint32_t number, doc;
} bm_known_link;

typedef struct bm_known {
    size_t n;       /* documents of the job */
    uint32_t *best; /* of each representative: the known one most like it; BM_NO_KNOWN: none */
    double *similarities; /* to that one */
    bm_union_find joined; /* representatives that found the same one */
    bm_known_link *
        links; /* once ended: each known one that was found, ascending, and the first that found it */
    size_t n_links, cap;
    size_t n_sorted; /* of the links: these are each once, ascending */
    bm_buf ids;      /* of the known ones, side by side, in the order of the links */
    uint64_t *id_ends;
    uint32_t *sizes; /* of each: its distinct shingles */
} bm_known;

/* For n documents, none of which found one. BM_ERR_NOMEM, and nothing is to be reset. */
bm_status bm_known_init(bm_known *known, size_t n, bm_error *err);
void bm_known_reset(bm_known *known); /* of {0} too */
/* Document `doc`, a representative, reaches the threshold with a known one. The first that is added of it is the one most
 * like it. */
bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err);
/* All are added: the links are each once. */
bm_status bm_known_end(bm_known *known, bm_error *err);
/* The id of link i, which is the next one, i = 0, 1 …, and how many distinct shingles it has. */
bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err);
/* The id of a known document that was found. */
bm_str bm_known_id(const bm_known *known, uint32_t number);
/* Its place in the links. */
size_t bm_known_place(const bm_known *known, uint32_t number);

#endif
