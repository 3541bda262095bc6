/* explainer.h -- what the parts of `explain` share: the directory, the group, its pairs, what was
 * found in them.
 *
 *     job_explain.c    the job: which group, in which order things are done
 *     explain_group.c  the report's words, the group and its members
 *     explain_pairs.c  the group's pairs: from pairs.tsv, or from the inputs (explain_sets.c)
 *     explain_run.c    what two documents have in common at a stretch
 *     explain_write.c  the answer as text, JSON or a graph
 *
 * Documents are numbered by their place in the group, which is their order in the inputs.
 * Similarities have the six decimals of our files, also where they were computed again, so that the
 * answer does not depend on where the pairs came from. */
#ifndef BM_EXPLAIN_EXPLAINER_H
#define BM_EXPLAIN_EXPLAINER_H

#include <bandmill/explain.h>
#include <bandmill/sketch.h>

#include "output/manifest.h"
#include "results/result_dir.h"
#include "lsh/bridges.h"
#include "lsh/link_graph.h"
#include "lsh/min_cut.h"
#include "lsh/shortest_chain.h"
#include "report/explain_sets.h"
#include "model/id_set.h"
#include "job/job_context.h"
#include "job/rows.h"

/* The longest run of units that two texts have in common. */
typedef struct bm_shared_run {
    bool known;
    bm_shingle_kind units;
    size_t n;
    size_t from[2], to[2]; /* bytes of each text */
    bm_buf text;           /* as it stands in the first of them */
} bm_shared_run;

/* What was found in the pairs of a group. */
typedef struct bm_explanation {
    bm_link_graph graph;
    double similarity; /* of the two documents themselves; NAN: not known */
    bm_chain chain;
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
    uint32_t kept, a, b; /* a, b: the two documents asked for; kept BM_ID_NONE: */
    bm_buf known;        /* a known document is, with this id */
    bm_pair *pairs;      /* ordered by a, then b */
    size_t n_pairs, cap_pairs;
    bool from_inputs;
    bm_explain_sets sets; /* where they were read */
    bm_explanation answer;
} bm_explainer;

/* --- explain_group.c --- */
/* Open the report, see that groups.jsonl is the one it lists, read how pairs were found. */
bm_status bm_explain_open(bm_explainer *e, bm_error *err);
/* The groups of n ids; 0: none. */
bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err);
/* Fill ids and kept of group `number`. BM_ERR_USAGE: there is none of that number. */
bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err);

/* --- explain_pairs.c --- */
/* The pairs of the group's documents. */
bm_status bm_explain_pairs(bm_explainer *e, bm_error *err);
/* The similarity of e->a and e->b themselves, as the directory's pairs are measured: of their link,
 * else from the inputs. Where these cannot be read: a warning, and NAN. */
bm_status bm_explain_similarity(bm_explainer *e, bm_error *err);

/* --- explain_run.c --- */
/* The longest run that e->a and e->b have in common, out of the inputs. Where these cannot be read: a warning, and it is not
 * known. */
bm_status bm_explain_run(bm_explainer *e, bm_error *err);

/* --- explain_write.c --- */
bm_status bm_explain_write(const bm_explainer *e, bm_rows *rows, bm_error *err);

#endif
