/* SPDX-License-Identifier: Apache-2.0 */
/* table_ranges.h -- ranges of rows of a table file, which threads that got a batch of them read in
 * parallel.
 *
 *     range    an array; the first thread that got a part of it decodes it
 *      '----   parts: batches of about equal size, one after the other
 *
 * Parts are finished in the order in which they were handed out. If a range cannot be read, or a
 * part is larger than a batch may be, that part and all later ones are dropped, and the range is
 * given back to the thread that hands out parts. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/status.h>

#include "input/table_module.h"
#include "sources/table_stream.h"

/* An open table. Its users are the thread that reads its rows in order, and each of its ranges. */
typedef struct bm_shared_table {
    atomic_size_t users;
    bm_table_stream stream;
    bm_table_cut cut;
} bm_shared_table;

void bm_shared_table_release(bm_shared_table *table); /* NULL is fine */

/* A range; its users are the thread that hands out its parts, and each part. */
typedef struct bm_row_range {
    atomic_size_t users;
    bm_shared_table *table;
    bm_table_range at;
    size_t file;         /* its index in the source */
    uint64_t bytes_read; /* stored bytes of the files before it */
    uint32_t number;     /* for its chunk */
    uint32_t n_parts;
    pthread_mutex_t lock;
    bool tried;
    bm_table_chunk *chunk; /* if `tried`: the rows; NULL: they cannot be read */
    size_t *ends;          /* where each part ends, in rows of the chunk */
} bm_row_range;

/* Open the range `at` (taken) of a table, with parts of about part_bytes bytes. */
bm_status bm_row_range_open(bm_shared_table *table, bm_table_range *at, size_t part_bytes,
                            bm_row_range **out, bm_error *err);
/* Decode the range, if no thread has yet. */
void bm_row_range_read(bm_row_range *range);
void bm_row_range_release(bm_row_range *range); /* NULL is fine */

/* The order in which parts are finished. */
typedef struct bm_range_turns {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t given, finished; /* numbers of parts */
    bm_row_range *failed;     /* the first range to give back, with this as a user; NULL: none */
    size_t failed_row;        /* the row of its chunk from which it is given back */
} bm_range_turns;

void bm_range_turns_init(bm_range_turns *turns);
void bm_range_turns_reset(bm_range_turns *turns);

/* A part of a range; its turn is the value of bm_range_turns.given when it was handed out. */
typedef struct bm_range_part {
    bm_row_range *range; /* has the part as a user; NULL: no part */
    uint32_t part;
    uint64_t turn;
} bm_range_part;

/* Hand out a part. Called by one thread. */
bm_range_part bm_range_part_give(bm_range_turns *turns, bm_row_range *range, uint32_t part);
/* Read a part: its rows begin at *first of *chunk, which gains a user; returns their number. *chunk
 * NULL: the part was dropped. `most`: the most bytes of texts allowed. */
size_t bm_range_part_read(bm_range_turns *turns, const bm_range_part *part, size_t most,
                          bm_table_chunk **chunk, size_t *first);
/* The range that is given back (the caller becomes its user), and in *row the row from which; NULL:
 * no range is given back. Called by the thread that hands out parts. `wait`: wait until all parts
 * are finished; if one has failed, the call waits in any case. */
bm_row_range *bm_range_turns_failed(bm_range_turns *turns, bool wait, size_t *row);
