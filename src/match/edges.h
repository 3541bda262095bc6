/* SPDX-License-Identifier: Apache-2.0 */
/* edges.h -- the settings and the result of matching, and the two ways in which pairs reach the
 * result: as candidates to compare, or with a known similarity. */
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

/* known -- documents of an earlier collection (an index, signatures or inputs) that reach the
 * threshold with documents of this job.
 *
 * For each document of the job, the most similar known document is stored, and documents that found
 * the same known document are joined. Copies share the result of their representative. Memory grows
 * with the number of known documents found, not with the pairs. One thread at a time. */

#define BM_NO_KNOWN  UINT32_MAX
#define BM_KNOWN_DOC 28u /* bytes for each document: 16 in bm_known, and 12 during grouping */

/* The document `doc` of the job has found the known document `number`. */
typedef struct bm_known_link {
    uint32_t number, doc;
} bm_known_link;

typedef struct bm_known {
    size_t n; /* documents of the job */
    /* of each representative: the most similar known document found; BM_NO_KNOWN: none */
    uint32_t *best;
    double *similarities; /* of each representative to `best` */
    bm_union_find joined; /* representatives that found the same known document */
    /* after bm_known_end: each known document found, ascending, with the first document that found
     * it */
    bm_known_link *links;
    size_t n_links, cap;
    size_t n_sorted; /* the first n_sorted links are sorted, with one for each known document */
    bm_buf ids;      /* ids of the known documents, concatenated in the order of the links */
    uint64_t *id_ends;
    uint32_t *sizes; /* number of distinct shingles of each known document */
} bm_known;

/* Start with n documents that have found no known document. On BM_ERR_NOMEM there is nothing to
 * reset. */
bm_status bm_known_init(bm_known *known, size_t n, bm_error *err);
void bm_known_reset(bm_known *known); /* {0} is fine */
/* Record that a representative, link.doc, reaches the threshold with a known document. For each
 * representative, its most similar known document must be added first. */
bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err);
/* End adding. Then there is one link for each known document. */
bm_status bm_known_end(bm_known *known, bm_error *err);
/* Add the id and the number of distinct shingles of the known document of link i. Call this for i =
 * 0, 1 … in order. */
bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err);
/* The id of a known document that was found. */
bm_str bm_known_id(const bm_known *known, uint32_t number);

typedef struct bm_match_settings {
    bm_corpus *corpus;
    bm_pool *pool;
    bm_meter *meter;
    bm_verify verify; /* never AUTO */
    /* SIGNATURE: an edge may count as `unlikely` (bm_match_counts) if both documents have at least
     * this many shingles */
    uint32_t judged_from;
    bm_measure measure; /* CONTAINMENT: only with all candidates and EXACT */
    double threshold;   /* 0 with CONTAINED: every pair with a similarity is an edge */
    bm_share share;     /* for CONTAINED */
    /* edges are not stored, and pairs of documents in one group are not verified */
    bool only_groups;
    /* candidates are all pairs that share a shingle (exact), not pairs that share a band */
    bool all_candidates;
    /* which documents become centres first, if only stars are wanted: pairs of crowded buckets that
     * stars do not need are left out; NULL: all pairs */
    const bm_keep_rank *stars;
    const bm_known *known; /* known documents, complete; also borrowed by grouping; NULL: none */
} bm_match_settings;

typedef struct bm_earlier_edge {
    double similarity;
    uint32_t behind; /* 1 + the number of the earlier document; 0: no edge */
} bm_earlier_edge;

/* For each document, of its edges found to earlier documents, the one to the earliest. That one is
 * often the kept document of the group; the two are then not compared again. {0} without
 * only_groups, or without verification. */
typedef struct bm_earlier_edges {
    bm_earlier_edge *edges;
    bm_column column;   /* holds `edges` (bm_corpus_new_column) */
    uint64_t n_touched; /* edges changed since the column's pages were last removed from memory */
} bm_earlier_edges;

typedef struct bm_match_counts {
    uint64_t candidates, verified, edges;
    uint64_t not_compared; /* with only_groups: upper bound of skipped pairs of crowded buckets */
    double verify_seconds; /* elapsed time of sorting and comparing */
    /* Edges between equal signatures whose numbers of shingles differ so much that this should
     * happen less than once in a million times (edges.c), and the first such edge. After a resume
     * with only_groups: only edges found since then. */
    uint64_t unlikely;
    bm_pair first_unlikely;
} bm_match_counts;

