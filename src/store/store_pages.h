/* SPDX-License-Identifier: Apache-2.0 */
/* store_pages.h -- what LMDB's functions reveal about its file: every key with the address of its
 * value, and the lists of free pages. All other pages, neither free nor a value's, hold LMDB's
 * trees.
 *
 * This code does not know the format of LMDB's pages. LMDB returns addresses in its own map; the
 * page of the file at such an address is found by comparing it with the pages of our map. */
#pragma once

#include <lmdb.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"
#include "store/piece.h"
#include "store/store.h"

/* store_env -- the LMDB environment: transactions, and a map that grows before it is full.
 *
 * Values are put into the open transaction until it has 16 MiB of them; then it is committed and
 * the next one begins. Each commit is atomic, but only bm_store_env_commit waits for the disk.
 * Before a transaction begins, the map grows by what the transaction may need, so MDB_MAP_FULL
 * cannot occur in the middle of one. */

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

/* BM_ERR_IO: liblmdb is not installed. BM_ERR_NOMEM. */
bm_status bm_lmdb_library_open(bm_lmdb_library *lib, bm_error *err);
/* Report "`what`: " and the meaning of the code, for `file`. Damage is BM_ERR_FORMAT, system errors
 * are as in bm_fail_errno, all others BM_ERR_IO. */
bm_status bm_lmdb_fail(const bm_lmdb_library *lib, int code, const char *file, const char *what,
                       bm_error *err);

typedef struct bm_store_env {
    bm_lmdb_library lib;
    MDB_env *env;     /* NULL: not open */
    const char *name; /* name of the file, for messages; borrowed */
    MDB_txn *txn;     /* transaction being written; NULL: none is open */
    MDB_dbi table;    /* LMDB's table of keys, in txn */
    uint64_t bytes;   /* bytes put into txn so far */
    bool together;    /* until the commit, all values go into one transaction */
} bm_store_env;

typedef struct bm_store_env_cfg {
    const char *path;    /* path of the directory, or, with MDB_NOSUBDIR, of the file */
    const char *name;    /* for messages */
    unsigned flags;      /* MDB_NOTLS is added */
    uint64_t file_bytes; /* present size of the data file */
} bm_store_env_cfg;

/* *out must be {0}. */
bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err);
void bm_store_env_close(bm_store_env *env); /* {0} is fine; uncommitted values are lost */

/* Reserve a value of `size` bytes; the caller fills it before the next call for this
 * environment. */
bm_status bm_store_env_put(bm_store_env *env, const bm_piece_key *key, size_t size, void **value,
                           bm_error *err);
/* Delete a value. BM_OK also if there is none with this key. */
bm_status bm_store_env_del(bm_store_env *env, const bm_piece_key *key, bm_error *err);
/* Make all values put so far readable. */
bm_status bm_store_env_flush(bm_store_env *env, bm_error *err);
/* From here to the commit, `bytes` of values go into one transaction. */
bm_status bm_store_env_together(bm_store_env *env, uint64_t bytes, bm_error *err);
/* Write all values put so far to the disk. */
bm_status bm_store_env_commit(bm_store_env *env, bm_error *err);

/* Begin a read transaction: while it is open, no page that it sees is overwritten. */
bm_status bm_store_env_read(bm_store_env *env, MDB_txn **out, bm_error *err);

/* store_place -- the directory of an index: its files, and who holds them.
 *
 * A writer holds flock on the directory itself, so no lock remains however the process ends, and on
 * the data file, which may have been moved there from another directory. A reader without a slot in
 * lock.mdb holds a shared flock on the data file, which writes nothing. */

/* Names given by LMDB. */
#define BM_STORE_DATA "data.mdb"
#define BM_STORE_LOCK "lock.mdb"
/* Our own file (store_record, below). */
#define BM_STORE_RECORD "last_commit"
/* The most readers at once, over all processes; a slot takes 64 bytes of lock.mdb. */
#define BM_STORE_READERS 1022u

