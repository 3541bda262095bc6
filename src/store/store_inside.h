/* store_inside.h -- the inside of a bm_store, for the files of this room. */
#ifndef BM_STORE_STORE_INSIDE_H
#define BM_STORE_STORE_INSIDE_H

#include <pthread.h>

#include "store/store.h"
#include "store/store_env.h"
#include "store/store_place.h"
#include "store/store_state.h"

typedef struct bm_writer bm_writer; /* store_writer.h */

/* The data file in memory, shared by the views that were opened since it last outgrew its map. */
typedef struct bm_store_map {
    uint8_t *bytes;
    size_t size; /* of the map; the file may be shorter */
    uint32_t users;
} bm_store_map;

struct bm_store {
    bm_store_cfg cfg;
    char *temp_dir; /* of cfg; NULL: none was given */
    bm_store_place place;
    bm_store_env env;
    pthread_mutex_t mutex; /* views begin and end: slots of readers, map */
    bm_store_map *map;     /* of the last view; NULL: none */
    bm_store_facts facts;  /* settings: its own */
    uint32_t record_slot;  /* of a writer: where the record of the last commit stands */
    bm_writer *writer;     /* NULL: it reads */
};

/* BM_ERR_CANCELLED, where somebody wants it. */
bm_status bm_store_go_on(const bm_store *store, bm_error *err);

#endif
