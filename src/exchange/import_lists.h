/* import_lists.h -- what lies beside the signatures of an import: ids, a line each, and numbers of
 * shingles. Read in step with the rows. */
#ifndef BM_EXCHANGE_IMPORT_LISTS_H
#define BM_EXCHANGE_IMPORT_LISTS_H

#include "exchange/import_source.h"

typedef struct bm_import_ids {
    int fd; /* -1: there is none */
    const char *path;
    uint64_t at, line; /* of the next byte, of the next line from 1 */
    bm_buf raw;        /* bytes that were read and not taken */
    size_t taken;      /* of them */
    bm_buf text;       /* of a block of ids, unescaped */
    size_t ends[BM_IMPORT_BLOCK_ROWS];
} bm_import_ids;

/* `path` is borrowed. Good for close whatever the status. */
bm_status bm_import_ids_open(const char *path, bm_import_ids *out, bm_error *err);
/* The next n ids, at most BM_IMPORT_BLOCK_ROWS, into text and ends. BM_ERR_INPUT: there are fewer, or one has a broken
 * escape. */
bm_status bm_import_ids_next(bm_import_ids *ids, size_t n, bm_error *err);
/* BM_ERR_INPUT: there are more. */
bm_status bm_import_ids_end(bm_import_ids *ids, bm_error *err);
void bm_import_ids_close(bm_import_ids *ids);

typedef struct bm_import_sizes {
    int fd; /* -1: there is none */
    const char *path;
    uint64_t n, offset;
    uint32_t block[BM_IMPORT_BLOCK_ROWS];
} bm_import_sizes;

bm_status bm_import_sizes_open(const char *path, bm_import_sizes *out, bm_error *err);
/* Rows first … first+n-1 into the block. */
bm_status bm_import_sizes_read(bm_import_sizes *sizes, uint64_t first, size_t n, bm_error *err);
void bm_import_sizes_close(bm_import_sizes *sizes);

#endif
