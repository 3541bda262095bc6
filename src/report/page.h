/* SPDX-License-Identifier: Apache-2.0 */
/* page.h -- all data of a page of `report`: filled by readers of the directory and its inputs, then
 * written as one JSON object. --json prints the public members of this object; the HTML page
 * is filled from all of them.
 *
 *     report.json, sources.tsv      page_dir.c       plan, words, sizes, inputs
 *     removed.tsv, groups.jsonl                      the largest groups; pairs to show; reasons
 *     pairs.tsv                                      similarities; pairs to show; stars, groups at
 *                                                    other thresholds
 *     the inputs                    page_texts.c     which of them are unchanged; texts and
 *                                                    shingle sets of the documents shown
 *     a group                       page_graph.c     its links, bridges, articulation points; its
 *                                                    drawing
 *     items.tsv, overlap.tsv        page_overlap.c   for a directory that overlap wrote: the items
 *     cuts.tsv                      page_units.c     for parts of documents: those repeated most
 *
 *     page -> page_json.c                            one member per part of the page
 *          -> page.html, template.c                  for people
 *
 * To show another number, add a member in page_json.c and its path in page.html. Ids, names and
 * texts are untrusted bytes: only template.c decides how they are shown. Threads: one. */
#pragma once

#include <bandmill/job.h>
#include <bandmill/report.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "job/histogram.h"
#include "job/rows.h"
#include "job/settings.h"
#include "json/json_write.h"
#include "lsh/link_copies.h"
#include "model/batches.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "results/listed_order.h"
#include "results/result_tables.h"

typedef struct bm_page_size { /* the number of groups of one size */
    uint64_t size, groups;
} bm_page_size;

typedef struct bm_page_source { /* the manifest's input of the same number */
    uint64_t documents, skipped, removed;
    uint64_t removed_bytes; /* bytes of text of the removed documents; BM_COUNT_UNKNOWN: not
                               known */
    char *gone;             /* why texts of the input cannot be shown; NULL: they can be */
    char *path;             /* the input's current path; NULL: it is missing */
} bm_page_source;

/* A row of the table of inputs: one input, or several together. */
typedef struct bm_page_input {
    bm_str name;  /* name of the file, or of the folder with a trailing slash; borrowed */
    size_t first; /* number of the first input of the row */
    size_t n_files, n_gone;
    uint64_t bytes; /* total size of the files */
    uint64_t documents, skipped, removed;
    uint64_t removed_bytes; /* bytes of text of the removed documents; BM_COUNT_UNKNOWN: not
                               known */
    const char *gone;       /* n_gone inputs have no texts to show: the reason for the first of
                               them */
} bm_page_input;

typedef struct bm_page_inputs {
    bm_page_input *rows; /* freed with bm_free */
    size_t n;
    bool are_folders;
    size_t n_others; /* number of inputs or folders that the last row combines; 0: it combines
                        none */
} bm_page_inputs;

/* --- documents and pairs that are shown --- */

typedef struct bm_page_doc {
    bool found;          /* the document was found in an unchanged input */
    bool counted;        /* the document's shingles were counted */
    char *text;          /* the first bytes of the text, after repair; valid UTF-8 */
    size_t held;         /* size of `text` */
    uint64_t text_bytes; /* size of the whole text */
    uint64_t *hashes;    /* the document's distinct shingles, ascending; owned */
    size_t n_hashes;
    bm_hash128 content;
    /* file: number of the document's input in the manifest; line: line of this input on which its
     * record begins */
    uint32_t file;
    uint64_t line;
} bm_page_doc;

#define BM_PAGE_NO_DOC UINT32_MAX
/* Numbers from here on are known documents, which belong to an earlier collection. Their texts are
 * not in the inputs, and other documents may have the same ids. */
#define BM_PAGE_KNOWN UINT32_C(0x80000000)

typedef struct bm_page_pair {
    uint32_t a, b;     /* numbers of shown documents; if b was removed, a is its kept document */
    double jaccard;    /* NAN: not known */
    const char *label; /* label of a sampled pair: "right" or "wrong"; NULL: not labelled */
} bm_page_pair;

typedef struct bm_page_pairs {
    bm_page_pair *rows;
    size_t n, cap;
    uint64_t of; /* number of pairs from which the rows were chosen; 0: not known */
} bm_page_pairs;

