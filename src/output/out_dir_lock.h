/* out_dir_lock.h -- a work directory is claimed: made or taken over, and held until it is let go. */
#ifndef BM_IO_OUTPUT_OUT_DIR_LOCK_H
#define BM_IO_OUTPUT_OUT_DIR_LOCK_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_marker.h"

/* What to do with the work that an earlier job left. */
typedef enum bm_out_leavings {
    BM_OUT_CLEAR,       /* cleared; where it has a journal, BM_ERR_USAGE */
    BM_OUT_CLEAR_SAVED, /* cleared, with the journal */
    BM_OUT_TAKE_OVER    /* where it has a journal, kept as it is; else cleared */
} bm_out_leavings;

/* The directory that this job holds. */
typedef struct bm_out_claim {
    int folder;           /* of the work directory, locked; -1: nothing is held */
    bm_out_marker marker; /* in it, locked */
    bool taken_over;      /* an earlier job's work lies in it, as that left it */
} bm_out_claim;

/* Claim the directory `work`, whose parent is there (else BM_ERR_IO with the code ENOENT).
 * BM_ERR_LOCKED: another job holds it. BM_ERR_USAGE, naming it, where anything in it is not ours
 * (out_ours.h): nothing is changed then. On failure `out` holds nothing. */
bm_status bm_out_claim_open(const char *work, bm_out_leavings leavings, bm_out_claim *out,
                            bm_error *err);
/* BM_OK: `work` still names what this job holds. BM_ERR_IO: it was removed, moved or made anew. */
bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err);
/* List what is going to be made in it; on the disk when it returns, with one sync for all names. */
bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err);
/* Let go. `leave`: all in it stays; else it is removed, as far as it is still this job's. */
void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave);
/* Remove what a job left at `work` that was killed behind its rename: nothing but what is ours, that
 * nobody holds, and that no journal speaks of. */
void bm_out_claim_sweep(const char *work);

#endif
