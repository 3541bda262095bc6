/* SPDX-License-Identifier: Apache-2.0 */
/* store_write.h -- adds documents to an index, and removes them. There is one writer, which uses
 * one thread.
 *
 * A view of this bm_store shows the additions and removals made before the view was opened. A view
 * of another bm_store shows them if it was opened after the commit. If a writer ends without a
 * commit, no view ever shows its changes. */
#pragma once

#include "store/store_view.h"

/* Documents, in the order in which they get their numbers. The caller must check that their ids are
 * new, both in the index and within the batch (bm_store_view_id). */
typedef struct bm_store_batch {
    size_t n;
    const bm_store_doc *docs;    /* ids must not be empty; bodies are not used */
    const uint64_t *const *sets; /* SETS: for each document, its n_shingles hashes, ascending and
                                  * distinct */
    const uint32_t *words;       /* SIGNATURES: n * facts.words words */
    const uint64_t *keys;        /* n * facts.bands keys; not read for documents without shingles */
} bm_store_batch;

/* Add a batch of documents, and set *first to the number of the first one. Each batch makes a run,
 * so large batches need fewer merges. */
bm_status bm_store_add(bm_store *store, const bm_store_batch *batch, uint32_t *first,
                       bm_error *err);
/* Remove n documents. Each must be present, and must be given only once. */
bm_status bm_store_remove(bm_store *store, const uint32_t *numbers, size_t n, bm_error *err);
/* Set the kind that ids must have from now on (bm_store_counts.ids). The next commit writes it. */
bm_status bm_store_set_ids(bm_store *store, bm_id_kind ids, bm_error *err);
/* Set *out to bm_store_counts.next_id. If an earlier version did not record that number, the ids of
 * all documents are read to find it, and the next commit records it. */
bm_status bm_store_next_id(bm_store *store, uint64_t *out, bm_error *err);
/* Replace a note; the next commit writes it. */
bm_status bm_store_note(bm_store *store, bm_store_note_kind note, bm_str bytes, bm_error *err);
/* Write all changes to the disk, atomically. After BM_ERR_IO, for example on a full disk, the index
 * has the state of the commit before, and the store can only be closed. */
bm_status bm_store_commit(bm_store *store, bm_error *err);

/* Copy the notes and all documents that were not removed, in order and with new numbers from 0 on,
 * into an empty index made by bm_store_create. The caller must commit. */
bm_status bm_store_copy(bm_store *from, bm_store *to, bm_error *err);
