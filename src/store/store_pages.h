/* SPDX-License-Identifier: Apache-2.0 */
/* store_pages.h -- the files of an index and their contents: LMDB's environment (store_env), the
 * directory (store_place), the record of the last commit (store_record), the pages of the data
 * file, and the piece of state (store_state).
 *
 * This code does not know the format of LMDB's pages. LMDB's functions reveal the lists of free
 * pages, and every key with the address of its value. The pages that are neither free nor part of a
 * value belong to LMDB's trees. The addresses are in LMDB's own map. To find which page of the file
 * is at an address, the bytes there are compared with the pages of our map. */
#pragma once

#include <lmdb.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"
#include "store/piece.h"
#include "store/store.h"

/* store_env -- the LMDB environment: transactions, and a map that grows before it is full.
 *
 * Values are added to the open transaction. When it has 16 MiB of them, it is committed and the
 * next transaction begins. Each transaction is atomic, but only bm_store_env_commit makes sure that
 * it is on the disk. Before a transaction begins, the map grows by what the transaction may need,
 * so MDB_MAP_FULL cannot occur during a transaction. */

/* The functions of liblmdb that the store calls; the library is loaded when an index is opened. */
#define BM_LMDB_FUNCTIONS(X)                                                                       \
    X(mdb_env_create)                                                                              \
    X(mdb_env_open)                                                                                \
    X(mdb_env_close)                                                                               \
    X(mdb_env_set_mapsize)                                                                         \
    X(mdb_env_set_maxreaders)                                                                      \
    X(mdb_env_set_flags)                                                                           \
    X(mdb_env_sync)                                                                                \
    X(mdb_env_info)                                                                                \
    X(mdb_env_stat)                                                                                \
    X(mdb_env_get_fd)                                                                              \
    X(mdb_reader_check)                                                                            \
    X(mdb_txn_begin)                                                                               \
    X(mdb_txn_commit)                                                                              \
    X(mdb_txn_abort)                                                                               \
    X(mdb_txn_id)                                                                                  \
    X(mdb_dbi_open)                                                                                \
    X(mdb_stat)                                                                                    \
    X(mdb_cursor_open)                                                                             \
    X(mdb_cursor_get)                                                                              \
    X(mdb_cursor_close)                                                                            \
    X(mdb_put)                                                                                     \
    X(mdb_del)                                                                                     \
    X(mdb_strerror)

typedef struct bm_lmdb_library {
    BM_LMDB_FUNCTIONS(BM_LIBRARY_MEMBER)
} bm_lmdb_library;

/* Fail with the message "`what`: " and LMDB's text for `code`, for `file`. Returns BM_ERR_FORMAT
 * for damage, the status of bm_fail_errno for a system error, and BM_ERR_IO for other codes. */
bm_status bm_lmdb_fail(const bm_lmdb_library *lib, int code, const char *file, const char *what,
                       bm_error *err);

typedef struct bm_store_env {
    bm_lmdb_library lib;
    MDB_env *env;     /* NULL: not open */
    const char *name; /* path of the directory, for messages, and for finding the cause of a failed
                       * write; borrowed */
    MDB_txn *txn;     /* transaction being written; NULL: none is open */
    MDB_dbi table;    /* LMDB's table of keys, in txn */
    uint64_t bytes;   /* bytes put into txn so far */
    bool together;    /* until the next commit, all values are added to one transaction */
} bm_store_env;

typedef struct bm_store_env_cfg {
    const char *path;    /* path of the directory, or, with MDB_NOSUBDIR, of the file */
    const char *name;    /* see bm_store_env; borrowed until the environment is closed */
    unsigned flags;      /* flags of mdb_env_open; MDB_NOTLS is added */
    uint64_t file_bytes; /* present size of the data file */
} bm_store_env_cfg;

/* Open an environment; *out must be {0}. */
bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err);
void bm_store_env_close(bm_store_env *env); /* {0} is fine; uncommitted values are lost */

