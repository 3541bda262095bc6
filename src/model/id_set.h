/* id_set.h -- from ids to numbers and back: a new id gets the next number. */
#ifndef BM_MODEL_ID_SET_H
#define BM_MODEL_ID_SET_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/hash_table.h"
#include "base/memory.h"

#define BM_ID_NONE UINT32_MAX

typedef struct bm_id_set {
    bm_buf text;    /* all ids, one after another */
    uint64_t *ends; /* where each ends in `text` */
    size_t n, cap;
    bm_hash_table table;
} bm_id_set; /* {0} is empty */

void bm_id_set_reset(bm_id_set *set); /* frees */
/* *number: that of the id, which is added if it is new. BM_ERR_NOMEM; BM_ERR_INPUT past
 * BM_DOCS_MAX. */
bm_status bm_id_set_add(bm_id_set *set, bm_str id, uint32_t *number, bm_error *err);
/* The number of an id; BM_ID_NONE: it is not there. */
uint32_t bm_id_set_find(const bm_id_set *set, bm_str id);
/* The id of a number, until the next add. */
bm_str bm_id_set_id(const bm_id_set *set, uint32_t number);

/* What a set of `n` ids of so many bytes takes, while it grows too. */
uint64_t bm_id_set_bytes(uint64_t n, uint64_t text_bytes);

#endif
