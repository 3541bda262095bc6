/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h -- from files to batches of whole records.
 *
 * The reader (one thread) reads large blocks, decompresses them, and cuts at record boundaries: a
 * raw batch holds pieces, each a run of whole records of one file. A parser (parser.h) finds the
 * records in it.
 *
 * In a plain file a cut can be guessed without reading everything before it: the last bytes that
 * would fit into a batch show where a record seems to end. If several threads take batches in turn,
 * the bytes up to such a cut, a *range*, are handed out unread. The thread that got the range reads
 * it by position, at the same time as other threads, and checks that a record really ends there.
 * Small files are handed out unread too, as many as fit into a batch. */
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

/* A batch ends when it holds batch_bytes bytes or batch_records records (0: no limit). A longer
 * record makes its batch longer, to a little more than the longest document allowed. */
bm_status bm_reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                         bm_reader **out, bm_error *err);
/* Set the gate (borrowed) that is called before a record longer than a batch is kept in memory;
 * NULL: every record may be. */
void bm_reader_set_gate(bm_reader *reader, const bm_long_gate *gate);
/* Report the place after each batch (bm_raw_batch.place). If check->known, verify that the bytes
 * before that place are unchanged. `check` is copied. */
bm_status bm_reader_track(bm_reader *reader, const bm_content_place *check, bm_error *err);
/* Call this if several threads take batches in turn, a thread that waits for its turn helps the
 * inputs (bm_input_ahead_help), and a thread that got a batch calls bm_reader_fill at once. */
void bm_reader_set_helped(bm_reader *reader);
/* Get the next batch, which the caller owns (bm_raw_batch_free). *out is NULL at the end. */
bm_status bm_reader_next(bm_reader *reader, bm_raw_batch **out, bm_error *err);
/* If the batch is a range, read it, at the same time as `next` and other fills. Then ranges are
 * accepted one at a time, in their order: line numbers and digests continue from the range before,
 * and *in_turn grows by the seconds that this takes. A range that is not as expected is removed
 * from the batch, and the reader reads it again. After a failure the batch cannot be parsed, but no
 * other fill waits for it. */
bm_status bm_reader_fill(bm_reader *reader, bm_raw_batch *batch, double *in_turn, bm_error *err);
void bm_reader_close(bm_reader *reader); /* NULL is fine */

/* reader_state -- the reader's state between two batches, and while it searches for a cut. Used by
 * the reader alone. */

struct bm_input_set;

/* The batches that were handed out. */
typedef struct bm_reader_batches {
    uint64_t n;
    bm_status failed; /* not BM_OK: no batch follows, and the reader can only be closed */
} bm_reader_batches;

/* How the current file is broken. */
typedef struct bm_reader_break {
    bm_error error; /* status not BM_OK: returned after the records before are handed out */
    bool rest;      /* bad records are skipped, and the rest of the file becomes one */
} bm_reader_break;

/* Observers of everything that is read. */
typedef struct bm_reader_watch {
    const bm_long_gate *gate;    /* borrowed; NULL: any record may be kept in memory */
    bm_content_tracker *tracker; /* NULL: places are not reported */
} bm_reader_watch;

/* The ranges of the current file. While `ahead` (the reader has handed out ranges that are not
 * finished), the state of lines and digests (line, n_elements, mean_bytes, bytes, tracker) belongs
 * to the thread that accepts a range. */
typedef struct bm_reader_ranges {
    bool wanted, ahead;
    uint64_t at;    /* file offset at which the next range begins, if `ahead` */
    uint64_t given; /* ranges handed out */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t finished; /* ranges accepted or dropped */
    bool failed;       /* a range was not as expected: it and all later ones are dropped */
    bool unbegun;      /* a dropped range was the first of its file */
    unsigned state;    /* the scan's state where the first dropped range began */
    size_t file;       /* the file of the first dropped range */
    /* Used by the reader alone. n_failed: failures of ranges in this file; pause: batches to read
     * in order before the next range; look: bytes of the file in which an end is searched; opening:
     * how the elements of the file's array begin (bm_element_opening). */
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
    bool open, file_end; /* open: a file is open; file_end: all of it has been read */
    bool begun;          /* a piece of the current file has been made */
    uint64_t line;       /* line on which the next piece begins */
    uint64_t n_elements; /* elements of the file's array before the next piece */
    uint64_t place;      /* file offset at which the next piece begins, in a plain file */
    unsigned state;      /* state of the scan at the beginning of the next piece */
    bm_buf carry;        /* the beginning of the next batch */
    uint32_t *columns;   /* column numbers of the current file (record_rules.h) */
    double mean_bytes;   /* mean size of the records so far, weighted towards the last ones */
    uint64_t n_records;  /* records in the batch being made */
    bm_reader_break broken;
    bm_reader_batches batches;
    bm_reader_watch watch;
    bm_reader_ranges ranges;
};

/* The search for a cut in the current piece. */
typedef struct bm_cutter {
    bm_raw_batch *batch;
    size_t begin; /* where the piece begins in the batch */
    size_t end;   /* end of the bytes read */
    size_t seen;  /* end of the bytes examined */
    size_t cut;   /* end of the last whole record; equal to begin: none yet */
    bm_scan scan;
    unsigned state;  /* state of the scan at `cut` */
    bool counted;    /* `lines` is set */
    uint64_t lines;  /* newlines from `begin` to `cut` */
    uint64_t walked; /* records found one by one */
    bool full;       /* the batch must end at `cut` */
} bm_cutter;

struct bm_reader;

/* source_records -- the batch source of record files: the reader cuts them, parsers parse them. */

extern const bm_batch_source_ops bm_source_records;
