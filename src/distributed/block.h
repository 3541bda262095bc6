/* SPDX-License-Identifier: Apache-2.0 */
/* block.h -- reads and writes blocks. bandmill/distributed.h defines their format. */
#pragma once

#include <bandmill/distributed.h>

#define BM_BLOCK_HEAD 72u /* bytes of the header */

typedef enum bm_block_kind { BM_BLOCK_ENTRIES, BM_BLOCK_FOREST } bm_block_kind;

typedef struct bm_block_head {
    bm_block_kind kind;
    uint32_t n, n_ids;
    uint64_t settings;
    bm_joiner_counts counts;
} bm_block_head;

/* Bytes of a block, including the header. */
size_t bm_block_bytes(const bm_block_head *head);
/* Write the header of a block. Its body must already be written, because the header contains the
 * digest. */
void bm_block_seal(const bm_block_head *head, char *block);
/* Read the header of the block at the beginning of `size` bytes at `data`, and check the whole
 * block. BM_ERR_FORMAT. */
bm_status bm_block_read(const char *data, size_t size, bm_block_head *out, bm_error *err);

static inline void bm_joiner_counts_add(bm_joiner_counts *to, const bm_joiner_counts *of)
{
    to->documents += of->documents;
    to->empty += of->empty;
    to->unreadable += of->unreadable;
    to->skipped += of->skipped;
    to->shingles += of->shingles;
}

/* block_rows -- an Arrow array with one block per row. */

typedef struct bm_block_rows {
    int32_t *parts;   /* the part of each block; NULL if with_parts is false */
    int64_t *offsets; /* n + 1 offsets in `data` */
    char *data;
    size_t n, cap, cap_offsets, len, cap_data;
    bool with_parts;
} bm_block_rows;

/* Append a block of `bytes` bytes. The caller must fill it at *block, which is valid until the next
 * call. */
bm_status bm_block_rows_add(bm_block_rows *rows, size_t part, size_t bytes, char **block,
                            bm_error *err);
/* Move the rows into an Arrow array. Afterwards `rows` is empty, even on failure. */
bm_status bm_block_rows_take(bm_block_rows *rows, struct ArrowSchema *schema,
                             struct ArrowArray *array, bm_error *err);
void bm_block_rows_reset(bm_block_rows *rows);

/* column_rows -- an Arrow array made from columns that bandmill has allocated. */

typedef struct bm_made_column {
    const char *format, *name;
    /* Buffers from bm_alloc, without a validity buffer. bm_columns_take takes ownership of them:
     * the Arrow array owns them, or, on failure, they are freed. */
    void *buffers[2];
    size_t n_buffers;
} bm_made_column;

bm_status bm_columns_take(const bm_made_column *columns, size_t n_columns, size_t n_rows,
                          struct ArrowSchema *schema, struct ArrowArray *array, bm_error *err);