typedef struct bm_match_result {
    bm_band_keyset keys;  /* the keys that candidates were found by; 0 bands: none */
    bm_union_find groups; /* the representatives, joined by edges */
    /* pairs of representatives that reach the threshold, as key and value of model/ids.h; NULL:
     * there are none, or only_groups */
    bm_sorted_runs *edges;
    bm_earlier_edges earlier;
    bm_match_counts counts;
} bm_match_result;

typedef struct bm_match {
    bm_match_settings settings;
    bm_match_result result; /* {0} before the run */
} bm_match;

/* A bm_candidates_fn whose ctx is the bm_match: compare n candidates, and add the edges among
 * them. */
bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* The same for pairs whose similarity is known. */
bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* Add those of n pairs that are edges: pairs that reach the threshold, or have an unknown
 * similarity (NAN). Edges join groups, and are stored unless only_groups. */
bm_status bm_edges_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err);

/* Begin to read the edges found so far, in order of a, then b. */
bm_status bm_edges_begin(const bm_match *match, bm_error *err);
/* Read the next edge. BM_NOT_FOUND (and no error) at the end. */
bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err);
/* Open runs for edges, or for records made from edges. Their memory is at most half of the budget's
 * share and a quarter of the memory that the corpus leaves free. */
bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err);

/* group_columns -- the result of grouping for each document and each group. */

typedef enum bm_reason {
    BM_REASON_KEPT,
    BM_REASON_IDENTICAL, /* has the text of the kept document, byte for byte */
    /* has the same shingles in the same order, but another or an unknown text */
    BM_REASON_EQUAL,
    BM_REASON_NEAR,      /* reaches the threshold with the kept document */
    BM_REASON_CHAINED,   /* joined to the kept document only through others */
    BM_REASON_CONTAINED, /* held by the kept document (edges.h) */
    BM_REASON_KNOWN,     /* reaches the threshold with the kept document, which is a known one */
    BM_REASON_OVERLAP    /* contains an item of a test set (parts/overlap_parts.h) */
} bm_reason;

#define BM_NO_KEPT UINT32_MAX /* no document of the group is kept */

typedef struct bm_grouping {
    size_t n;
    uint32_t *label; /* of each document: the smallest document of its group */
    /* of each document: the document kept for it, maybe itself; or BM_NO_KEPT */
    uint32_t *kept;
    uint8_t *reason; /* of each document: its bm_reason */
    /* of each removed document to its kept one; NAN: unknown; 1 for kept documents */
    double *similarity;
    /* documents of each group in input order; groups of one are omitted unless that one found a
     * known document */
    uint32_t *members;
    uint64_t *begin;  /* n_groups + 1 indexes into `members` */
    bm_column column; /* holds label, kept, similarity and begin (bm_corpus_new_column) */
    size_t n_groups;
    uint64_t n_removed, n_chained, n_identical, n_equal, n_known, largest;
    /* of each document: whether its component was divided into stars; NULL: none was */
    uint8_t *divided;
    uint64_t n_divided; /* number of divided components */
    /* borrowed; NULL: no known documents, and the members below are NULL */
    const bm_known *from;
    uint32_t *known;         /* of each document: the known document kept for it, or BM_NO_KNOWN */
    uint32_t *known_members; /* known documents of each group, ascending */
    uint64_t *known_begin;   /* n_groups + 1 indexes into `known_members` */
} bm_grouping;

/* known_groups -- the effect of known documents on groups: the steps that grouping.c takes for
 * them, in order. */

/* Allocate the column `known` of a grouping whose `from` is set. */
bm_status bm_known_begin(bm_grouping *out, bm_error *err);
/* For components: give documents that found the same known document one label. Members that
 * found none themselves get the first known document of their group. */
bm_status bm_known_join(bm_grouping *out, const uint32_t *rep, bm_error *err);
/* For stars and holders: documents for which the same known document is kept form a group. */
bm_status bm_known_group(bm_grouping *out, bm_error *err);
/* List the known documents of each group, after the groups were gathered. `joined`: groups are
 * components, which may have several known documents; else a group has only the one that is
 * kept. */
bm_status bm_known_gather(bm_grouping *out, bool joined, bm_error *err);
/* Set the reason and similarity of a document for which a known document is kept. */
void bm_known_reason(const bm_match *match, bm_grouping *out, uint32_t doc);

/* Set the similarity of a removed document to the known document kept for it. If it reaches the
 * threshold, the document no longer counts as chained. */
void bm_grouping_compared(bm_grouping *grouping, uint32_t doc, double similarity, double threshold);

#define BM_GROUPING_LEAVE                                                                          \
    16384u /* after this many documents, pages of columns in files are removed from memory */

/* Call this for each document while walking over the columns in order. */
static inline void bm_grouping_leave(const bm_grouping *grouping, size_t doc)
{
    if (doc % BM_GROUPING_LEAVE == 0)
        bm_column_leave(&grouping->column);
}

