/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h -- explains results. For documents of one group: the chain of pairs between two of
 * them, the fewest links that separate them, and the links and documents on which the group
 * depends. For a part that was cut out of a document: its first occurrence. For an item and a
 * document: how much of the item the document holds. */
#ifndef BANDMILL_EXPLAIN_H
#define BANDMILL_EXPLAIN_H

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
    size_t struct_size;
    const char *path; /* a directory that dedup or overlap wrote */
    /* Two documents, by their ids in the inputs. For an overlap result: an item and a document. For
     * a result of `unit`: a document, and the offset of a byte that was cut, such as `from` in
     * cuts.tsv. Or, instead of both, `group`. */
    const char *id_a;
    const char *id_b; /* NULL: the document kept instead of A or, if A was not removed, the group of
                       * A */
    uint64_t group;   /* the number of a group in groups.jsonl, from 1; 0: none */
    bm_explain_form form;
    bm_output_options output; /* `path`: a file; NULL: `write`. `report` is not for this call */
    bm_write_fn write;
    void *write_ctx;
    bm_device_options device;      /* only `cpu` is used: documents that are read again are signed
                                    * on the CPU */
    bm_resource_options resources; /* threads and memory */
    bm_callbacks callbacks;
    const char *sources; /* directory below which the report's inputs may be now; NULL: none */
    /* If the result was made from a table in memory: two streams of the same rows, from which data
     * is read that only the inputs have. A stream that is needed is moved, like
     * bm_input_options.stream. The caller has to make sure that the rows are the same. Both NULL:
     * data that only such a table has is not known. For overlap, the first has the rows of the
     * items, the second the rows of the documents. */
    struct ArrowArrayStream *streams[2];
} bm_explain_options;

typedef struct bm_explain_summary {
    size_t struct_size;
    uint64_t group, documents, pairs; /* number of the group; its numbers of documents and pairs */
    bool from_inputs; /* the pairs were computed again: dedup had not written pairs.tsv */
    /* if two documents were given: */
    uint64_t links;    /* links of the shortest chain */
    uint64_t cut;      /* fewest links to remove to separate the two */
    double weakest;    /* similarity of the weakest link; NAN: not known */
    double similarity; /* similarity of A and B, or the coverage; NAN: not known */
    /* if a group was given: */
    uint64_t bridges, articulation_points;
} bm_explain_summary;

BM_API void bm_explain_options_init_sized(bm_explain_options *options, size_t struct_size);
static inline void bm_explain_options_init(bm_explain_options *options)
{
    bm_explain_options_init_sized(options, sizeof *options);
}

/* On BM_OK *out is filled up to its struct_size (begin with {.struct_size = sizeof}); it may be
 * NULL. BM_NOT_FOUND: the two are in no group together, nothing was cut there, or the document does
 * not hold the item; nothing is written then. BM_ERR_USAGE: no such document, item or group.
 * BM_ERR_FORMAT: the directory does not match its report, or an input was changed since; BM_ERR_IO,
 * BM_ERR_NOMEM, BM_ERR_CANCELLED, BM_ERR_PIPE.
 *
 * Documents joined by links of similarity 1 are copies, and count as one in chains, cuts and
 * bridges. The chain has as few links as possible. If several chains do, the chain with the most
 * similar weakest link is chosen; if that also leaves several, the chain of documents that come
 * first in the inputs, compared one by one from A on. The cut has as few links as possible too. If
 * several cuts do, the cut that leaves the fewest documents with A is chosen. */
BM_API bm_status bm_explain(const bm_explain_options *options, bm_explain_summary *out,
                            bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
