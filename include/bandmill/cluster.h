/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h -- makes groups from a list of pairs, which any program may have made. */
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
    const double *thresholds; /* if there are none, every pair of the file counts. With no threshold
                               * or one, the output has a row for each group; with several, a row
                               * for each threshold, in this order */
    size_t n_thresholds;
    bm_cluster cluster;
    bm_keep keep;             /* FIRST or LAST; else BM_ERR_USAGE */
    bm_output_options output; /* `path`: a file; NULL: rows go to `write`. `report` must not be
                                 set */
    bool json;                /* the table as one JSON object; rows of groups are always JSON */
    bm_write_fn write;
    void *write_ctx;
    bm_callbacks callbacks;
} bm_cluster_options;

typedef struct bm_cluster_result {
    double threshold;
    uint64_t pairs, groups, largest, removed; /* counts at this threshold */
} bm_cluster_result;

typedef struct bm_cluster_summary {
    size_t struct_size;
    uint64_t pairs, documents; /* counts of the whole file */
    uint64_t unknown;          /* pairs without a similarity; these count at every threshold */
    bm_cluster_result first;   /* the result at the first threshold; without thresholds, the result
                                * of all pairs */
} bm_cluster_summary;

BM_API void bm_cluster_options_init_sized(bm_cluster_options *options, size_t struct_size);
static inline void bm_cluster_options_init(bm_cluster_options *options)
{
    bm_cluster_options_init_sized(options, sizeof *options);
}

/* If `path` is a pairs.tsv beside the report of the `dedup` job that wrote it, documents are in the
 * order of that job's input, and `dedup` would make the same groups at the threshold. BM_ERR_USAGE:
 * the job compared with known documents; or it made stars, and `keep` is LAST in this call.
 * BM_ERR_FORMAT: one of the job's files was changed. In any other file, documents are in order of
 * first appearance, and a warning is logged.
 *
 * On BM_OK *out is filled up to its struct_size, which the caller sets: {.struct_size = sizeof}.
 * `out` may be NULL. A bad row is BM_ERR_INPUT with file, line and field. */
BM_API bm_status bm_cluster_pairs(const bm_cluster_options *options, bm_cluster_summary *out,
                                  bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