typedef struct bm_page_group {
    uint64_t number, size;
    uint64_t identical, equal, chained, removed; /* numbers of documents */
    uint32_t kept;                               /* document number; NO_DOC: none is kept */
    /* the member that is least similar to the kept document; NO_DOC: there is none */
    uint32_t least_doc;
    /* similarity of least_doc to the kept document; NAN: not known */
    double least;
    bool known; /* the kept document is a known document */
} bm_page_group;

/* --- the results of other thresholds, and of stars --- */

typedef struct bm_page_choice {
    double threshold;
    uint64_t pairs, groups, largest, removed;
} bm_page_choice;

#define BM_PAGE_CHOICES 3u

typedef struct bm_page_what_if {
    const char *why_not;      /* why other thresholds cannot be evaluated; NULL: they can be */
    const char *why_no_stars; /* why stars cannot be evaluated; NULL: they can be */
    bm_page_choice thresholds[BM_PAGE_CHOICES], stars;
    size_t n_thresholds;
    uint64_t budget;     /* memory in bytes for the members below */
    bm_id_set ids;       /* ids of the documents in pairs.tsv */
    bm_listed_docs docs; /* facts of the same documents */
    bm_pair *pairs;
    size_t n_pairs, cap_pairs;
    uint64_t *lengths; /* if stars begin with the longest or shortest texts: lengths of the
                        * documents' texts */
} bm_page_what_if;

/* --- results of `overlap` --- */

/* The text around a run, in an item or in a document. Marks in an item show the parts that
 * documents contain. Marks in a document show the parts that occur in the item. */
typedef struct bm_page_run {
    bool found;     /* the text was found in an unchanged input */
    char *text;     /* the stored part of the whole text; valid UTF-8 */
    size_t held;    /* size of the stored part */
    size_t from;    /* offset in `text` at which the run begins */
    size_t to;      /* offset in `text` at which the run ends; equal to `from`: there is no run */
    uint64_t begin; /* bytes of the whole text before the part */
    uint64_t bytes; /* size of the whole text */
} bm_page_run;

/* An item that documents contain, with the document that contains most of it. */
typedef struct bm_page_item {
    bm_buf id, file;       /* id and file of the item */
    bm_item_line row;      /* text members are not set */
    bm_buf doc_id;         /* document that contains most of the item; empty: there is none */
    uint32_t doc;          /* number of that document among the shown documents */
    bm_overlap_line holds; /* text members are not set */
    bm_page_run item, document;
} bm_page_item;

typedef struct bm_page_overlap {
    bool is;               /* `overlap` wrote the directory; if false, all other members are
                              empty */
    bm_manifest *manifest; /* manifest of the items */
    bm_page_item *items;   /* items with the highest coverage first, then items with most documents,
                            * then in file order */
    size_t n, cap;
    uint64_t of;    /* number of all items that documents contain */
    bm_id_set ids;  /* ids of the shown items, with the same indexes */
    char *no_texts; /* why the texts of the items could not be read; NULL: they could be */
} bm_page_overlap;

/* --- parts of documents --- */

typedef struct bm_page_range {
    uint64_t from, to;
} bm_page_range;

/* A row of cuts.tsv. */
typedef struct bm_page_cut {
    bm_str id, kept;
    uint64_t from, to, kept_from, line;
    uint64_t hash; /* hash of the kept part */
} bm_page_cut;

/* A part of a document that was cut out of other documents. */
typedef struct bm_page_unit {
    uint64_t hash, cuts;
    uint64_t row; /* number of the row of cuts.tsv with the part's first cut, counted from 0 */
    bm_buf kept;  /* id of the document that keeps the part */
    uint64_t kept_from;
    bm_buf id; /* id of the first document from which the part was cut */
    uint64_t from, to, line;
    uint32_t doc;    /* number of that document among the shown documents */
    uint32_t *files; /* number of cuts in each input */
    size_t n_files;  /* number of inputs that have cuts */
    bm_page_run run;
} bm_page_unit;

