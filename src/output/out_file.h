/* SPDX-License-Identifier: Apache-2.0 */
/* out_file.h -- one output file, written from front to back.
 *
 * A single file is written to a temporary file beside its target, synced and renamed. A file in a
 * directory comes from out_dir.h; everything below is the same for it. abort, and every failure of
 * close, removes the file.
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

/* Open a single file. Missing folders above it are made; abort removes them again. */
bm_status bm_out_file_open(const char *target, bm_out_existing existing, bm_out_file **out,
                           bm_error *err);
/* Open a stream, which passes its bytes to the caller after buffering (and compression):
 * BM_ERR_PIPE if the caller takes no more. Nothing is read back or rewritten. */
bm_status bm_out_file_stream(bm_write_fn pass, void *ctx, bm_out_file **out, bm_error *err);
/* Set the compression, before the first write (else BM_ERR_INTERNAL). */
bm_status bm_out_file_compress(bm_out_file *file, bm_compression compression, bm_pack_lanes lanes,
                               bm_error *err);
/* Write, buffered. After a failure every later call fails as well. */
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* Announce that nothing more will be written. True: other threads compress the gathered bytes
 * meanwhile, so a later close has less to wait for. */
bool bm_out_file_end(bm_out_file *file);
/* End a member of gz or a frame of zst here. No effect on other files, or if one ends here
 * already. */
bm_status bm_out_file_end_part(bm_out_file *file, bm_error *err);
/* Write bytes at `at`, where none were written; from any thread, several calls at once. No gap may
 * remain in the end. Other calls are allowed only before or after all of these; bm_out_file_write
 * only before. Not with compression. */
bm_status bm_out_file_write_at(bm_out_file *file, uint64_t at, const void *data, size_t len,
                               bm_error *err);
/* For a large file in a directory that is never rewritten, except its first `rewritable` bytes:
 * hash its pieces on other threads while it is written, and the pieces of the first bytes once it
 * is closed. bm_out_dir_finish then has less to do. Call before the first write; nothing else
 * changes. */
void bm_out_file_digest_early(bm_out_file *file, uint64_t rewritable);
/* For a file in a directory: when the directory is finished and the file is read for its digests,
 * the sealed part is compared (BM_ERR_FORMAT if it differs). That part must not be rewritten. */
void bm_out_file_compare(bm_out_file *file, const bm_sealed_part *sealed);
/* Pass all written bytes to the system, so that they survive the end of the process. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_flush(bm_out_file *file, bm_error *err);
/* Read back flushed bytes; BM_ERR_FORMAT names the file if it is shorter. Not with compression. */
bm_status bm_out_file_read(const bm_out_file *file, uint64_t offset, void *out, size_t len,
                           bm_error *err);
/* The name by which messages call the file. */
const char *bm_out_file_shown(const bm_out_file *file);
/* Overwrite bytes written before, such as a header that holds the length. Not with compression
 * (BM_ERR_INTERNAL). */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush and close. A single file is synced and renamed; a file in a directory is handed to the
 * directory. Frees the handle, whatever the status. NULL is fine. */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
/* Remove the file; if bm_out_dir_preserve preserves its directory, its flushed bytes stay instead.
 * NULL is fine. */
void bm_out_file_abort(bm_out_file *file);
/* Bytes given to bm_out_file_write, before compression, plus those that bm_out_dir_file_again
 * kept. */
uint64_t bm_out_file_bytes(const bm_out_file *file);

/* out_file_inside -- the inside of a bm_out_file, for out_file.c and out_dir.c only. */

struct bm_out_file;

/* The owner of a file. A single file has none: {0}. */
typedef struct bm_out_owner {
    void *ctx;
    /* Takes a complete file. On success its descriptor and its name belong to the owner. */
    bm_status (*on_close)(void *ctx, struct bm_out_file *file, bm_error *err);
    const bool *preserves; /* the owner's flag: does abort leave the file in place? */
} bm_out_owner;

/* Members for a single file: its target, and the state of its rename. */
typedef struct bm_out_single {
    bm_out_existing existing; /* how to treat a file at the target */
    bm_out_parents parents;
    dev_t device; /* device of the complete file; the next member: its inode */
    ino_t node;
    bool placed;   /* it has its final name */
    bool replaced; /* the replaced file has the temporary name */
} bm_out_single;

/* Bytes from … to-1 of a file. */
typedef struct bm_out_stretch {
    uint64_t from, to;
} bm_out_stretch;

struct bm_out_file {
    int fd;
    int folder;   /* descriptor, borrowed; AT_FDCWD for a single file */
    size_t skip;  /* bytes of `path` before the file's name in the folder */
    char *path;   /* where the bytes are written */
    char *target; /* a single file's final name; else NULL */
    char *name;   /* the owner's name for it */
    bm_out_owner owner;
    bm_out_single single;
    bm_write_fn pass; /* takes the bytes of a stream; else NULL */
    void *pass_ctx;
    char *buf; /* bytes not written yet */
    size_t len;
    uint64_t accepted;     /* bytes given to bm_out_file_write */
    uint64_t written;      /* bytes given to the system, without those in `ahead` */
    pthread_mutex_t lock;  /* protects all members during write_at */
    bm_out_stretch *ahead; /* written stretches beyond a gap */
    size_t n_ahead, cap_ahead;
    uint64_t started;          /* bytes of `written` already being written to the disk */
    bm_compressor *compressor; /* NULL: none */
    bm_status failed;          /* the first failure, which every later call returns */
    int failed_code;           /* its errno; 0: none */
    bool follows;              /* digest it while it is written, once it is large */
    uint64_t rewritable;       /* bytes at its front that may still be rewritten */
    bm_digest_follow *follow;  /* NULL: not started, or ended */
    bm_sealed_part sealed;     /* compared when its directory is finished */
};

/* The place of a file: the bytes of `path` after `skip` are its name in the open folder. */
typedef struct bm_out_spot {
    int folder; /* borrowed until the file is closed */
    size_t skip;
    char *path; /* ownership passes, whatever the status */
} bm_out_spot;

/* Create a file (O_EXCL). */
bm_status bm_out_file_create(bm_out_spot spot, struct bm_out_file **out, bm_error *err);
/* Reopen a regular file, cut to its first `bytes`, after which writing continues. BM_ERR_FORMAT: it
 * is missing, shorter or not a regular file; BM_ERR_IO; BM_ERR_NOMEM. */
bm_status bm_out_file_reopen(bm_out_spot spot, uint64_t bytes, struct bm_out_file **out,
                             bm_error *err);

/* out_group -- single files of one job, which are renamed together or not at all.
 *
 *     add, add, …     each file is written and synced beside its target
 *     place           all files are renamed; if one fails, none is
 *     end             the new names stay; or, if something else failed, all is undone
 *
 * {0} is an empty group. Threads: one at a time. */

#define BM_OUT_GROUP_MAX 4u /* rows, two histograms, a report */

typedef struct bm_out_group {
    bm_out_file *files[BM_OUT_GROUP_MAX];
    size_t n;
} bm_out_group;

/* Add a complete file. Takes it, whatever the status. */
bm_status bm_out_group_add(bm_out_group *group, bm_out_file *file, bm_error *err);
/* Rename all files. On failure none is renamed, and the group is empty. */
bm_status bm_out_group_place(bm_out_group *group, bm_error *err);
/* `stays`, after place: the new names stay. Otherwise the new files are removed, and the old ones
 * get their names back. The group is empty. */
void bm_out_group_end(bm_out_group *group, bool stays);
