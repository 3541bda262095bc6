/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h -- from inputs to signed documents, on several threads, in input order.
 *
 *     source          one worker at a time reads the next raw batch
 *       |
 *     parse, shingle  on the worker that read it, while it is in cache
 *       |
 *     sign            on the same worker, or on a device by its device worker
 *       |
 *     ordered end     document table, then the job's sink: one batch at a time, in reading order:
 *       |             places and counts
 *     put             on any thread, the batch is copied to its places
 *
 * A batch that is finished early waits in a ring of `window` places. Reading stops while the ring
 * is full, which bounds the memory. The first failure in input order is reported. */
#pragma once

#include "sign/ingest_cfg.h"

/* BM_ERR_FORMAT: the inputs hold fewer than skip_records records. BM_ERR_CANCELLED: noticed at the
 * next batch, even a skipped one. Also the failures of reading, parsing, signing and the sink. */
bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err);

/* set_maker -- makes the shingles of documents again from their records.
 *
 * So a job that compares few of many documents need not keep all sets. One thread at a time for
 * each maker. */

typedef struct bm_set_maker bm_set_maker;

/* How sets are made; everything is borrowed. */
typedef struct bm_set_recipe {
    const bm_batch_source *source; /* its `reads_again` is set; NULL: sets are not made again */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the fast paths; NULL: the best here */
} bm_set_recipe;

bm_status bm_set_maker_open(const bm_set_recipe *recipe, bm_set_maker **out, bm_error *err);
void bm_set_maker_close(bm_set_maker *maker); /* NULL is fine */
/* Make the shingles of n documents; *out has them in this order and is valid until the next call.
 * BM_ERR_INPUT: a record has changed noticeably; the message names its file and line. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_set_maker_make(bm_set_maker *maker, const bm_record_place *places, size_t n,
                            const bm_shingle_batch **out, bm_error *err);
/* Fail with BM_ERR_INPUT: the record at `place` has changed. */
bm_status bm_set_maker_changed(const bm_set_recipe *recipe, const bm_record_place *place,
                               bm_error *err);
