/* out_file_inside.h -- the inside of a bm_out_file, for out_file.c, out_file_place.c and out_dir.c only. */
#ifndef BM_IO_OUTPUT_OUT_FILE_INSIDE_H
#define BM_IO_OUTPUT_OUT_FILE_INSIDE_H

#include <pthread.h>

#include "output/compress.h"
#include "output/digest_follow.h"
#include "output/out_parents.h"
#include "output/out_target.h"

struct bm_out_file;

/* Whom a file belongs to. A single file belongs to nobody: {0}. */
typedef struct bm_out_owner {
    void *ctx;
    /* The file is complete. On success its descriptor and its name are taken. */
    bm_status (*on_close)(void *ctx, struct bm_out_file *file, bm_error *err);
    const bool *preserves; /* the owner's: does abort leave the file where it is? */
} bm_out_owner;

/* What only a single file has: where it goes, and how far it is on its way. */
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
    uint64_t written;      /* bytes given to the system, without those of `ahead` */
    pthread_mutex_t lock;  /* of all above and below, while bytes are written at their places */
    bm_out_stretch *ahead; /* written before the bytes in front of them */
    size_t n_ahead, cap_ahead;
    uint64_t started;          /* of those: the system was told to write them to the disk */
    bm_compressor *compressor; /* NULL: none */
    bm_status failed;          /* the first failure, which every later call returns */
    int failed_code;           /* its errno; 0: none */
    bool follows;              /* is digested while it is written, once it is large */
    uint64_t unsettled;        /* bytes at its front that may be rewritten none the less */
    bm_digest_follow *follow;  /* NULL: not yet, or not any more */
    bm_digest_piece *pieces;   /* filled at close, where it was followed to the end; else NULL */
    bm_sealed_part sealed;     /* to be compared when its directory is finished */
};

/* Where a file is: the bytes of `path` behind `skip` are its name in the open folder. */
typedef struct bm_out_spot {
    int folder; /* borrowed until the file is closed */
    size_t skip;
    char *path; /* taken, whatever comes of it */
} bm_out_spot;

/* A new file (O_EXCL). */
bm_status bm_out_file_create(bm_out_spot spot, struct bm_out_file **out, bm_error *err);
/* A regular file that is there, cut to its first `bytes`, behind which writing goes on. BM_ERR_FORMAT:
 * it is missing, shorter or no regular file; BM_ERR_IO; BM_ERR_NOMEM. */
bm_status bm_out_file_reopen(bm_out_spot spot, uint64_t bytes, struct bm_out_file **out,
                             bm_error *err);

#endif