/* Add a value of `size` bytes under a key. The caller must fill the bytes at *value before the next
 * call for this environment. */
bm_status bm_store_env_put(bm_store_env *env, const bm_piece_key *key, size_t size, void **value,
                           bm_error *err);
/* Delete a value. BM_OK also if no value has this key. */
bm_status bm_store_env_del(bm_store_env *env, const bm_piece_key *key, bm_error *err);
/* Commit the open transaction, so that new read transactions see all values added so far. */
bm_status bm_store_env_flush(bm_store_env *env, bm_error *err);
/* From now until the next commit, add all values in one transaction. They may have at most `bytes`
 * bytes. */
bm_status bm_store_env_together(bm_store_env *env, uint64_t bytes, bm_error *err);
/* Like bm_store_env_flush, but wait until the transaction is on the disk (unless the environment
 * was opened with MDB_NOSYNC). Does nothing if no transaction is open. */
bm_status bm_store_env_commit(bm_store_env *env, bm_error *err);

/* Begin a read transaction. While it is open, no page that it reads is overwritten. */
bm_status bm_store_env_read(bm_store_env *env, MDB_txn **out, bm_error *err);

/* store_place -- the directory of an index: its files and their locks.
 *
 * A writer holds an exclusive flock on the directory itself and on the data file. The lock on the
 * data file is needed if the file was moved here while another process had it open. Locks end with
 * the process, however it ends. A reader without a slot in lock.mdb holds a shared flock on the
 * data file, and writes nothing. */

/* Names given by LMDB. */
#define BM_STORE_DATA "data.mdb"
#define BM_STORE_LOCK "lock.mdb"
/* The record is our own file (store_record, below). */
#define BM_STORE_RECORD "last_commit"
/* The most readers at once, over all processes; a slot takes 64 bytes of lock.mdb. */
#define BM_STORE_READERS 1022u

typedef struct bm_store_place {
    char *path;    /* path of the directory, as given */
    char name[40]; /* the path for LMDB; it leads through `dir`, so that it always means this
                      directory. "": there is no /proc */
    int dir, data /* read only */; /* descriptors; -1: not open */
} bm_store_place;

/* Open the directory. If `alone` is set, lock it. BM_ERR_LOCKED: another process holds the lock.
 * BM_ERR_IO. BM_NOT_FOUND, with *err set: compact in another process has just replaced the
 * directory. The caller closes *out in any case. */
bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err);
/* Open the data file in the directory. BM_ERR_FORMAT: it is missing, or not a regular file. A
 * symbolic link is not a regular file. */
bm_status bm_store_place_data(bm_store_place *place, bm_error *err);
/* Check that the data file can be mapped. BM_ERR_IO: its file system has no shared maps. Without
 * this check, a reader would report a damaged index. */
bm_status bm_store_place_map(const bm_store_place *place, bm_error *err);
/* Lock the data file, exclusively if `alone` is set, else shared. BM_ERR_LOCKED: another process
 * has it locked. BM_ERR_FORMAT, only if `alone`: it has more than one hard link, so a writer would
 * also change an index in another directory. */
bm_status bm_store_place_lock_data(const bm_store_place *place, bool alone, bm_error *err);
/* LMDB opens lock.mdb by name and writes to it. Check that this cannot change another file.
 *
 * BM_OK: lock.mdb is missing, or is a regular file with one hard link. For a reader (`writes`
 * false) also BM_OK: lock.mdb and the data file both have further hard links, as in a copy made of
 * links. BM_ERR_FORMAT: otherwise.
 *
 * *has_slots: a reader may take a slot in lock.mdb. For that, lock.mdb must exist, and this user
 * must own it and the directory, so that nobody else can replace it by a link.
 *
 * Nothing is created or extended. */
bm_status bm_store_place_lock(const bm_store_place *place, bool writes, bool *has_slots,
                              bm_error *err);