/* A stretch of a document that is shown before and after cutting. */
typedef struct bm_page_shortened {
    bm_buf id;
    uint32_t doc;
    uint64_t line, cut_bytes;
    bm_page_range *ranges; /* the cuts; relative to `text`, once the document is found */
    size_t n, cap;
    bool found;
    char *text;
    size_t held;
    /* begin: bytes of the whole text before the stretch; bytes: size of the whole text */
    uint64_t begin, bytes;
} bm_page_shortened;

typedef struct bm_page_units {
    bool is;             /* the directory has results for parts of documents */
    uint64_t of;         /* number of different parts cut out */
    bm_page_unit *units; /* the parts that were cut most often; equally frequent parts in file
                            order */
    size_t n, cap;
    bm_page_shortened *docs; /* the documents that lost most, without documents that were left
                                empty */
    size_t n_docs;
} bm_page_units;

/* --- the graph of one group --- */

typedef struct bm_page_node {
    uint32_t doc;      /* index among the group's members */
    uint32_t n_copies; /* number of copies that the node represents, besides `doc` */
    uint32_t n_links;  /* number of the node's links in the whole group */
    uint32_t n_parts;  /* number of parts of the group without this node; 0: the group stays
                        * connected */
    double x, y;       /* 0 to 1 */
} bm_page_node;

typedef struct bm_page_graph {
    const char *why_not;  /* why there is no graph; NULL: there is a graph */
    uint64_t group, kept; /* kept: index of the kept document among the members */
    bool known;           /* no member is kept, but a known document */
    bool from_inputs;     /* the pairs were computed from the inputs */
    bm_id_set ids;        /* the members, in input order */
    bm_page_doc *members; /* shingles of the members, if they are needed because pairs.tsv is
                             missing */
    bm_pair *pairs;       /* pairs of member indexes, sorted by a, then b */
    size_t n_pairs, cap_pairs;
    bm_copies copies; /* maps members to nodes, once the nodes are drawn */
    bm_bridges bridges;
    size_t *bridge_order; /* indexes of bridges; bridges that separate most documents come first */
    size_t *point_order;  /* indexes of articulation points; points with most parts come first */
    bm_page_node *nodes;  /* the drawn nodes, sorted by doc */
    uint32_t *node_of;    /* for each member, the index of its node; BM_ID_NONE: not drawn */
    size_t n_nodes;
    size_t *weakest; /* indexes of pairs, the least similar pair first */
    size_t n_weakest;
} bm_page_graph;

/* --- the page --- */

typedef struct bm_page {
    const bm_report_options *options;
    const bm_settings *settings; /* settings read from the report */
    const bm_manifest *manifest;
    bm_result_dir dir;
    /* facts from report.json */
    bm_counts counts;
    double threshold, predicted_recall; /* NAN: there is no plan */
    uint32_t bands, rows;               /* bands is 0 if there is no plan */
    bm_verify verify;
    bm_cluster cluster;
    bm_keep keep;
    bool keep_is_list;   /* the rule is a list; `keep` is not used */
    bool against;        /* there were known documents */
    bool has_pairs;      /* pairs.tsv exists */
    double seconds;      /* the job's run time */
    bm_page_size *sizes; /* in ascending order of sizes */
    size_t n_sizes, cap_sizes;
    bm_page_source *sources; /* one for each input of the manifest */
    size_t n_gone;
    /* facts from the tables */
    uint64_t similarities[BM_HISTOGRAM_BINS]; /* histogram of pairs or, without them, of removed
                                               * documents and their kept documents */
    uint64_t n_similarities;
    bm_page_group *groups; /* the largest group first; equally large groups in file order */
    size_t n_groups, cap_groups;
    uint64_t largest_chained; /* number of the largest group with chained documents; 0: there is
                               * none */
    bm_page_pairs near, chained, sample;
    bm_page_what_if what_if;
    bm_page_graph graph;
    bm_page_overlap overlap;
    bm_page_units units;
    /* ids of the documents that are shown */
    bm_id_set ids;
    bm_id_set known_ids; /* ids of the shown known documents; the number of such a document is its
                          * index here plus BM_PAGE_KNOWN */
    bm_page_doc *docs;
    size_t cap_docs;
    bool has_texts; /* the documents have texts */
    char *no_texts; /* why existing inputs could not be read; NULL: they could be */
    bool weighted;  /* shingles have weights; counts of common shingles ignore them */
} bm_page;          /* {0} is empty */

/* --- page_dir.c --- */

