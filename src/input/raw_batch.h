/* SPDX-License-Identifier: Apache-2.0 */
/* raw_batch.h -- a batch of whole records, not parsed yet, which the reader passes to a parser.
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
    /* Is the piece the first of its file, and is it the last? A file without records has one empty
     * piece; the last piece of any file may be empty. */
    bool file_begin, file_end;
    unsigned state;    /* the scan's state (record_format.h) at the beginning of the piece */
    uint64_t place;    /* offset of its first byte in a plain file */
    uint64_t n_before; /* elements of the file's array before the piece; other formats: 0 */
    /* Not NULL: why the rest of the file cannot be read. The piece is empty, and represents that
     * rest as one bad record. Owned. */
    char *broken;
    bool cut; /* the piece has only the first bytes of a record longer than a document may be */
    uint64_t n_behind; /* with `cut`: lines of the record after its first line */
    bm_hash128 digest; /* digest of a file that is read whole in bm_batch_source_fill */
    size_t columns;    /* index into bm_raw_batch.columns (tsv, csv) */
} bm_raw_piece;

/* Bytes that bm_batch_source_fill reads. If `file` is set, they are a part of that file and become
 * the last piece; if not, they are whole files, one per piece. */
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
    bm_content_place place; /* after its last record, if the reader tracks positions */
    bm_raw_range range;
} bm_raw_batch;

void bm_raw_batch_free(bm_raw_batch *batch); /* NULL is fine */
/* Reserve memory for len bytes; afterwards data is not NULL, even for 0. */
bm_status bm_raw_batch_reserve(bm_raw_batch *batch, size_t len, bm_error *err);

/* long_gate -- decides how many bytes of one record may be kept in memory.
 *
 * Batches have a given size. A longer record makes its batch longer, up to the longest document
 * allowed, and with many threads there may be many such batches. So the reader calls a gate, which
 * the code that limits the memory provides, before it keeps more of such a record. */

/* A record that the gate does not allow. It was read to its end and dropped; its size goes into the
 * message. */
typedef struct bm_long_record {
    const char *file;
    uint64_t line;
    uint64_t bytes;
    uint64_t words; /* an upper bound */
} bm_long_record;

typedef struct bm_long_gate {
    void *ctx;
    /* May `bytes` of the record being read be kept in memory? Waits until they may. Called again
     * when the record grows. *may false: they never may, and `refuse` is called later. A failure
     * ends the reading. */
    bm_status (*hold)(void *ctx, uint64_t bytes, bool *may, bm_error *err);
    /* Fail with a message that states how much memory the record would need; never BM_OK. */
    bm_status (*refuse)(void *ctx, const bm_long_record *record, bm_error *err);
} bm_long_gate;

/* The most words that can begin in `len` bytes of text: one at the beginning, one after each ASCII
 * character that is no letter or digit, and two per three non-ASCII bytes, because a character of a
 * split script is a word of its own and lets another begin after it. */
uint64_t bm_long_words(const char *data, size_t len);
