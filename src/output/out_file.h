/* SPDX-License-Identifier: Apache-2.0 */
/* out_file.h -- one output file, written from front to back.
 *
 * A single file is written to a temporary file beside its target, synced and renamed. A file in a
 * directory is opened by bm_out_dir_file (out_dir.h), and then used in the same way.
 * bm_out_file_abort, and every failure of bm_out_file_close, removes the file.
 *
 * Threads: one at a time for each file, except bm_out_file_write_at. */
#pragma once

#include <pthread.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/compress.h"
#include "output/digest.h"
#include "output/out_target.h"

typedef struct bm_out_file bm_out_file;

/* Open a single file. Missing folders above it are made; bm_out_file_abort removes these again. */
bm_status bm_out_file_open(const char *target, bm_out_existing existing, bm_out_file **out,
                           bm_error *err);
/* Open a stream. Its bytes are passed to `pass` after buffering (and compression). If `pass`
 * accepts no more bytes, writing returns BM_ERR_PIPE. Nothing can be read back or rewritten. */
bm_status bm_out_file_stream(bm_write_fn pass, void *ctx, bm_out_file **out, bm_error *err);
/* Set the compression, before the first write (else BM_ERR_INTERNAL). */
bm_status bm_out_file_compress(bm_out_file *file, bm_compression compression, bm_pack_lanes lanes,
                               bm_error *err);
/* Write through a buffer. After a failure every later call fails as well. */
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* Announce that nothing more will be written. Returns true if other threads now compress the
 * gathered bytes. A close at a later time may then wait less. */
bool bm_out_file_end(bm_out_file *file);
/* End the current gz member or zst frame here. Has no effect on files with another compression, or
 * if nothing was written since the last member or frame ended. */
bm_status bm_out_file_end_part(bm_out_file *file, bm_error *err);
/* Write bytes at the offset `at`, where nothing was written yet. Several threads may call this at
 * once. When the file is closed, no gap may be left. All calls of bm_out_file_write come before
 * these calls; no other function may be called between the first and the last of them. Not possible
 * with compression. */
bm_status bm_out_file_write_at(bm_out_file *file, uint64_t at, const void *data, size_t len,
                               bm_error *err);
/* Let other threads hash the pieces of the file while it is written, so that bm_out_dir_finish has
 * less to do. This is meant for a large file in a directory, and does nothing for a single file.
 * Only the first `rewritable` bytes may be rewritten, so the pieces of these bytes are hashed when
 * the file is closed. Call before the first write. */
void bm_out_file_digest_early(bm_out_file *file, uint64_t rewritable);
/* For a file in a directory: let bm_out_dir_finish check that a part written by an earlier job
 * still has its digest (else BM_ERR_FORMAT). This part must not be rewritten. */
void bm_out_file_compare(bm_out_file *file, const bm_sealed_part *sealed);
/* Pass all buffered bytes to the system, so that they survive the end of the process. Not possible
 * with compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_flush(bm_out_file *file, bm_error *err);
/* Read back flushed bytes; BM_ERR_FORMAT names the file if it is shorter. Not possible with
 * compression. */
bm_status bm_out_file_read(const bm_out_file *file, uint64_t offset, void *out, size_t len,
                           bm_error *err);
/* The name that messages use for the file. */
const char *bm_out_file_shown(const bm_out_file *file);
/* Overwrite bytes that were written before, such as a header that states the length. Not possible
 * with compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush and close. A single file is synced and renamed; a file in a directory is added to the
 * directory's outputs. Frees the handle, whatever the status. NULL is fine. */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
/* Remove the file, and free the handle. But if the file's directory is preserved
 * (bm_out_dir_preserve), the file stays, with the bytes that were flushed. NULL is fine. */
void bm_out_file_abort(bm_out_file *file);
/* The number of bytes written, before compression. It includes the bytes that bm_out_dir_file_again
 * kept. */
uint64_t bm_out_file_bytes(const bm_out_file *file);

/* out_file_inside -- the inside of a bm_out_file, for out_file.c and out_dir.c only. */

struct bm_out_file;

