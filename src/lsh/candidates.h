/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.h -- finds the pairs of documents that share a band key, each pair once.
 *
 * A hash table over a band's keys puts the band's documents into buckets. The document with the
 * smaller number comes first in each pair. A pair is emitted only in the first band in which its
 * keys agree. To know this, the keys of the earlier bands are compared again, so earlier pairs need
 * not be remembered.
 *
 * bm_candidates emits every pair: ordered by band, then by the first document of the bucket, then
 * by a, then by b. bm_candidates_join emits enough pairs to find the connected components of the
 * pairs that `fn` verifies: it leaves out pairs whose documents are already joined. The time for a
 * bucket is linear in its size (bucket_join below). Neither the order nor the chunks depend on
 * threads. */
#pragma once

#include <math.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/threads.h"
#include "lsh/groups.h"

/* band_buckets -- chains the documents of one band that have equal keys.
 *
 * next[doc] is the next document with the same key. It is BM_NO_DOC at the end of a chain, and if
 * no other document has the key. inner[doc] is non-zero for every document of a chain except the
 * first. So doc begins a bucket of two or more exactly if !inner[doc] && next[doc] != BM_NO_DOC. A
 * chain lists its documents in ascending order. */

#define BM_NO_DOC UINT32_C(0xFFFFFFFF)

typedef struct bm_band_buckets {
    size_t n_docs;
    uint32_t *next;       /* n_docs */
    uint8_t *inner;       /* n_docs */
    const uint8_t *skip;  /* borrowed; n_docs or NULL */
    const uint64_t *keys; /* borrowed; keys of the current band */
    uint64_t *entries;    /* scratch, n_docs: the band, partitioned */
    size_t *ends;         /* scratch, n_blocks * n_parts */
    size_t n_parts, n_blocks;
    unsigned part_shift;
    bm_pool *pool;         /* borrowed; NULL: only the caller works */
    bm_hash_table *tables; /* one for each thread */
} bm_band_buckets;

/* The labels of one band. A document's label is the first document that has the same key. A label
 * is stored only for documents that share their key with another document, usually few. Any other
 * document is its own label. */
typedef struct bm_band_labels {
    uint64_t *shares;   /* a bit for each document, set if another one has the same key */
    uint32_t *n_before; /* for each word of `shares`: the number of bits set before that word */
    uint32_t *firsts;   /* for each set bit: the first document that has the same key */
    uint64_t bytes;     /* size of the three arrays above, in bytes */
} bm_band_labels;       /* {0} is empty */

/* The index in `firsts` of `doc`. The document must share its key with another. */
static inline uint32_t bm_band_labels_place(const bm_band_labels *labels, uint32_t doc)
{
    const uint64_t before = (UINT64_C(1) << doc % 64) - 1;
    return labels->n_before[doc / 64] +
           (uint32_t)__builtin_popcountll(labels->shares[doc / 64] & before);
}

static inline uint32_t bm_band_label(const bm_band_labels *labels, uint32_t doc)
{
    const bool shares = (labels->shares[doc / 64] >> doc % 64 & 1) != 0;
    return shares ? labels->firsts[bm_band_labels_place(labels, doc)] : doc;
}

/* Prepare to bucket n_docs documents. Memory: while keys are bucketed, 13 bytes a document and one
 * small table a thread; if only labels are used, 5 bytes a document. `skip` and `pool` are borrowed
 * until reset; either may be NULL. n_docs <= BM_DOCS_MAX. */
bm_status bm_band_buckets_init(bm_band_buckets *buckets, size_t n_docs, const uint8_t *skip,
                               bm_pool *pool, bm_error *err);
/* Make the chains of a band: fill next and inner. BM_OK or BM_ERR_NOMEM. */
bm_status bm_band_buckets_fill(bm_band_buckets *buckets, const uint64_t *keys, bm_error *err);
/* Make labels from the chains. The labels take a fifth of a byte for each document, and 4 bytes
 * more for each document that shares its key with another. BM_ERR_NOMEM. */
bm_status bm_band_buckets_label(const bm_band_buckets *buckets, bm_band_labels *out, bm_error *err);
void bm_band_labels_reset(bm_band_labels *labels);
void bm_band_buckets_reset(bm_band_buckets *buckets);

/* band_keyset -- the band keys of all documents, as the search for candidates reads them.
 *
 * Keys are band-major: keys[band][doc], n_docs in each band. A document whose `skip` byte is
 * non-zero (no shingles, or a copy) is in no bucket. */

typedef struct bm_band_keyset {
    uint32_t bands;
    size_t n_docs;
    const uint64_t *const *keys; /* one array of n_docs keys for each band */
    /* n_docs bytes; if a document's byte is not 0, the document is in no bucket. NULL: all
     * documents are used */
    const uint8_t *skip;
    /* The labels of each band. They are much smaller than `keys` and replace them. They give the
     * same pairs in the same order. NULL: `keys` is used. */
    const bm_band_labels *labels;
} bm_band_keyset; /* borrows everything */

