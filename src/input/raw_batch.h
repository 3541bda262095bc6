/* SPDX-License-Identifier: Apache-2.0 */
/* raw_batch.h -- a batch of whole records, not parsed yet, made by the reader for a parser.
 *
 *     data     [piece of file 0][piece of file 1][piece of file 2]
 *     pieces   begin, end, first line of each */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/input_digest.h"

typedef struct bm_raw_piece {
    uint32_t file;       /* index into the input set */
    uint64_t first_line; /* line of the file where the piece begins, from 1 */
    size_t begin, end;   /* offsets in bm_raw_batch.data; whole records */
    /* file_begin: the piece is the first of its file; file_end: it is the last. A file without
     * records has one empty piece; the last piece of any file may be empty. */
    bool file_begin, file_end;
    unsigned state;    /* the scan's state (record_format.h) at the beginning of the piece */
    uint64_t place;    /* offset of the piece's first byte, in a plain file */
    uint64_t n_before; /* elements of the file's array before the piece; other formats: 0 */
    /* If not NULL, the rest of the file cannot be read, for this reason. The piece is empty, and
     * represents the rest as one bad record. Owned. */
    char *broken;
    bool cut; /* the piece has only the first bytes of a record longer than a document may be */
    uint64_t n_behind; /* with `cut`: lines of the record after its first line */
    bm_hash128 digest; /* digest of a file that is read whole in bm_batch_source_fill */
    size_t columns;    /* index into bm_raw_batch.columns (tsv, csv) */
} bm_raw_piece;

/* Bytes that bm_batch_source_fill has to read. If `file` is set, they are a part of that file and
 * become the last piece. If not, they are whole files, one per piece. */
typedef struct bm_raw_range {
    bool is_open;               /* the range has yet to be read */
    const bm_stored_file *file; /* NULL: whole files */
    uint64_t at;                /* offset in `file` of the first byte to read */
    /* bytes of the part before `at`, which are in bm_raw_batch.data already */
    size_t held;
    uint64_t turn; /* ranges are accepted in the order of these numbers */
} bm_raw_range;

typedef struct bm_raw_batch {
    uint64_t sequence; /* 0, 1, 2 … in reading order */
    char *data;
    size_t len, cap;
    bm_raw_piece *pieces;
    size_t n_pieces, cap_pieces;
    uint64_t bytes_read; /* stored bytes read so far, for progress */
    uint32_t *columns;   /* per file: column numbers and a number of cells (record_rules.h) */
    size_t n_columns, cap_columns;
    bm_content_place place; /* after the batch's last record, if the reader tracks positions */
    bm_raw_range range;
} bm_raw_batch;

void bm_raw_batch_free(bm_raw_batch *batch); /* NULL is fine */
/* Reserve memory for len bytes. Afterwards `data` is not NULL, even if len is 0. */
bm_status bm_raw_batch_reserve(bm_raw_batch *batch, size_t len, bm_error *err);

/* long_gate -- decides how many bytes of one record may be kept in memory.
 *
 * Batches have a given size. A longer record makes its batch longer, up to the longest document
 * allowed. With many threads there may be many such batches. So before the reader keeps more of
 * such a record, it calls a gate, provided by the code that limits the memory. */

/* A record that the gate did not allow. The reader read it to its end and dropped it. The message
 * states its size. */
typedef struct bm_long_record {
    const char *file;
    uint64_t line;
    uint64_t bytes;
    uint64_t words; /* an upper bound */
} bm_long_record;

typedef struct bm_long_gate {
    void *ctx;
    /* Wait until `bytes` of the record being read may be kept in memory. Called again when the
     * record grows. If *may is false, so many bytes will never be allowed, and `refuse` is called
     * later. A failure ends the reading. */
    bm_status (*hold)(void *ctx, uint64_t bytes, bool *may, bm_error *err);
    /* Fail with a message that states how much memory the record would need; never BM_OK. */
    bm_status (*refuse)(void *ctx, const bm_long_record *record, bm_error *err);
} bm_long_gate;

/* The most words that can begin in `len` bytes of text: one at the beginning, one after each ASCII
 * character that is no letter or digit, and two per three non-ASCII bytes. In scripts that are
 * split into characters, each character is a word, and another word may begin after it. */
uint64_t bm_long_words(const char *data, size_t len);
