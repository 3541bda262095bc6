/* page_content.h -- all that a page of `report` says, as data: filled by readers of the directory and its
 * inputs, then written by one of two writers, which read nothing else.
 *
 *     report.json                   page_facts.c     counts, plan, words, sizes, inputs, time
 *     removed.tsv, groups.jsonl     page_tables.c    the largest groups; pairs to show; reasons
 *     pairs.tsv                     page_rows.c      similarities; pairs to show; other thresholds
 *                                   page_what_if.c   stars, and groups at other thresholds
 *     the inputs                    page_inputs.c    which of them are what they were
 *                                   page_texts.c     texts and sets of shingles of documents shown
 *     a group                       page_graph.c     its links, what holds it together, a drawing
 *
 *     content -> page_json.c                         the same as data
 *             -> page_html.c ...                     for people
 *
 * Ids, names and texts are bytes of strangers: only the writers decide how they are shown. */
#ifndef BM_PAGE_PAGE_CONTENT_H
#define BM_PAGE_PAGE_CONTENT_H

#include <bandmill/job.h>
#include <bandmill/report.h>

#include "io/manifest/manifest.h"
#include "lsh/bridges.h"
#include "model/id_set.h"
#include "model/shingle_batch.h"
#include "pipeline/output/histogram.h"

/* --- what report.json says --- */

typedef struct bm_page_size { /* so many groups have so many documents */
    uint64_t size, groups;
} bm_page_size;

typedef struct bm_page_facts {
    bm_counts counts;
    double threshold, predicted_recall; /* NAN: there is no plan */
    uint32_t bands, rows, perms;        /* bands 0: no plan */
    bm_verify verify;
    bm_cluster cluster;
    bm_keep keep;
    bool against;   /* some documents were known */
    bool has_pairs; /* there is a pairs.tsv */
    double seconds; /* of the job */
    bm_str run;     /* JSON text of the manifest, as the next */
    bm_str provenance, parameters;
    bm_page_size *sizes; /* ascending */
    size_t n_sizes, cap_sizes;
} bm_page_facts;

/* --- inputs --- */

typedef struct bm_page_source {
    uint64_t documents, skipped, removed;
    char *gone;   /* why its texts cannot be shown; NULL: they can */
    char *path;   /* where it is now; NULL: gone */
} bm_page_source; /* of the manifest's input of the same number */

/* --- documents and pairs that are shown --- */

typedef struct bm_page_doc {
    bool found;          /* in an input that is what it was */
    bool counted;        /* its shingles are there */
    char *text;          /* as read, valid UTF-8: its first bytes */
    size_t held;         /* of them */
    uint64_t text_bytes; /* all of it */
    uint64_t *hashes;    /* its distinct shingles, ascending; owned */
    size_t n_hashes;
    bm_hash128 content;
    uint32_t file; /* input of the manifest, and where its record begins */
    uint64_t line;
} bm_page_doc;

#define BM_PAGE_NO_DOC UINT32_MAX
/* Numbers from here on are of known documents, of an earlier collection: their ids may be those of others, and their
 * texts are not in the inputs. */
#define BM_PAGE_KNOWN UINT32_C(0x80000000)

typedef struct bm_page_pair {
    uint32_t a, b;  /* numbers of documents shown; of removed ones a is the one kept */
    double jaccard; /* NAN: not known */
} bm_page_pair;

typedef struct bm_page_pairs {
    bm_page_pair *rows;
    size_t n, cap;
    uint64_t of; /* how many there are in all; 0: not known */
} bm_page_pairs;

/* --- groups --- */

typedef struct bm_page_group {
    uint64_t number, size;
    uint64_t identical, chained, removed; /* of its documents */
    uint32_t kept,
        least_doc; /* documents shown; least_doc: the member least like the kept one, or NONE */
    double least;  /* their similarity; NAN: not known */
    bool known;    /* the kept one is known, of an earlier collection */
} bm_page_group;

typedef struct bm_page_groups {
    bm_page_group *rows; /* the largest first, of equal ones the first */
    size_t n, cap;
    uint64_t
        largest_chained; /* number of the largest group with chained documents; 0: there is none */
} bm_page_groups;

/* --- what another choice would have done --- */

typedef struct bm_page_choice {
    double threshold;
    uint64_t pairs, groups, largest, removed;
} bm_page_choice;

#define BM_PAGE_CHOICES 3u

typedef struct bm_page_what_if {
    const char *why_not;      /* nothing is known of other thresholds, and why; NULL: it is */
    const char *why_no_stars; /* likewise */
    bm_page_choice thresholds[BM_PAGE_CHOICES];
    size_t n_thresholds;
    bm_page_choice stars;
} bm_page_what_if;

/* --- the graph of one group --- */

typedef struct bm_page_node {
    uint32_t doc;     /* place among the group's members */
    uint32_t n_links; /* in all of the group */
    uint32_t n_parts; /* into which the group falls without it; 0: it does not */
    double x, y;      /* 0 to 1 */
} bm_page_node;

typedef struct bm_page_graph {
    const char *why_not;  /* there is none, and why; NULL: there is one */
    uint64_t group, kept; /* kept: place among the members */
    bool known;           /* a known document is kept, which is no member */
    bm_id_set ids;        /* the members, in input order */
    uint64_t room;        /* bytes that they may take */
    bm_pair *pairs;       /* of members, by a, then b */
    size_t n_pairs, cap_pairs;
    bool from_inputs; /* the pairs were computed again */
    bm_bridges bridges;
    size_t *bridge_order; /* numbers of bridges: those that part most documents first */
    size_t *point_order;  /* of articulation points: those with most parts first */
    bm_page_node *nodes;  /* that are drawn, by doc */
    size_t n_nodes;
    size_t *weakest; /* pairs, the least similar first */
    size_t n_weakest;
} bm_page_graph;

typedef struct bm_page_content {
    const bm_report_options *options;
    const bm_manifest *manifest;
    bm_page_facts facts;
    bm_page_source *sources; /* an input of the manifest each */
    size_t n_gone;
    bool similarities_of_pairs; /* else of removed documents with the kept ones */
    uint64_t similarities[BM_HISTOGRAM_BINS];
    uint64_t n_similarities;
    bm_page_groups groups;
    bm_page_pairs near, chained;
    bm_page_what_if what_if;
    bm_page_graph graph;
    bm_id_set ids;       /* of documents shown */
    bm_id_set known_ids; /* of known ones, by their numbers without BM_PAGE_KNOWN */
    bm_page_doc *docs;
    size_t cap_docs;
    bool has_texts; /* documents are texts */
    char *no_texts; /* the inputs are there, but could not be read, and why; NULL: they could */
    bool weighted;  /* shingles have weights, which shared counts leave out */
} bm_page_content;  /* {0} is empty */

void bm_page_content_reset(bm_page_content *content);
/* The number of a document that will be shown. */
bm_status bm_page_show(bm_page_content *content, bm_str id, uint32_t *number, bm_error *err);
bm_status bm_page_show_known(bm_page_content *content, bm_str id, uint32_t *number, bm_error *err);
bm_str bm_page_id(const bm_page_content *content, uint32_t number);
/* What was read of it; of a known one nothing. */
const bm_page_doc *bm_page_doc_of(const bm_page_content *content, uint32_t number);
/* How many shingles two documents share; false: not known. */
bool bm_page_shared(const bm_page_content *content, uint32_t a, uint32_t b, size_t *shared);
#endif