/* The owner of a file. A single file has none: {0}. */
typedef struct bm_out_owner {
    void *ctx;
    /* Adds a complete file to the owner's files. If this succeeds, the owner owns the file's
     * descriptor and name. */
    bm_status (*on_close)(void *ctx, struct bm_out_file *file, bm_error *err);
    const bool *preserves; /* a flag of the owner: does abort leave the file? */
} bm_out_owner;

/* Members for a single file: how its target is treated, and the state of its rename. */
typedef struct bm_out_single {
    bm_out_existing existing; /* how to treat a file at the target */
    bm_out_parents parents;
    dev_t device;  /* device of the complete file */
    ino_t node;    /* inode of the complete file */
    bool placed;   /* the file has its final name already */
    bool replaced; /* the replaced file has the temporary name now */
} bm_out_single;

/* Bytes from … to-1 of a file. */
typedef struct bm_out_stretch {
    uint64_t from, to;
} bm_out_stretch;

struct bm_out_file {
    int fd;
    int folder;   /* descriptor, borrowed; AT_FDCWD for a single file */
    size_t skip;  /* bytes of `path` before the file's name in the folder */
    char *path;   /* path of the file that is written */
    char *target; /* final path of a single file, "-" for a stream; else NULL */
    char *name;   /* in a directory: the name of the output */
    bm_out_owner owner;
    bm_out_single single;
    bm_write_fn pass; /* receives the bytes of a stream; NULL: not a stream */
    void *pass_ctx;
    char *buf; /* bytes not written yet */
    size_t len;
    uint64_t accepted;     /* size of the file before compression, including buffered bytes */
    uint64_t written;      /* bytes passed to the system, up to the first gap */
    pthread_mutex_t lock;  /* protects all members during bm_out_file_write_at */
    bm_out_stretch *ahead; /* written stretches that follow the first gap */
    size_t n_ahead, cap_ahead;
    uint64_t started; /* the system has begun to write the first `started` bytes to the disk */
    bm_compressor *compressor; /* NULL: none */
    bm_status failed;          /* the first failure, which every later call returns */
    int failed_code;           /* the errno of the first failure; 0: none */
    bool follows;             /* hash the file while it is written, as soon as it is large enough */
    uint64_t rewritable;      /* bytes at the front of the file that may still be rewritten */
    bm_digest_follow *follow; /* NULL: hashing has not begun, or it has ended */
    bm_sealed_part sealed;    /* checked in bm_out_dir_finish */
};

/* The location of a file: its name in the open folder is `path` without its first `skip` bytes. */
typedef struct bm_out_spot {
    int folder; /* borrowed until the file is closed */
    size_t skip;
    char *path; /* owned by the called function, whatever the status */
} bm_out_spot;

/* Create a file (O_EXCL). */
bm_status bm_out_file_create(bm_out_spot spot, struct bm_out_file **out, bm_error *err);
/* Reopen a regular file, and cut it to its first `bytes`. Writing continues after them.
 * BM_ERR_FORMAT: the file is missing, shorter or not a regular file. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_out_file_reopen(bm_out_spot spot, uint64_t bytes, struct bm_out_file **out,
                             bm_error *err);

/* out_group -- renames the single files of one job together, or none of them.
 *
 *     add, add, …     each file is written and synced beside its target
 *     place           all files are renamed; if one fails, none is
 *     end             the new names are kept; or, if something else failed, all is undone
 *
 * {0} is an empty group. Threads: one at a time. */

#define BM_OUT_GROUP_MAX 4u /* the most files of a job: rows, two histograms, a report */

typedef struct bm_out_group {
    bm_out_file *files[BM_OUT_GROUP_MAX];
    size_t n;
} bm_out_group;

/* Add a complete file. The group owns it; on failure it is removed. */
bm_status bm_out_group_add(bm_out_group *group, bm_out_file *file, bm_error *err);
/* Rename all files. On failure all renames are undone, all files are removed, and the group is
 * empty. */
bm_status bm_out_group_place(bm_out_group *group, bm_error *err);
/* Call after bm_out_group_place. If `stays`, keep the new names. Otherwise remove the new files,
 * and rename the old files back. Then the group is empty. */
void bm_out_group_end(bm_out_group *group, bool stays);
