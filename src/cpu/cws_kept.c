/* SPDX-License-Identifier: Apache-2.0 */
/* cws_kept.c -- memory for what cws keeps of elements. See cws_kept.h.
 *
 * Slots are used in order, so few different elements take few pages of memory.
 *
 * Tests: tests/unit/cpu/test_cws_kept.c */
#include "cpu/cws_kept.h"

#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"

#define KEPT_BYTES ((size_t)4 << 20) /* the default */
#define SLOTS_MOST 0xFFFFu           /* the most slots of a store, whatever its bytes */

static uint32_t padded(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* Fill in the coefficients of the words w_0 and w_1, and of the complements of the words w_2 and
 * w_3: ~w = -a e + ~b. */
static void fill_coefs(bm_cws_kept *kept)
{
    const bm_scheme_params *params = kept->params;
    for (uint32_t j = 0; j < BM_CWS_COEFS / 2; j++)
        for (uint32_t i = 0; i < params->perms; i++) {
            const uint32_t a = params->a[i * BM_CWS_DRAWS + j];
            const uint32_t b = params->b[i * BM_CWS_DRAWS + j];
            kept->coefs[j * kept->stride + i] = j < 2 ? a : 0 - a;
            kept->coefs[(j + BM_CWS_COEFS / 2) * kept->stride + i] = j < 2 ? b : ~b;
        }
}

/* Return the bytes of a slot, including its part of the table. */
static size_t slot_bytes(const bm_cws_kept *kept)
{
    return kept->stride + sizeof(bm_cws_slot) + 2 * sizeof(uint64_t);
}

bm_status bm_cws_kept_open(const bm_scheme_params *params, size_t bytes, bm_cws_kept **out,
                           bm_error *err)
{
    bm_cws_kept *kept = NULL;
    BM_TRY(bm_new_zero(&kept, 1, err));
    kept->params = params;
    kept->stride = padded(params->perms, BM_CWS_MASK);
    kept->n_used = padded(params->perms, 2 * BM_CWS_LANES);
    const size_t n = (bytes > 0 ? bytes : KEPT_BYTES) / slot_bytes(kept);
    kept->n_slots = (uint32_t)(n < BM_CWS_BLOCK ? BM_CWS_BLOCK : n > SLOTS_MOST ? SLOTS_MOST : n);
    kept->coefs = bm_alloc_aligned(kept->stride, BM_CWS_COEFS * sizeof *kept->coefs);
    if (kept->coefs == NULL) {
        bm_cws_kept_close(kept);
        return bm_fail_nomem(err, kept->stride * BM_CWS_COEFS * sizeof *kept->coefs);
    }
    memset(kept->coefs, 0, kept->stride * BM_CWS_COEFS * sizeof *kept->coefs);
    fill_coefs(kept);
    *out = kept;
    return BM_OK;
}

static void store_close(bm_cws_store *store)
{
    if (store == NULL)
        return;
    bm_hash_table_reset(&store->table);
    bm_free_all(store->slots, store->bounds, store);
}

static bm_status store_open(const bm_cws_kept *kept, bm_cws_store **out, bm_error *err)
{
    bm_cws_store *store = NULL;
    BM_TRY(bm_new_zero(&store, 1, err));
    store->stride = kept->stride;
    store->n_max = kept->n_slots;
    store->slots = bm_alloc_aligned(kept->n_slots, sizeof *store->slots);
    store->bounds = bm_alloc_aligned(kept->n_slots, kept->stride);
    bm_status status = BM_OK;
    if (store->slots == NULL || store->bounds == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, slot_bytes(kept) * kept->n_slots));
    BM_TRY_OUT(bm_hash_table_clear(&store->table, kept->n_slots, err));
    *out = store;
out:
    if (status != BM_OK)
        store_close(store);
    return status;
}

void bm_cws_kept_close(bm_cws_kept *kept)
{
    if (kept == NULL)
        return;
    bm_cws_store *store;
    while ((store = bm_idle_take(&kept->stores)) != NULL)
        store_close(store);
    bm_free_all(kept->coefs, kept);
}

bm_status bm_cws_kept_borrow(bm_cws_kept *kept, bm_cws_store **out, bm_error *err)
{
    *out = bm_idle_take(&kept->stores);
    return *out != NULL ? BM_OK : store_open(kept, out, err);
}

void bm_cws_kept_return(bm_cws_kept *kept, bm_cws_store *store)
{
    if (!bm_idle_give(&kept->stores, store))
        store_close(store);
}

void bm_cws_store_reserve(bm_cws_store *store, uint32_t n)
{
    const bool draw = store->table.patience < 0;
    if (n <= store->n_max - store->n && !draw)
        return;
    (void)bm_hash_table_clear(&store->table, store->n_max, NULL); /* cannot fail, because the
                                                                     table's memory suffices */
    if (draw)
        store->table.seed = bm_hash_draw_seed();
    store->n = 0;
}

uint32_t bm_cws_store_add(bm_cws_store *store, uint64_t hash)
{
    const uint64_t mixed = bm_cws_store_hash(store, hash);
    const size_t at =
        bm_hash_table_find(&store->table, mixed, bm_cws_slot_has, store->slots, &hash);
    bm_hash_table_put(&store->table, at, mixed, store->n);
    store->slots[store->n].hash = hash;
    return store->n++;
}
