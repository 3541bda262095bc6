/* index_adder.h -- documents into an index, batch by batch, as if they came one by one.
 *
 * Each document, in input order:
 *
 *     its id is there           error, or it is passed over, replaces the one that is there, or gets
 *                               the next free number (bm_duplicate_ids)
 *     unique, and it reaches    it is not added; a row says its best match. With `replace` the document
 *     the threshold             of its own id is no match
 *     else                      it is added
 *
 * What batches there are changes nothing. One thread. */
#ifndef BM_INDEX_INDEX_ADDER_H
#define BM_INDEX_INDEX_ADDER_H

#include "job/job_context.h"
#include "index/index_gather.h"
#include "index/index_ids.h"
#include "index/index_near.h"
#include "index/index_notes.h"
#include "index/search.h"
#include "job/rows.h"

/* When what was added is committed, where it is at all before the end. */
typedef struct bm_index_commits {
    bool on;
    double due;     /* the next, as seconds of bm_clock_seconds; for bm_index_feed.due */
    uint64_t input; /* bytes since the last */
} bm_index_commits;

typedef struct bm_index_adder {
    bm_job_context *job;
    bm_store *store;
    bm_gather_shape shape;
    bm_buf input_names; /* the whole list (index_notes.h) */
    bm_index_add_note note;
    bm_index_add_place place; /* behind what was added last */
    uint64_t skipped_records; /* that an interrupted add had added */
    bm_index_commits commits;
    bm_rows rows;        /* of documents that are not added */
    bm_store_view *view; /* while a batch is added */
    bm_index_ids ids;
    bm_index_near near;
    bm_search_result found;
    uint64_t search_memory;
    bm_index_counts counts;
    bool *stays; /* of the batch */
    size_t cap_stays;
} bm_index_adder; /* {0} with its first members filled; reset */

/* The documents of a settled batch: a bm_feed_fn (index_feed.h), `ctx` is the adder. */
bm_status bm_index_adder_take(void *ctx, bm_gathered *batch, bm_error *err);
/* The same for a batch that grows, up to `most` documents: take_one decides about the last one, which the callee may leave
 * in (adder->stays[] of it); the documents that stay go into the index at the end. */
bm_status bm_index_adder_begin_batch(bm_index_adder *adder, const bm_gathered *batch, size_t most,
                                     bm_error *err);
bm_status bm_index_adder_take_one(bm_index_adder *adder, const bm_gathered *batch, bm_error *err);
bm_status bm_index_adder_end_batch(bm_index_adder *adder, bm_gathered *batch, bm_error *err);
/* Is it time for a commit? */
bool bm_index_adder_is_due(const bm_index_adder *adder);
/* Commit: all documents came, or it is due. */
bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err);
/* The first commit is so many seconds away. */
void bm_index_adder_begin_commits(bm_index_adder *adder);
void bm_index_adder_reset(bm_index_adder *adder);

#endif
