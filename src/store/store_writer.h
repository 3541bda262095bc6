/* SPDX-License-Identifier: Apache-2.0 */
/* store_writer.h -- what a writer holds beside its bm_store: the state that its next commit makes
 * visible, and changes that are not in the file yet. */
#pragma once

#include "spill/sorted_runs.h"
#include "store/store_filter.h"
#include "store/store_snapshot.h"

#define BM_STORE_MEMORY (UINT64_C(256) << 20)

struct bm_writer {
    bm_state state;        /* its runs and documents are in the file, except those in `tail` */
    uint64_t committed;    /* the last commit may name runs with numbers below this */
    bm_piece_key *dropped; /* pieces that the last commit names and the next one does not */
    size_t n_dropped, cap_dropped;
    bm_document_writer tail;
    bool tail_begun;  /* `tail` replaces or follows the last piece in the file */
    bool tail_new;    /* `tail` has documents that are not in the file yet */
    uint8_t *removed; /* one bit for each number; NULL: no document was removed since the last
                       * commit */
    size_t removed_bytes;
    bm_buf notes[BM_STORE_NOTES];
    bm_store_filters filters;
    bm_sorted_runs **bands; /* in a build, until its commit: the postings of each band; else NULL */
    bm_buf body;            /* body of the document being added */
    bm_status failed;
    bm_error failure; /* the error of `failed` */
};

/* A writer that continues from a state. */
bm_status bm_writer_open(bm_store *store, const bm_state *state, bm_error *err);
void bm_writer_close(bm_store *store);
/* Begin to sort the postings of bands separately (open), and stop doing so (close). */
bm_status bm_writer_bands_open(bm_store *store, bm_error *err);
void bm_writer_bands_close(bm_store *store);
/* BM_OK, or the error after which the store can only be closed; BM_ERR_INTERNAL for a store that
 * reads. */
bm_status bm_writer_ready(const bm_store *store, bm_error *err);
/* Record the failure, and return its status. */
bm_status bm_writer_failed(bm_store *store, bm_status status, const bm_error *err);

/* Call when the state no longer names this piece: deletes it at once if the last commit does not
 * name it either, else with the next commit. */
bm_status bm_writer_drop(bm_store *store, const bm_piece_key *key, bm_error *err);
/* Add the document of the next number, complete with its body. */
bm_status bm_writer_document(bm_store *store, const bm_store_doc *doc, bm_error *err);
/* Write all additions to the file, or into the open transaction. */
bm_status bm_writer_put(bm_store *store, bm_error *err);
/* Make all additions readable by views. */
bm_status bm_writer_flush(bm_store *store, bm_error *err);
/* Record the commit that was just written to the disk. If the process is killed before this, the
 * commit was not acknowledged to the caller. */
bm_status bm_writer_record(bm_store *store, bm_error *err);
/* See bm_store_note. */
bm_status bm_writer_note(bm_writer *writer, bm_store_note_kind note, bm_str bytes, bm_error *err);