/* Return the path of the directory for LMDB. */
const char *bm_store_place_name(const bm_store_place *place);
/* Does the data file have another hard link? */
bool bm_store_place_is_linked(const bm_store_place *place);
/* Does this descriptor refer to the same file as place->data? */
bool bm_store_place_same(const bm_store_place *place, int fd);
/* Is now another data file at the path of the directory? */
bool bm_store_place_is_replaced(const bm_store_place *place);
/* Allocate the blocks of lock.mdb. LMDB writes the file through a map, and on a full disk that
 * would kill the process. BM_ERR_IO with ENOSPC or EDQUOT: the disk is full. If this call created
 * the file, it is removed again. Other errors are ignored here: LMDB reports them. */
bm_status bm_store_place_reserve_lock(const bm_store_place *place, bm_error *err);
void bm_store_place_close(bm_store_place *place); /* {.dir = -1, .data = -1} is fine */

/* store_record -- the record of the last commit: `last_commit`, a file of ours beside LMDB's two.
 *
 * The record has the number of the last transaction, the list of LMDB's own pages after that
 * transaction (its trees and its lists of free pages), and sums of the bytes of these pages. So no
 * code here has to understand the pages. If the sums match, LMDB wrote the pages and can read them
 * safely. If one of the first two pages is damaged, LMDB may fall back to the commit before. Its
 * transaction is then older than the recorded one, so the damage is noticed.
 *
 * The file has two slots of BM_RECORD_SLOT bytes, each with a sum of its own. They are written
 * alternately: if a write is torn, the previous record remains. docs/formats.md has each byte. */

#define BM_RECORD_SLOT ((size_t)256 << 10)

/* Consecutive pages. */
typedef struct bm_page_span {
    uint64_t first, n;
} bm_page_span;

/* The members before `spans` are stored in the file as they are, in the machine's byte order, which
 * LMDB uses too. */
typedef struct bm_store_record {
    uint64_t magic;
    uint32_t version, page_bytes;
    uint64_t index, commit; /* id of the index; number of its commits */
    /* The number of LMDB's transaction, the number of the last page, and the count of free
     * pages. */
    uint64_t txn, last_page, n_free;
    uint64_t first[2];   /* XXH3_64bits of each of LMDB's first two pages */
    uint64_t tree;       /* sum of LMDB's other pages, in the order of `spans` */
    uint64_t heads;      /* sum of the bytes that LMDB stores before those values that have pages of
                            their own */
    uint64_t n_spans;    /* number of spans; in the file, the spans follow, and then the XXH3_64bits
                            of everything before it */
    bm_page_span *spans; /* ascending */
    size_t cap_spans;
    uint32_t slot; /* slot from which the record was read */
} bm_store_record; /* {0}; reset */

/* Read the newest intact record into *out, which must be {0} or an earlier record. BM_ERR_FORMAT:
 * there is no intact record, or it is of another version. */
bm_status bm_store_record_read(const bm_store_place *place, bm_store_record *out, bm_error *err);
/* Clear the slot other than `slot` and allocate its blocks, so that a full disk is noticed before
 * the commit. `make`: create the file. It must not exist yet. */
bm_status bm_store_record_prepare(const bm_store_place *place, uint32_t slot, bool make,
                                  bm_error *err);
/* Write the record to the slot other than record->slot, and update record->slot. When the function
 * returns, the record is on the disk. */
bm_status bm_store_record_write(const bm_store_place *place, bm_store_record *record,
                                bm_error *err);
void bm_store_record_reset(bm_store_record *record); /* frees */

/* Compute `first` and `tree` from the `size` bytes of the file. Returns false if a page is beyond
 * the end of the file. */
bool bm_store_record_sum(bm_store_record *record, const uint8_t *bytes, size_t size);
/* Do the pages in these `size` bytes match the record? LMDB writes the first two pages alternately.
 * Only the page of the recorded transaction is checked, because the other page may belong to an
 * unfinished commit. */