/* The key or label that all documents of one bucket share. */
static inline uint64_t bm_band_keyset_at(const bm_band_keyset *keys, uint32_t band, uint32_t doc)
{
    return keys->labels != NULL ? bm_band_label(&keys->labels[band], doc) : keys->keys[band][doc];
}

/* candidates_job -- the input of a search for candidates, and its counts. */

/* Receives a chunk of pairs. The chunk is borrowed, and may be written to. If the function returns
 * anything but BM_OK, the search ends with that status. */
typedef bm_status (*bm_candidates_fn)(void *ctx, bm_pair *pairs, size_t n, bm_error *err);

typedef struct bm_candidates_job {
    const bm_band_keyset *keys;
    bm_pool *pool; /* used for bucketing; NULL: only the calling thread works */
    size_t chunk;  /* most pairs that are passed to `fn` at a time; 0: a default */
    bm_candidates_fn fn;
    void *ctx;
    const bm_callbacks *callbacks; /* NULL: none */
    bm_union_find *groups;         /* used only by bm_candidates_join; borrowed; n_docs elements */
    /* Called before `bytes` bytes are allocated for crowded buckets or for bucket_join. If it
     * returns anything but BM_OK, the search ends with that status. NULL: not called. */
    bm_status (*reserve)(void *ctx, uint64_t bytes, bm_error *err);
} bm_candidates_job;

typedef struct bm_join_stats {
    uint64_t n_cut; /* buckets in which not every pair was compared */
    /* upper bound of the pairs in cut buckets that were neither compared nor joined; it may include
     * pairs that were compared in another band */
    uint64_t n_not_compared;
} bm_join_stats;

/* candidate_walk -- the state of a walk over buckets. It has the current band and bucket, and the
 * chunk of pairs that is being filled. candidates.c uses it, and the code that makes stars. */

typedef struct bm_candidate_walk {
    bm_candidates_job job; /* a copy; job.groups is NULL if every pair is wanted */
    uint32_t band;
    uint32_t *members; /* documents of the current bucket */
    size_t n_members, cap_members;
    bm_pair *pairs; /* the chunk: room for job.chunk */
    size_t n_pairs;
} bm_candidate_walk;

/* Returns BM_ERR_CANCELLED if the caller wants to stop. */
bm_status bm_candidate_walk_check(const bm_candidate_walk *walk, bm_error *err);
/* Pass the chunk to job.fn, unless it is empty. BM_ERR_CANCELLED: the caller wants to stop. */
bm_status bm_candidate_walk_flush(bm_candidate_walk *walk, bm_error *err);

/* Do the keys of a and b agree in any band before `end`, not counting band `but`? */
static inline bool bm_candidate_walk_met(const bm_candidate_walk *walk, uint32_t end, uint32_t but,
                                         uint32_t a, uint32_t b)
{
    const bm_band_keyset *keys = walk->job.keys;
    for (uint32_t band = 0; band < end; band++)
        if (band != but && bm_band_keyset_at(keys, band, a) == bm_band_keyset_at(keys, band, b))
            return true;
    return false;
}

static inline bool bm_candidate_walk_joined(const bm_candidate_walk *walk, uint32_t a, uint32_t b)
{
    return bm_union_find_root(walk->job.groups, a) == bm_union_find_root(walk->job.groups, b);
}

static inline bm_status bm_candidate_walk_emit(bm_candidate_walk *walk, uint32_t a, uint32_t b,
                                               bm_error *err)
{
    walk->pairs[walk->n_pairs++] =
        (bm_pair){.a = a < b ? a : b, .b = a < b ? b : a, .similarity = NAN};
    return walk->n_pairs < walk->job.chunk ? BM_OK : bm_candidate_walk_flush(walk, err);
}

/* crowded_buckets -- the large buckets of all bands, for stars. A centre's candidates are read from
 * these buckets when its row is made.
 *
 *     buckets   band 0 | band 0 | band 3 …           begin, end in `members`
 *     members   [ 0 4 5 9 … ][ 2 3 7 … ][ … ]        a walk over a bucket drops taken ones
 *     heads     document -> its links: bucket, next link
 *
 * A document that was taken needs no pairs of its own, so n near-copies cost n - 1 pairs, not
 * n(n-1)/2. If few documents were taken, the pairs of a bucket would grow with the square of its
 * size. So a bucket has a budget of pairs. When it is spent, the bucket is closed, and the rest of
 * its pairs are counted as not compared. Pairs that agree in a small bucket are compared there.
 *
 * Memory: 12 bytes for each member of a crowded bucket, and 4 for each document. One thread. */

