/* SPDX-License-Identifier: Apache-2.0 */
/* index_adder.h -- documents into an index, batch by batch, as if they came one by one.
 *
 * Each document, in input order:
 *
 *     its id is there           error, or it is passed over, replaces the one that is there, or
 *                               gets the next free number (bm_duplicate_ids)
 *     unique, and it reaches    it is not added; a row has its best match. With `replace` the
 *     the threshold             document of its own id is no match
 *     else                      it is added
 *
 * Results do not depend on how the documents are cut into batches. One thread. */
#pragma once

#include "index/index_feed.h"
#include "index/search.h"
#include "job/job_context.h"
#include "job/rows.h"
#include "model/ids.h"
#include "store/store_write.h"

/* index_ids -- ids of a batch against ids of the index, and against each other, in input order.
 * */

/* The ids of one batch after another. {0} is empty. */
typedef struct bm_index_ids {
    const bm_store_view *view;
    const bm_gathered *batch;
    uint32_t *known;  /* of each document: the one of the index that has its id; BM_ID_NONE */
    bm_id_set set;    /* ids of documents of the batch that stay, or stayed */
    uint32_t *holder; /* of each of these ids: the document; BM_ID_NONE: it was dropped */
    uint32_t *gone;   /* documents of the index that are to be removed */
    size_t n_gone, cap_known, cap_holder, cap_gone;
    uint32_t *sorted; /* the ids of `known` that are numbers, ascending */
    bool *is_gone;    /* of each of `sorted` */
    size_t n_sorted, cap_sorted, cap_is_gone;
    char **texts; /* of ids that were made here */
    size_t n_texts, cap_texts;
} bm_index_ids;

/* index_near -- documents of one batch against those before them in it: the part of `unique` that
 * an index cannot answer, since they are not in it yet.
 *
 * The same candidates and the same similarities as a search of the index (search.h) would give. One
 * thread. */

typedef struct bm_index_near {
    const bm_gathered *batch;
    const bm_gather_shape *shape;
    double threshold;
    uint32_t *heads,
        *next;      /* chains of entries, one a document and band; 0: the end, else entry + 1 */
    uint32_t *seen; /* of each document: in which question it was compared last */
    uint32_t question;
    bool *there; /* it is in the chains, and was not taken out */
    size_t n_heads, cap_heads, cap_next, cap_seen, cap_there;
    uint64_t candidates, verified; /* summed over all batches */
} bm_index_near;                   /* {0} is empty */

/* index_notes -- what an index notes of the jobs that filled it: the names of inputs, and how far
 * each add came.
 *
 *     inputs   a name a line (escaped as in TSV); bm_store_doc.input is the number of the line,
 *              from 0
 *     adds     a line an add, the last 64 of them: what it is, how far it came, so that it can
 *              continue
 *
 * Inputs that are each one document (format files) are not listed: there the id names the input.
 * */

#define BM_INDEX_NO_INPUT UINT32_MAX

/* List the inputs of a job after those that are listed in the view (NULL: none are); *first: the
 * number of file 0, BM_INDEX_NO_INPUT where they are not listed. `names`: the whole list, the
 * caller's to reset. */
bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err);

/* Where an add has come to. */
typedef struct bm_index_add_place {
    uint64_t records;
    bm_content_place place; /* after the last of them; not known: the end of all inputs */
} bm_index_add_place;

/* The note of this add, and the notes that others left. */
typedef struct bm_index_add_note {
    uint64_t names, settings; /* hashes of the names of its inputs, of what decides its results */
    uint64_t before;          /* of the first n_before inputs: names, sizes, times of change */
    size_t n_before;
    bm_buf others;   /* lines */
    bool noted;      /* its inputs can be read again, so that it can be resumed */
} bm_index_add_note; /* {0}; reset */

/* Note this job and find, with `resume`, the place that it reached before: records 0 is the
 * beginning. BM_ERR_FORMAT: inputs before that place are not what they were, or the options are
 * others. BM_ERR_USAGE: inputs that cannot be read again. */
bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err);

/* When added documents are committed before the end, if at all. */
typedef struct bm_index_commits {
    bool on;
    double due;     /* the next, as seconds of bm_clock_seconds; for bm_index_feed.due */
    uint64_t input; /* bytes since the last */
} bm_index_commits;

typedef struct bm_index_adder {
    bm_job_context *job;
    bm_store *store;
    bm_gather_shape shape;
    bm_buf input_names; /* the whole list (index_adder.h) */
    bm_index_add_note note;
    bm_index_add_place place; /* after the last addition */
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
    bm_id_kind given;  /* the type of new ids; UNTYPED: ids of files */
    bool ids_checked;  /* it goes with the index's own, */
    bm_id_kind wanted; /* the type that each id must have, if the inputs do not have one type */
} bm_index_adder;      /* {0} with its first members filled; reset */

/* Add the documents of a finished batch: a bm_feed_fn (index_feed.h), `ctx` is the adder. */
bm_status bm_index_adder_add(void *ctx, bm_gathered *batch, bm_error *err);
/* The same for a batch that grows, up to `most` documents: take_one decides about the last one,
 * which the callee may leave in (adder->stays[] of it); the documents that stay go into the index
 * at the end. */
bm_status bm_index_adder_begin_batch(bm_index_adder *adder, const bm_gathered *batch, size_t most,
                                     bm_error *err);
bm_status bm_index_adder_add_one(bm_index_adder *adder, const bm_gathered *batch, bm_error *err);
bm_status bm_index_adder_end_batch(bm_index_adder *adder, bm_gathered *batch, bm_error *err);
/* Is it time for a commit? */
bool bm_index_adder_is_due(const bm_index_adder *adder);
/* Commit: all documents came, or it is due. */
bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err);
/* The first commit is so many seconds away. */
void bm_index_adder_begin_commits(bm_index_adder *adder);
void bm_index_adder_reset(bm_index_adder *adder);
