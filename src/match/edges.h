/* SPDX-License-Identifier: Apache-2.0 */
/* edges.h -- the settings and the result of matching. Pairs are added to the result in two ways: as
 * candidates that are compared, or with a similarity that is known already. */
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
 * For each document of the job, the most similar known document is stored. Documents of the job
 * that found the same known document are joined. A copy has the result of its representative.
 * Memory grows with the number of known documents that were found, not with the number of pairs.
 * One thread at a time. */

#define BM_NO_KNOWN UINT32_MAX
/* bytes for each document of the job: 16 in bm_known, and 12 during grouping */
#define BM_KNOWN_DOC 28u

/* The job's document `doc` has found the known document `number`. */
typedef struct bm_known_link {
    uint32_t number, doc;
} bm_known_link;

typedef struct bm_known {
    size_t n; /* number of documents of the job */
    /* for each representative: the most similar known document that it found, or BM_NO_KNOWN */
    uint32_t *best;
    double *similarities; /* for each representative: its similarity to `best` */
    bm_union_find joined; /* joins the representatives that found the same known document */
    /* after bm_known_end: one link for each known document that was found, ascending, with the
     * first document that found it */
    bm_known_link *links;
    size_t n_links, cap;
    size_t n_sorted; /* the first n_sorted links are sorted, one for each known document */
    bm_buf ids;      /* ids of the known documents, one after another in the order of the links */
    uint64_t *id_ends;
    uint32_t *sizes; /* for each link: number of distinct shingles of its known document */
} bm_known;

/* Start with n documents, none of which has found a known document. After BM_ERR_NOMEM, *known
 * needs no reset. */
bm_status bm_known_init(bm_known *known, size_t n, bm_error *err);
void bm_known_reset(bm_known *known); /* may be {0} */
/* Record that the representative link.doc reaches the threshold with a known document. The first
 * call for a representative must pass its most similar known document. */
bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err);
/* End adding. Afterwards each known document has one link. */
bm_status bm_known_end(bm_known *known, bm_error *err);
/* Add the id and the number of distinct shingles of the known document in link i. Call this for i =
 * 0, 1 … in order. */
bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err);
/* The id of known document `number`, which must have been found. */
bm_str bm_known_id(const bm_known *known, uint32_t number);

typedef struct bm_match_settings {
    bm_corpus *corpus;
    bm_pool *pool;
    bm_meter *meter;
    bm_verify verify; /* not AUTO */
    /* for SIGNATURE: an edge counts as `unlikely` (bm_match_counts) only if both documents have at
     * least so many shingles */
    uint32_t judged_from;
    bm_measure measure; /* CONTAINMENT is possible only with all_candidates and EXACT */
    double threshold;   /* 0 with CONTAINED: every pair that has a similarity is an edge */
    bm_share share;     /* used for CONTAINED */
    /* edges are not stored, and a pair is not verified if its documents are in one group already */
    bool only_groups;
    /* true: candidates are all pairs that share a shingle, and the search is exact; false: pairs
     * that share a band */
    bool all_candidates;
    /* NULL: pairs are not limited to those that stars need. Otherwise this is the order in which
     * documents become centres, and pairs of crowded buckets that stars do not need are left out */
    const bm_keep_rank *stars;
    const bm_known *known; /* complete, and borrowed until grouping has ended; NULL: there are no
                            * known documents */
} bm_match_settings;

typedef struct bm_earlier_edge {
    double similarity;
    uint32_t behind; /* 1 + the number of the earlier document; 0: no edge */
} bm_earlier_edge;

/* For each document that has edges to earlier documents: the edge to the earliest of these. The
 * earliest document is often the one that is kept for the group; in that case, grouping need not
 * compare the two again. {0} if only_groups is not set, or if nothing is verified. */
typedef struct bm_earlier_edges {
    bm_earlier_edge *edges;
    bm_column column;   /* memory of `edges` (bm_corpus_new_column) */
    uint64_t n_touched; /* edges that were changed since pages of the column were last removed from
                         * memory */
} bm_earlier_edges;

typedef struct bm_match_counts {
    uint64_t candidates, verified, edges;
    uint64_t not_compared; /* with only_groups: upper bound for the skipped pairs of crowded
                            * buckets */
    double verify_seconds; /* elapsed time of sorting and comparing */
    /* Edges between documents whose signatures are equal, although their numbers of shingles differ
     * so much that equality has a probability below one in a million (edges.c); and the first such
     * edge. If the job was resumed with only_groups, only edges found since then are counted. */
    uint64_t unlikely;
    bm_pair first_unlikely;
} bm_match_counts;

typedef struct bm_match_result {
    bm_band_keyset keys;  /* the keys that determined the candidates; bands 0: candidates do not
                           * depend on keys */
    bm_union_find groups; /* representatives, joined by edges */
    /* pairs of representatives that reach the threshold, as key and value of model/ids.h. NULL:
     * there are none, or only_groups is set */
    bm_sorted_runs *edges;
    bm_earlier_edges earlier;
    bm_match_counts counts;
} bm_match_result;

