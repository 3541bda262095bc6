/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h -- from files to batches of whole records.
 *
 * The reader (one thread) reads large blocks, takes compression off, and cuts at record boundaries:
 * a raw batch holds pieces, each a run of whole records of one file. A parser (parser.h) finds the
 * records in it.
 *
 * A plain file needs no reader to be cut: the bytes before the end of a batch tell where the last
 * record seems to end. Where several threads take batches in turn, such a *range* is handed out
 * unread, and whoever got it reads it by position, beside others, and sees whether a record does
 * end there. Small files are handed out so, too, as many as fit into a batch. */
#pragma once

#include <pthread.h>

#include <bandmill/status.h>

#include "base/memory.h"
#include "input/batch_source.h"
#include "input/input_ahead.h"
#include "input/input_digest.h"
#include "input/input_set.h"
#include "input/raw_batch.h"
#include "input/record_format.h"
#include "input/record_rules.h"

typedef struct bm_reader bm_reader;

/* A batch ends when it holds batch_bytes (a longer record makes it longer, up to the longest that a
 * document may be and a bit) or `batch_records` records (0: no limit). */
bm_status bm_reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                         bm_reader **out, bm_error *err);
/* Ask before a record that is longer than a batch is held; borrowed; NULL: any may be. */
void bm_reader_set_gate(bm_reader *reader, const bm_long_gate *gate);
/* Tell the place after each batch, and whether the bytes before `check` (copied), if it is known,
 * are unchanged. */
bm_status bm_reader_track(bm_reader *reader, const bm_content_place *check, bm_error *err);
/* Several threads take batches in turn: who waits for his helps its inputs (bm_input_ahead_help),
 * and who got a batch has it filled at once. */
void bm_reader_set_helped(bm_reader *reader);
/* *out is taken by the caller (bm_raw_batch_free); NULL at the end. */
bm_status bm_reader_next(bm_reader *reader, bm_raw_batch **out, bm_error *err);
/* Read the range that the batch is, if it is one, beside `next` and other fills. In their order,
 * one at a time, their lines are then counted on and their bytes digested, for which *in_turn grows
 * by seconds. Where something is other than it seemed, the batch is left without it, and the reader
 * reads it again. Not BM_OK: it cannot be parsed, but its turn is over. */
bm_status bm_reader_fill(bm_reader *reader, bm_raw_batch *batch, double *in_turn, bm_error *err);
void bm_reader_close(bm_reader *reader); /* NULL is fine */

/* reader_state -- what a reader knows between two batches, and while it looks for a cut. For the
 * files of the reader alone. */

struct bm_input_set;

/* The batches that were handed out. */
typedef struct bm_reader_batches {
    uint64_t n;
    bm_status failed; /* not BM_OK: there are no more, the reader can only be closed */
} bm_reader_batches;

/* The current file is broken. */
typedef struct bm_reader_break {
    bm_error error; /* not BM_OK: to be returned next, when what stood before is handed out; */
    bool rest;      /* or, if bad records are skipped, the rest of the file is one of them */
} bm_reader_break;

/* Is told about everything that is read. */
typedef struct bm_reader_watch {
    const bm_long_gate *gate;    /* borrowed; NULL: any record may be held */
    bm_content_tracker *tracker; /* NULL: places are not wanted */
} bm_reader_watch;

/* Ranges of the current file. While the reader is ahead of the finished ones, the state of lines
 * and digests (line, n_elements, mean_bytes, bytes, tracker) belongs to the thread that accepts
 * one. */
typedef struct bm_reader_ranges {
    bool wanted, ahead;
    uint64_t at;    /* where in the file the next one begins, if the reader is ahead */
    uint64_t given; /* handed out */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t finished; /* of the ranges: accepted or dropped */
    bool failed;       /* one was not as it seemed: it and all later ones are dropped, ... */
    bool unbegun;      /* ... and one of them was the first of its file */
    unsigned state;    /* ... and where the first one began, the scan had this state, ... */
    size_t file;       /* ... in this file */
    /* The reader's own: how often that happened in this file; batches to read in order before the
     * next range; bytes of the file that he looks at, and how its elements begin. */
    uint32_t n_failed, pause;
    bm_buf look, opening;
} bm_reader_ranges;

struct bm_reader {
    struct bm_input_set *set;
    const bm_record_format *format;
    const bm_record_rules *rules;
    size_t batch_bytes;
    uint32_t batch_records;
    bm_input_ahead *bytes;
    size_t file;         /* the current file, or the next to open */
    bool open, file_end; /* a file is open; all of it has been read */
    bool begun;          /* a piece of the current file has been made */
    uint64_t line;       /* on which the next piece begins */
    uint64_t n_elements; /* of the file's array that are before it */
    uint64_t place;      /* of its first byte, in a plain file */
    unsigned state;      /* of the scan there */
    bm_buf carry;        /* the beginning of the next batch */
    uint32_t *columns;   /* numbers of the current file (record_rules.h) */
    double mean_bytes;   /* of the records so far, the last ones counting most */
    uint64_t n_records;  /* in the batch being made */
    bm_reader_break broken;
    bm_reader_batches batches;
    bm_reader_watch watch;
    bm_reader_ranges ranges;
};

/* The search for a cut in the current piece. */
typedef struct bm_cutter {
    bm_raw_batch *batch;
    size_t begin; /* of the piece, in the batch */
    size_t end;   /* of the bytes read */
    size_t seen;  /* looked at so far */
    size_t cut;   /* after the last whole record; begin: none yet */
    bm_scan scan;
    unsigned state;  /* of the scan at `cut` */
    bool counted;    /* how many newlines there are before `cut`: ... */
    uint64_t lines;  /* so many */
    uint64_t walked; /* records found one by one */
    bool full;       /* the batch must end at `cut` */
} bm_cutter;

/* reader_piece -- a run of whole records of one file becomes a piece of a batch. */

struct bm_reader;

/* source_records -- records of text files: the reader cuts them, parsers parse them. */

extern const bm_batch_source_ops bm_source_records;
