/* SPDX-License-Identifier: Apache-2.0 */
/* explainer.h -- what the parts of `explain` share: the directory, the group, its pairs and the
 * findings.
 *
 *     job_explain.c    the job: which group, in which order things are done
 *     explain.c  the report's words, the group and its members
 *     explain.c  the group's pairs: from pairs.tsv, or from the inputs (explain.c)
 *     explain.c    what two documents have in common at a stretch
 *     explain_overlap.c  of a result of `overlap`: what a document holds of an item
 *     explain_units.c  of parts of documents: a cut, and where its text stood first
 *     explain_write.c  the answer as text, JSON or a graph
 *
 * Documents are numbered by their place in the group, which is their order in the inputs.
 * Similarities have the six decimals of our files, also where they were computed again, so that the
 * answer does not depend on where the pairs came from. */
#pragma once

#include <bandmill/explain.h>
#include <bandmill/sketch.h>

#include "job/job_context.h"
#include "job/rows.h"
#include "lsh/link_copies.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "results/result_dir.h"

/* explain_sets -- the shingle sets of a few documents, out of the inputs that a report names. */

typedef struct bm_explain_sets {
    size_t n;             /* documents met, in input order */
    uint32_t *numbers;    /* of each in the set of ids that was wanted */
    uint32_t *place;      /* of each wanted one in the above; BM_ID_NONE: it is not in the inputs */
    uint64_t *offsets;    /* n + 1, into hashes */
    bm_hash128 *contents; /* of each: equal for identical documents */
    uint64_t *hashes;
    double *weights; /* beside them; NULL: there are none */
    size_t cap, cap_hashes, cap_weights;
} bm_explain_sets; /* {0} is empty */

/* Read all inputs of the manifest, by its settings, and fill *out with the wanted documents;
 * `settings`: threads, memory and callbacks. `rows`: of a table in memory its rows, which are
 * moved; NULL: none. BM_ERR_FORMAT names an input that is not the one that the manifest was made
 * from; BM_ERR_IO one that is gone; BM_ERR_NOMEM past the memory. */
bm_status bm_explain_sets_read(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, const bm_id_set *wanted,
                               bm_explain_sets *out, bm_error *err);
void bm_explain_sets_reset(bm_explain_sets *sets);

/* Give each record of the inputs to `fn` until they end, bad ones left out; *kept: it keeps the
 * text, which must fit into the memory with what comparing it takes (else BM_ERR_NOMEM). Like
 * bm_explain_sets_read otherwise. */
typedef bm_status (*bm_explain_record_fn)(void *ctx, const bm_record *record, bool *kept,
                                          bm_error *err);
typedef struct bm_explain_records {
    /* The input of this name alone is read, and repeated ids have no numbers; NULL: all are. */
    const char *only;
    bm_explain_record_fn fn;
    void *ctx;
    const char *const **names; /* while records come: those of the inputs; NULL: not wanted */
} bm_explain_records;
/* *text: how the texts were cut. BM_ERR_INPUT: these inputs have none. */
bm_status bm_explain_records_read(const bm_settings *settings, const bm_manifest *manifest,
                                  struct ArrowArrayStream *rows, const bm_explain_records *wanted,
                                  bm_text_options *text, bm_error *err);

/* The longest run of units that two texts have in common. */
typedef struct bm_shared_run {
    bool known;
    bm_shingle_kind units;
    size_t n;
    size_t from[2], to[2]; /* bytes of each text */
    bm_buf text;           /* as it is in the first of them */
} bm_shared_run;

/* An item, or a document, of a result of `overlap`. */
typedef struct bm_explained_text {
    const char *id;
    bm_buf file; /* ended by NUL, and its place there */
    uint64_t line;
    bool known;           /* its text was read: */
    bm_buf text, as_read; /* and as it was before repair, if it was repaired */
    uint64_t from, to;    /* bytes of the run, before repair */
} bm_explained_text;

void bm_explained_text_reset(bm_explained_text *text);

/* A part that was cut out of a document, and where it stood first. */
typedef struct bm_explained_cut {
    bm_explained_text document, kept;
    bm_buf kept_id, reason; /* ended by NUL */
    double jaccard;
    bool has_row;  /* the cut was found; */
    size_t n_cuts; /* how many others the document has before it */
    bm_shingle_kind units;
    size_t n_units; /* that both have */
} bm_explained_cut;

