/* SPDX-License-Identifier: Apache-2.0 */
/* index_adder.h -- adds documents to an index in batches. The result is the same as if they were
 * added one by one.
 *
 * Each document, in input order:
 *
 *     its id exists already     error, or it is skipped, or it replaces the other document,
 *                               or its id gets the next free number (bm_duplicate_ids)
 *     `unique`, and an earlier  it is not added; a row reports its best match. With
 *     document reaches the      `replace`, the document that has its id is not a match
 *     threshold with it
 *     else                      it is added
 *
 * Results do not depend on the batches. Used by one thread. */
#pragma once

#include "index/index_feed.h"
#include "index/search.h"
#include "job/job_context.h"
#include "job/rows.h"
#include "model/ids.h"
#include "store/store_write.h"

/* index_ids -- finds, for each document of a batch, the document of the index or the earlier
 * document of the batch that has the same id. */

/* The ids of one batch; reused for the next. {0} is empty. */
typedef struct bm_index_ids {
    const bm_store_view *view;
    const bm_gathered *batch;
    uint32_t *known;  /* for each document of the batch: the number of the document of the index
                       * that has the same id; BM_ID_NONE: there is none */
    bm_id_set set;    /* ids of the added documents of the batch, including documents that were
                       * dropped later */
    uint32_t *holder; /* for each id in `set`: the document that has it; BM_ID_NONE: it was
                       * dropped */
    uint32_t *gone;   /* numbers of the documents of the index that will be removed */
    size_t n_gone, cap_known, cap_holder, cap_gone;
    uint32_t *sorted; /* the entries of `known` other than BM_ID_NONE, ascending */
    bool *is_gone;    /* for each entry of `sorted`: is the number also in `gone`? */
    size_t n_sorted, cap_sorted, cap_is_gone;
    char **texts; /* the texts of the numbered ids that were made for this batch; owned */
    size_t n_texts, cap_texts;
} bm_index_ids;

/* index_near -- compares each document of a batch with the earlier documents of the same batch, for
 * `unique`. A search of the index does not find the earlier documents, because they are not in it
 * yet.
 *
 * Candidates and similarities are the same as if the earlier documents were in the index
 * (search.h). Used by one thread. */

typedef struct bm_index_near {
    const bm_gathered *batch;
    const bm_gather_shape *shape;
    double threshold;
    /* Chains of entries. Entry i * bands + b belongs to band b of document i. Members of `heads`
     * and `next` are the number of an entry plus 1, or 0 at the end of a chain. */
    uint32_t *heads, *next;
    uint32_t *seen;    /* for each document: the value of `question` when it was last a candidate */
    uint32_t question; /* counts the calls of index_near_best for this batch */
    bool *there;       /* for each document: was it added to the chains, and not removed since? */
    size_t n_heads, cap_heads, cap_next, cap_seen, cap_there;
    uint64_t candidates, verified; /* summed over all batches */
} bm_index_near;                   /* {0} is empty */

/* index_notes -- notes in an index about the jobs that filled it: the names of their inputs, and
 * the progress of each add.
 *
 *     inputs   one name per line (escaped as in TSV); bm_store_doc.input is its line number,
 *              counted from 0
 *     adds     one line for each of the last 64 adds: hashes that identify the add, and its
 *              progress, so that it can be resumed
 *
 * With format `files` each input is one document and its id names it, so inputs are not listed. */

#define BM_INDEX_NO_INPUT UINT32_MAX

/* Set `names`, which must be empty, to the list of inputs in the view's note (view NULL: an empty
 * list), and append the job's inputs if the list does not have them yet. *first becomes the number
 * of the job's first input in the list, or BM_INDEX_NO_INPUT if its inputs are not listed. The
 * caller resets `names`. */
bm_status bm_index_inputs_list(const bm_job_context *job, const bm_store_view *view, bm_buf *names,
                               uint32_t *first, bm_error *err);

/* The progress of an add. */
typedef struct bm_index_add_place {
    uint64_t records;       /* number of records read */
    bm_content_place place; /* position in the inputs after these records; if its `known` is false,
                               the end of all inputs */
} bm_index_add_place;

/* The note of this add, and the notes of others. */
typedef struct bm_index_add_note {
    /* names: hash of the names of this add's inputs; settings: hash of the settings that affect
     * results */
    uint64_t names, settings;
    uint64_t before; /* hash of the sizes and modification times of the first n_before
                               * inputs */
    size_t n_before;
    bm_buf others;   /* the lines of other adds */
    bool noted;      /* the add can be resumed, because its inputs can be read again */
} bm_index_add_note; /* {0}; reset */

/* Begin the note of this job. With `resume`, if the note of the interrupted add is found, *place
 * becomes its progress. Otherwise *place becomes {0}. BM_ERR_FORMAT: inputs that were already read
 * have changed, or the options differ. BM_ERR_USAGE: `resume` was given, but the inputs cannot be
 * read again. */
bm_status bm_index_add_note_open(const bm_job_context *job, const bm_store_view *view,
                                 bm_index_add_note *note, bm_index_add_place *place, bm_error *err);

/* The commits that are made while documents are added. The commit at the end is not one of them. */
typedef struct bm_index_commits {
    bool on;        /* false: commit only at the end */
    double due;     /* time of the next commit (bm_clock_seconds); bm_index_feed.due points to it */
    uint64_t input; /* bytes of input since the last commit */
} bm_index_commits;

typedef struct bm_index_adder {
    bm_job_context *job;
    bm_store *store;
    bm_gather_shape shape;
    bm_buf input_names; /* the whole list (index_notes) */
    bm_index_add_note note;
    bm_index_add_place place; /* progress after the last addition */
    uint64_t skipped_records; /* with `resume`: records that the interrupted add had read */
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
    bm_id_kind given;  /* the type of all new ids; UNTYPED: the type is not declared, as when file
                          names are the ids */
    bool ids_checked;  /* `given` was checked against the index */
    bm_id_kind wanted; /* if `given` is UNTYPED: the type that each new id must have */
} bm_index_adder;      /* {0} except job, store, shape, search_memory; bm_index_adder_reset frees */

/* Add the documents of a finished batch, and commit if a commit is due. If the batch is broken,
 * only its ids are checked. This is a `sink` for index_feed.h; `ctx` is the adder. */
bm_status bm_index_adder_add(void *ctx, bm_gathered *batch, bm_error *err);
/* Like bm_index_adder_add, for a batch that grows document by document, up to `most` documents.
 * add_one decides whether the last document of the batch is added. If not, it sets adder->stays[]
 * of the document to false, and the caller must drop the document from the batch. end_batch writes
 * the documents of the batch to the index. */
bm_status bm_index_adder_begin_batch(bm_index_adder *adder, const bm_gathered *batch, size_t most,
                                     bm_error *err);
bm_status bm_index_adder_add_one(bm_index_adder *adder, const bm_gathered *batch, bm_error *err);
bm_status bm_index_adder_end_batch(bm_index_adder *adder, bm_gathered *batch, bm_error *err);
/* Is it time for a commit before the end? */
bool bm_index_adder_is_due(const bm_index_adder *adder);
/* Commit. Call at the end, or when a commit is due. */
bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err);
/* Switch on commits before the end. The first is due after the time between commits has passed. */
void bm_index_adder_begin_commits(bm_index_adder *adder);
void bm_index_adder_reset(bm_index_adder *adder);
