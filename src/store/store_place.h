/* store_place.h -- the directory of an index: its two files, and who holds it.
 *
 * A writer holds the directory itself with flock, so that nothing is left behind when it ends in whatever
 * way. A reader that cannot have a slot in lock.mdb holds it shared. */
#ifndef BM_STORE_STORE_PLACE_H
#define BM_STORE_STORE_PLACE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* LMDB's own names. */
#define BM_STORE_DATA "data.mdb"
#define BM_STORE_LOCK "lock.mdb"

typedef struct bm_store_place {
    char *path;                    /* of the directory, as it was given */
    int dir, data /* read only */; /* descriptors, -1: none */
} bm_store_place;

typedef enum bm_store_hold {
    BM_STORE_HOLD_NOT,
    BM_STORE_HOLD_SHARED, /* where the file system can */
    BM_STORE_HOLD_ALONE
} bm_store_hold;

/* Open the directory and hold it. It is still at its path then: an index that another took the place of
 * (compact) is not opened. BM_ERR_LOCKED; BM_ERR_IO. */
bm_status bm_store_place_open(const char *path, bm_store_hold hold, bm_store_place *out,
                              bm_error *err);
/* Open its data file. BM_ERR_FORMAT: there is none. */
bm_status bm_store_place_data(bm_store_place *place, bm_error *err);
/* Is this descriptor of the same file as place->data? */
bool bm_store_place_same(const bm_store_place *place, int fd);
/* The blocks of lock.mdb are there: LMDB writes it through a map, which on a full disk would end the process. BM_ERR_IO with
 * ENOSPC or EDQUOT: there is no room for them, and no file is left that was not there; what else is wrong LMDB says. */
bm_status bm_store_place_lock_room(const bm_store_place *place, bm_error *err);
void bm_store_place_close(bm_store_place *place); /* {.dir = -1, .data = -1} is fine */

#endif