typedef struct bm_store_place {
    char *path;    /* path of the directory, as given */
    char name[40]; /* the path for LMDB, through the descriptor, so that no other directory can take
                      its place; "": there is no /proc */
    int dir, data /* read only */; /* descriptors; -1: not open */
} bm_store_place;

/* Open the directory, and lock it if `alone`. BM_ERR_LOCKED; BM_ERR_IO. BM_NOT_FOUND, with a
 * message: another process just replaced it (compact). Close *out in any case. */
bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err);
/* Open its data file, which must be a regular file, not a symbolic link. BM_ERR_FORMAT: it is not
 * there. */
bm_status bm_store_place_data(bm_store_place *place, bm_error *err);
/* Can the data file be mapped? BM_ERR_IO: its file system has no shared maps, and a reader would
 * take the index for damaged. */
bm_status bm_store_place_map(const bm_store_place *place, bm_error *err);
/* Hold the data file, shared or exclusively (`alone`). BM_ERR_LOCKED. If `alone`, BM_ERR_FORMAT: it
 * has more than one hard link, so it would change in another directory too. */
bm_status bm_store_place_lock_data(const bm_store_place *place, bool alone, bm_error *err);
/* May LMDB use lock.mdb, which it opens by name and writes to? BM_OK: it is a regular file with one
 * hard link; or it is missing; or, for a reader, both it and the data file have further hard links
 * (a copy made of links), and the reader must not touch it. BM_ERR_FORMAT: otherwise. *has_slots: a
 * reader may take a slot in it: the file exists, and this user owns it and the directory, so nobody
 * else can replace it by a link. The check creates and extends nothing. */
bm_status bm_store_place_lock(const bm_store_place *place, bool writes, bool *has_slots,
                              bm_error *err);
/* The path of the directory for LMDB. */
const char *bm_store_place_name(const bm_store_place *place);
/* Does its data file have another hard link? */
bool bm_store_place_is_linked(const bm_store_place *place);
/* Does this descriptor refer to the same file as place->data? */
bool bm_store_place_same(const bm_store_place *place, int fd);
/* Is another file at its path now? */
bool bm_store_place_is_replaced(const bm_store_place *place);
/* Allocate the blocks of lock.mdb: LMDB writes it through a map, and on a full disk that would kill
 * the process. BM_ERR_IO with ENOSPC or EDQUOT: the disk is full, and no new file is left behind.
 * LMDB reports all other errors. */
bm_status bm_store_place_reserve_lock(const bm_store_place *place, bm_error *err);
void bm_store_place_close(bm_store_place *place); /* {.dir = -1, .data = -1} is fine */

/* store_record -- the record of the last commit: `last_commit`, a file of ours beside LMDB's two.
 *
 * It has the transaction of the last commit, the list of LMDB's own pages at that time (its trees,
 * its lists of free pages), and sums of their bytes. So no code here has to understand these pages:
 * if the sums match, LMDB wrote the pages and can read them safely. If a damaged first page makes
 * LMDB fall back to the commit before, its transaction is older than the recorded one, which shows
 * it.
 *
 * The file has two slots of BM_RECORD_SLOT bytes, each with a sum of its own, which are written in
 * turn: if a write is torn, the record before it remains. docs/formats.md has each byte. */

#define BM_RECORD_SLOT ((size_t)256 << 10)

/* Consecutive pages. */
typedef struct bm_page_span {
    uint64_t first, n;
} bm_page_span;

/* The members before `spans` are as in the file, in the machine's byte order, which LMDB uses
 * too. */
typedef struct bm_store_record {
    uint64_t magic;
    uint32_t version, page_bytes;
    uint64_t index, commit; /* id of the index; number of its commits */
    uint64_t txn, last_page, n_free;
    uint64_t first[2];   /* XXH3_64bits of each of LMDB's first two pages */
    uint64_t tree;       /* sum of LMDB's other pages, in the order of `spans` */
    uint64_t heads;      /* sum of the bytes that LMDB stores before each value that has pages of
                            its own */
    uint64_t n_spans;    /* number of spans; in the file they follow, then the XXH3_64bits of
                            everything before it */
    bm_page_span *spans; /* ascending */
    size_t cap_spans;
    uint32_t slot; /* slot from which the record was read */
} bm_store_record; /* {0}; reset */