/* What a document holds of an item. */
typedef struct bm_explained_overlap {
    double threshold;
    bm_explained_text item, document;
    bool has_item, has_row; /* their rows were found */
    bm_item_line of_item;   /* without texts */
    bm_overlap_line row;
    bm_shingle_kind units;
    bm_shared_run run; /* what the run and the item have in common at a stretch */
} bm_explained_overlap;

/* The findings in the pairs of a group. */
typedef struct bm_explanation {
    bm_link_graph graph;
    double similarity; /* of the two documents themselves; NAN: not known */
    const char *texts; /* of two copies: "identical" or "equal" (removed.tsv); NULL: not known */
    bm_chain chain;
    double parts_above; /* a threshold above which no links join the two; NAN: not known */
    bm_cut cut;
    bm_bridges bridges;
    bm_shared_run run; /* of two documents */
} bm_explanation;

typedef struct bm_explainer {
    const bm_explain_options *options;
    const bm_settings *settings; /* threads, memory, output */
    bm_job_context context;
    bm_manifest *manifest;
    bm_result_dir dir;
    bm_find_options find; /* how the directory's pairs were found */
    bool star;
    uint64_t divided; /* components that were too large, and are stars now */
    /* the group */
    uint64_t group;
    bm_id_set ids;
    bool none;           /* no document of the group is kept */
    uint32_t kept, a, b; /* a, b: the two documents asked for, equal: none; kept BM_ID_NONE: */
    bm_buf known;        /* a known document is, with this id */
    bm_pair *pairs;      /* ordered by a, then b */
    size_t n_pairs, cap_pairs;
    bool from_inputs;
    bm_explain_sets sets; /* where they were read */
    bm_copies copies;     /* pairs of nodes, once all nodes are known */
    bm_explanation answer;
    bm_explained_overlap overlap; /* of a directory that `overlap` wrote, instead of a group */
    bm_explained_cut cut;         /* of parts of documents, likewise */
} bm_explainer;

/* --- explain.c --- */
/* Open the report, see that groups.jsonl is the one it lists, read how pairs were found. */
bm_status bm_explain_open(bm_explainer *e, bm_error *err);
/* The groups of n ids; 0: none. */
bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err);
/* Fill ids and kept of group `number`. BM_ERR_USAGE: no group has that number. */
bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err);

/* --- explain.c --- */
/* The pairs of the group's documents. */
bm_status bm_explain_pairs(bm_explainer *e, bm_error *err);
/* The similarity of e->a and e->b themselves, as the directory's pairs are measured: of their link,
 * else from the inputs. Where these cannot be read: a warning, and NAN. */
bm_status bm_explain_similarity(bm_explainer *e, bm_error *err);

/* --- explain.c --- */
/* The longest run that e->a and e->b have in common, out of the inputs. Where these cannot be read:
 * a warning, and it is not known. */
bm_status bm_explain_run(bm_explainer *e, bm_error *err);

/* The same of any two texts. */
bm_status bm_shared_run_find(const bm_text_options *options, const bm_str texts[2],
                             bm_shared_run *out, bm_error *err);
/* Inputs that cannot be read again are only logged: `what` is not known then. */
bm_status bm_explain_forgive_inputs(bm_explainer *e, bm_status status, const bm_error *inner,
                                    const char *what, bm_error *err);

/* Find e->answer.texts of the copies e->a and e->b in removed.tsv, where that is. */
bm_status bm_explain_texts(bm_explainer *e, bm_error *err);

/* Whether e->a and e->b are copies of each other. */
static inline bool bm_explain_are_copies(const bm_explainer *e)
{
    return e->copies.nodes[e->a] == e->copies.nodes[e->b];
}

/* --- explain_overlap.c --- */
/* Fill e->overlap. BM_NOT_FOUND: the document does not hold the item. */
bm_status bm_explain_overlap(bm_explainer *e, bm_error *err);
void bm_explained_overlap_reset(bm_explained_overlap *overlap);

/* --- explain_units.c --- */
/* Fill e->cut. BM_NOT_FOUND: there is no cut at that byte of the document. */
bm_status bm_explain_cut(bm_explainer *e, bm_error *err);
void bm_explained_cut_reset(bm_explained_cut *cut);

/* --- explain_write.c --- */
bm_status bm_explain_write(const bm_explainer *e, bm_rows *rows, bm_error *err);
