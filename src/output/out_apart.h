/* out_apart.h -- do a job's outputs lie apart from each other? By whatever spelling or link they are
 * named: what counts is the folder and the name that a path leads to, and where there is something
 * already, what it is. */
#ifndef BM_IO_OUTPUT_OUT_APART_H
#define BM_IO_OUTPUT_OUT_APART_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_out_named {
    const char *path;
    bool is_dir; /* so its work directory is taken too */
} bm_out_named;

/* BM_ERR_USAGE: two of the outputs are one, or one lies in another. */
bm_status bm_out_apart(const bm_out_named *outputs, size_t n, bm_error *err);
/* BM_ERR_USAGE: the folder of temporary files is the directory `target`, its work directory, or lies
 * in one of them. A folder that is not there lies nowhere. */
bm_status bm_out_apart_from_temp(const char *target, const char *temp_dir, bm_error *err);

#endif
