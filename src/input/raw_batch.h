/* raw_batch.h -- what the reader hands to a parser: whole records, cut but not parsed.
 *
 *     data     [piece of file 0][piece of file 1][piece of file 2]
 *     pieces   begin, end, first line of each */
#ifndef BM_IO_INPUT_RAW_BATCH_H
#define BM_IO_INPUT_RAW_BATCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/content_place.h"

typedef struct bm_raw_piece {
    uint32_t file;       /* index into the input set */
    uint64_t first_line; /* of the piece in its file, 1 is the first */
    size_t begin, end;   /* in bm_raw_batch.data; whole records */
    /* The piece is the first, the last of its file. A file without records has one empty piece; a
     * last piece may be empty. */
    bool file_begin, file_end;
    unsigned state; /* of the scan (record_format.h) at its beginning */
    /* Not NULL: an empty piece, which stands for the rest of a file that cannot be read, and why. Owned. */
    char *broken;
    bool
        cut; /* one record, longer than a document may be, of which only the first bytes are here */
    uint64_t n_behind; /* of such a record: its lines behind the first */
    size_t columns;    /* index into bm_raw_batch.columns (tsv, csv) */
} bm_raw_piece;

typedef struct bm_raw_batch {
    uint64_t sequence; /* 0, 1, 2 … in reading order */
    char *data;
    size_t len, cap;
    bm_raw_piece *pieces;
    size_t n_pieces, cap_pieces;
    uint64_t bytes_read; /* as stored, so far, for progress */
    uint32_t *columns;   /* of each file: the id's, then one a text field (record_rules.h) */
    size_t n_columns, cap_columns;
    bm_content_place place; /* behind its last record, where the reader tracks it */
} bm_raw_batch;

void bm_raw_batch_free(bm_raw_batch *batch); /* NULL is fine */
/* Memory for len bytes; data is never NULL then. */
bm_status bm_raw_batch_reserve(bm_raw_batch *batch, size_t len, bm_error *err);

#endif
