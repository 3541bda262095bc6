/* store_place.h -- the directory of an index: its files, and who holds them.
 *
 * A writer holds the directory itself with flock, so that nothing is left behind when it ends in whatever way, and
 * its data file, which may have come there from another directory. A reader that has no slot in lock.mdb holds
 * the data file shared, for which nothing is written. */
#ifndef BM_STORE_STORE_PLACE_H
#define BM_STORE_STORE_PLACE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* LMDB's own names. */
#define BM_STORE_DATA "data.mdb"
#define BM_STORE_LOCK "lock.mdb"
/* Ours (store_record.h). */
#define BM_STORE_RECORD "last_commit"
/* Readers at once, of all processes; a slot takes 64 bytes of lock.mdb. */
#define BM_STORE_READERS 1022u

typedef struct bm_store_place {
    char *path; /* of the directory, as it was given */
    char name
        [40]; /* the same for LMDB: through the descriptor, so that no other can come to its place; "": no /proc */
    int dir, data /* read only */; /* descriptors, -1: none */
} bm_store_place;

/* Open the directory; `alone`: and hold it. BM_ERR_LOCKED; BM_ERR_IO. BM_NOT_FOUND: another took its place at this moment
 * (compact), which `err` says too. *out is to be closed in any case. */
bm_status bm_store_place_open(const char *path, bool alone, bm_store_place *out, bm_error *err);
/* Open its data file, a regular file and no link. BM_ERR_FORMAT: there is none. */
bm_status bm_store_place_data(bm_store_place *place, bm_error *err);
/* Hold the data file, shared or alone. BM_ERR_LOCKED. Alone, BM_ERR_FORMAT: it has more than one name, so that it
 * would change in another directory too. */
bm_status bm_store_place_hold(const bm_store_place *place, bool alone, bm_error *err);
/* May LMDB see lock.mdb, which it opens by its name, and writes to? BM_OK: it is a regular file of one name, or is not there.
 * BM_ERR_FORMAT. *has_slots: a reader may take a slot in it: it is there, and this user's own, as the directory is, in which
 * nobody else can exchange it for a link; nothing is made or grown by that. */
bm_status bm_store_place_lock(const bm_store_place *place, bool *has_slots, bm_error *err);
/* Its path for LMDB. */
const char *bm_store_place_name(const bm_store_place *place);
/* Is this descriptor of the same file as place->data? */
bool bm_store_place_same(const bm_store_place *place, int fd);
/* Is another file at its path now? */
bool bm_store_place_is_replaced(const bm_store_place *place);
/* The blocks of lock.mdb are there: LMDB writes it through a map, which on a full disk would end the process. BM_ERR_IO with
 * ENOSPC or EDQUOT: there is no room for them, and no file is left that was not there; what else is wrong LMDB says. */
bm_status bm_store_place_lock_room(const bm_store_place *place, bm_error *err);
void bm_store_place_close(bm_store_place *place); /* {.dir = -1, .data = -1} is fine */

#endif
