/* SPDX-License-Identifier: Apache-2.0 */
/* out_lock.h -- the lock of a work directory, its marker, and the removal of its files. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_target.h"

/* out_marker -- the marker of a work directory: a locked file that lists the files that our jobs
 * make there (out_target.h).
 *
 *     bandmill work directory 1
 *     output/signatures.npy              one name per line, escaped as in TSV files
 *     .bandmill-documents
 *     /tmp/.bandmill-…-sets              a file elsewhere has an absolute path
 *
 * A name is on the disk before the file is made. So all remains of a job are listed, even if it was
 * killed or the machine lost power. At most the last line is torn; the file that it names does not
 * exist yet. The marker's own name is synced when the directory is claimed.
 *
 * Threads: one at a time. */

typedef struct bm_out_marker {
    int fd;         /* the file is locked until this is closed; -1: none */
    bm_ours ours;   /* the listed files, the marker, the journal and the folder of outputs */
    uint64_t bytes; /* size of all complete lines */
    bool torn;      /* a torn line follows them; the next append cuts it off */
} bm_out_marker;

/* The result of opening and locking the marker. */
typedef enum bm_out_marker_state {
    BM_OUT_MARKER_HELD,    /* it is open and locked by us */
    BM_OUT_MARKER_MISSING, /* there is no such file */
    BM_OUT_MARKER_LOCKED,  /* another process has it locked */
    BM_OUT_MARKER_MOVED,   /* it lost its name before it was locked */
    BM_OUT_MARKER_OTHER    /* there is a file of that name, but it is not ours */
} bm_out_marker_state;

/* out_dir_lock -- claiming a work directory: it is made or taken over, and remains locked until the
 * claim is closed. */

/* How to treat files that an earlier job left. */
typedef enum bm_out_leftovers {
    BM_OUT_CLEAR,       /* remove it; BM_ERR_USAGE if it has a journal */
    BM_OUT_CLEAR_SAVED, /* remove it, even with a journal */
    BM_OUT_TAKE_OVER    /* keep it if it has a journal; else remove it */
} bm_out_leftovers;

/* A claimed work directory. */
typedef struct bm_out_claim {
    int folder;           /* the directory's locked descriptor; -1: no claim */
    bm_out_marker marker; /* the locked marker in it */
    bool resumes;         /* the directory contains the work of an earlier job, unchanged */
} bm_out_claim;

/* Claim the directory `work`; its parent must exist (else BM_ERR_IO with the code ENOENT).
 * BM_ERR_LOCKED: another job has claimed it. BM_ERR_USAGE, with nothing changed: it contains
 * something that is not ours (out_target.h), which the message names, or `leftovers` does not allow
 * a journal. On failure *out is no claim. */
bm_status bm_out_claim_open(const char *work, bm_out_leftovers leftovers, bm_out_claim *out,
                            bm_error *err);
/* Check that `work` still names the claimed directory. BM_ERR_IO: it was removed, moved or
 * remade. */
bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err);
/* List files that will be made in the directory, with one sync for all. On return the names are on
 * the disk. */
bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err);
/* Release the claim. Unless `leave`, remove our files in the directory, and the directory if it is
 * then empty; but not if another directory is now at `work`. */
void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave);
/* A job that was killed after its rename may have left files at `work`: remove our files, unless a
 * job has the directory locked or there is a journal. */
void bm_out_claim_sweep(const char *work);

/* out_work -- the contents of a claimed work directory: making folders in it, and removing files
 * from it. All access is through descriptors; paths are for messages. */

/* Make the missing folders above the file `name`, relative to the open folder, which is `path` in
 * messages. */
bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err);
/* Sync the folder of outputs, and all folders below it that contain listed files. */
bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err);

/* Outputs of an earlier job that are not removed: names of files, and of folders for all their
 * contents, relative to the folder of outputs. */
typedef struct bm_out_stay {
    const char *const *names;
    size_t n;
} bm_out_stay;

/* Remove every listed output except those in `stay`. Files of state are not removed. On failure
 * some outputs may be removed. */
bm_status bm_out_work_clear(bm_ours_at at, const bm_ours *ours, const bm_out_stay *stay,
                            bm_error *err);
/* Set *out to whether there is a journal in the directory `work`. `folder` is its descriptor, or
 * AT_FDCWD to use the path. */
bm_status bm_out_has_journal(int folder, const char *work, bool *out, bm_error *err);
/* Remove the files of state except the marker. The journal is removed first: without it nothing can
 * be resumed, whatever else is left. */
bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err);
