/* out_parents.h -- the folders that an output lies in: those that are missing are made, and removed
 * again where the output does not come to be. */
#ifndef BM_IO_OUTPUT_OUT_PARENTS_H
#define BM_IO_OUTPUT_OUT_PARENTS_H

#include <sys/types.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* A folder that was made. */
typedef struct bm_out_parent {
    char *path; /* owned */
    dev_t device;
    ino_t node;
} bm_out_parent;

/* {0}: none. */
typedef struct bm_out_parents {
    bm_out_parent *made; /* a folder stands before those in it */
    size_t n, cap;
} bm_out_parents;

/* Make the folders above `target` that are missing, and note them. On failure some may be made: they
 * are noted too. BM_ERR_IO with the code ENOENT also where another job removes them meanwhile. */
bm_status bm_out_parents_make(bm_out_parents *parents, const char *target, bm_error *err);
/* That they have their names is on the disk. */
bm_status bm_out_parents_sync(const bm_out_parents *parents, bm_error *err);
/* Remove those that were made, are still the same and empty; and free. */
void bm_out_parents_remove(bm_out_parents *parents);
/* Free; the folders stay. */
void bm_out_parents_reset(bm_out_parents *parents);
/* *out: the absolute path that the folder above `target` has, or will have once it is made: without
 * links, "." and "..". The caller's to free. BM_ERR_IO: it could not be made. */
bm_status bm_out_parents_resolve(const char *target, char **out, bm_error *err);

#endif
