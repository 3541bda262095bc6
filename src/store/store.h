/* SPDX-License-Identifier: Apache-2.0 */
/* store.h -- the persistent index: documents, their ids, and the bands in which each is found.
 *
 * One directory with one environment of LMDB (data.mdb, lock.mdb), which gives atomic commits,
 * snapshots and any number of readers beside one writer, and the record of its last commit
 * (store_pages.h). Its values are pieces of about 1 MiB (piece.h), so that the tree of keys stays
 * small: it is read whole when a view opens (store_snapshot.h).
 *
 *     table      key                            piece
 *     documents  'D' first number               documents (piece.h)
 *     postings   'P' run, table, first entry    (band key, number) entries; table `bands` is that
 *                                               of ids, whose key is XXH3_64bits of the id
 *     removed    'R'                            a bit for each number
 *     state      'S'                            what is visible: facts, counts, runs, next number,
 *                                               commit; notes of the caller's: inputs, how far an
 *                                               add has come
 *
 * Entries of a batch are sorted into a run of their own; runs of like size are merged at the
 * commit, so that there are at most three of each power of four, and a look-up asks each. Pieces
 * reach the file in transactions of at most 16 MiB before the state names them; what no state names
 * is an interrupted writer's, and the next writer clears it away. After a crash the disk has the
 * state of one commit, whole.
 *
 * A directory is held by its writer with flock on the directory itself and on data.mdb, which must
 * have no other name. An environment may be opened once in a process (LMDB's rule). Views of a
 * bm_store that reads are opened and closed by any thread; the thread that writes opens the views
 * of its store, and then any thread may use them.
 *
 * A reader has a slot in lock.mdb, which tells writers what it may still see. Where that file is
 * not there, may not be written, or is another user's, it holds data.mdb shared instead and writes
 * nothing: then no writer can begin before it closes, and it is BM_ERR_LOCKED beside one.
 *
 * Errors: BM_ERR_FORMAT (damaged, another version, another byte order, files that are links or have
 * other names), BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_LOCKED (another writer), BM_ERR_CANCELLED. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/threads.h"
#include "store/piece.h"

#define BM_STORE_VERSION 2u

typedef enum bm_store_kind { BM_STORE_SETS, BM_STORE_SIGNATURES } bm_store_kind;

/* The properties that are fixed when the index is built. */
typedef struct bm_store_facts {
    bm_store_kind kind;
    uint32_t bands;  /* tables of band keys */
    uint32_t words;  /* SIGNATURES: of each document; SETS: 0 */
    bm_str settings; /* how documents are read, cut and signed: the caller's text (a JSON object) */
} bm_store_facts;

/* Bytes that the caller keeps in it. */
typedef enum bm_store_note_kind { BM_NOTE_INPUTS, BM_NOTE_ADDS } bm_store_note_kind;
#define BM_STORE_NOTES 2u

typedef struct bm_store_counts {
    uint64_t documents;            /* that are there */
    uint64_t removed;              /* that a compact would drop */
    uint64_t empty;                /* of documents: without shingles, with those that are ... */
    uint64_t unreadable;           /* ... in another encoding (text/shingler.h), ... */
    uint64_t short_docs;           /* ... and too short for a shingle (BM_SHORT_SKIP) */
    uint64_t shingles, text_bytes; /* of documents, summed */
    uint64_t next_number;          /* documents + removed */
    uint64_t
        next_id;    /* greater than any number that was an id (model/ids.h), also of documents that
                         are gone; BM_NEXT_ID_UNKNOWN */
    bm_id_kind ids; /* that its ids must be of; UNTYPED: none were added, or an earlier version
                         did not record it */
    uint64_t runs;  /* of band postings: each look-up asks all */
    uint64_t file_bytes, free_bytes; /* of data.mdb; of it, not in use */
} bm_store_counts;

typedef enum bm_store_mode {
    BM_STORE_READ,
    BM_STORE_WRITE /* add, remove, commit; BM_ERR_LOCKED where another does */
} bm_store_mode;

typedef struct bm_store bm_store;

typedef struct bm_store_cfg {
    bm_store_mode mode;
    uint64_t memory; /* of a writer: to gather, sort and merge; 0: 256 MiB */
    /* The folder where a build sorts postings; NULL: the index's own directory. For an unnamed one
     * it is given. Borrowed while it is made. */
    const char *temp_dir;
    bool (*cancelled)(void *ctx); /* asked at each piece; NULL: never. true: BM_ERR_CANCELLED */
    void *cancelled_ctx;
    /* Keys and documents will be looked up here and there: the system is asked to read only the
     * pages that are touched, not 128 KiB around each. A reader of a whole index leaves it off. */
    bool look_ups;
} bm_store_cfg;

/* Opened again in this process to be read, it is the same store, with the `look_ups` of the first.
 * BM_ERR_BUSY: this process has it open, and either of the two writes. */
bm_status bm_store_open(const char *dir, const bm_store_cfg *cfg, bm_store **out, bm_error *err);
/* A new one in a directory that has none (the caller made and holds it): nobody else opens it
 * before it is closed. Postings of bands are sorted aside and written at its first commit, as one
 * run: until then, bm_store_view_find finds none of them (ids are found at once). Nothing is synced
 * before that. After it, it is like one that was opened. BM_ERR_USAGE: there is an index already.
 */
bm_status bm_store_create(const char *dir, const bm_store_facts *facts, const bm_store_cfg *cfg,
                          bm_store **out, bm_error *err);
/* The same in a file without a name below cfg->temp_dir: it ends with close. */
bm_status bm_store_create_unnamed(const bm_store_facts *facts, const bm_store_cfg *cfg,
                                  bm_store **out, bm_error *err);
/* Its views must be closed before. Uncommitted changes are lost. NULL is fine. */
void bm_store_close(bm_store *store);
/* As long as it is open. */
const bm_store_facts *bm_store_facts_of(const bm_store *store);

/* Is there an index at that path, by its files and first bytes? A damaged one is one. Opens nothing
 * for long. BM_ERR_IO: nobody can tell. */
bm_status bm_store_is(const char *dir, bool *is, bm_error *err);
