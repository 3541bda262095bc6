/* SPDX-License-Identifier: Apache-2.0 */
/* out_file.h -- one output file, written from front to back.
 *
 * A single file is written to a temporary file beside its target, synced and renamed. A file of a
 * directory comes from out_dir.h; everything below is the same for it. abort, and every failure of
 * close, removes the file that was begun.
 *
 * Threads: one at a time for each file, but for bm_out_file_write_at. */
#pragma once

#include <pthread.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/compress.h"
#include "output/digest.h"
#include "output/out_target.h"

typedef struct bm_out_file bm_out_file;

/* A single file. Folders above it that are missing are made; abort removes them again. */
bm_status bm_out_file_open(const char *target, bm_out_existing existing, bm_out_file **out,
                           bm_error *err);
/* A file that passes its bytes to the caller, after the buffer (and compression): BM_ERR_PIPE if
 * the caller takes no more. Nothing is read back or rewritten. */
bm_status bm_out_file_stream(bm_write_fn pass, void *ctx, bm_out_file **out, bm_error *err);
/* To be chosen before the first write (else BM_ERR_INTERNAL). */
bm_status bm_out_file_compress(bm_out_file *file, bm_compression compression, bm_pack_lanes lanes,
                               bm_error *err);
/* Buffered. After a failure every later call fails as well. */
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* Nothing more will be written. True: other threads compress the written bytes, and a later close
 * will wait for less. */
bool bm_out_file_end(bm_out_file *file);
/* End a member of gz or a frame of zst here; other files, and one that ends here already, stay as
 * they are. */
bm_status bm_out_file_end_part(bm_out_file *file, bm_error *err);
/* Write bytes from byte `at` on, where none were written; from any thread, any number of such calls
 * at once. In the end no byte may be missing before others. Other calls come before or after these,
 * and bm_out_file_write before only. Not with compression. */
bm_status bm_out_file_write_at(bm_out_file *file, uint64_t at, const void *data, size_t len,
                               bm_error *err);
/* For a file of a directory that will be large and is never rewritten, but for its first
 * `rewritable` bytes: hash its pieces on other threads while it is written, and the pieces of the
 * first bytes once it is closed, so that bm_out_dir_finish need not. Before the first write;
 * nothing else changes. */
void bm_out_file_digest_early(bm_out_file *file, uint64_t rewritable);
/* For a file of a directory: when that is finished, and reads the file for its digests, the part is
 * compared, BM_ERR_FORMAT. That part must not be rewritten. */
void bm_out_file_compare(bm_out_file *file, const bm_sealed_part *sealed);
/* Pass all written bytes to the system: the end of the process does not lose them. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_flush(bm_out_file *file, bm_error *err);
/* Read back bytes that were flushed: BM_ERR_FORMAT names the file where it is shorter. Not with
 * compression. */
bm_status bm_out_file_read(const bm_out_file *file, uint64_t offset, void *out, size_t len,
                           bm_error *err);
/* The name by which messages call it. */
const char *bm_out_file_shown(const bm_out_file *file);
/* Overwrite bytes that were written before, such as a header that has the length. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush and close. A single file is synced and gets its name; a file of a directory is left to the
 * directory. The handle is gone, whatever the status. NULL is fine. */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
/* Removes the file, unless bm_out_dir_preserve preserves its directory: then its flushed bytes
 * stay. NULL is fine. */
void bm_out_file_abort(bm_out_file *file);
/* Bytes given to bm_out_file_write: before compression, and with those that bm_out_dir_file_again
 * found. */
uint64_t bm_out_file_bytes(const bm_out_file *file);

/* out_file_inside -- the inside of a bm_out_file, for out_file.c, out_file.c and out_dir.c only. */

struct bm_out_file;

