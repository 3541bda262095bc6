/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h -- makes groups from a list of pairs, made by any program. */
#ifndef BANDMILL_CLUSTER_H
#define BANDMILL_CLUSTER_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct bm_cluster_options {
    size_t struct_size;
    const char *path;         /* the file of pairs; "-": standard input */
    const double *thresholds; /* no thresholds: every pair of the file counts. With at most one, the
                               * output has a row for each group; with several, a row for each
                               * threshold, in this order */
    size_t n_thresholds;
    bm_cluster cluster;
    bm_keep keep;             /* FIRST or LAST; else BM_ERR_USAGE */
    bm_output_options output; /* `path`: a file; NULL: `write`. `report` is not for this call */
    bool json;                /* the table as one JSON object; rows of groups are always JSON */
    bm_write_fn write;
    void *write_ctx;
    bm_callbacks callbacks;
} bm_cluster_options;

typedef struct bm_cluster_result {
    double threshold;
    uint64_t pairs, groups, largest, removed; /* at this threshold */
} bm_cluster_result;

typedef struct bm_cluster_summary {
    size_t struct_size;
    uint64_t pairs, documents; /* counts of the whole file */
    uint64_t unknown;          /* pairs without a similarity: they count at every threshold */
    bm_cluster_result first;   /* the result at the first threshold; without thresholds, the result
                                * of all pairs */
} bm_cluster_summary;

BM_API void bm_cluster_options_init_sized(bm_cluster_options *options, size_t struct_size);
static inline void bm_cluster_options_init(bm_cluster_options *options)
{
    bm_cluster_options_init_sized(options, sizeof *options);
}

/* If `path` is a pairs.tsv beside the report of the `dedup` that wrote it, documents are in the
 * order of that job's input, and `dedup` would make the same groups at the threshold. BM_ERR_USAGE:
 * that `dedup` compared with known documents; or it made stars, and `keep` is LAST in this call.
 * BM_ERR_FORMAT: one of its files was changed. Documents of any other file are in order of first
 * appearance, and a warning is logged.
 *
 * On BM_OK *out is filled up to its struct_size (begin with {.struct_size = sizeof}); it may be
 * NULL. A bad row is BM_ERR_INPUT with file, line and field. */
BM_API bm_status bm_cluster_pairs(const bm_cluster_options *options, bm_cluster_summary *out,
                                  bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
