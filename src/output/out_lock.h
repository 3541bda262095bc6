/* SPDX-License-Identifier: Apache-2.0 */
/* out_lock.h -- the lock of a work directory, its marker, and the removal of its files. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_target.h"

/* out_marker -- the marker of a work directory: a locked file with a list of the files that our
 * jobs make in the directory (out_target.h).
 *
 *     bandmill work directory 1
 *     output/signatures.npy              one name per line, escaped as in TSV files
 *     .bandmill-documents
 *     /tmp/.bandmill-…-sets              a file elsewhere has an absolute path
 *
 * A name is on the disk before its file is made. So all remains of a job are listed, even if the
 * job was killed or the machine lost power. Only the last line may be incomplete; the file that it
 * names does not exist yet. The marker's own name is synced when the directory is claimed.
 *
 * Threads: one at a time. */

typedef struct bm_out_marker {
    int fd;         /* the marker is locked until this descriptor is closed; -1: none */
    bm_ours ours;   /* the listed files, the marker, the journal and the folder of outputs */
    uint64_t bytes; /* size of all complete lines */
    bool torn;      /* an incomplete line follows the complete ones; the next append cuts it off */
} bm_out_marker;

/* The result of opening and locking the marker of a work directory. */
typedef enum bm_out_marker_state {
    BM_OUT_MARKER_HELD,    /* the marker is open and locked by us */
    BM_OUT_MARKER_MISSING, /* there is no marker */
    BM_OUT_MARKER_LOCKED,  /* another process has locked the marker */
    BM_OUT_MARKER_MOVED,   /* the marker lost its name before it was locked */
    BM_OUT_MARKER_OTHER    /* a file has the marker's name, but is not ours */
} bm_out_marker_state;

/* out_dir_lock -- claims a work directory. The directory is made or taken over, and remains locked
 * until the claim is closed. */

/* What to do with the work directory of an earlier job. */
typedef enum bm_out_leftovers {
    BM_OUT_CLEAR,       /* remove its contents; BM_ERR_USAGE if it has a journal */
    BM_OUT_CLEAR_SAVED, /* remove its contents, even with a journal */
    BM_OUT_TAKE_OVER    /* if it has a journal, keep its contents; else remove them */
} bm_out_leftovers;

/* A claimed work directory. */
typedef struct bm_out_claim {
    int folder;           /* the directory's locked descriptor; -1: no claim */
    bm_out_marker marker; /* the locked marker in the directory */
    bool resumes;         /* the directory contains the work of an earlier job, unchanged */
} bm_out_claim;

/* Claim the directory `work`; its parent must exist (else BM_ERR_IO with the code ENOENT).
 * BM_ERR_LOCKED: another job has claimed it. BM_ERR_USAGE, with nothing changed: the directory
 * contains something that is not ours (out_target.h), which the message names; or it has a journal,
 * and `leftovers` does not allow that. On failure *out is no claim. */
bm_status bm_out_claim_open(const char *work, bm_out_leftovers leftovers, bm_out_claim *out,
                            bm_error *err);
/* Check that `work` still names the claimed directory. BM_ERR_IO: the directory was removed, moved
 * or remade. */
bm_status bm_out_claim_check(const bm_out_claim *claim, const char *work, bm_error *err);
/* List files that will be made in the directory, with one sync for all. On return the names are on
 * the disk. */
bm_status bm_out_claim_list(bm_out_claim *claim, const char *work, const char *const *names,
                            size_t n, bm_error *err);
/* Release the claim. Unless `leave` is set, remove our files in the directory, and the directory
 * itself if it is then empty. Nothing is removed if another directory is now at `work`. */
void bm_out_claim_close(bm_out_claim *claim, const char *work, bool leave);
/* Remove the files that a job may have left at `work` because it was killed after its rename.
 * Nothing is removed if a job has the directory locked, or if there is a journal. */
void bm_out_claim_sweep(const char *work);

/* out_work -- makes folders in a claimed work directory, and removes files from it. All access is
 * through descriptors; paths are for messages. */

/* Make the missing folders above the file `name`. The name is relative to the open folder, which
 * messages call `path`. */
bm_status bm_out_work_folders(int folder, const char *name, const char *path, bm_error *err);
/* Sync the folder of outputs, and all folders below it that contain listed files. */
bm_status bm_out_work_sync(int folder, const bm_ours *ours, const char *path, bm_error *err);

/* The outputs of an earlier job that are not removed. Names are relative to the folder of outputs;
 * the name of a folder means all its contents. */
typedef struct bm_out_stay {
    const char *const *names;
    size_t n;
} bm_out_stay;

/* Remove every listed output except those in `stay`. Files of state are not removed. On failure
 * some outputs may be removed. */
bm_status bm_out_work_clear(bm_ours_at at, const bm_ours *ours, const bm_out_stay *stay,
                            bm_error *err);
/* Set *out to whether the directory `work` has a journal. `folder` is the descriptor of the
 * directory, or AT_FDCWD to use the path. */
bm_status bm_out_has_journal(int folder, const char *work, bool *out, bm_error *err);
/* Remove the files of state except the marker. The journal is removed first, because nothing can be
 * resumed without it, even if other files are left. */
bm_status bm_out_work_drop_state(bm_ours_at at, const bm_ours *ours, bm_error *err);
