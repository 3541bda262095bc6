/* SPDX-License-Identifier: Apache-2.0 */
/* store_writer.h -- the part of a bm_store that only a writer has: the state that the next commit
 * makes visible, and changes that are not in the file yet. */
#pragma once

#include "spill/sorted_runs.h"
#include "store/store_filter.h"
#include "store/store_snapshot.h"

#define BM_STORE_MEMORY (UINT64_C(256) << 20)

struct bm_writer {
    bm_state state;        /* the next state; all its runs and documents are in the file, except new
                            * documents in `tail` */
    uint64_t committed;    /* runs with lower ids may be named by the last commit */
    bm_piece_key *dropped; /* pieces that the last commit names and the next one does not */
    size_t n_dropped, cap_dropped;
    bm_document_writer tail; /* the last piece of documents */
    bool tail_begun;  /* `tail` is in use. It replaces the last piece in the file, or follows it */
    bool tail_new;    /* `tail` has documents that are not in the file yet */
    uint8_t *removed; /* one bit for each number; NULL: no document was removed since the last
                       * commit */
    size_t removed_bytes;
    bm_buf notes[BM_STORE_NOTES];
    bm_store_filters filters;
    bm_sorted_runs **bands; /* in a build, until its commit: the postings of each band; else NULL */
    bm_buf body;            /* body of the document being added */
    bm_status failed;       /* not BM_OK: a change failed, and the store can only be closed */
    bm_error failure;       /* the error of `failed` */
};

/* Make store->writer, which continues from a state. */
bm_status bm_writer_open(bm_store *store, const bm_state *state, bm_error *err);
void bm_writer_close(bm_store *store);
/* Open begins a build: from now on the postings of each band are sorted in writer->bands. Close
 * ends the build and frees them. */
bm_status bm_writer_bands_open(bm_store *store, bm_error *err);
void bm_writer_bands_close(bm_store *store);
/* Can the store be changed? If not, returns the error of the change that failed, or BM_ERR_INTERNAL
 * for a store that only reads. */
bm_status bm_writer_ready(const bm_store *store, bm_error *err);
/* If `status` is not BM_OK and no earlier failure was recorded, record it with *err. Returns
 * `status`. */
bm_status bm_writer_failed(bm_store *store, bm_status status, const bm_error *err);

/* Delete a piece that writer->state no longer names. If the last commit names it, it is deleted
 * with the next commit, else at once. */
bm_status bm_writer_drop(bm_store *store, const bm_piece_key *key, bm_error *err);
/* Add a document under the next number. It must have its body. */
bm_status bm_writer_document(bm_store *store, const bm_store_doc *doc, bm_error *err);
/* If `tail` has new documents, add it to the open transaction. */
bm_status bm_writer_put(bm_store *store, bm_error *err);
/* Commit all additions to the file, so that new snapshots with the writer's state show them. */
bm_status bm_writer_flush(bm_store *store, bm_error *err);
/* Record the commit that was just written to the disk. bm_store_commit must return only after this.
 * So if the process is killed earlier, success was not reported. */
bm_status bm_writer_record(bm_store *store, bm_error *err);
/* See bm_store_note. */
bm_status bm_writer_note(bm_writer *writer, bm_store_note_kind note, bm_str bytes, bm_error *err);
