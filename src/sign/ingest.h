/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h -- from inputs to signed documents, on several threads, in input order.
 *
 *     source          one worker at a time reads the next raw batch
 *       |
 *     parse, shingle  on the worker that read it, while it is in cache
 *       |
 *     sign            on the same worker, or on a device by its device worker
 *       |
 *     ordered end     document table, then the job's sink: one batch at a time, in reading order,
 *       |             for places and counts
 *     put             on any thread, what the batch has goes to its places
 *
 * An early batch waits in a ring of `window` places, and the reading stops while the ring is full,
 * which bounds the memory. The first failure in input order is the one that is reported. */
#pragma once

#include "sign/ingest_cfg.h"

/* BM_ERR_FORMAT: the inputs hold fewer than skip_records records. BM_ERR_CANCELLED, at the next
 * batch, passed over or not. Else what reading, parsing, signing and the sink end with. */
bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err);

/* set_maker -- the shingles of documents that were read before, made again of their records.
 *
 * Whoever compares a few of many documents need not keep the sets of all. One thread each. */

typedef struct bm_set_maker bm_set_maker;

/* What sets are made of; all borrowed. */
typedef struct bm_set_recipe {
    const bm_batch_source *source; /* reads_again; NULL: sets are not made again */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the fast paths; NULL: the best here */
} bm_set_recipe;

bm_status bm_set_maker_open(const bm_set_recipe *recipe, bm_set_maker **out, bm_error *err);
void bm_set_maker_close(bm_set_maker *maker); /* NULL is fine */
/* Of n documents; *out, until the next call, has as many, in this order. BM_ERR_INPUT names the
 * file and line of a record that has changed, as far as it shows here; BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_set_maker_make(bm_set_maker *maker, const bm_record_place *places, size_t n,
                            const bm_shingle_batch **out, bm_error *err);
/* BM_ERR_INPUT: the record there is another one than it was. */
bm_status bm_set_maker_changed(const bm_set_recipe *recipe, const bm_record_place *place,
                               bm_error *err);
