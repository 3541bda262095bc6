/* SPDX-License-Identifier: Apache-2.0 */
/* store_writer.h -- what a writer holds beside its bm_store: the state that its next commit makes
 * visible, and changes that are not in the file yet. */
#pragma once

#include "spill/sorted_runs.h"
#include "store/store_filter.h"
#include "store/store_snapshot.h"

#define BM_STORE_MEMORY (UINT64_C(256) << 20)

struct bm_writer {
    bm_state state;        /* its runs and documents but for `tail` are in the file */
    uint64_t committed;    /* runs below this the last commit may name */
    bm_piece_key *dropped; /* pieces that it names and the next one does not */
    size_t n_dropped, cap_dropped;
    bm_document_writer tail;
    bool tail_begun;  /* `tail` follows, or replaces, the last piece in the file */
    bool tail_new;    /* and has documents that the file has not */
    uint8_t *removed; /* a bit a number, where one was removed since the last commit */
    size_t removed_bytes;
    bm_buf notes[BM_STORE_NOTES];
    bm_store_filters filters;
    bm_sorted_runs **bands; /* of a build, until its commit: postings of each band; else NULL */
    bm_buf body;            /* of a document that is added */
    bm_status failed;
    bm_error failure; /* after which it can only be closed */
};

/* A writer that continues from a state. */
bm_status bm_writer_open(bm_store *store, const bm_state *state, bm_error *err);
void bm_writer_close(bm_store *store);
/* The postings of bands are sorted aside from now on; and no longer. */
bm_status bm_writer_bands_open(bm_store *store, bm_error *err);
void bm_writer_bands_close(bm_store *store);
/* BM_OK, or why it can only be closed; BM_ERR_INTERNAL for a store that reads. */
bm_status bm_writer_ready(const bm_store *store, bm_error *err);
/* Keep the failure, and hand it on. */
bm_status bm_writer_failed(bm_store *store, bm_status status, const bm_error *err);

/* The state names this piece no longer: it goes with the next commit, or at once where the last one
 * does not name it. */
bm_status bm_writer_drop(bm_store *store, const bm_piece_key *key, bm_error *err);
/* The document of the next number. Its body is all there. */
bm_status bm_writer_document(bm_store *store, const bm_store_doc *doc, bm_error *err);
/* Bring all additions into the file, or into the open transaction. */
bm_status bm_writer_put(bm_store *store, bm_error *err);
/* Make all additions readable. */
bm_status bm_writer_flush(bm_store *store, bm_error *err);
/* Record the commit that is on the disk; a writer that is ended before it has not acknowledged that
 * one. */
bm_status bm_writer_record(bm_store *store, bm_error *err);
/* For the next commit: as bm_store_note. */
bm_status bm_writer_note(bm_writer *writer, bm_store_note_kind note, bm_str bytes, bm_error *err);
