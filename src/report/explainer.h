/* SPDX-License-Identifier: Apache-2.0 */
/* explainer.h -- what the parts of `explain` share: the directory, the group, its pairs and the
 * findings.
 *
 *     job_explain.c      the job: chooses the group, and the order of the steps
 *     explain.c          the report's settings; the group and its members; the group's pairs, from
 *                        pairs.tsv or from the inputs; the longest run common to two documents
 *     explain_overlap.c  for a result of `overlap`: how a document contains an item
 *     explain_units.c    for parts of documents: a cut, and its kept occurrence
 *     explain_write.c    the answer as text, JSON or a graph
 *
 * A document's number is its index in the group, in input order. Similarities have six decimals, as
 * in our files, even if they are computed again. So the answer does not depend on where the pairs
 * came from. */
#pragma once

#include <bandmill/explain.h>
#include <bandmill/sketch.h>

#include "job/job_context.h"
#include "job/rows.h"
#include "lsh/link_copies.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "results/result_dir.h"

/* explain_sets -- the shingle sets of a few documents, read from the inputs that a report names. */

typedef struct bm_explain_sets {
    size_t n;             /* documents found, in input order */
    uint32_t *numbers;    /* for each document, its number in the set of wanted ids */
    uint32_t *place;      /* for each wanted id, the index of its document; BM_ID_NONE: not in the
                             inputs */
    uint64_t *offsets;    /* n + 1 offsets into `hashes` */
    bm_hash128 *contents; /* per document: equal for identical documents */
    uint64_t *hashes;
    double *weights; /* parallel to hashes; NULL: no weights */
    size_t cap, cap_hashes, cap_weights;
} bm_explain_sets; /* {0} is empty */

/* Read all inputs of the manifest with its settings, and fill *out with the wanted documents.
 * `settings`: threads, memory and callbacks. `rows`: the rows of a table in memory, which are moved
 * out of `rows`; NULL: there is no table. BM_ERR_FORMAT: an input differs from the manifest; the
 * message names it. BM_ERR_IO: an input is missing; the message names it. BM_ERR_NOMEM: the
 * documents do not fit into memory. */
bm_status bm_explain_sets_read(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, const bm_id_set *wanted,
                               bm_explain_sets *out, bm_error *err);
void bm_explain_sets_reset(bm_explain_sets *sets);

/* Called for each valid record of the inputs. If the function keeps the text, it sets *kept.
 * BM_ERR_NOMEM: a kept text, and what is needed to compare it, does not fit into the job's
 * memory. */
typedef bm_status (*bm_explain_record_fn)(void *ctx, const bm_record *record, bool *kept,
                                          bm_error *err);
typedef struct bm_explain_records {
    /* The name of the only input to read; repeated ids then have no numbers. NULL: read all
     * inputs. */
    const char *only;
    bm_explain_record_fn fn;
    void *ctx;
    const char *const **names; /* set to the names of the inputs while reading; NULL: not wanted */
} bm_explain_records;
/* Read the inputs of the manifest like bm_explain_sets_read, and pass each valid record to
 * wanted->fn. *text becomes how the texts were cut into shingles. BM_ERR_INPUT: the inputs have no
 * texts. */
bm_status bm_explain_records_read(const bm_settings *settings, const bm_manifest *manifest,
                                  struct ArrowArrayStream *rows, const bm_explain_records *wanted,
                                  bm_text_options *text, bm_error *err);

/* The longest run of units that two texts have in common. */
typedef struct bm_shared_run {
    bool known;
    bm_shingle_kind units;
    size_t n;
    size_t from[2], to[2]; /* byte range in each text */
    bm_buf text;           /* the run as in the first text */
} bm_shared_run;

/* An item or a document of a result of `overlap`. */
typedef struct bm_explained_text {
    const char *id;
    /* file: name of the input that has the text, ended by NUL; line: the line on which its record
     * begins */
    bm_buf file;
    uint64_t line;
    bool known; /* the text could be read */
    /* text: the text after repair; as_read: the text before repair, empty if nothing was
     * repaired */
    bm_buf text, as_read;
    uint64_t from, to; /* byte range of the run in the text before repair */
} bm_explained_text;

void bm_explained_text_reset(bm_explained_text *text);

/* A part that was cut out of a document, and its kept occurrence. */
typedef struct bm_explained_cut {
    bm_explained_text document, kept;
    bm_buf kept_id, reason; /* ended by NUL */
    double jaccard;
    bool has_row; /* the cut was found */
    /* if the cut was found: how many cuts the document has up to this one, including it; else: how
     * many cuts it has */
    size_t n_cuts;
    bm_shingle_kind units;
    size_t n_units; /* number of units that both parts have in common at their beginning */
} bm_explained_cut;

