/* out_marker.h -- the marker of a work directory: a locked file that lists what jobs of ours put
 * there (out_ours.h).
 *
 *     bandmill work directory 1
 *     output/signatures.npy              a name a line, escaped as in TSV files
 *     .bandmill-documents
 *     /tmp/.bandmill-…-sets              what lies elsewhere has a slash before it
 *
 * A name is written, and on the disk, before the thing itself is made. So what a job left is listed, whenever it
 * was killed or the machine lost its power; at most the last line is torn, and nothing stands for it yet. The
 * marker's own name is synced by whoever holds the folder (out_dir_lock.c).
 *
 * Threads: one at a time. */
#ifndef BM_IO_OUTPUT_OUT_MARKER_H
#define BM_IO_OUTPUT_OUT_MARKER_H

#include "output/out_ours.h"

typedef struct bm_out_marker {
    int fd;         /* locked until it is closed; -1: none */
    bm_ours ours;   /* what it lists, itself and the journal */
    uint64_t bytes; /* of the whole lines in it */
    bool torn;      /* there is more behind them, which goes before the next line is written */
} bm_out_marker;

/* What became of it. */
typedef enum bm_out_marker_state {
    BM_OUT_MARKER_HELD,
    BM_OUT_MARKER_MISSING, /* no such name */
    BM_OUT_MARKER_LOCKED,  /* by another process */
    BM_OUT_MARKER_MOVED,   /* it lost its name before it was locked */
    BM_OUT_MARKER_OTHER    /* something by its name that we did not write */
} bm_out_marker_state;

/* Open and lock the marker in the open folder `at`, `make`: one that is not there yet, and read the
 * list. One that is there is not written to. `out` is {.fd = -1} but for BM_OUT_MARKER_HELD.
 * BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_out_marker_open(bm_ours_at at, bool make, bm_out_marker *out,
                             bm_out_marker_state *state, bm_error *err);
/* Does it still have its name in the folder? */
bool bm_out_marker_has_name(const bm_out_marker *marker, int folder);
/* List names, each once, and sync them: once for all that are new. BM_ERR_IO, BM_ERR_NOMEM. `path`: of the
 * directory, for messages. */
bm_status bm_out_marker_list(bm_out_marker *marker, const char *path, const char *const *names,
                             size_t n, bm_error *err);
/* Does it list anything but itself and the journal? */
bool bm_out_marker_is_used(const bm_out_marker *marker);
/* Forget the list: the directory is empty. Not synced. */
bm_status bm_out_marker_begin(bm_out_marker *marker, const char *path, bm_error *err);
bm_status bm_out_marker_sync(const bm_out_marker *marker, const char *path, bm_error *err);
void bm_out_marker_close(bm_out_marker *marker); /* the file stays, unlocked */

#endif
