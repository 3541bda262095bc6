/* SPDX-License-Identifier: Apache-2.0 */
/* edges.h -- the settings and the result of matching, and the two ways in which pairs reach the
 * result: compared as candidates, or with their similarity. Used by match.c and
 * match_all_pairs.c. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "base/meter.h"
#include "corpus/corpus.h"
#include "lsh/candidates.h"
#include "lsh/groups.h"
#include "lsh/verify.h"
#include "model/ids.h"
#include "spill/sorted_runs.h"

/* known -- documents of an earlier collection, an index or signatures, that documents of this job
 * reach the threshold with.
 *
 * It stores, for each document of the job, the known one that is most like it, and joins documents
 * that have a known one in common. Copies have what their representative has. Memory grows with the
 * known documents that were found, not with the pairs. Threads: one at a time. */

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
    bm_known_link *links; /* once ended: each known one that was found, ascending, and the first
                             that found it */
    size_t n_links, cap;
    size_t n_sorted; /* of the links: these are each once, ascending */
    bm_buf ids;      /* of the known ones, side by side, in the order of the links */
    uint64_t *id_ends;
    uint32_t *sizes; /* of each: its distinct shingles */
} bm_known;

/* For n documents that have not found a known one. On BM_ERR_NOMEM there is nothing to reset. */
bm_status bm_known_init(bm_known *known, size_t n, bm_error *err);
void bm_known_reset(bm_known *known); /* of {0} too */
/* Document `doc`, a representative, reaches the threshold with a known one. The first that is added
 * of it is the one most like it. */
bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err);
/* All are added: the links are each once. */
bm_status bm_known_end(bm_known *known, bm_error *err);
/* The id of link i, which is the next one, i = 0, 1 …, and how many distinct shingles it has. */
bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err);
/* The id of a known document that was found. */
bm_str bm_known_id(const bm_known *known, uint32_t number);

typedef struct bm_match_settings {
    bm_corpus *corpus;
    bm_pool *pool;
    bm_meter *meter;
    bm_verify verify;     /* never AUTO */
    uint32_t judged_from; /* SIGNATURE: shingles of the smaller document of an edge that may be
                             counted as `unlikely` (bm_match_counts) */
    bm_measure measure;   /* CONTAINMENT: of all candidates, EXACT */
    double threshold;     /* 0 with CONTAINED: every pair that comes with a similarity is an edge */
    bm_share share;       /* of CONTAINED */
    bool only_groups;     /* edges are not stored, pairs that are joined already not verified */
    bool all_candidates;  /* every pair that shares a shingle (exact), instead of pairs that share a
                           * band */
    const bm_keep_rank *stars; /* only stars are wanted, in this order of turns: pairs of crowded
                                  buckets that they do not need are left out; NULL: every pair */
    const bm_known *known;     /* for grouping: ended; borrowed by it too; NULL: nothing is known */
} bm_match_settings;

typedef struct bm_earlier_edge {
    double similarity;
    uint32_t behind; /* 1 + the earlier document; 0: there is no edge */
} bm_earlier_edge;

/* With only_groups and verification, of each document the edge to the earliest document that has
 * one to it: the survivor of a group is often that one, and need not be compared once more. Else
 * {0}. */
typedef struct bm_earlier_edges {
    bm_earlier_edge *edges;
    bm_column column;   /* which holds them (bm_corpus_new_column) */
    uint64_t n_touched; /* since pages of it were left */
} bm_earlier_edges;

typedef struct bm_match_counts {
    uint64_t candidates, verified, edges;
    uint64_t not_compared; /* with only_groups: pairs of crowded buckets, at most */
    double verify_seconds; /* of sorting and comparing, on all threads at once */
    /* Edges between equal signatures, although their numbers of shingles differ so much that this
     * should happen less than once in a million times (edges.c); and the first such edge. After a
     * resume with only_groups: edges found since then. */
    uint64_t unlikely;
    bm_pair first_unlikely;
} bm_match_counts;

typedef struct bm_match_result {
    bm_band_keyset keys;   /* that the candidates came from; 0 bands without */
    bm_union_find groups;  /* of representatives, joined by the edges */
    bm_sorted_runs *edges; /* pairs of representatives that reach the threshold (model/ids.h:
                              key, value); NULL: there are none, or only_groups */
    bm_earlier_edges earlier;
    bm_match_counts counts;
} bm_match_result;

typedef struct bm_match {
    bm_match_settings settings;
    bm_match_result result; /* {0} before */
} bm_match;