/* is_divided: was the document's component divided into stars? leaves: were components divided, but
 * not the document's? is_known: is a known document kept for it? */
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

/* turn_links -- the edges found so far, read as the neighbours of each document, in the order in
 * which documents may become centres (bm_turns). */

typedef struct bm_turn_links {
    const bm_turns *turns; /* borrowed */
    bm_sorted_runs *by_turn;
    bm_run_record link; /* the record of by_turn that was read last and not used yet */
    bool ended;         /* by_turn has no more records */
    uint32_t *docs;     /* neighbours of the document of the current turn */
    double *similarities;
    size_t cap, cap_alike;
} bm_turn_links;

/* Open the links of the edges found so far; later edges are not included. Memory is bounded as by
 * bm_edges_open_runs. Call bm_turn_links_close even after a failure. */
bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err);
/* Set *docs and links->similarities to the *n neighbours of turns->order[turn], valid until the
 * next call. Must be called for every turn in ascending order. */
bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err);
void bm_turn_links_close(bm_turn_links *links);

/* grouping -- makes groups from edges, and chooses the document of each group that is kept.
 *
 * Components are the connected components of the edges; each copy is in the group of its
 * representative. Stars are formed as in lsh/groups.h, with documents in order of preference, so
 * each removed document has an edge to its kept one. The label of a group is its smallest document.
 *
 * Known documents are kept in preference to all others. In components, documents that found the
 * same known document are joined, and a group that found one keeps no document of the job. Known
 * documents become centres of stars before all others. */

typedef struct bm_grouping_options {
    const bm_keep_rank *rank; /* which document of a group is kept; borrowed */
    bm_cluster cluster;
    uint64_t most; /* a component of more documents is divided into stars; 0: never */
} bm_grouping_options;

/* `match` must have run. Compares removed documents with their kept one if that similarity is
 * unknown. If a known document is kept, they count as chained with similarity NAN instead, until
 * bm_grouping_compared is called. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, and *out is empty. */
bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err);
void bm_grouping_reset(bm_grouping *grouping);

/* match_stars -- finds the edges that stars need: all edges of small buckets, and in crowded
 * buckets the edges from each centre to the documents that are in no star when it becomes a
 * centre. */

/* settings.stars decides which documents become centres first. `job` is the search for candidates,
 * with the keys of the result. If stats->n_cut is 0, grouping makes the same stars from these edges
 * as from the edges of all candidates. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err);

/* lost_shingles -- the shingles of removed documents that the documents kept for them do not have.
 *
 * No sets are compared for this. Grouping stores the Jaccard similarity of each removed document to
 * its kept one, from which the number of shared shingles is computed exactly
 * (bm_jaccard_common). */

typedef struct bm_lost_source {
    const bm_grouping *grouping; /* a grouping with all similarities filled in */
    const bm_corpus *corpus;
} bm_lost_source; /* both are borrowed */

/* How many distinct shingles of a removed document its kept one does not have. UINT64_MAX: unknown,
 * since no sets were compared, or elements have weights. */
uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc);

/* Totals of all removed documents; UINT64_MAX: unknown. */
typedef struct bm_losses {
    uint64_t removed_bytes; /* bytes of their texts, as read */
    uint64_t removed_shingles, lost_shingles;
} bm_losses;

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs);

/* holders -- for `verify` contained: which kept document contains each of the others, and how much
 * of it.
 *
 * Documents are handled in keep order. A document that no earlier one holds is kept, and may
 * hold later documents with which it has an edge. If several kept documents could hold a document,
 * the holder is the one that shares most of its shingles, and among equals the first in keep order.
 * There are no chains: only kept documents hold others. Known documents are kept in preference to
 * all.
 *
 * A copy has the holder of its representative. One thread at a time. */

#define BM_HELD_BY_KNOWN (UINT32_MAX - 1) /* the holder is not a document of the job */

typedef struct bm_holders {
    const bm_match *match;    /* borrowed, like rank and turns */
    const bm_keep_rank *rank; /* keep order */
    const bm_turns *turns;
    uint32_t *docs;   /* of each representative: its holder; BM_NO_DOC: none yet */
    uint32_t *shared; /* of each representative: how many shingles it shares with its holder */
} bm_holders;

/* Does the holder contain all of `doc`, so that no other document can contain more? */
static inline bool bm_holders_have_all(const bm_holders *holders, uint32_t doc)
{
    return holders->shared[doc] == holders->match->settings.corpus->sizes[doc];
}

/* Fill labels, kept and known documents, and similarities of a grouping from the edges found by
 * matching. */
bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err);
