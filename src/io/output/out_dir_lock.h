/* out_dir_lock.h -- the lock of a work directory, which says whose it is. */
#ifndef BM_IO_OUTPUT_OUT_DIR_LOCK_H
#define BM_IO_OUTPUT_OUT_DIR_LOCK_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* What to do with the work that an earlier job left. */
typedef enum bm_out_leavings { BM_OUT_CLEAR, BM_OUT_TAKE_OVER } bm_out_leavings;

typedef struct bm_out_lock {
    int fd;          /* of the marker, locked until it is closed; -1: no lock */
    bool made;       /* the directory is there, and this job's */
    bool taken_over; /* it is an earlier job's, as that left it */
} bm_out_lock;

/* Make the directory `work` and lock it. What an earlier job left is cleared, or with
 * BM_OUT_TAKE_OVER, where it has a journal, locked as it is. BM_ERR_LOCKED: a job works there now.
 * BM_ERR_IO too where something of a stranger is in the way. `out` is filled on failure too. */
bm_status bm_out_dir_lock(const char *work, bm_out_leavings leavings, bm_out_lock *out,
                          bm_error *err);

#endif