/* How a document contains an item. */
typedef struct bm_explained_overlap {
    double threshold;
    bm_explained_text item, document;
    bool has_item, has_row; /* the row of the item was found; the row of the item with the document
                               was found */
    bm_item_line of_item;   /* text members are not set */
    bm_overlap_line row;
    bm_shingle_kind units;
    bm_shared_run run; /* the longest stretch that the run and the item share */
} bm_explained_overlap;

/* What was found in the pairs of a group. */
typedef struct bm_explanation {
    bm_link_graph graph;
    double similarity; /* similarity of the two requested documents; NAN: not known */
    const char *texts; /* relation of two copies: "identical" or "equal" (removed.tsv); NULL: not
                        * known */
    bm_chain chain;
    double parts_above; /* threshold above which no links join the two; NAN: not known */
    bm_cut cut;
    bm_bridges bridges;
    bm_shared_run run; /* longest run that the two documents have in common */
} bm_explanation;

typedef struct bm_explainer {
    const bm_explain_options *options;
    const bm_settings *settings; /* threads, memory and output */
    bm_job_context context;
    bm_manifest *manifest;
    bm_result_dir dir;
    bm_find_options find; /* how the directory's pairs were found */
    bool star;
    uint64_t divided; /* number of components that were too large and became stars */
    /* the group */
    uint64_t group;
    bm_id_set ids;
    bool none; /* no document of the group is kept */
    /* kept: the kept document; BM_ID_NONE if it is a known document, or if none is kept. a, b: the
     * requested documents; a == b if none were requested */
    uint32_t kept, a, b;
    bm_buf known;   /* the id of the known document that is kept */
    bm_pair *pairs; /* ordered by a, then b */
    size_t n_pairs, cap_pairs;
    bool from_inputs;     /* the pairs were computed again from the inputs */
    bm_explain_sets sets; /* used if the inputs were read */
    bm_copies copies;     /* maps documents to nodes, once all pairs are known */
    bm_explanation answer;
    bm_explained_overlap overlap; /* for a directory that `overlap` wrote, instead of a group */
    bm_explained_cut cut;         /* for parts of documents, instead of a group */
} bm_explainer;

/* --- explain.c --- */
/* Open the report. Unless the directory is from `overlap` or has results for parts of documents,
 * also check that groups.jsonl is the file that the report lists, and read how pairs were found. */
bm_status bm_explain_open(bm_explainer *e, bm_error *err);
/* Find the groups of n ids. 0: the id is in no group. */
bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err);
/* Load the ids and the kept document of group `number`. BM_ERR_USAGE: there is no such group. */
bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err);

/* --- explain.c --- */
/* Find the pairs of the group's documents. */
bm_status bm_explain_pairs(bm_explainer *e, bm_error *err);
/* Set the similarity of e->a and e->b. It comes from their link. If they have none, it is measured
 * from the inputs like the directory's pairs, unless bm_explain_pairs has read the inputs, and so
 * measured it already. If the inputs cannot be read, log a warning and set NAN. */
bm_status bm_explain_similarity(bm_explainer *e, bm_error *err);

/* --- explain.c --- */
/* Find the longest run that e->a and e->b have in common, from the inputs. If e->a is e->b, do
 * nothing. If the inputs cannot be read, log a warning and leave the run unknown. */
bm_status bm_explain_run(bm_explainer *e, bm_error *err);

/* Find the longest run that two texts have in common. */
bm_status bm_shared_run_find(const bm_text_options *options, const bm_str texts[2],
                             bm_shared_run *out, bm_error *err);
/* If `status` means that the inputs cannot be read again, log that `what` is not known, and return
 * BM_OK. Otherwise return `status`; if it is a failure, *err becomes *inner. */
bm_status bm_explain_forgive_inputs(bm_explainer *e, bm_status status, const bm_error *inner,
                                    const char *what, bm_error *err);

/* e->a and e->b are copies: set e->answer.texts, if removed.tsv has the information. */
bm_status bm_explain_texts(bm_explainer *e, bm_error *err);

/* Are e->a and e->b copies of each other? */
static inline bool bm_explain_are_copies(const bm_explainer *e)
{
    return e->copies.nodes[e->a] == e->copies.nodes[e->b];
}

/* --- explain_overlap.c --- */
/* Fill e->overlap. BM_NOT_FOUND: the document does not contain the item. */
bm_status bm_explain_overlap(bm_explainer *e, bm_error *err);
void bm_explained_overlap_reset(bm_explained_overlap *overlap);

/* --- explain_units.c --- */
/* Fill e->cut. BM_NOT_FOUND: no cut covers the byte that the caller asked for. */
bm_status bm_explain_cut(bm_explainer *e, bm_error *err);
void bm_explained_cut_reset(bm_explained_cut *cut);

/* --- explain_write.c --- */
bm_status bm_explain_write(const bm_explainer *e, bm_rows *rows, bm_error *err);
