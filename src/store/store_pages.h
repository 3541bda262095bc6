/* SPDX-License-Identifier: Apache-2.0 */
/* store_pages.h -- what LMDB's own calls tell of its file: each key with the place of its value,
 * the lists of free pages, and so which pages hold LMDB's trees: those that are neither free nor a
 * value's.
 *
 * Nothing here knows the format of LMDB's pages. It hands out addresses in a map of its own: the
 * page of the file at such an address is found by comparing it with the pages of our map. */
#pragma once

#include <lmdb.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/system.h"
#include "store/piece.h"
#include "store/store.h"

/* store_env -- the environment of LMDB: transactions, and a map that grows before it is full.
 *
 * Values are put into a transaction that is open until it has 16 MiB of them; then it is committed
 * and the next begun. Each is whole, but only bm_store_env_commit waits for the disk. The map grows
 * by what a transaction may take before it begins, so that MDB_MAP_FULL cannot come in the midst of
 * one. */

/* The functions of liblmdb that the store calls; the library is opened with an index. */
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

/* BM_ERR_IO: it is not installed. BM_ERR_NOMEM. */
bm_status bm_lmdb_library_open(bm_lmdb_library *lib, bm_error *err);
/* "`what`: " and what the code means, of `file`. Damage is BM_ERR_FORMAT, errors of the system as
 * in bm_fail_errno, the rest BM_ERR_IO. */
bm_status bm_lmdb_fail(const bm_lmdb_library *lib, int code, const char *file, const char *what,
                       bm_error *err);

typedef struct bm_store_env {
    bm_lmdb_library lib;
    MDB_env *env;     /* NULL: none */
    const char *name; /* for messages; borrowed */
    MDB_txn *txn;     /* that is being written; NULL: none */
    MDB_dbi table;    /* of keys, in txn */
    uint64_t bytes;   /* that were put into it */
    bool together;    /* until the commit all goes into one transaction */
} bm_store_env;

typedef struct bm_store_env_cfg {
    const char *path;    /* of the directory, or with MDB_NOSUBDIR of the file */
    const char *name;    /* for messages */
    unsigned flags;      /* MDB_NOTLS is added */
    uint64_t file_bytes; /* that it has now */
} bm_store_env_cfg;

/* *out: {0} before. */
bm_status bm_store_env_open(const bm_store_env_cfg *cfg, bm_store_env *out, bm_error *err);
void bm_store_env_close(bm_store_env *env); /* {0} is fine; uncommitted values are lost */

/* A value of `size` bytes, to be filled before the next call for this environment. */
bm_status bm_store_env_put(bm_store_env *env, const bm_piece_key *key, size_t size, void **value,
                           bm_error *err);
/* BM_OK also where there is none. */
bm_status bm_store_env_del(bm_store_env *env, const bm_piece_key *key, bm_error *err);
/* Make all values that were put readable. */
bm_status bm_store_env_flush(bm_store_env *env, bm_error *err);
/* From here to the commit all of `bytes` goes into one transaction. */
bm_status bm_store_env_together(bm_store_env *env, uint64_t bytes, bm_error *err);
/* Write all values that were put to the disk. */
bm_status bm_store_env_commit(bm_store_env *env, bm_error *err);

/* A transaction that reads: while it is open, nothing that it sees is written over. */
bm_status bm_store_env_read(bm_store_env *env, MDB_txn **out, bm_error *err);

/* store_place -- the directory of an index: its files, and who holds them.
 *
 * A writer holds the directory itself with flock, so that no lock is left, in whatever way it ends,
 * and also its data file, which may have come there from another directory. A reader that has no
 * slot in lock.mdb holds the data file shared, for which nothing is written. */

/* LMDB's own names. */
#define BM_STORE_DATA "data.mdb"
#define BM_STORE_LOCK "lock.mdb"
/* Ours (store_pages.h). */
#define BM_STORE_RECORD "last_commit"
/* Readers at once, of all processes; a slot takes 64 bytes of lock.mdb. */
#define BM_STORE_READERS 1022u

typedef struct bm_store_place {
    char *path;    /* of the directory, as it was given */
    char name[40]; /* the same for LMDB: through the descriptor, so that no other can come to its
                      place; "": no /proc */
    int dir, data /* read only */; /* descriptors, -1: none */
} bm_store_place;

