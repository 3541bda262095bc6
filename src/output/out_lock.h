/* SPDX-License-Identifier: Apache-2.0 */
/* out_lock.h -- the lock of a work directory, its marker, and the removal of its files. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_target.h"

/* out_marker -- the marker of a work directory: a locked file that lists what jobs of ours put
 * there (out_target.h).
 *
 *     bandmill work directory 1
 *     output/signatures.npy              a name a line, escaped as in TSV files
 *     .bandmill-documents
 *     /tmp/.bandmill-…-sets              what lies elsewhere has a slash before it
 *
 * A name is written, and on the disk, before the thing itself is made. So what a job left is
 * listed, whenever it was killed or the machine lost its power; at most the last line is torn, and
 * its file does not exist yet. The marker's own name is synced by whoever holds the folder
 * (out_lock.c).
 *
 * Threads: one at a time. */

typedef struct bm_out_marker {
    int fd;         /* locked until it is closed; -1: none */
    bm_ours ours;   /* the listed files, itself and the journal */
    uint64_t bytes; /* of the whole lines in it */
    bool torn;      /* there is more after them, which goes before the next line is written */
} bm_out_marker;

/* The state in which the marker was found. */
typedef enum bm_out_marker_state {
    BM_OUT_MARKER_HELD,
    BM_OUT_MARKER_MISSING, /* no such name */
    BM_OUT_MARKER_LOCKED,  /* by another process */
    BM_OUT_MARKER_MOVED,   /* it lost its name before it was locked */
    BM_OUT_MARKER_OTHER    /* something by its name that we did not write */
} bm_out_marker_state;

/* out_dir_lock -- a work directory is claimed: made or taken over, and held until it is let go. */

/* How to treat the work that an earlier job left. */
typedef enum bm_out_leftovers {
    BM_OUT_CLEAR,       /* cleared; where it has a journal, BM_ERR_USAGE */
    BM_OUT_CLEAR_SAVED, /* cleared, with the journal */
    BM_OUT_TAKE_OVER    /* where it has a journal, kept as it is; else cleared */
} bm_out_leftovers;

/* The directory that this job holds. */
typedef struct bm_out_claim {
    int folder;           /* of the work directory, locked; -1: nothing is held */
    bm_out_marker marker; /* in it, locked */
    bool resumes;         /* an earlier job's work lies in it, as that left it */
} bm_out_claim;

/* Claim the directory `work`; its parent must be there (else BM_ERR_IO with the code ENOENT).
 * BM_ERR_LOCKED: another job holds it. BM_ERR_USAGE, naming it, where anything in it is not ours
 * (out_target.h): nothing is changed then. On failure `out` holds nothing. */
bm_status bm_out_claim_open(const char *work, bm_out_leftovers leftovers, bm_out_claim *out,
                            bm_error *err);
/* BM_OK: `work` still names what this job holds. BM_ERR_IO: it was removed, moved or made anew. */
bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err);
/* List the files that will be made in it. They are on the disk when it returns, with one sync for
 * all names. */
bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err);
/* Let go. `leave`: all in it stays; else it is removed, as far as it is still this job's. */
void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave);
/* Remove the remains at `work` of a job that was killed after its rename: only files that are ours,
 * that no job holds, and that no journal lists. */
void bm_out_claim_sweep(const char *work);

/* out_work -- the contents of a held work directory (out_lock.h): making folders in it, and
 * removing files from it. All access is through descriptors; paths are for messages. */

/* Make the folders of `name`, relative to the open folder, that are missing. `path`: of the folder.
 */
bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err);
/* Sync the outputs' folder and all folders below it that hold listed files. */
bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err);

/* Outputs of an earlier job that stay: files, and folders with all they hold, by their names below
 * the folder of outputs. */
typedef struct bm_out_stay {
    const char *const *names;
    size_t n;
} bm_out_stay;

/* Remove every listed output but those that stay; files of state stay too. On failure some are
 * removed. */
bm_status bm_out_work_clear(bm_ours_at at, const bm_ours *ours, const bm_out_stay *stay,
                            bm_error *err);
/* Is there a journal among the files of state in the directory `work`? `folder`: it, open
 * (bm_name_in), or AT_FDCWD. */
bm_status bm_out_has_journal(int folder, const char *work, bool *out, bm_error *err);
/* Remove the files of state but for the marker, the journal first: without a journal there is
 * nothing to resume, whatever else is left. */
bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err);