/* Read the newest intact record. BM_ERR_FORMAT: there is none, or it is of another version. */
bm_status bm_store_record_read(const bm_store_place *place, bm_store_record *out, bm_error *err);
/* Clear the slot other than `slot`, and allocate its blocks, so that a full disk fails before the
 * commit. `make`: create the file. */
bm_status bm_store_record_prepare(const bm_store_place *place, uint32_t slot, bool make,
                                  bm_error *err);
/* Write the record to the slot other than record->slot, and update record->slot. It is on the disk
 * when the function returns. */
bm_status bm_store_record_write(const bm_store_place *place, bm_store_record *record,
                                bm_error *err);
void bm_store_record_reset(bm_store_record *record); /* frees */

/* Fill in `first` and `tree` from the bytes of the file. Returns false if a page is beyond its
 * end. */
bool bm_store_record_sum(bm_store_record *record, const uint8_t *bytes, size_t size);
/* Do these pages match the record? Of the first two pages only the one of the recorded transaction
 * is checked: LMDB writes them in turn, and the other may be part of an unfinished commit. */
bool bm_store_record_matches(const bm_store_record *record, const uint8_t *bytes, size_t size);

/* A piece in the map of the file; nothing in it was checked. */
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

/* List all pieces by key, as they are in our map, and fill in all members of `out` except index,
 * commit and the sums of pages. BM_ERR_FORMAT: LMDB cannot read the file, or a page has two owners
 * or none. */
bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err);

/* Like bm_pages_read, in a child process, because LMDB may crash. BM_OK: the child finished;
 * BM_ERR_FORMAT: it ended in another way. `slot`: the child takes a slot in lock.mdb, so that no
 * writer overwrites the pages that it reads (false: the caller has a slot that protects them). */
bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err);

/* store_state -- what a commit makes visible: the piece of state, 'S'.
 *
 * It names the runs of postings and the last piece of documents. That piece may have documents
 * beyond the state's count, left by an interrupted writer. Pieces that the state does not name are
 * leftovers. Removals ('R') are written in the same transaction as the state and need no name.
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

/* States of earlier versions can be read: a state of BM_STORE_VERSION lacks the last four numbers,
 * and a state of the next version has only the first of them. New states are written in this
 * version. */
#define BM_STATE_VERSION (BM_STORE_VERSION + 2u)

/* The most runs of one state: three for each power of four up to the largest number of documents,
 * for bands and for ids; and the runs that a merge is about to replace. */
#define BM_STORE_RUNS 128u

/* Postings that were sorted together; each table has `entries` entries. */
typedef struct bm_store_run {
    uint64_t id, first_table, n_tables;
    uint64_t entries; /* number of entries of each table */
} bm_store_run;

typedef struct bm_state {
    bm_store_facts facts;
    uint64_t index;         /* id of the index, computed from the documents of its build, so that no
                               other index has it */
    uint64_t commit;        /* number of commits */
    bm_store_counts counts; /* except runs and bytes */
    uint64_t next_run;
    uint64_t tail_first; /* first number of the last piece of documents */
    uint64_t n_runs;
    bm_str notes[BM_STORE_NOTES];
    bm_store_run runs[BM_STORE_RUNS]; /* ascending by id */
} bm_state;                           /* borrows its texts */

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err);

size_t bm_state_size(const bm_state *state);           /* bytes of the piece of the state */
void bm_state_write(const bm_state *state, void *out); /* writes bm_state_size bytes. */
/* *out borrows the bytes. BM_ERR_FORMAT: damaged or of another version. */
bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err);

/* Does the state name this piece? */
bool bm_state_names(const bm_state *state, const bm_piece_key *key);