bool bm_store_record_matches(const bm_store_record *record, const uint8_t *bytes, size_t size);

/* A piece in the map of the file. Nothing in it was checked yet. */
typedef struct bm_piece_ref {
    bm_piece_key key;
    uint32_t size;
    const uint8_t *bytes;
} bm_piece_ref;

typedef struct bm_piece_refs {
    bm_piece_ref *list;
    size_t n, cap;
} bm_piece_refs;

/* A read transaction, and our map of the file. */
typedef struct bm_pages_of {
    const bm_store_env *env;
    MDB_txn *txn;
    const uint8_t *bytes;
    size_t size;
} bm_pages_of;

/* List all pieces in the order of their keys, with their addresses in our map. In `out`, set
 * page_bytes, txn, last_page, n_free, heads and the spans. BM_ERR_FORMAT: LMDB cannot read the
 * file, or a page is used twice, or a page is neither used nor free. */
bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err);

/* Call bm_pages_read in a child process, because LMDB may crash, and discard the result. BM_OK: the
 * child could read everything. BM_ERR_FORMAT: it could not, or it crashed.
 *
 * `slot` true: the child takes a slot in lock.mdb, so that no writer overwrites the pages that it
 * reads. `slot` false: a slot or a lock of the caller protects these pages. */
bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err);

/* store_state -- the contents of the index at a commit: the piece of state, 'S'.
 *
 * The state names the runs of postings and the last piece of documents. If a writer was
 * interrupted, this piece may have more documents than the state counts. Pieces that the state does
 * not name are leftovers. Removals ('R') are written in the same transaction as the state, so the
 * state need not name them.
 *
 *     head; version, kind, bands, words (32 bits each); index, commit; documents, removed, empty,
 *     shingles, text_bytes, next number; next run; first number of the last documents; runs
 *     (count), bytes of each text (64 bits each); then how many of the empty documents are
 *     unreadable, the next id, the type of ids, and how many of the empty documents are short
 *     (64 bits each)
 *     runs      number, first table, tables, entries     64 bits each
 *     texts     settings, inputs, adds
 *
 * The record of the last commit has index and commit too (store_pages.h). */

/* The version of new states. States of two earlier versions can also be read. A state of
 * BM_STORE_VERSION lacks the last four numbers. A state of BM_STORE_VERSION + 1 has only the first
 * of these four. */
#define BM_STATE_VERSION (BM_STORE_VERSION + 2u)

/* The most runs of one state. There may be three for each power of four up to the largest number of
 * documents, both for bands and for ids, and the runs that a merge is about to replace. */
#define BM_STORE_RUNS 128u

/* A run: postings that were sorted together. The members are stored in the file as they are
 * here. */
typedef struct bm_store_run {
    uint64_t id, first_table, n_tables;
    uint64_t entries; /* number of entries of each table */
} bm_store_run;

typedef struct bm_state {
    bm_store_facts facts;
    uint64_t index;         /* id of the index; it is computed from the documents of the first
                               build, so no other index has the same id */
    uint64_t commit;        /* number of commits */
    bm_store_counts counts; /* `runs` and the bytes of the file are not set */
    uint64_t next_run;      /* id of the next run or filter */
    uint64_t tail_first;    /* number of the first document in the last piece of documents */
    uint64_t n_runs;
    bm_str notes[BM_STORE_NOTES];
    bm_store_run runs[BM_STORE_RUNS]; /* ascending by id */
} bm_state;                           /* borrows its texts */

/* BM_ERR_INTERNAL: there are BM_STORE_RUNS runs already. */
bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err);

size_t bm_state_size(const bm_state *state);           /* bytes of the piece of the state */
void bm_state_write(const bm_state *state, void *out); /* writes bm_state_size bytes. */
/* Read a state; *out borrows the bytes. BM_ERR_FORMAT: damaged, or of another version. */
bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err);

/* Does the state name this piece? */
bool bm_state_names(const bm_state *state, const bm_piece_key *key);
