/* SPDX-License-Identifier: Apache-2.0 */
/* table_ranges.h -- ranges of rows of a file of tables, which whoever got a batch of them reads,
 * beside others.
 *
 *     range    an array; the first who got a part of it decodes it
 *      '----   parts: batches of about as many bytes, one after the other
 *
 * Parts are finished in the order in which they were handed out. A range that cannot be read, or a
 * part that is larger than a batch may be, drops that part and those after it, and is given back
 * to who hands parts out. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/status.h>

#include "input/table_module.h"
#include "sources/table_stream.h"

/* A table that is open, for who reads its rows in order and for its ranges; each is a user. */
typedef struct bm_shared_table {
    atomic_size_t users;
    bm_table_stream stream;
    bm_table_cut cut;
} bm_shared_table;

void bm_shared_table_release(bm_shared_table *table); /* NULL is fine */

/* Whoever hands out its parts is a user, and so is each part. */
typedef struct bm_row_range {
    atomic_size_t users;
    bm_shared_table *table;
    bm_table_range at;
    size_t file;         /* of its source */
    uint64_t bytes_read; /* of the files before */
    uint32_t number;     /* of its chunk */
    uint32_t n_parts;
    pthread_mutex_t lock;
    bool tried;
    bm_table_chunk *chunk; /* once it was tried; NULL: it cannot be read */
    size_t *ends;          /* of its parts, in rows of the chunk */
} bm_row_range;

/* Begin one for the table at `at` (taken), with parts of about so many bytes. */
bm_status bm_row_range_open(bm_shared_table *table, bm_table_range *at, size_t part_bytes,
                            bm_row_range **out, bm_error *err);
/* Decode it, if nobody has. */
void bm_row_range_read(bm_row_range *range);
void bm_row_range_release(bm_row_range *range); /* NULL is fine */

/* The order of turns. */
typedef struct bm_range_turns {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t given, finished; /* parts */
    bm_row_range *failed;     /* NULL, or the first that is given back, which is used; ... */
    size_t failed_row;        /* ... from this row of its chunk on */
} bm_range_turns;

void bm_range_turns_init(bm_range_turns *turns);
void bm_range_turns_reset(bm_range_turns *turns);

/* A part of a range; its turn is the value of bm_range_turns.given when it was handed out. */
typedef struct bm_range_part {
    bm_row_range *range; /* used; NULL: no part */
    uint32_t part;
    uint64_t turn;
} bm_range_part;

/* Hand out a part. By one thread. */
bm_range_part bm_range_part_give(bm_range_turns *turns, bm_row_range *range, uint32_t part);
/* Its rows, *first … of *chunk, which is used; NULL: it was dropped. `most`: bytes of its texts. */
size_t bm_range_part_read(bm_range_turns *turns, const bm_range_part *part, size_t most,
                          bm_table_chunk **chunk, size_t *first);
/* The range that is given back, used, and the row where it is; NULL: none is. By who hands parts
 * out. `wait`: until all parts are finished, as where one has failed already. */
bm_row_range *bm_range_turns_failed(bm_range_turns *turns, bool wait, size_t *row);
