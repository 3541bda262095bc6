/* SPDX-License-Identifier: Apache-2.0 */
/* index_adder.h -- adds documents to an index, batch by batch, with the results of adding them one
 * by one.
 *
 * Each document, in input order:
 *
 *     its id exists already     error, or it is skipped, or it replaces the other document,
 *                               or it gets the next free number (bm_duplicate_ids)
 *     unique, and it reaches    it is not added; a row reports its best match. With
 *     the threshold             `replace`, the document with its own id is no match
 *     else                      it is added
 *
 * Results do not depend on how the documents are divided into batches. Used by one thread. */
#pragma once

#include "index/index_feed.h"
#include "index/search.h"
#include "job/job_context.h"
#include "job/rows.h"
#include "model/ids.h"
#include "store/store_write.h"

/* index_ids -- looks up the ids of a batch in the index and among themselves, in input order. */

/* The ids of one batch; reused for the next. {0} is empty. */
typedef struct bm_index_ids {
    const bm_store_view *view;
    const bm_gathered *batch;
    uint32_t *known;  /* for each document: the document of the index that has its id; BM_ID_NONE:
                       * no document has it */
    bm_id_set set;    /* ids of documents of the batch that stay, or stayed at first */
    uint32_t *holder; /* for each id in `set`: its document; BM_ID_NONE: it was dropped */
    uint32_t *gone;   /* documents of the index to be removed */
    size_t n_gone, cap_known, cap_holder, cap_gone;
    uint32_t *sorted; /* the entries of `known` other than BM_ID_NONE, ascending */
    bool *is_gone;    /* for each entry of `sorted`: is it in `gone`? */
    size_t n_sorted, cap_sorted, cap_is_gone;
    char **texts; /* ids with a number, which were made here */
    size_t n_texts, cap_texts;
} bm_index_ids;

/* index_near -- compares documents of a batch with those before them in the batch. It is the part
 * of `unique` that the index cannot answer, since those documents are not in it yet.
 *
 * It finds the same candidates and similarities as a search of the index would (search.h). Used by
 * one thread. */

typedef struct bm_index_near {
    const bm_gathered *batch;
    const bm_gather_shape *shape;
    double threshold;
    uint32_t *heads,
        *next;      /* chains of entries, one for each document and band; 0: end, else entry + 1 */
    uint32_t *seen; /* for each document: the last question in which it was compared */
    uint32_t question;
    bool *there; /* for each document: is it in the chains, and not removed? */
    size_t n_heads, cap_heads, cap_next, cap_seen, cap_there;
    uint64_t candidates, verified; /* summed over all batches */
} bm_index_near;                   /* {0} is empty */

/* index_notes -- notes in an index about the jobs that filled it: the names of their inputs, and
 * the progress of each add.
 *
 *     inputs   one name per line (escaped as in TSV); bm_store_doc.input is its line number,
 *              counted from 0
 *     adds     one line for each of the last 64 adds: which it is, and how far it came, so that
 *              it can be resumed
 *
 * With format `files` each input is one document and its id names it, so inputs are not listed. */

#define BM_INDEX_NO_INPUT UINT32_MAX

/* Append the inputs of a job to the list in the view's note (NULL: an empty list). *first: the
 * number of file 0; BM_INDEX_NO_INPUT: inputs are not listed. `names` receives the whole list; the
 * caller resets it. */
bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err);

/* How far an add has come. */
typedef struct bm_index_add_place {
    uint64_t records;
    bm_content_place place; /* place after the last record; not known: the end of all inputs */
} bm_index_add_place;

/* The note of this add, and the notes of others. */
typedef struct bm_index_add_note {
    uint64_t names, settings; /* hashes of the names of its inputs, and of the settings that affect
                                 its results */
    uint64_t before;          /* hash of the names, sizes and modification times of the first
                               * n_before inputs */
    size_t n_before;
    bm_buf others;   /* the lines of other adds */
    bool noted;      /* the inputs can be read again, so the add can be resumed */
} bm_index_add_note; /* {0}; reset */

/* Start the note of this job. With `resume`, find how far the add came before; records 0: it begins
 * at the start. BM_ERR_FORMAT: inputs before that place have changed, or the options differ.
 * BM_ERR_USAGE: the inputs cannot be read again. */
bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err);

/* Times of commits before the end of the additions. */
typedef struct bm_index_commits {
    bool on;
    double due;     /* time of the next commit (bm_clock_seconds); bm_index_feed.due points to it */
    uint64_t input; /* bytes of input since the last commit */
} bm_index_commits;

typedef struct bm_index_adder {
    bm_job_context *job;
    bm_store *store;
    bm_gather_shape shape;
    bm_buf input_names; /* the whole list (index_notes) */
    bm_index_add_note note;
    bm_index_add_place place; /* place after the last addition */
    uint64_t skipped_records; /* number of records that the interrupted add had added */
    bm_index_commits commits;
    bm_rows rows;        /* rows for documents that are not added */
    bm_store_view *view; /* view of the index while a batch is added; else NULL */
    bm_index_ids ids;
    bm_index_near near;
    bm_search_result found;
    uint64_t search_memory;
    bm_index_counts counts;
    bool *stays; /* for each document of the batch: is it added? */
    size_t cap_stays;
    bm_id_kind given;  /* the type of new ids; UNTYPED: ids of files */
    bool ids_checked;  /* `given` was checked against the index */
    bm_id_kind wanted; /* the type that each new id must have, if the inputs do not have one type */
} bm_index_adder;      /* {0} except the first members; reset */

/* Add the documents of a finished batch. A bm_feed_fn (index_feed.h); `ctx` is the adder. */
bm_status bm_index_adder_add(void *ctx, bm_gathered *batch, bm_error *err);
/* Like bm_index_adder_add, for a batch that grows, up to `most` documents. add_one decides about
 * its last document: if adder->stays[] of that document is false, the caller must drop it from the
 * batch. end_batch writes the remaining documents to the index. */
bm_status bm_index_adder_begin_batch(bm_index_adder *adder, const bm_gathered *batch, size_t most,
                                     bm_error *err);
bm_status bm_index_adder_add_one(bm_index_adder *adder, const bm_gathered *batch, bm_error *err);
bm_status bm_index_adder_end_batch(bm_index_adder *adder, bm_gathered *batch, bm_error *err);
/* Is it time for a commit? */
bool bm_index_adder_is_due(const bm_index_adder *adder);
/* Commit. Call at the end, or when a commit is due. */
bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err);
/* Switch on commits before the end. The first is due after the time between commits has passed. */
void bm_index_adder_begin_commits(bm_index_adder *adder);
void bm_index_adder_reset(bm_index_adder *adder);