void bm_page_reset(bm_page *page);
bm_str bm_page_id(const bm_page *page, uint32_t number);
/* Return the facts and the text of a shown document. For a known document, both are empty. */
const bm_page_doc *bm_page_doc_of(const bm_page *page, uint32_t number);
/* Add a document to the shown documents, unless it is one already. *number becomes its number. */
bm_status bm_page_show(bm_page *page, bm_str id, uint32_t *number, bm_error *err);
/* Read the facts from report.json. BM_ERR_FORMAT: it is a report of neither dedup nor overlap, or
 * has values that they never write. */
bm_status bm_page_read_facts(bm_page *page, bm_error *err);
/* Read the tables. BM_ERR_FORMAT: the message names the file and the line. BM_ERR_NOMEM. */
bm_status bm_page_read_tables(bm_page *page, bm_error *err);
/* Compute what stars would give. If what_if.lengths is allocated, the texts must have been read; if
 * any length is missing, only what_if.why_no_stars is set. */
bm_status bm_page_what_if_stars(bm_page *page, bm_error *err);

/* If the options name a file of labels for the sample, read it. BM_ERR_INPUT: the message names the
 * file, the line and the id. */
bm_status bm_page_read_labels(bm_page *page, bm_error *err);

/* A bm_page_least keeps the offered pairs of least rank, with their ids. The rank is the
 * similarity, or a random number. Of pairs with equal ranks, the pair that was offered earlier is
 * kept. */
typedef struct bm_page_least_row {
    double rank, jaccard;
    bool known; /* a is a known document */
    char *ids;  /* both ids, one after the other; owned */
    size_t len_a, len_b;
} bm_page_least_row;

typedef struct bm_page_least {
    size_t most;             /* maximum number of rows; set by the caller */
    uint64_t of;             /* number of pairs offered */
    bm_page_least_row *rows; /* ascending */
    size_t n, cap;
} bm_page_least; /* {0}, except for `most` */

/* A pair that is offered. Its ids are borrowed during the call. */
typedef struct bm_page_offer {
    bm_str a, b;
    double rank, jaccard;
    bool known;
} bm_page_offer;

/* --- page_texts.c --- */

#define BM_PAGE_NO_LENGTH UINT64_MAX

/* Check which inputs are unchanged. If the texts of an input cannot be shown, sources[i].gone
 * becomes the reason. A table in memory is not checked. */
bm_status bm_page_check_inputs(bm_page *page, bm_error *err);
/* Read the unchanged inputs until all wanted documents are found. Wanted are shown documents,
 * members of the graph, and, if what_if.lengths is allocated, documents whose lengths are needed.
 * Documents that are not found are left unchanged. */
bm_status bm_page_read_texts(bm_page *page, bm_error *err);

/* --- page_graph.c --- */

/* Load the members of the graph. If pairs.tsv exists, also load the links. If there can be no
 * graph, graph.why_not becomes the reason. */
bm_status bm_page_graph_load(bm_page *page, bm_error *err);
/* If the members' shingles were read, compute the links from them. If any shingles are missing,
 * there are no links, and graph.why_not becomes the reason. */
bm_status bm_page_graph_link(bm_page *page, bm_error *err);
/* Find bridges, articulation points and the weakest links. Choose the nodes to draw, and set their
 * coordinates. If graph.why_not is set, do nothing. */
bm_status bm_page_graph_draw(bm_page *page, bm_error *err);

/* --- page_overlap.c --- */

/* Fill the histogram and the shown items. BM_ERR_FORMAT: the message names the file and the
 * line. */
bm_status bm_page_overlap_tables(bm_page *page, bm_error *err);
/* Read the whole texts of the items. If this fails, page->overlap.no_texts becomes the reason. */
bm_status bm_page_overlap_items(bm_page *page, bm_error *err);
/* Call this when document `number` is read. It stores the parts to show, and trims the items'
 * texts. */
bm_status bm_page_overlap_document(bm_page *page, uint32_t number, const bm_record *record,
                                   bm_error *err);
/* Call this after the last document. If the document of an item was not found, the item keeps the
 * beginning of its text. */
bm_status bm_page_overlap_end(bm_page *page, bm_error *err);
void bm_page_overlap_reset(bm_page_overlap *overlap);