/* Open the directory; `alone`: and lock it. BM_ERR_LOCKED; BM_ERR_IO. BM_NOT_FOUND, with a message:
 * another process replaced it at this moment (compact). Close *out in any case. */
bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err);
/* Open its data file, a regular file and no link. BM_ERR_FORMAT: there is none. */
bm_status bm_store_place_data(bm_store_place *place, bm_error *err);
/* Can it be mapped? BM_ERR_IO: its file system has no such maps, and whoever read the index would
 * find it damaged. */
bm_status bm_store_place_map(const bm_store_place *place, bm_error *err);
/* Hold the data file, shared or alone. BM_ERR_LOCKED. Alone, BM_ERR_FORMAT: it has more than one
 * name, so that it would change in another directory too. */
bm_status bm_store_place_lock_data(const bm_store_place *place, bool alone, bm_error *err);
/* May LMDB see lock.mdb, which it opens by its name, and writes to? BM_OK: it is a regular file of
 * one name, or is not there; or it has another name, as the data file has (a copy by hard links),
 * and who reads leaves it alone. BM_ERR_FORMAT. *has_slots: a reader may take a slot in it: it is
 * there, and this user's own, as the directory is, in which nobody else can exchange it for a link;
 * nothing is made or grown by that. */
bm_status bm_store_place_lock(const bm_store_place *place, bool writes, bool *has_slots,
                              bm_error *err);
/* Its path for LMDB. */
const char *bm_store_place_name(const bm_store_place *place);
/* Has its data file another name too (a hard link)? */
bool bm_store_place_is_linked(const bm_store_place *place);
/* Is this descriptor of the same file as place->data? */
bool bm_store_place_same(const bm_store_place *place, int fd);
/* Is another file at its path now? */
bool bm_store_place_is_replaced(const bm_store_place *place);
/* Allocate the blocks of lock.mdb: LMDB writes it through a map, which on a full disk would end the
 * process. BM_ERR_IO with ENOSPC or EDQUOT: the disk is full, and no file is left that was not
 * there; LMDB reports all else. */
bm_status bm_store_place_reserve_lock(const bm_store_place *place, bm_error *err);
void bm_store_place_close(bm_store_place *place); /* {.dir = -1, .data = -1} is fine */

/* store_record -- the record of the last commit: `last_commit`, a file of ours beside LMDB's two.
 *
 * It has the transaction of the last commit, the pages that are LMDB's own at that time (its trees,
 * its lists of free pages), and the sums of the bytes of those pages. So no code here has to
 * understand these pages: if the sums are right, LMDB has written the pages, and may read them. And
 * where LMDB, misled by a damaged first page, goes back to the commit before, its transaction is
 * older than the record's.
 *
 * The file has two slots of BM_RECORD_SLOT bytes, which are written in turn, each with a sum of its
 * own: a record that was torn leaves the one before. docs/formats.md has each byte. */

#define BM_RECORD_SLOT ((size_t)256 << 10)

/* Pages that follow each other. */
typedef struct bm_page_span {
    uint64_t first, n;
} bm_page_span;

/* Up to `spans` as it is in the file, in the byte order of LMDB's pages, which is the machine's. */
typedef struct bm_store_record {
    uint64_t magic;
    uint32_t version, page_bytes;
    uint64_t index, commit; /* which index; how many commits there were */
    uint64_t txn, last_page, n_free;
    uint64_t first[2];   /* XXH3_64bits of each of LMDB's two first pages */
    uint64_t tree;       /* of its other pages, in the order of `spans` */
    uint64_t heads;      /* of the bytes that it keeps before each value on pages of its own */
    uint64_t n_spans;    /* which follow, and the XXH3_64bits of everything before */
    bm_page_span *spans; /* ascending */
    size_t cap_spans;
    uint32_t slot; /* its place */
} bm_store_record; /* {0}; reset */

/* The newest that is whole. BM_ERR_FORMAT: there is none, or it is one of another version. */
bm_status bm_store_record_read(const bm_store_place *place, bm_store_record *out, bm_error *err);
/* The other slot than `slot` becomes empty, and its blocks are allocated, so that a full disk fails
 * before the commit. `make`: the file is new. */
