/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h -- reads the inputs and delivers signed documents, with several threads, in input order.
 *
 *     source          one worker at a time reads the next raw batch
 *       |
 *     parse, shingle  the worker that read the batch parses it, while it is in cache
 *       |
 *     sign            the same worker signs it, or a device does (its device worker)
 *       |
 *     deliver         one batch at a time, in reading order: the batch gets its rows in the
 *       |             document table and its place in the job's sink
 *     put             on any thread: the batch is copied to its place
 *
 * If a batch is finished before earlier batches, it waits in a ring of `window` places. Reading
 * stops while the ring is full, so the ring limits the memory. The first failure in input order is
 * reported. */
#pragma once

#include "sign/ingest_cfg.h"

/* Run the ingest. BM_ERR_FORMAT: the inputs have fewer than skip_records records.
 * BM_ERR_CANCELLED: cancellation is checked before each batch. Also the failures of reading,
 * parsing, signing and the sink. */
bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err);

/* set_maker -- makes the shingle sets of documents again from their records.
 *
 * A job that compares few of many documents can use this instead of storing all sets. One thread at
 * a time for each maker. */

typedef struct bm_set_maker bm_set_maker;

/* The data from which sets are made again; all are borrowed. */
typedef struct bm_set_recipe {
    const bm_batch_source *source; /* has `reads_again` set; NULL: sets are not made again */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the native CPU; NULL: the best available */
} bm_set_recipe;

bm_status bm_set_maker_open(const bm_set_recipe *recipe, bm_set_maker **out, bm_error *err);
void bm_set_maker_close(bm_set_maker *maker); /* NULL is fine */
/* Make the sets of the n documents at `places`. *out has them in the order of `places`, and is
 * valid until the next call. BM_ERR_INPUT: a record has noticeably changed; the message names its
 * file and line. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_set_maker_make(bm_set_maker *maker, const bm_record_place *places, size_t n,
                            const bm_shingle_batch **out, bm_error *err);
/* Return BM_ERR_INPUT, with a message that the record at `place` has changed. */
bm_status bm_set_maker_changed(const bm_set_recipe *recipe, const bm_record_place *place,
                               bm_error *err);