/* Store the run from … to of a text, with up to a quarter of `most` bytes before and after it. If
 * the run is long, only its beginning is stored. */
bm_status bm_page_run_set(bm_page_run *run, bm_str text, size_t from, size_t to, size_t most,
                          bm_error *err);

/* --- page_units.c --- */

/* Read cuts.tsv. BM_ERR_FORMAT: the message names the file and the line. BM_ERR_NOMEM. */
bm_status bm_page_units_tables(bm_page *page, bm_error *err);
/* Call this when document `number` is read. It stores the parts to show. */
bm_status bm_page_units_document(bm_page *page, uint32_t number, const bm_record *record,
                                 bm_error *err);
void bm_page_units_reset(bm_page_units *units);

/* --- page_inputs.c --- */

/* Return a row for input i alone. */
bm_page_input bm_page_input_at(const bm_page *page, size_t i);
/* Fill in at most 20 rows. BM_ERR_NOMEM. */
bm_status bm_page_list_inputs(const bm_page *page, bm_page_inputs *out, bm_error *err);

/* --- page_json.c: one JSON object, or one HTML document; *n_bytes: bytes written --- */

bm_status bm_page_write_json(const bm_page *page, bm_rows *rows, uint64_t *n_bytes, bm_error *err);
bm_status bm_page_write_html(const bm_page *page, bm_rows *rows, uint64_t *n_bytes, bm_error *err);

/* word_diff -- finds the words that two texts have in common in the same order, and the words that
 * only one of them has.
 *
 * A word is a run of bytes other than ASCII white space, together with the white space before it.
 * The white space is ignored when words are compared. */

typedef struct bm_diff_word {
    size_t begin; /* offset at which the white space before the word begins */
    size_t word;  /* offset at which the word itself begins; empty for white space at the end of a
                   * text */
    size_t end;
    uint64_t hash;
    bool common;
} bm_diff_word;

typedef struct bm_diff_text {
    bm_str text; /* borrowed */
    bm_diff_word *words;
    size_t n, cap;
} bm_diff_text; /* {0}, except for `text` */

/* Cut both texts into words, and mark a common subsequence: the i-th word that is marked `common`
 * in one text equals the i-th such word in the other. The longest common subsequence is marked. If
 * the texts differ so much that finding it would take long, a shorter one may be marked.
 * BM_ERR_NOMEM. */
bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err);
void bm_diff_text_reset(bm_diff_text *text);

/* template -- fills a page with holes (page.html) from a JSON object.
 *
 *     {{path}}            a value as plain text, for attributes and tooltips
 *     {{FILTER path}}     a value written in another way; the table of filters is in template.c
 *     {{#if path}} … {{else}} … {{/if}}    the value exists, and is not null, false, 0 or empty
 *     {{#has path}} …     it exists and is not null
 *     {{#is path word}} … it is this word or number
 *     {{#each path}} …    for each element of an array, or member of an object; {{else}} if there
 *                         is none
 *     {{#stream path}} …  for each object that the caller's `stream` makes of this name, so that
 *                         they are never all in memory
 *
 * A path is one or more names separated by dots. Its first name is looked up in the current
 * element, then in the enclosing elements, and at last in the whole object. A path that begins with
 * a dot (".name") is looked up only in the current element. "." is the element itself, and "@key"
 * is its name in the enclosing object. If an {{else}}, or a tag with "#" or "/", is alone in its
 * line, the whole line is removed.
 *
 * The template is ours, and its text is markup. Values are untrusted, so every filter escapes them,
 * and they cannot begin an element or an attribute. Only `raw` does not escape. It is for our own
 * style sheets, scripts and pictures. */

typedef struct bm_template {
    const char *text;
    bm_str values; /* a JSON object */
    /* Write object i of the list `name`, as JSON text, to `json`, which is empty. *more becomes
     * false if there is no such object. NULL: there are no streams. */
    bm_status (*stream)(void *ctx, bm_str name, size_t i, bm_json *json, bool *more, bm_error *err);
    void *ctx;
} bm_template;

/* Fill the template into rows; *n_bytes: bytes written. BM_ERR_FORMAT: the template is broken. */
bm_status bm_template_fill(const bm_template *page, bm_rows *rows, uint64_t *n_bytes,
                           bm_error *err);
