/* store_merge.h -- few runs out of many.
 *
 * Runs whose numbers of entries have the same logarithm (base 4) are of one size. Where there are too many of a size, these and all
 * smaller ones become one. So each entry is written about log4(all / batch) times. */
#ifndef BM_STORE_STORE_MERGE_H
#define BM_STORE_STORE_MERGE_H

#include "store/store_writer.h"

typedef enum bm_merge_rule {
    BM_MERGE_SOME, /* only where there are very many */
    BM_MERGE_ALL   /* three of a size may stay */
} bm_merge_rule;

bm_status bm_store_merge(bm_store *store, bm_merge_rule rule, bm_error *err);

#endif
