/* crowded_buckets.h -- the large buckets of all bands, for stars: whom a centre may take is looked at
 * when its turn comes, not before.
 *
 *     buckets   band 0 | band 0 | band 3 …           begin, end in `members`
 *     members   [ 0 4 5 9 … ][ 2 3 7 … ][ … ]        who is taken is dropped at the next look
 *     heads     document -> its links: bucket, next link
 *
 * A document that was taken needs no pairs of its own, so n near-copies cost n - 1 looks, not
 * n(n-1)/2. Where few are taken a bucket would cost its square: after bm_bucket_join_budget pairs it
 * is closed, and what is not compared in it is counted. Pairs that agree in a small bucket are no
 * matter of these (candidates.h).
 *
 * 12 bytes a document of a crowded bucket, 4 a document. One thread. */
#ifndef BM_LSH_CROWDED_BUCKETS_H
#define BM_LSH_CROWDED_BUCKETS_H

#include "lsh/candidate_walk.h"

#define BM_SMALL_BUCKET 32u /* documents of which all pairs are simply tried */

typedef struct bm_crowded_bucket {
    size_t begin, end; /* of its members that are still listed */
    int64_t left;      /* pairs that may still be looked at; -1: it is closed */
    uint32_t n_live;   /* members whose turn is to come and whom nobody took */
    uint32_t band;
} bm_crowded_bucket;

typedef struct bm_crowded_link {
    uint32_t bucket;
    uint32_t next; /* the link of an earlier band, plus 1; 0: none */
} bm_crowded_link;

typedef struct bm_crowded_buckets {
    size_t n_docs;
    bm_crowded_bucket *buckets;
    size_t n_buckets, cap_buckets;
    uint32_t *members;
    bm_crowded_link *links; /* one a member */
    size_t n_members, cap_members, cap_links;
    uint32_t *heads;         /* n_docs, the last link plus 1; NULL while there is no bucket */
    const uint32_t *centres; /* n_docs, borrowed (stars.h): who is taken */
    uint8_t *band_states;    /* scratch of a row: of each band */
    uint8_t *waiting;        /* n_docs: a pair of it is in the chunk */
    bm_join_stats stats;
} bm_crowded_buckets;

void bm_crowded_buckets_init(bm_crowded_buckets *crowded, size_t n_docs);
void bm_crowded_buckets_reset(bm_crowded_buckets *crowded);
/* Keep the bucket walk->members of walk->band. BM_ERR_NOMEM, or what walk->job.reserve says. */
bm_status bm_crowded_buckets_keep(bm_crowded_buckets *crowded, const bm_candidate_walk *walk,
                                  bm_error *err);
/* Is the document in a crowded bucket of this band? */
bool bm_crowded_buckets_have(const bm_crowded_buckets *crowded, uint32_t band, uint32_t doc);
/* All buckets are kept; before the first row. */
bm_status bm_crowded_buckets_begin_rows(bm_crowded_buckets *crowded, uint32_t bands,
                                        const uint32_t *centres, bm_error *err);
/* The document is taken, or a centre: it leaves its buckets. Once each. */
void bm_crowded_buckets_leave(bm_crowded_buckets *crowded, uint32_t doc);
/* Emit a centre, which has left, with every live document of its buckets that are not closed. */
bm_status bm_crowded_buckets_row(bm_crowded_buckets *crowded, bm_candidate_walk *walk,
                                 uint32_t centre, bm_error *err);

#endif
