/* kept_names.h -- what each input's kept file is called, and the one of what is removed from it. Pure functions of names. */
#ifndef BM_IO_RESULTS_KEPT_NAMES_H
#define BM_IO_RESULTS_KEPT_NAMES_H

#include <bandmill/job.h>
#include <bandmill/status.h>

#include "input/input_set.h"

typedef struct bm_kept_source {
    const char *name; /* as given; "-": stdin */
    bm_compression compression;
} bm_kept_source;

/* How kept files are named. */
typedef struct bm_kept_naming {
    bm_format format;
    bm_kept kept;
    const char *cwd; /* the directory that relative names start from, absolute */
    bool removed;    /* of removed records: `removed` stands for `kept` */
} bm_kept_naming;

/* names[i] (filled, n; the caller's, bm_free each): relative, without "..". BM_ERR_USAGE where two
 * would be the same, or one a directory of the other. */
bm_status bm_kept_names(const bm_kept_source *sources, size_t n, const bm_kept_naming *naming,
                        char **names, bm_error *err);

#endif