#define BM_SMALL_BUCKET 32u /* most documents of a bucket of which all pairs are tried */

typedef struct bm_crowded_bucket {
    size_t begin, end; /* the documents that are still listed, as a range in `members` */
    int64_t left;      /* pairs that may still be tried; -1: the bucket is closed */
    uint32_t n_live;   /* members that are neither taken nor centres */
    uint32_t band;
} bm_crowded_bucket;

typedef struct bm_crowded_link {
    uint32_t bucket;
    uint32_t next; /* the document's previous link, in an earlier band, plus 1; 0: none */
} bm_crowded_link;

typedef struct bm_crowded_buckets {
    size_t n_docs;
    bm_crowded_bucket *buckets;
    size_t n_buckets, cap_buckets;
    uint32_t *members;
    bm_crowded_link *links; /* one for each member */
    size_t n_members, cap_members, cap_links;
    /* for each document: its last link plus 1, or 0 if it has none. NULL until there is a bucket */
    uint32_t *heads;
    const uint32_t *centres; /* n_docs, borrowed (groups.h): which documents are taken */
    uint8_t *band_states;    /* scratch of bm_crowded_buckets_row, one for each band */
    uint8_t *waiting;        /* n_docs: non-zero if the chunk has a pair with this document */
    bm_join_stats stats;
} bm_crowded_buckets;

void bm_crowded_buckets_init(bm_crowded_buckets *crowded, size_t n_docs);
void bm_crowded_buckets_reset(bm_crowded_buckets *crowded);
/* Call this once, after all buckets were kept and before the first row. */
bm_status bm_crowded_buckets_begin_rows(bm_crowded_buckets *crowded, uint32_t bands,
                                        const uint32_t *centres, bm_error *err);
/* Remove a document from its buckets. Call this once for each document, when it is taken or becomes
 * a centre. */
void bm_crowded_buckets_remove(bm_crowded_buckets *crowded, uint32_t doc);
/* Emit the pairs of `centre` with those documents of its open buckets that are not taken, except
 * pairs that are together in a small bucket. `centre` itself must have been removed before. */
bm_status bm_crowded_buckets_row(bm_crowded_buckets *crowded, bm_candidate_walk *walk,
                                 uint32_t centre, bm_error *err);

/* bucket_join -- joins the documents of one large bucket into groups, with a number of pairs that
 * is linear in the size of the bucket.
 *
 * Only pairs across the groups found so far are enumerated, so a bucket of copies costs one
 * comparison a document. If the pairs across groups fit into the bucket's budget, all of them are
 * compared, and the components are exact. If there are more pairs, the bucket is processed in these
 * steps:
 *
 *     a few representatives against all -> sub-buckets by the keys of later bands -> further
 *     representatives against all, until the budget is spent
 *
 * Pairs that were not tried are counted. */

typedef struct bm_bucket_join {
    bm_candidate_walk *walk; /* the walk that is at the current bucket; borrowed */
    size_t n_docs;
    /* n_docs entries. While `live` is being sorted: for the root of each group, the number of the
     * group. Otherwise BM_NO_DOC */
    uint32_t *group_of_root;
    /* the bucket's documents that have not emitted their row, ordered by group */
    uint32_t *live;
    uint32_t *spent;    /* the bucket's documents that have emitted their row */
    uint32_t *group;    /* scratch; for each live document: the number of its group */
    uint32_t *other;    /* scratch */
    uint32_t *begin;    /* where each group begins in `live`; n_groups + 1 entries */
    uint8_t *taken;     /* for each live document: whether it has emitted its row in this round */
    uint8_t *had;       /* for each group: whether one of its documents is in `spent` */
    bm_hash_table last; /* key -> index in `live` of the last document that has it */
    size_t cap, n_live, n_spent, n_groups;
    int64_t left; /* pairs that may still be tried */
    bm_join_stats stats;
} bm_bucket_join;

/* Emit every pair. job->groups must be NULL. Progress is reported as stage "bucket", unit
 * "bands". */
bm_status bm_candidates(const bm_candidates_job *job, bm_error *err);

/* Emit the pairs of buckets of up to BM_SMALL_BUCKET documents, each pair in the first such bucket.
 * Keep larger buckets in `crowded`. If no bucket is larger, the pairs are those of bm_candidates,
 * in the same order. */
bm_status bm_candidates_of_small(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                                 bm_error *err);

/* Like bm_candidates, but for components. job->groups must be set. Before `fn` returns, it must
 * have linked the documents of each accepted pair in job->groups. If stats->n_cut is 0 afterwards,
 * the components are those of all candidates. `stats` may be NULL.
 *
 * Memory: from the first bucket of over 32 documents on, 4 more bytes a document, and about 40 for
 * each document of the largest such bucket. */
bm_status bm_candidates_join(const bm_candidates_job *job, bm_join_stats *stats, bm_error *err);
