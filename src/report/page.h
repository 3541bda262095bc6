/* SPDX-License-Identifier: Apache-2.0 */
/* page.h -- all data of a page of `report`: filled by readers of the directory and its inputs, then
 * written as one JSON object. --json prints its public members, and the page is filled from all
 * members (page.h).
 *
 *     report.json, sources.tsv      page_dir.c       plan, words, sizes, inputs
 *     removed.tsv, groups.jsonl                      the largest groups; pairs to show; reasons
 *     pairs.tsv                                      similarities; pairs to show; stars, groups at
 *                                                    other thresholds
 *     the inputs                    page_texts.c     which of them are what they were; texts and
 *                                                    sets of documents shown
 *     a group                       page_graph.c     its links, what holds it together, a drawing
 *     items.tsv, overlap.tsv        page_overlap.c   of a directory that overlap wrote: the items
 *     cuts.tsv                      page_units.c     of parts of documents: those repeated most
 *
 *     page -> page_json.c                            a member a part of the page
 *          -> page.html, template.c                  for people
 *
 * A number more on the page is a member in page_json.c and a place in page.html. Ids, names and
 * texts are bytes of strangers: only template.c decides how they are shown. Threads: one. */
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

typedef struct bm_page_size { /* so many groups have so many documents */
    uint64_t size, groups;
} bm_page_size;

typedef struct bm_page_source { /* of the manifest's input of the same number */
    uint64_t documents, skipped, removed;
    uint64_t removed_bytes; /* of text; BM_COUNT_UNKNOWN */
    char *gone;             /* why its texts cannot be shown; NULL: they can */
    char *path;             /* where it is now; NULL: gone */
} bm_page_source;

/* A row of the table of inputs: one input, or several together. */
typedef struct bm_page_input {
    bm_str name;  /* of the file, or of the folder with a slash at its end; borrowed */
    size_t first; /* number of the first input */
    size_t n_files, n_gone;
    uint64_t bytes; /* of the files */
    uint64_t documents, skipped, removed;
    uint64_t removed_bytes; /* of text; BM_COUNT_UNKNOWN */
    const char *gone;       /* why the texts of the first of the n_gone cannot be shown */
} bm_page_input;

typedef struct bm_page_inputs {
    bm_page_input *rows; /* bm_free */
    size_t n;
    bool are_folders;
    size_t n_others; /* inputs or folders that the last row has together; 0: it is as the others */
} bm_page_inputs;

/* --- documents and pairs that are shown --- */