/* A bm_candidates_fn, ctx is the bm_match: compare n candidates, take the edges among them. */
bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* A bm_candidates_fn as well, for pairs that were compared: take the edges among them. */
bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* n pairs come with their similarity. Pairs that reach the threshold, or have an unknown similarity
 * (NAN), are edges: they join groups, and are stored unless only groups are wanted. */
bm_status bm_edges_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err);

/* Read the edges that were found so far, by a, then b, from the first. */
bm_status bm_edges_begin(const bm_match *match, bm_error *err);
/* BM_NOT_FOUND (and no error) at the end. */
bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err);
/* Open runs for edges, or for records made from edges: half of the budget's share in memory, and a
 * quarter of free memory. */
bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err);

/* group_columns -- the result of grouping for each document and each group. */

typedef enum bm_reason {
    BM_REASON_KEPT,
    BM_REASON_IDENTICAL, /* the text of the kept document, byte for byte */
    BM_REASON_EQUAL,     /* its shingles in their order, and another text, or one not known */
    BM_REASON_NEAR,      /* itself at the threshold to the kept document */
    BM_REASON_CHAINED,   /* joined to the kept document by way of others only */
    BM_REASON_CONTAINED, /* held by the kept document (edges.h) */
    BM_REASON_KNOWN,     /* at the threshold to the kept document, which is a known one */
    BM_REASON_OVERLAP    /* it holds an item of a test set (parts/overlap_parts.h) */
} bm_reason;

#define BM_NO_KEPT UINT32_MAX /* no document of its group is kept */

typedef struct bm_grouping {
    size_t n;
    uint32_t *label; /* of each document: the smallest document of its group */
    uint32_t *kept; /* of each document: which one is kept for it; itself: it is kept; BM_NO_KEPT */
    uint8_t *reason;    /* bm_reason of each */
    double *similarity; /* of each removed document and its kept one; NAN: not known */
    uint32_t *members;  /* documents of each group in input order, without groups of one document
                         * unless it found a known one */
    uint64_t *begin;    /* n_groups + 1 places in members */
    bm_column column;   /* of label, kept, similarity and begin (bm_corpus_new_column) */
    size_t n_groups;
    uint64_t n_removed, n_chained, n_identical, n_equal, n_known, largest;
    uint8_t *divided;   /* of each document: its component was divided into stars; NULL: none was */
    uint64_t n_divided; /* components */
    const bm_known *from;    /* borrowed; NULL: nothing is known, like the rest */
    uint32_t *known;         /* of each document: the known one that is kept for it; BM_NO_KNOWN */
    uint32_t *known_members; /* known ones of each group, ascending */
    uint64_t *known_begin;   /* n_groups + 1 places in them */
} bm_grouping;

/* known_groups -- what known documents make of groups: the steps of grouping.c for them, in
 * their order. */

/* Columns of a grouping that has `from`. */
bm_status bm_known_begin(bm_grouping *out, bm_error *err);
/* Components: documents that found the same known one have one label; the first known one of a
 * group is noted for its members that found none themselves. */
bm_status bm_known_join(bm_grouping *out, const uint32_t *rep, bm_error *err);
/* Stars, and holders: those for which one known document is kept are a group. */
bm_status bm_known_group(bm_grouping *out, bm_error *err);
/* The known ones of each group, once the groups are gathered. `joined`: of components; else a group
 * has the one that is kept. */
bm_status bm_known_gather(bm_grouping *out, bool joined, bm_error *err);
/* Reason and similarity of a document for which a known one is kept. */
void bm_known_reason(const bm_match *match, bm_grouping *out, uint32_t doc);

/* The similarity of a removed document to the known one that is kept for it: it is chained, unless
 * it reaches the threshold. */
void bm_grouping_compared(bm_grouping *grouping, uint32_t doc, double similarity, double threshold);

#define BM_GROUPING_LEAVE                                                                          \
    16384u /* of so many documents one leaves the block, where it is in a file */

/* For those who walk over the columns in order, of each document. */
static inline void bm_grouping_leave(const bm_grouping *grouping, size_t doc)
{
    if (doc % BM_GROUPING_LEAVE == 0)
        bm_column_leave(&grouping->column);
}

/* Was its component divided into stars? And where some are: is it none of theirs? */
static inline bool bm_grouping_is_divided(const bm_grouping *grouping, size_t doc)
{
    return grouping->divided != NULL && grouping->divided[doc] != 0;
}
static inline bool bm_grouping_leaves(const bm_grouping *grouping, size_t doc)
{
    return grouping->divided != NULL && grouping->divided[doc] == 0;
}
static inline bool bm_grouping_is_known(const bm_grouping *grouping, size_t doc)
{
    return grouping->known != NULL && grouping->known[doc] != BM_NO_KNOWN;
}

