/* explain.h -- why documents are in one group: the chain of pairs between two of them, what would
 * part them, and what holds a group together. */
#ifndef BANDMILL_EXPLAIN_H
#define BANDMILL_EXPLAIN_H

#include <bandmill/cluster.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_explain_form {
    BM_EXPLAIN_TEXT, /* for people */
    BM_EXPLAIN_JSON, /* one object, "schema":1 */
    BM_EXPLAIN_DOT   /* a graph for Graphviz */
} bm_explain_form;

typedef struct bm_explain_options {
    const char *path; /* of a directory that dedup wrote */
    const char *id_a; /* two documents, by their ids as the inputs have them ... */
    const char *id_b;
    uint64_t group; /* ... or a group as groups.jsonl numbers them, from 1; 0: none */
    bm_explain_form form;
    const char *output; /* file; NULL: `write` */
    bool force;
    bm_write_fn write;
    void *write_ctx;
    const char *cpu; /* as bm_job: what is read again is signed on the native CPU */
    uint32_t threads;
    uint64_t memory;
    bm_callbacks callbacks;
} bm_explain_options; /* {0}, a path and two ids or a group are a job */

typedef struct bm_explain_summary {
    uint64_t group, documents, pairs; /* of the group */
    bool from_inputs; /* the pairs were computed again: dedup had not written pairs.tsv */
    /* of two documents */
    uint64_t links;    /* of the shortest chain */
    uint64_t cut;      /* least number of links without which nothing joins them */
    double weakest;    /* similarity of the weakest link; NAN: not known */
    double similarity; /* of the two themselves; NAN: not known */
    /* of a group */
    uint64_t bridges, articulation_points;
} bm_explain_summary;

/* *out is filled on BM_OK. BM_NOT_FOUND: the two are in no group together, nothing is written.
 * BM_ERR_USAGE: no such document or group. BM_ERR_FORMAT: the directory is not what its report
 * says, or an input is not the one that it was made from; BM_ERR_IO, BM_ERR_NOMEM,
 * BM_ERR_CANCELLED, BM_ERR_PIPE.
 *
 * The chain is the one of fewest links; of several, the one whose weakest link is most similar; of
 * several of these, the one whose documents come first in the inputs, compared from A on. The cut
 * is a least number of links; of several such sets, the one that leaves fewest documents with A. */
BM_API bm_status bm_explain(const bm_explain_options *options, bm_explain_summary *out,
                            bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