/* Whom a file belongs to. A single file belongs to nobody: {0}. */
typedef struct bm_out_owner {
    void *ctx;
    /* The file is complete. On success its descriptor and its name are taken. */
    bm_status (*on_close)(void *ctx, struct bm_out_file *file, bm_error *err);
    const bool *preserves; /* the owner's: does abort leave the file where it is? */
} bm_out_owner;

/* The part of a single file: where it goes, and how far it is on its way. */
typedef struct bm_out_single {
    bm_out_existing existing; /* at its target */
    bm_out_parents parents;
    dev_t device; /* of the file, once it is complete */
    ino_t node;
    bool placed;   /* it has its name */
    bool replaced; /* and what had it before lies where the file was written */
} bm_out_single;

/* Bytes from … to-1 of a file. */
typedef struct bm_out_stretch {
    uint64_t from, to;
} bm_out_stretch;

struct bm_out_file {
    int fd;
    int folder;   /* open; of a single file AT_FDCWD. Borrowed */
    size_t skip;  /* bytes of `path` before the name that the file has in the folder */
    char *path;   /* where the bytes go now */
    char *target; /* of a single file: its name after close; else NULL */
    char *name;   /* for the owner */
    bm_out_owner owner;
    bm_out_single single;
    bm_write_fn pass; /* of a stream: takes the bytes; else NULL */
    void *pass_ctx;
    char *buf; /* bytes that are not written yet */
    size_t len;
    uint64_t accepted;     /* bytes given to bm_out_file_write */
    uint64_t written;      /* bytes given to the system, without the bytes of `ahead` */
    pthread_mutex_t lock;  /* of all above and below, while bytes are written at their places */
    bm_out_stretch *ahead; /* written before the bytes in front of them */
    size_t n_ahead, cap_ahead;
    uint64_t started;          /* of these: bytes that the system was asked to write to the disk */
    bm_compressor *compressor; /* NULL: none */
    bm_status failed;          /* the first failure, which every later call returns */
    int failed_code;           /* its errno; 0: none */
    bool follows;              /* is digested while it is written, once it is large */
    uint64_t rewritable;       /* bytes at its front that may be rewritten none the less */
    bm_digest_follow *follow;  /* NULL: not yet, or not any more */
    bm_sealed_part sealed;     /* to be compared when its directory is finished */
};

/* Where a file is: the bytes of `path` after `skip` are its name in the open folder. */
typedef struct bm_out_spot {
    int folder; /* borrowed until the file is closed */
    size_t skip;
    char *path; /* taken, whatever comes of it */
} bm_out_spot;

/* A new file (O_EXCL). */
bm_status bm_out_file_create(bm_out_spot spot, struct bm_out_file **out, bm_error *err);
/* Reopen a regular file, cut to its first `bytes`, after which writing continues. BM_ERR_FORMAT:
 * it is missing, shorter or no regular file; BM_ERR_IO; BM_ERR_NOMEM. */
bm_status bm_out_file_reopen(bm_out_spot spot, uint64_t bytes, struct bm_out_file **out,
                             bm_error *err);

/* out_group -- single files of one job, which get their names together or not at all.
 *
 *     add, add, …     each is written and synced beside its target
 *     place           all of them get their names; where one cannot, none has
 *     end             they stay; or, where something else failed meanwhile, all is as before
 *
 * {0} is an empty group. Threads: one at a time. */

#define BM_OUT_GROUP_MAX 4u /* rows, two histograms, a report */

typedef struct bm_out_group {
    bm_out_file *files[BM_OUT_GROUP_MAX];
    size_t n;
} bm_out_group;

/* The file is complete. It is taken, whatever the status. */
bm_status bm_out_group_add(bm_out_group *group, bm_out_file *file, bm_error *err);
/* On failure none has its name, and the group is empty. */
bm_status bm_out_group_place(bm_out_group *group, bm_error *err);
/* After place: the names stay. Otherwise, or without place: the new files are removed, and the old
 * ones have their names again. The group is empty. */
void bm_out_group_end(bm_out_group *group, bool stays);