typedef struct bm_match {
    bm_match_settings settings;
    bm_match_result result; /* {0} before the run */
} bm_match;

/* A bm_candidates_fn, whose ctx is the bm_match. Compares n candidates, and adds those that are
 * edges. */
bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* Like bm_edges_compare, for pairs whose similarity is known already. */
bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err);
/* Of n pairs, add those that are edges. A pair is an edge if it reaches the threshold, or if its
 * similarity is unknown (NAN). Edges join groups; they are stored unless only_groups is set. */
bm_status bm_edges_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err);

/* Begin to read the edges that were found so far, in the order of a, then b. */
bm_status bm_edges_begin(const bm_match *match, bm_error *err);
/* Read the next edge. Returns BM_NOT_FOUND, without an error in *err, after the last. */
bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err);
/* Open sorted runs for edges, or for records made from edges. They may use half of budget.arena and
 * a quarter of the memory that the corpus leaves free. */
bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err);

/* group_columns -- the result of grouping: columns with an element for each document or group. */

typedef enum bm_reason {
    BM_REASON_KEPT,
    BM_REASON_IDENTICAL, /* has the text of the kept document, byte for byte */
    /* has the same shingles in the same order as the kept document; the text differs or is
     * unknown */
    BM_REASON_EQUAL,
    BM_REASON_NEAR,      /* reaches the threshold with the kept document */
    BM_REASON_CHAINED,   /* joined to the kept document only through other documents */
    BM_REASON_CONTAINED, /* is held by the kept document (see holders below) */
    BM_REASON_KNOWN,     /* reaches the threshold with the known document that is kept */
    BM_REASON_OVERLAP    /* contains an item of a test set (parts/overlap_parts.h) */
} bm_reason;

#define BM_NO_KEPT UINT32_MAX /* no document of the group is kept */

typedef struct bm_grouping {
    size_t n;
    uint32_t *label; /* for each document: the smallest document of its group */
    /* for each document: the document that is kept for it, which may be itself, or BM_NO_KEPT */
    uint32_t *kept;
    uint8_t *reason; /* for each document: a bm_reason */
    /* for each removed document: similarity to the document kept for it, or NAN if unknown; for
     * kept documents 1 */
    double *similarity;
    /* the documents of each group, in input order. A group of one document is listed only if the
     * document found a known document */
    uint32_t *members;
    uint64_t *begin;  /* n_groups + 1 indexes in `members` */
    bm_column column; /* memory of label, kept, similarity and begin (bm_corpus_new_column) */
    size_t n_groups;
    uint64_t n_removed, n_chained, n_identical, n_equal, n_known, largest;
    /* for each document: whether its component was divided into stars; NULL: no component was
     * divided */
    uint8_t *divided;
    uint64_t n_divided; /* number of divided components */
    /* borrowed; NULL: there are no known documents, and the following members are NULL */
    const bm_known *from;
    uint32_t *known;         /* for each document: the known document that is kept for it, or
                              * BM_NO_KNOWN */
    uint32_t *known_members; /* the known documents of each group, ascending */
    uint64_t *known_begin;   /* n_groups + 1 indexes in `known_members` */
} bm_grouping;

/* known_groups -- what known documents change in groups. grouping.c calls these functions in this
 * order. */

/* Allocate the array `known` of a grouping whose `from` is set. */
bm_status bm_known_begin(bm_grouping *out, bm_error *err);
/* For components: documents that found the same known document get the same label. For a document
 * that found none, the first known document that its group found is kept. */
bm_status bm_known_join(bm_grouping *out, const uint32_t *rep, bm_error *err);
/* For stars and holders: documents for which the same known document is kept become a group. */
bm_status bm_known_group(bm_grouping *out, bm_error *err);
/* List the known documents of each group, after the members of groups were listed. `joined`: groups
 * are components, which may have several known documents. Any other group, including one of a
 * divided component, has only the known document that is kept. */
bm_status bm_known_gather(bm_grouping *out, bool joined, bm_error *err);
/* Set the reason and the similarity of a document for which a known document is kept. */
void bm_known_reason(const bm_match *match, bm_grouping *out, uint32_t doc);

/* Set the similarity of a removed document to the known document that is kept for it. If it reaches
 * the threshold, the document counts as known instead of chained. */
void bm_grouping_compared(bm_grouping *grouping, uint32_t doc, double similarity, double threshold);

#define BM_GROUPING_LEAVE                                                                          \
    16384u /* after so many documents, pages of columns in files are removed from memory */

/* Call this for each document while reading or writing the columns in order. */
static inline void bm_grouping_leave(const bm_grouping *grouping, size_t doc)
{
    if (doc % BM_GROUPING_LEAVE == 0)
        bm_column_leave(&grouping->column);
}