typedef struct bm_page_doc {
    bool found;          /* in an input that is unchanged */
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
/* Numbers from here on belong to known documents of an earlier collection: other documents may have
 * the same ids, and their texts are not in the inputs. */
#define BM_PAGE_KNOWN UINT32_C(0x80000000)

typedef struct bm_page_pair {
    uint32_t a, b;     /* numbers of documents shown; of removed ones a is the one kept */
    double jaccard;    /* NAN: not known */
    const char *label; /* of the sample: "right" or "wrong"; NULL: not labelled */
} bm_page_pair;

typedef struct bm_page_pairs {
    bm_page_pair *rows;
    size_t n, cap;
    uint64_t of; /* how many there are in all; 0: not known */
} bm_page_pairs;

typedef struct bm_page_group {
    uint64_t number, size;
    uint64_t identical, equal, chained, removed; /* of its documents */
    uint32_t kept;                               /* shown; NO_DOC: none is kept */
    uint32_t least_doc; /* shown: the member least like the kept one, or NO_DOC */
    double least;       /* their similarity; NAN: not known */
    bool known;         /* the kept one is known, of an earlier collection */
} bm_page_group;

/* --- what another choice would have done --- */

typedef struct bm_page_choice {
    double threshold;
    uint64_t pairs, groups, largest, removed;
} bm_page_choice;

#define BM_PAGE_CHOICES 3u

typedef struct bm_page_what_if {
    const char *why_not;      /* nothing is known of other thresholds, and why; NULL: it is */
    const char *why_no_stars; /* likewise */
    bm_page_choice thresholds[BM_PAGE_CHOICES], stars;
    size_t n_thresholds;
    uint64_t budget;     /* bytes for what follows */
    bm_id_set ids;       /* of pairs.tsv */
    bm_listed_docs docs; /* likewise */
    bm_pair *pairs;
    size_t n_pairs, cap_pairs;
    uint64_t *lengths; /* of the texts of `ids`, where stars begin with the longest or shortest */
} bm_page_what_if;

/* --- of `overlap` --- */

/* A text around a run. Marked are, in an item, the parts that documents have; in a document, the
 * parts that it has of the item.
 * */
typedef struct bm_page_run {
    bool found;     /* in an input that is unchanged */
    char *text;     /* valid UTF-8: the part that is held */
    size_t held;    /* bytes of that part */
    size_t from;    /* of the run in it; ... */
    size_t to;      /* ... equal: it has none */
    uint64_t begin; /* bytes of the whole text before it */
    uint64_t bytes; /* of the whole text */
} bm_page_run;

/* An item that documents hold, and the document that holds most of it. */
typedef struct bm_page_item {
    bm_buf id, file;       /* of the item */
    bm_item_line row;      /* without texts */
    bm_buf doc_id;         /* empty: none holds it */
    uint32_t doc;          /* its number among the documents that are shown */
    bm_overlap_line holds; /* without texts */
    bm_page_run item, document;
} bm_page_item;

typedef struct bm_page_overlap {
    bool is;               /* the directory is of `overlap`, and all but this is empty */
    bm_manifest *manifest; /* of the items */
    bm_page_item *items;   /* of greatest coverage first, then in most documents, then the first */
    size_t n, cap;
    uint64_t of;    /* items that documents hold */
    bm_id_set ids;  /* of the items that are shown, by their places */
    char *no_texts; /* of items: why they could not be read; NULL: they could */
} bm_page_overlap;

/* --- of parts of documents --- */

typedef struct bm_page_range {
    uint64_t from, to;
} bm_page_range;

/* A row of cuts.tsv. */
typedef struct bm_page_cut {
    bm_str id, kept;
    uint64_t from, to, kept_from, line;
    uint64_t hash; /* of the kept part */
} bm_page_cut;

typedef struct bm_page_unit_count {
    uint64_t hash, n; /* cuts; n 0: a free place */
} bm_page_unit_count;

/* A part of documents that was cut out of others. */
typedef struct bm_page_unit {
    uint64_t hash, cuts;
    bm_buf kept; /* the document where it stays, */
    uint64_t kept_from;
    bm_buf id; /* and the first one out of which it was cut */
    uint64_t from, to, line;
    uint32_t doc;    /* its number among the documents that are shown */
    uint32_t *files; /* cuts in each input */
    size_t n_files;  /* with any */
    bm_page_run run;
} bm_page_unit;

/* A document before and after: a stretch of it. */
typedef struct bm_page_shortened {
    bm_buf id;
    uint32_t doc;
    uint64_t line, cut_bytes;
    bm_page_range *ranges; /* that were cut; of `text` once it is found */
    size_t n, cap;
    bool found;
    char *text;
    size_t held;
    uint64_t begin, bytes; /* of the whole text: before the stretch, and in all */
} bm_page_shortened;

typedef struct bm_page_units {
    bool is;                    /* the directory is of units */
    bm_page_unit_count *counts; /* by hash */
    size_t cap_counts, of;      /* parts that were cut out of documents */
    bm_page_unit *units;        /* those cut most often, of equal ones the first */
    size_t n, cap;
    bm_page_shortened *docs; /* that lost most, and are not empty */
    size_t n_docs;
} bm_page_units;

/* --- the graph of one group --- */

typedef struct bm_page_node {
    uint32_t doc;      /* place among the group's members */
    uint32_t n_copies; /* that it represents, beside itself */
    uint32_t n_links;  /* in all of the group */
    uint32_t n_parts;  /* into which the group falls without it; 0: it does not */
    double x, y;       /* 0 to 1 */
} bm_page_node;

typedef struct bm_page_graph {
    const char *why_not;  /* there is none, and why; NULL: there is one */
    uint64_t group, kept; /* kept: place among the members */
    bool known;           /* no member is kept */
    bool from_inputs;     /* the pairs were computed again */
    bm_id_set ids;        /* the members, in input order */
    bm_page_doc *members; /* of them, where pairs.tsv is not there and their shingles are wanted */
    bm_pair *pairs;       /* of members, by a, then b */
    size_t n_pairs, cap_pairs;
    bm_copies copies; /* pairs of nodes, once they are drawn */
    bm_bridges bridges;
    size_t *bridge_order; /* numbers of bridges: those that part most documents first */
    size_t *point_order;  /* of articulation points: those with most parts first */
    bm_page_node *nodes;  /* that are drawn, by doc */
    uint32_t *node_of;    /* of each member, its place among them; BM_ID_NONE: it is not drawn */
    size_t n_nodes;
    size_t *weakest; /* pairs, the least similar first */
    size_t n_weakest;
} bm_page_graph;

/* --- the page --- */

typedef struct bm_page {
    const bm_report_options *options;
    const bm_settings *settings; /* from the report */
    const bm_manifest *manifest;
    bm_result_dir dir;
    /* the facts in report.json */
    bm_counts counts;
    double threshold, predicted_recall; /* NAN: there is no plan */
    uint32_t bands, rows;               /* bands 0: no plan */
    bm_verify verify;
    bm_cluster cluster;
    bm_keep keep;
    bool keep_is_list;   /* of rules, so that `keep` means nothing */
    bool against;        /* some documents were known */
    bool has_pairs;      /* there is a pairs.tsv */
    double seconds;      /* of the job */
    bm_page_size *sizes; /* ascending */
    size_t n_sizes, cap_sizes;
    bm_page_source *sources; /* an input of the manifest each */
    size_t n_gone;
    /* what its tables say */
    uint64_t
        similarities[BM_HISTOGRAM_BINS]; /* of pairs, or of removed documents with the kept ones */
    uint64_t n_similarities;
    bm_page_group *groups; /* the largest first, of equal ones the first */
    size_t n_groups, cap_groups;
    uint64_t
        largest_chained; /* number of the largest group with chained documents; 0: there is none */
    bm_page_pairs near, chained, sample;
    bm_page_what_if what_if;
    bm_page_graph graph;
    bm_page_overlap overlap;
    bm_page_units units;
    /* documents shown */
    bm_id_set ids;
    bm_id_set known_ids; /* of known ones, by their numbers without BM_PAGE_KNOWN */
    bm_page_doc *docs;
    size_t cap_docs;
    bool has_texts; /* documents are texts */
    char *no_texts; /* the inputs are there, but could not be read, and why; NULL: they could */
    bool weighted;  /* shingles have weights, which shared counts leave out */
} bm_page;          /* {0} is empty */

/* --- page_dir.c --- */

void bm_page_reset(bm_page *page);
bm_str bm_page_id(const bm_page *page, uint32_t number);
/* The text that was read of it; a known one has none. */
const bm_page_doc *bm_page_doc_of(const bm_page *page, uint32_t number);
/* The number of a document that will be shown. */
bm_status bm_page_show(bm_page *page, bm_str id, uint32_t *number, bm_error *err);
/* Fill in the facts of report.json. BM_ERR_FORMAT: it is no report of dedup, or has values that no
 * dedup writes. */
bm_status bm_page_read_facts(bm_page *page, bm_error *err);
/* Fill what the tables say. BM_ERR_FORMAT names file and line; BM_ERR_NOMEM. */
bm_status bm_page_read_tables(bm_page *page, bm_error *err);
/* Stars. Lengths that have places are filled in, as far as texts were found. */
bm_status bm_page_what_if_stars(bm_page *page, bm_error *err);

/* Labels of the sample. BM_ERR_INPUT names file, line and id. */
bm_status bm_page_read_labels(bm_page *page, bm_error *err);

/* The pairs of least rank (similarity, or a random number) of many, the first of equal ones, with
 * their ids. */
typedef struct bm_page_least_row {
    double rank, jaccard;
    bool known; /* a is a known document, of an earlier collection */
    char *ids;  /* both, one after the other; owned */
    size_t len_a, len_b;
} bm_page_least_row;

typedef struct bm_page_least {
    size_t most;             /* stay; set by the caller */
    uint64_t of;             /* were offered */
    bm_page_least_row *rows; /* ascending */
    size_t n, cap;
} bm_page_least; /* {0}, but for `most` */

/* A pair on offer; ids are borrowed during the call. */
typedef struct bm_page_offer {
    bm_str a, b;
    double rank, jaccard;
    bool known;
} bm_page_offer;

/* --- page_texts.c --- */

#define BM_PAGE_NO_LENGTH UINT64_MAX

/* Check which inputs are unchanged: sources[i].gone is the reason if one is not. */
bm_status bm_page_check_inputs(bm_page *page, bm_error *err);
/* Read the inputs that are there until all documents are found: the shown ones, the members of the
 * graph and lengths, as far as these have places. Documents that are not found stay as they
 * were. */
bm_status bm_page_read_texts(bm_page *page, bm_error *err);

/* --- page_graph.c --- */

/* Fill the graph with the members, and the links where pairs.tsv has them. */
bm_status bm_page_graph_load(bm_page *page, bm_error *err);
/* The links from the members' shingles, where these were wanted; of all of them, or there are no
 * links. */
bm_status bm_page_graph_link(bm_page *page, bm_error *err);
/* Bridges, articulation points, weakest links, and the documents that are drawn. */
bm_status bm_page_graph_draw(bm_page *page, bm_error *err);

/* --- page_overlap.c --- */

/* Fill the histogram, and the items that are shown. BM_ERR_FORMAT names file and line. */
bm_status bm_page_overlap_tables(bm_page *page, bm_error *err);
/* Read the texts of the items, whole; if they cannot be read, page->overlap.no_texts is the
 * reason. */
bm_status bm_page_overlap_items(bm_page *page, bm_error *err);
/* A document of this number was met: fill it in where it is shown, and cut the items' texts. */
bm_status bm_page_overlap_document(bm_page *page, uint32_t number, const bm_record *record,
                                   bm_error *err);
/* All were read: of an item without its document the beginning stays. */
bm_status bm_page_overlap_end(bm_page *page, bm_error *err);
void bm_page_overlap_reset(bm_page_overlap *overlap);

/* Hold the part of a text around from … to: a quarter of `most` before and after; only the
 * beginning of a long run. */
bm_status bm_page_run_set(bm_page_run *run, bm_str text, size_t from, size_t to, size_t most,
                          bm_error *err);

/* --- page_units.c --- */

/* Fill what cuts.tsv says. BM_ERR_FORMAT names file and line; BM_ERR_NOMEM. */
bm_status bm_page_units_tables(bm_page *page, bm_error *err);
/* A document of this number was met: fill in what is shown of it. */
bm_status bm_page_units_document(bm_page *page, uint32_t number, const bm_record *record,
                                 bm_error *err);
void bm_page_units_reset(bm_page_units *units);

/* --- page_inputs.c --- */

/* Input i alone, as a row. */
bm_page_input bm_page_input_at(const bm_page *page, size_t i);
/* At most 20 rows. BM_ERR_NOMEM. */
bm_status bm_page_list_inputs(const bm_page *page, bm_page_inputs *out, bm_error *err);

/* --- page_json.c: one JSON object, or one HTML document; *n_bytes that were written --- */

bm_status bm_page_write_json(const bm_page *page, bm_rows *rows, uint64_t *n_bytes, bm_error *err);
bm_status bm_page_write_html(const bm_page *page, bm_rows *rows, uint64_t *n_bytes, bm_error *err);

/* word_diff -- the words that two texts have in common, in one order, and those that each has
 * alone.
 *
 * A word is a run of bytes that are no ASCII white space, together with the white space before it;
 * two words are equal if their bytes are, whatever white space comes before them. */

typedef struct bm_diff_word {
    size_t begin; /* of the white space before it */
    size_t word;  /* of the word itself; white space at the end of a text is a word without bytes */
    size_t end;
    uint64_t hash;
    bool common;
} bm_diff_word;

typedef struct bm_diff_text {
    bm_str text; /* borrowed */
    bm_diff_word *words;
    size_t n, cap;
} bm_diff_text; /* {0} but for `text` */

/* Cut both texts and mark what they have in common: as many `common` words in the one as in the
 * other, the i-th of them equal. The longest such sequence, but where the texts differ so much that
 * looking for it would take long: then a long one. BM_ERR_NOMEM. */
bm_status bm_word_diff(bm_diff_text *a, bm_diff_text *b, bm_error *err);
void bm_diff_text_reset(bm_diff_text *text);

/* template -- a page with holes (page.html), filled from a JSON object.
 *
 *     {{path}}            a value as plain text, for attributes and tooltips
 *     {{FILTER path}}     a value written in another way; the table of filters is in template.c
 *     {{#if path}} … {{else}} … {{/if}}    the value is there, and not null, false, 0 or empty
 *     {{#has path}} …     it is there and not null
 *     {{#is path word}} … it is this word or number
 *     {{#each path}} …    for each element of an array, or member of an object; else, where there
 *                         is none
 *     {{#stream path}} …  for each object that the caller's `stream` makes of this name, so that
 *                         they are never all in memory
 *
 * A path is a name or several with dots between them. Its first name is looked up in the element at
 * hand, then in what encloses that, at last in the whole object; with a dot before it (".name") in
 * the element at hand alone. "." is the element itself and "@key" its name in the object that is
 * walked. A tag of the second kind that has a line for itself takes the line with it.
 *
 * The template is ours and its text is markup. Values are of strangers: each is escaped, whatever
 * filter writes it, and so can begin no element and no attribute; `raw` alone is not, and is for
 * style sheets, scripts and pictures of our own. */

typedef struct bm_template {
    const char *text;
    bm_str values; /* a JSON object */
    /* Write object i of a name (JSON text) to `json`, which is empty; *more false: there is none
     * left. NULL: no streams. */
    bm_status (*stream)(void *ctx, bm_str name, size_t i, bm_json *json, bool *more, bm_error *err);
    void *ctx;
} bm_template;

/* Fill it into rows; *n_bytes that were written. BM_ERR_FORMAT: the template is broken. */
bm_status bm_template_fill(const bm_template *page, bm_rows *rows, uint64_t *n_bytes,
                           bm_error *err);
