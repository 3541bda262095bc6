/* reader.h -- from files to batches of whole records, and from those to documents.
 *
 * Two halves. The *reader* (one thread) reads large blocks, takes compression off, and cuts at
 * record boundaries: a raw batch holds pieces, each a run of whole records of one file. The
 * *parser* (one a thread) finds the records of a raw batch and calls back for each: in full (id,
 * text) or split only (bounds, for copying what is kept). Both see the same records in the same
 * order.
 *
 * The table of readers has a row a format: bm_reader_ops. */
#ifndef BM_IO_INPUT_READER_H
#define BM_IO_INPUT_READER_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/input/input_set.h"
#include "io/json/json_simd.h"

#define BM_READ_PADDING BM_JSON_PADDING /* zero bytes that may be read behind a raw batch's data */

typedef struct bm_raw_piece {
    uint32_t file;             /* index into the input set */
    uint64_t first_line;       /* of the piece in its file, 1 is the first */
    size_t begin, end;         /* in bm_raw_batch.data; whole records */
    bool file_begin, file_end; /* the piece is the first, the last of its file (a file without
                                  records has one empty piece; a last piece may be empty) */
    bool cut; /* one record, longer than max_doc_bytes, of which only the first bytes are here */
    size_t columns; /* index into bm_raw_batch.columns (tsv, csv) */
} bm_raw_piece;

typedef struct bm_raw_batch {
    uint64_t sequence; /* 0, 1, 2 … in reading order */
    char *data;        /* len bytes, then BM_READ_PADDING zero bytes */
    size_t len, cap;
    bm_raw_piece *pieces;
    size_t n_pieces, cap_pieces;
    uint64_t bytes_read; /* as stored, so far, for progress */
    uint32_t *columns; /* of each file: the id's column, then one a text field (reader_fields.h) */
    size_t n_columns, cap_columns;
} bm_raw_batch;

typedef struct bm_reader bm_reader;

/* A batch ends when it holds batch_bytes (a longer record makes it longer, up to max_doc_bytes and
 * a bit) or `batch_records` records (0: no limit). */
bm_status bm_reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                         bm_reader **out, bm_error *err);
/* *out is taken by the caller (bm_raw_batch_free); NULL at the end. */
bm_status bm_reader_next(bm_reader *reader, bm_raw_batch **out, bm_error *err);
void bm_reader_close(bm_reader *reader);     /* NULL is fine */
void bm_raw_batch_free(bm_raw_batch *batch); /* NULL is fine */

/* One record; every pointer is valid during the callback only. */
typedef struct bm_record {
    uint32_t file;
    uint64_t line;       /* where the record begins */
    bm_str raw;          /* its bytes as read, with its line ending if it has one; of a record
                            longer than max_doc_bytes its first bytes only */
    bool is_header;      /* a header row (split only; never given in full parsing) */
    bool bad;            /* a bad record: only file, line, raw and reason are set */
    const char *reason;  /* "what is wrong (what was expected)" */
    bm_str id;           /* valid UTF-8, unescaped; FILE:LINE where it has none of its own */
    bm_str text;         /* valid UTF-8 */
    uint64_t text_bytes; /* of the text as read (JSON: after unescaping), before repair */
    uint64_t n_invalid;  /* U+FFFD written in its place */
} bm_record;

/* Anything but BM_OK stops the parser, which returns it. */
typedef bm_status (*bm_record_fn)(void *ctx, const bm_record *record, bm_error *err);

typedef struct bm_parser bm_parser;
bm_status bm_parser_open(const bm_input_set *set, bm_parser **out, bm_error *err);
/* Bad records are handed to the callback too: what to do about them is its business. BLANK lines of
 * jsonl are no records. */
bm_status bm_parser_run(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                        bm_error *err);
/* Bounds only: raw, file, line, is_header. Records that full parsing calls bad are records here
 * like any other. */
bm_status bm_parser_split(bm_parser *parser, const bm_raw_batch *batch, bm_record_fn fn, void *ctx,
                          bm_error *err);
void bm_parser_close(bm_parser *parser); /* NULL is fine */

#endif