bm_status bm_store_record_prepare(const bm_store_place *place, uint32_t slot, bool make,
                                  bm_error *err);
/* On the disk before it returns, in the slot that is not record->slot, which it then is. */
bm_status bm_store_record_write(const bm_store_place *place, bm_store_record *record,
                                bm_error *err);
void bm_store_record_reset(bm_store_record *record); /* frees */

/* Fill in `first` and `tree` of the file as it is. false: a page is not in it. */
bool bm_store_record_sum(bm_store_record *record, const uint8_t *bytes, size_t size);
/* Are these pages as they were recorded? Of the two first pages only the one of the transaction is
 * checked: LMDB writes them in turn, and the other one may be half of an unfinished commit. */
bool bm_store_record_matches(const bm_store_record *record, const uint8_t *bytes, size_t size);

/* A piece as it lies in the map; nothing in it was looked at. */
typedef struct bm_piece_ref {
    bm_piece_key key;
    uint32_t size;
    const uint8_t *bytes;
} bm_piece_ref;

typedef struct bm_piece_refs {
    bm_piece_ref *list;
    size_t n, cap;
} bm_piece_refs;

/* A transaction that reads, and our map of the file. */
typedef struct bm_pages_of {
    const bm_store_env *env;
    MDB_txn *txn;
    const uint8_t *bytes;
    size_t size;
} bm_pages_of;

/* All pieces, in the order of their keys, as they lie in our map; and of `out` all but index,
 * commit and the sums of pages. BM_ERR_FORMAT: LMDB cannot read it, or a page has two owners, or
 * none. */
bm_status bm_pages_read(const bm_pages_of *of, bm_piece_refs *pieces, bm_store_record *out,
                        bm_error *err);

/* The same in a child of this process, which LMDB may crash. BM_OK: the child came to its end;
 * BM_ERR_FORMAT: it ended in another way. `slot`: the child takes a slot in lock.mdb, so that no
 * writer overwrites the pages that it reads (false: the caller holds one for it). */
bm_status bm_pages_read_in_child(const bm_store_place *place, bool slot, bm_error *err);

/* store_state -- what a commit makes visible: the piece of state, 'S'.
 *
 * It names the runs of postings, and the last piece of documents. This piece may hold more
 * documents than there are, from a writer that was interrupted. Pieces without a name are
 * leftovers. Removals ('R') are written in the transaction of the state, and need no name.
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

/* States of earlier versions are read: a state of BM_STORE_VERSION has none of the last four
 * numbers, and a state of the next version only the first of them. New states have this version. */
#define BM_STATE_VERSION (BM_STORE_VERSION + 2u)

/* Runs of one state: three of each power of four that numbers of documents can be, of bands and of
 * ids; and those that a merge is about to replace. */
#define BM_STORE_RUNS 128u

/* Postings that are sorted together: of each of its tables so many entries. */
typedef struct bm_store_run {
    uint64_t id, first_table, n_tables;
    uint64_t entries; /* of each table */
} bm_store_run;

typedef struct bm_state {
    bm_store_facts facts;
    uint64_t index;         /* of the documents that it was built of, so that no other has it */
    uint64_t commit;        /* how many there were */
    bm_store_counts counts; /* but for runs and bytes */
    uint64_t next_run;
    uint64_t tail_first; /* of the last piece of documents */
    uint64_t n_runs;
    bm_str notes[BM_STORE_NOTES];
    bm_store_run runs[BM_STORE_RUNS]; /* ascending by id */
} bm_state;                           /* borrows its texts */

bm_status bm_state_add_run(bm_state *state, const bm_store_run *run, bm_error *err);

size_t bm_state_size(const bm_state *state);           /* of its piece */
void bm_state_write(const bm_state *state, void *out); /* so many bytes */
/* *out borrows the bytes. BM_ERR_FORMAT: damaged or of another version. */
bm_status bm_state_read(const void *bytes, size_t size, bm_state *out, bm_error *err);

/* Does the state name this piece? */
bool bm_state_names(const bm_state *state, const bm_piece_key *key);
