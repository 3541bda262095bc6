/* SPDX-License-Identifier: Apache-2.0 */
/* store_write.h -- adding to an index and removing from it; one writer, one thread.
 *
 * Views of this bm_store that are opened afterwards see what add and remove did, all others from
 * the commit on. A writer that ends without a commit has changed nothing. */
#pragma once

#include "store/store_view.h"

/* Documents in the order in which they get their numbers. Ids must be new: the caller has looked
 * (bm_store_view_id), and within the batch too. */
typedef struct bm_store_batch {
    size_t n;
    const bm_store_doc *docs;    /* their bodies are not read; an id is not empty */
    const uint64_t *const *sets; /* SETS: of each n_shingles hashes, ascending, distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words */
    const uint64_t *keys; /* n * facts.bands; of a document without shingles they are not read */
} bm_store_batch;

/* *first receives the number of the first. A batch makes a run: the larger, the fewer merges. */
bm_status bm_store_add(bm_store *store, const bm_store_batch *batch, uint32_t *first,
                       bm_error *err);
/* Documents that are there; each once. */
bm_status bm_store_remove(bm_store *store, const uint32_t *numbers, size_t n, bm_error *err);
/* What ids must be of from now on (bm_store_counts.ids). Written with the next commit. */
bm_status bm_store_set_ids(bm_store *store, bm_id_kind ids, bm_error *err);
/* *out: bm_store_counts.next_id. Where an earlier version did not record it, the ids of all
 * documents are read, and it is recorded with the next commit. */
bm_status bm_store_next_id(bm_store *store, uint64_t *out, bm_error *err);
/* Written with the next commit. */
bm_status bm_store_note(bm_store *store, bm_store_note_kind note, bm_str bytes, bm_error *err);
/* All of it, at once, on the disk. After BM_ERR_IO (disk full) the index is as at the last commit,
 * and the store can only be closed. */
bm_status bm_store_commit(bm_store *store, bm_error *err);

/* All documents that are there, in their order with new numbers from 0, into a new index (made by
 * bm_store_create, empty); notes too. Not committed. */
bm_status bm_store_copy(bm_store *from, bm_store *to, bm_error *err);
