/* SPDX-License-Identifier: Apache-2.0 */
/* store.h -- the persistent index: documents, and tables that find them by id and by band key.
 *
 * An index is a directory with one LMDB environment (data.mdb, lock.mdb) and the record of its last
 * commit (store_pages.h). LMDB gives atomic commits, snapshots, and any number of readers beside
 * one writer. The values are pieces of about 1 MiB (piece.h), so the tree of keys stays small, and
 * a view reads all of it when it opens (store_snapshot.h).
 *
 *     table      key                            piece
 *     documents  'D' first number               documents (piece.h)
 *     postings   'P' run, table, first entry    (band key, number) entries; table `bands` is the
 *                                               table of ids: its keys are XXH3_64bits of the id
 *     filters    'Q' run, first number          which documents may have a hash (piece.h)
 *     removed    'R'                            a bit for each number
 *     state      'S'                            the last commit: facts, counts, runs, next number,
 *                                               its number; the caller's notes: inputs, and the
 *                                               progress of an add
 *
 * The postings of a batch are sorted into a run of their own. A commit merges runs of similar size,
 * so that at most three remain for each power of four. A look-up searches every run.
 *
 * Pieces are written to the file before the state names them, in transactions of at most 16 MiB. If
 * the state does not name a piece, an interrupted writer left it, and the next writer deletes it.
 * After a crash the disk has the complete state of one commit.
 *
 * A writer holds flock on the directory itself and on data.mdb, which must have no other hard link.
 * LMDB allows a process to open an environment only once. If a bm_store only reads, any thread may
 * open and close its views. If it writes, only the writing thread may open views, but any thread
 * may use them.
 *
 * A reader takes a slot in lock.mdb, so that writers do not overwrite the pages that it reads. If
 * lock.mdb is missing, not writable, or owned by another user, the reader holds a shared flock on
 * data.mdb instead, and writes nothing. Such a reader keeps writers out until it closes the index.
 * While a writer is active, such a reader gets BM_ERR_LOCKED.
 *
 * Errors: BM_ERR_FORMAT (damaged, another version, another byte order, files that are symbolic
 * links or have further hard links), BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_LOCKED (another writer),
 * BM_ERR_CANCELLED. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/threads.h"
#include "store/piece.h"

#define BM_STORE_VERSION 2u

typedef enum bm_store_kind { BM_STORE_SETS, BM_STORE_SIGNATURES } bm_store_kind;

/* Properties that are fixed when the index is built. */
typedef struct bm_store_facts {
    bm_store_kind kind;
    uint32_t bands;  /* tables of band keys */
    uint32_t words;  /* SIGNATURES: words of each document's signature; SETS: 0 */
    bm_str settings; /* how documents are read, cut and signed: the caller's text (a JSON object) */
} bm_store_facts;

/* The notes: bytes that the caller stores in the index. */
typedef enum bm_store_note_kind { BM_NOTE_INPUTS, BM_NOTE_ADDS } bm_store_note_kind;
#define BM_STORE_NOTES 2u

typedef struct bm_store_counts {
    uint64_t documents;            /* documents that are present */
    uint64_t removed;              /* removed documents, which compact would drop */
    uint64_t empty;                /* documents without shingles, for any reason */
    uint64_t unreadable;           /* empty documents in another encoding (text/shingler.h) */
    uint64_t short_docs;           /* empty documents too short for a shingle (BM_SHORT_SKIP) */
    uint64_t shingles, text_bytes; /* sums over all documents */
    uint64_t next_number;          /* documents + removed */
    uint64_t next_id; /* greater than any number that was ever an id (model/ids.h), even of a
                       * document that was removed; BM_NEXT_ID_UNKNOWN: not recorded */
    bm_id_kind ids;   /* the kind that all ids of the index must have; UNTYPED: no id was added yet,
                       * or the index was made by an earlier version, which did not record the
                       * kind */
    uint64_t runs;    /* runs of band postings; each look-up searches all of them */
    uint64_t file_bytes, free_bytes; /* size of data.mdb, and how much of it is not in use */
} bm_store_counts;

typedef enum bm_store_mode {
    BM_STORE_READ,
    BM_STORE_WRITE /* add, remove, commit; BM_ERR_LOCKED: another writer is active */
} bm_store_mode;

typedef struct bm_store bm_store;

typedef struct bm_store_cfg {
    bm_store_mode mode;
    uint64_t memory; /* memory of a writer, for gathering, sorting and merging; 0: 256 MiB */
    /* The folder where a build sorts postings; NULL: the directory of the index. Required for an
     * unnamed index. Borrowed until the index is made. */
    const char *temp_dir;
    bool (*cancelled)(void *ctx); /* called at each piece; if it returns true, the running function
                                   * of the store returns BM_ERR_CANCELLED. NULL: never cancelled */
    void *cancelled_ctx;
    /* true: the caller will look up scattered keys and documents, and the system is advised to read
     * only the accessed pages, not 128 KiB around each. false: the caller will read the whole
     * index. */
    bool look_ups;
} bm_store_cfg;

/* Open an index. If this process already has it open for reading, opening it for reading again
 * returns the same store, with the configuration of the first call. BM_ERR_BUSY: this process has
 * it open already, and the first or the second call is for writing. */
bm_status bm_store_open(const char *dir, const bm_store_cfg *cfg, bm_store **out, bm_error *err);
/* Create an index in a directory that has none. The caller must have made the directory, and must
 * keep other processes from opening the index before it is closed. Band postings are sorted
 * separately, and written as one run at the first commit. Until then bm_store_view_find finds ids,
 * but no band keys, and nothing is synced. After the first commit, the index is like one that was
 * opened. BM_ERR_USAGE: the directory has an index already. */
bm_status bm_store_create(const char *dir, const bm_store_facts *facts, const bm_store_cfg *cfg,
                          bm_store **out, bm_error *err);
/* Like bm_store_create, but in an unnamed file below cfg->temp_dir. Closing the store deletes the
 * file. */
bm_status bm_store_create_unnamed(const bm_store_facts *facts, const bm_store_cfg *cfg,
                                  bm_store **out, bm_error *err);
/* Close the store. All its views must be closed before. Uncommitted changes are lost. If several
 * calls of bm_store_open returned this store, only the last close has an effect. NULL is fine. */
void bm_store_close(bm_store *store);
/* The facts of the index. They are valid while the store is open. */
const bm_store_facts *bm_store_facts_of(const bm_store *store);

/* Is there an index in the directory `dir`? Its files and their first bytes decide, so a damaged
 * index counts. BM_ERR_IO: it cannot be determined. */
bm_status bm_store_is(const char *dir, bool *is, bm_error *err);
