/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h -- explains results. For two documents of one group, it shows the chain of pairs
 * between them, and the fewest links that separate them. For a group, it shows the links and
 * documents on which the group depends. For a part that was cut out of a document, it shows the
 * first occurrence of the part. For an item and a document, it shows how much of the item the
 * document holds. */
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
     * cuts.tsv. Instead of these two, `group` may be given. */
    const char *id_a;
    const char *id_b; /* NULL: the kept document of A or, if A was not removed, the group of A */
    uint64_t group;   /* the number of a group in groups.jsonl, from 1; 0: none */
    bm_explain_form form;
    bm_output_options output; /* `path`: a file; NULL: the answer goes to `write`. `report` must not
                                 be set */
    bm_write_fn write;
    void *write_ctx;
    bm_device_options device;      /* only `cpu` is used: documents that are read again are signed
                                    * on the CPU */
    bm_resource_options resources; /* threads and memory */
    bm_callbacks callbacks;
    const char *sources; /* directory below which the report's inputs may now be found; NULL:
                            none */
    /* If the result was made from a table in memory: the rows of that table, twice, because a
     * stream can be read only once. A stream that is needed is moved, like bm_input_options.stream.
     * The rows must be those from which the result was made. Both NULL: what only the table has
     * stays unknown. For overlap, the first stream has the rows of the items, and the second the
     * rows of the documents. */
    struct ArrowArrayStream *streams[2];
} bm_explain_options;

typedef struct bm_explain_summary {
    size_t struct_size;
    uint64_t group, documents, pairs; /* the number of the group, and how many documents and pairs
                                         it has */
    bool from_inputs; /* the pairs were computed again, because dedup had not written pairs.tsv */
    /* if two documents were given: */
    uint64_t links;    /* links of the shortest chain */
    uint64_t cut;      /* number of links to remove, at least, to separate the two */
    double weakest;    /* similarity of the weakest link; NAN: not known */
    double similarity; /* similarity of A and B or, for overlap, the coverage; NAN: not known */
    /* if a group was given: */
    uint64_t bridges, articulation_points;
} bm_explain_summary;

BM_API void bm_explain_options_init_sized(bm_explain_options *options, size_t struct_size);
static inline void bm_explain_options_init(bm_explain_options *options)
{
    bm_explain_options_init_sized(options, sizeof *options);
}

/* On BM_OK *out is filled up to its struct_size, which the caller sets: {.struct_size = sizeof}.
 * `out` may be NULL. BM_NOT_FOUND: the two documents are not in one group, nothing was cut at that
 * byte, or the document does not hold the item; nothing is written in these cases. BM_ERR_USAGE:
 * there is no such document, item or group. BM_ERR_FORMAT: the directory does not match its report,
 * or an input was changed since. Also BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED, BM_ERR_PIPE.
 *
 * Documents that are joined by links of similarity 1 are copies, and count as one document in
 * chains, cuts and bridges. The chain has as few links as possible. Of several such chains, the
 * chain with the most similar weakest link is chosen. If several of these are left, their
 * documents are compared one by one from A on, and the chain with the earlier document is chosen.
 *
 * The cut has as few links as possible too. Of several such cuts, the cut that leaves the fewest
 * documents with A is chosen. */
BM_API bm_status bm_explain(const bm_explain_options *options, bm_explain_summary *out,
                            bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