/* turn_links -- the edges that matching has found so far, as the neighbours of each document when
 * its turn comes. */

typedef struct bm_turn_links {
    const bm_turns *turns; /* borrowed */
    bm_sorted_runs *by_turn;
    bm_run_record link; /* the next of by_turn */
    bool ended;         /* there is none */
    uint32_t *docs;     /* neighbours of the turn at hand */
    double *similarities;
    size_t cap, cap_alike;
} bm_turn_links;

/* The links so far: later edges are not among them. Memory as edges.c and the corpus allow. On
 * failure `out` can be closed. */
bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err);
/* *docs and links->similarities: the neighbours of turns->order[turn], until the next call. Turns
 * ascend, none is left out. */
bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err);
void bm_turn_links_close(bm_turn_links *links);

/* grouping -- from edges to groups, and which document of each is kept.
 *
 * Components: the connected components of the edges, copies with their representative. Stars: as in
 * lsh/groups.h, documents in order of preference; so each removed document is itself joined to the
 * kept one. The label of a group is its smallest document.
 *
 * Documents of an earlier collection (edges.h) are kept before all others. Components: documents
 * that found the same known one are joined, and a group that found one keeps none of its own.
 * Stars: known documents take their turns first. */

typedef struct bm_grouping_options {
    const bm_keep_rank *rank; /* which document of a group is kept; borrowed */
    bm_cluster cluster;
    uint64_t most; /* a component of more documents is divided into stars; 0: none */
} bm_grouping_options;

/* `match` has run. Removed documents of unknown similarity to the kept one are compared with it. If
 * a known document is kept, they count as chained instead, with NAN (bm_grouping_compared).
 * BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, and `out` is empty. */
bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err);
void bm_grouping_reset(bm_grouping *grouping);

/* match_stars -- the edges that stars need: all of small buckets, and in crowded buckets the edges
 * from each centre to documents without an owner at its turn. */

/* settings.stars orders the turns. `job`: of the search, with the keys of the result. If
 * stats->n_cut is 0, grouping makes the same stars of these edges as of all candidates' edges.
 * BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err);

/* lost_shingles -- what goes for good with the removed documents: their shingles that the
 * document kept instead lacks.
 *
 * No set is compared for it. Grouping leaves the Jaccard similarity of each removed document and
 * its kept one. The number of shared shingles follows from it, since exactly this double was made
 * of that number (bm_jaccard_common). */

typedef struct bm_lost_source {
    const bm_grouping *grouping; /* every similarity is filled in */
    const bm_corpus *corpus;
} bm_lost_source; /* both are borrowed */

/* How many distinct shingles of a removed document its kept one lacks; UINT64_MAX: not known, for
 * no sets were compared, or their elements have weights. */
uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc);

/* totals of all removed documents; UINT64_MAX: not known */
typedef struct bm_losses {
    uint64_t removed_bytes; /* of text, as read */
    uint64_t removed_shingles, lost_shingles;
} bm_losses;

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs);

/* holders -- which kept document holds each of the others (`verify` contained), and how much of it.
 *
 * Documents have their turns in the order of keeping. One that nobody before it holds is kept; it
 * may hold later documents that are an edge with it. Of several the one that shares most shingles
 * holds a document, of these the first in the order. Nothing follows along a chain: only kept
 * documents hold others. Known documents (edges.h) are kept before all.
 *
 * Copies have the holder of their representative. Threads: one at a time. */

#define BM_HELD_BY_KNOWN (UINT32_MAX - 1) /* a holder that is no document of the job */

typedef struct bm_holders {
    const bm_match *match;    /* borrowed, like those below */
    const bm_keep_rank *rank; /* of documents */
    const bm_turns *turns;
    uint32_t *docs;   /* of each representative: its holder; BM_NO_DOC: none so far */
    uint32_t *shared; /* how many shingles it shares with it */
} bm_holders;

/* Is all of it held, so that nobody can have more? */
static inline bool bm_holders_have_all(const bm_holders *holders, uint32_t doc)
{
    return holders->shared[doc] == holders->match->settings.corpus->sizes[doc];
}

/* Labels, kept ones, known ones and similarities of a grouping, from the edges that matching has
 * found. */
bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err);
