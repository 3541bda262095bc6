/* kept_cfg.h -- what a writer of kept documents, or of removed ones, is opened with. */
#ifndef BM_IO_RESULTS_KEPT_CFG_H
#define BM_IO_RESULTS_KEPT_CFG_H

#include <bandmill/job.h>

#include "input/input_set.h"
#include "output/out_dir.h"

/* Both are borrowed until it is closed. */
typedef struct bm_kept_cfg {
    bm_out_dir *dir; /* NULL: all goes to `write`, as one stream */
    bm_write_fn write;
    void *write_ctx;
    const bm_input_set *set;
    bm_kept kept;
    bool annotated; /* each record has more: so has a table without rows */
    bool removed;   /* of what is removed: the files are called so */
    bool halves;    /* another writer is open beside it, which takes half of the memory */
} bm_kept_cfg;

/* Bytes of a kept file that were set aside for someone. */
typedef struct bm_kept_place {
    bm_out_file *file; /* NULL: there are none */
    uint64_t at;       /* for bm_out_file_write_at */
} bm_kept_place;

#endif
