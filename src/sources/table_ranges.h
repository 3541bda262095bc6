/* SPDX-License-Identifier: Apache-2.0 */
/* table_ranges.h -- ranges of a table file's rows, which are read in parallel by the threads that
 * got batches of them.
 *
 *     range    an array; the first thread that reads a part decodes all of it
 *      '----   parts: batches of about equal size, one after the other
 *
 * Parts are finished in the order in which they were handed out. If a range cannot be read, or one
 * of its parts is larger than a batch may be, that part and all later parts are dropped. The range
 * is then given back to the thread that hands out parts. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/status.h>

#include "input/table_module.h"
#include "sources/table_stream.h"

/* An open table, with a count of its users: the thread that reads its rows in order, and each of
 * its ranges. */
typedef struct bm_shared_table {
    atomic_size_t users;
    bm_table_stream stream;
    bm_table_cut cut;
} bm_shared_table;

void bm_shared_table_release(bm_shared_table *table); /* NULL is fine */

/* A range, with a count of its users: the thread that hands out its parts, and each part. */
typedef struct bm_row_range {
    atomic_size_t users;
    bm_shared_table *table;
    bm_table_range at;
    size_t file;         /* index of the range's file in the source */
    uint64_t bytes_read; /* stored bytes of all files before the range's file */
    uint32_t number;     /* number of the range's chunk (bm_table_chunk.number) */
    uint32_t n_parts;
    pthread_mutex_t lock;
    bool tried;
    /* the rows of the range, once it was `tried`; NULL: they cannot be read */
    bm_table_chunk *chunk;
    size_t *ends; /* where each part ends, in rows of the chunk */
} bm_row_range;

/* Open the range `at` of a table, with parts of about part_bytes bytes. `at` is owned by the range,
 * and freed on failure. */
bm_status bm_row_range_open(bm_shared_table *table, bm_table_range *at, size_t part_bytes,
                            bm_row_range **out, bm_error *err);
/* Decode the range, if no thread has done so yet. */
void bm_row_range_read(bm_row_range *range);
void bm_row_range_release(bm_row_range *range); /* NULL is fine */

/* The order in which parts are finished. */
typedef struct bm_range_turns {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t given, finished; /* how many parts were handed out, and how many are finished */
    /* the first range to give back; this pointer counts as a user of it. NULL: there is none */
    bm_row_range *failed;
    size_t failed_row; /* the range is given back from this row of its chunk on */
} bm_range_turns;

void bm_range_turns_init(bm_range_turns *turns);
void bm_range_turns_reset(bm_range_turns *turns);

/* A part of a range. `turn` is the number of parts handed out before it, and decides the order in
 * which parts are finished. */
typedef struct bm_range_part {
    bm_row_range *range; /* the range counts the part as a user; NULL: there is no part */
    uint32_t part;
    uint64_t turn;
} bm_range_part;

/* Hand out part number `part` of the range. Called by one thread. */
bm_range_part bm_range_part_give(bm_range_turns *turns, bm_row_range *range, uint32_t part);
/* Read a part, and wait until all parts before it are finished. Returns the number of its rows,
 * which begin at row *first of *chunk. The caller becomes a user of *chunk. If the part was
 * dropped, *chunk is NULL. `most` is the most bytes that the texts of the part may have. */
size_t bm_range_part_read(bm_range_turns *turns, const bm_range_part *part, size_t most,
                          bm_table_chunk **chunk, size_t *first);
/* Return the range that is given back, if there is one, and set *row to the first of its rows that
 * are given back. The caller becomes a user of the range. NULL: no range is given back. Called by
 * the thread that hands out parts. If `wait` is set or a part has failed, the call first waits
 * until all parts are finished. */
bm_row_range *bm_range_turns_failed(bm_range_turns *turns, bool wait, size_t *row);
