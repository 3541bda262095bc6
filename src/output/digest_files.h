/* digest_files.h -- pieces of files, hashed by several threads. */
#ifndef BM_IO_MANIFEST_DIGEST_FILES_H
#define BM_IO_MANIFEST_DIGEST_FILES_H

#include "base/meter.h"
#include "base/pool.h"
#include "output/digest.h"

typedef struct bm_digest_file {
    const char *shown; /* in errors */
    uint64_t bytes;
    bm_digest_piece
        *pieces; /* bm_digest_count_pieces of them: filled, but for those that are known */
} bm_digest_file;

/* Fills *fd for file number `file`; *owned: it is closed once the piece is hashed. Called on any
 * thread, once a piece. */
typedef bm_status bm_digest_open_fn(void *ctx, size_t file, int *fd, bool *owned, bm_error *err);

typedef struct bm_digest_work {
    const bm_digest_file *files;
    size_t n;
    uint64_t piece_bytes; /* 0: a file is one piece */
    unsigned kinds;
    bm_digest_open_fn *open;
    void *ctx;
    bm_pool *pool;   /* NULL: the caller alone */
    bm_meter *meter; /* told how many files were begun, of `meter_total`; NULL: nobody watches */
    uint64_t meter_total;
} bm_digest_work;

/* BM_ERR_IO names the first file that cannot be read. */
bm_status bm_digest_files(const bm_digest_work *work, bm_error *err);

#endif