/* is_divided: was the document's component divided into stars? leaves: were other components
 * divided, but not the document's? is_known: is a known document kept for the document? */
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

/* turn_links -- the edges that were found so far, read as lists of neighbours. Documents come in
 * the order in which they may become centres (bm_turns). */

typedef struct bm_turn_links {
    const bm_turns *turns; /* borrowed */
    bm_sorted_runs *by_turn;
    bm_run_record link; /* the last record read from by_turn, if it was not used yet */
    bool ended;         /* by_turn has no more records */
    uint32_t *docs;     /* the neighbours of the current turn's document */
    double *similarities;
    size_t cap, cap_alike;
} bm_turn_links;

/* Open the links of the edges that were found so far; edges found later are not included. Memory is
 * limited as in bm_edges_open_runs. Call bm_turn_links_close even after a failure. */
bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err);
/* Set *docs and links->similarities to the *n neighbours of turns->order[turn]. They are valid
 * until the next call. Call this for every turn, in ascending order. */
bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err);
void bm_turn_links_close(bm_turn_links *links);

/* grouping -- makes groups from edges, and chooses the document of each group that is kept.
 *
 * Components are the connected components of the edges. A copy is in the group of its
 * representative. Stars are formed as in lsh/groups.h, in the order of preference of the documents.
 * So each removed document of a star has an edge to the document that is kept for it. The label of
 * a group is the lowest number of its documents.
 *
 * Known documents are preferred to all documents of the job. In components, documents that found
 * the same known document are joined, and if a group has found a known document, no document of the
 * job is kept for it. In stars, known documents become centres before all others. */

typedef struct bm_grouping_options {
    const bm_keep_rank *rank; /* borrowed: decides which document of a group is kept */
    bm_cluster cluster;
    uint64_t most; /* components with more documents are divided into stars; 0: none are */
} bm_grouping_options;

/* `match` must have run. If the similarity of a removed document to its kept document is unknown,
 * the two are compared. But if the kept document is a known one, the removed document counts as
 * chained, with the similarity NAN, until bm_grouping_compared is called. After BM_ERR_NOMEM,
 * BM_ERR_IO or BM_ERR_FORMAT, *out is empty. */
bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err);
void bm_grouping_reset(bm_grouping *grouping);

/* match_stars -- finds the edges that stars need: all edges of small buckets and, in crowded
 * buckets, the edges between each centre and the documents that were still in no star when the
 * centre was chosen. */

/* settings.stars is the order in which documents become centres. `job` is the search for
 * candidates, with the keys of the result. If stats->n_cut is 0, these edges lead to the same stars
 * as the edges of all candidates. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT, BM_ERR_CANCELLED. */
bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err);

/* lost_shingles -- the shingles that removed documents have, but the documents kept for them do
 * not.
 *
 * No sets are compared for this. Grouping stores the Jaccard similarity of each removed document to
 * the document kept for it. The number of shared shingles is computed exactly from this similarity
 * (bm_jaccard_common). */

typedef struct bm_lost_source {
    const bm_grouping *grouping; /* all similarities must be set */
    const bm_corpus *corpus;
} bm_lost_source; /* the members are borrowed */

/* How many distinct shingles of a removed document are not in the document kept for it: all, if no
 * document is kept. UINT64_MAX: unknown, because no sets were compared, or because elements have
 * weights. */
uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc);

/* Totals of all removed documents; UINT64_MAX: unknown. */
typedef struct bm_losses {
    uint64_t removed_bytes; /* bytes of the removed texts, before repair */
    uint64_t removed_shingles, lost_shingles;
} bm_losses;

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs);

/* holders -- for `verify` contained: which kept document contains which other documents, and how
 * much of each.
 *
 * Documents are handled in keep order. A document that no earlier document holds is kept, and may
 * hold later documents to which it has an edge. If several kept documents could hold a document,
 * its holder is the one that shares most of its shingles; of several such, the first in keep order.
 * There are no chains, because only kept documents hold others. Known documents are preferred to
 * all others.
 *
 * A copy has the holder of its representative. One thread at a time. */

/* the holder is a known document, not a document of the job */
#define BM_HELD_BY_KNOWN (UINT32_MAX - 1)

typedef struct bm_holders {
    const bm_match *match;    /* the pointers to match, rank and turns are borrowed */
    const bm_keep_rank *rank; /* keep order */
    const bm_turns *turns;
    uint32_t *docs;   /* for each representative: its holder, or BM_NO_DOC if there is none */
    uint32_t *shared; /* for each representative: number of shingles that it shares with its
                       * holder */
} bm_holders;

/* Does the holder contain all of `doc`? Then no other document can contain more. */
static inline bool bm_holders_have_all(const bm_holders *holders, uint32_t doc)
{
    return holders->shared[doc] == holders->match->settings.corpus->sizes[doc];
}

/* From the edges that matching found, fill in the labels, the kept and known documents, and the
 * similarities of a grouping. */
bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err);
