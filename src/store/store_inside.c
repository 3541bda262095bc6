/* store_inside.c -- see store_inside.h.
 *
 * Tests: tests/unit/store/test_store_errors.c */
#include "store/store_inside.h"

#include "base/error.h"

bm_status bm_store_go_on(const bm_store *store, bm_error *err)
{
    if (store->cfg.cancelled == NULL || !store->cfg.cancelled(store->cfg.cancelled_ctx))
        return BM_OK;
    return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
}
