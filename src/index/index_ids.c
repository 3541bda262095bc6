/* index_ids.c -- the index is asked for all ids of a batch together, in the order of their hashes.
 *
 * Tests: tests/unit/index/test_index_ids.c, tests/cli/cases/index_ids.sh */
#include "index/index_ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"

static void clear(bm_index_ids *ids)
{
    for (size_t i = 0; i < ids->n_texts; i++)
        bm_free(ids->texts[i]);
    ids->n_texts = ids->n_gone = ids->n_sorted = 0;
    bm_id_set_reset(&ids->set);
}

void bm_index_ids_reset(bm_index_ids *ids)
{
    clear(ids);
    bm_free(ids->texts);
    bm_free(ids->known);
    bm_free(ids->holder);
    bm_free(ids->gone);
    bm_free(ids->sorted);
    bm_free(ids->is_gone);
    *ids = (bm_index_ids){0};
}

static bool same(bm_str a, bm_str b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* --- what the index has --- */

typedef struct id_key {
    uint64_t hash;
    uint32_t doc;
} id_key;

static int by_hash(const void *x, const void *y)
{
    const id_key *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static bm_status note_hits(bm_index_ids *ids, const id_key *keys, const bm_store_hits *hits,
                           bm_error *err)
{
    for (size_t i = 0; i < hits->n; i++) {
        bm_store_doc doc;
        const uint32_t asked = keys[hits->list[i].asked].doc;
        bm_status status = bm_store_view_doc(ids->view, hits->list[i].number, &doc, err);
        if (status != BM_OK)
            return status == BM_NOT_FOUND ? bm_fail(err, BM_ERR_FORMAT,
                                                    "the index is damaged: an id names a document "
                                                    "that is not there")
                                          : status;
        if (same(doc.id, ids->batch->docs[asked].id)) /* else their hashes are equal */
            ids->known[asked] = hits->list[i].number;
    }
    return BM_OK;
}

static bm_status look_up(bm_index_ids *ids, uint32_t table, bm_error *err)
{
    const size_t n = ids->batch->n;
    bm_store_hits hits = {0};
    id_key *keys = bm_alloc(n, sizeof *keys);
    uint64_t *hashes = bm_alloc(n, sizeof *hashes);
    bm_status status = BM_OK;
    BM_TRY_OUT(keys != NULL && hashes != NULL
                   ? BM_OK
                   : bm_fail_nomem(err, n * (sizeof *keys + sizeof *hashes)));
    for (size_t i = 0; i < n; i++) {
        const bm_str id = ids->batch->docs[i].id;
        keys[i] = (id_key){XXH3_64bits(id.data, id.len), (uint32_t)i};
    }
    qsort(keys, n, sizeof *keys, by_hash);
    for (size_t i = 0; i < n; i++)
        hashes[i] = keys[i].hash;
    const bm_store_ask ask = {.table = table, .keys = hashes, .n = n};
    BM_TRY_OUT(bm_store_view_find(ids->view, &ask, &hits, err));
    status = note_hits(ids, keys, &hits, err);
out:
    bm_free(hits.list);
    bm_free(keys);
    bm_free(hashes);
    return status;
}

static int by_number(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

static bm_status sort_known(bm_index_ids *ids, bm_error *err)
{
    for (size_t i = 0; i < ids->batch->n; i++) {
        if (ids->known[i] == BM_ID_NONE)
            continue;
        bm_status status = bm_grow_array(&ids->sorted, &ids->cap_sorted, ids->n_sorted + 1, err);
        if (status != BM_OK)
            return status;
        ids->sorted[ids->n_sorted++] = ids->known[i];
    }
    if (ids->n_sorted > 1)
        qsort(ids->sorted, ids->n_sorted, sizeof *ids->sorted, by_number);
    bm_status status = bm_grow_array(&ids->is_gone, &ids->cap_is_gone, ids->n_sorted, err);
    if (status == BM_OK && ids->n_sorted > 0)
        memset(ids->is_gone, 0, ids->n_sorted * sizeof *ids->is_gone);
    return status;
}

bm_status bm_index_ids_begin(bm_index_ids *ids, const bm_store_view *view, uint32_t table,
                             const bm_gathered *batch, bm_error *err)
{
    clear(ids);
    ids->view = view;
    ids->batch = batch;
    BM_TRY(bm_grow_array(&ids->known, &ids->cap_known, batch->n, err));
    if (batch->n == 0)
        return BM_OK;
    for (size_t i = 0; i < batch->n; i++)
        ids->known[i] = BM_ID_NONE;
    BM_TRY(look_up(ids, table, err));
    return sort_known(ids, err);
}

/* Into `sorted`, unless it is there. */
static bm_status add_known(bm_index_ids *ids, uint32_t number, bm_error *err)
{
    size_t at = ids->n_sorted;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&ids->sorted, &ids->cap_sorted, ids->n_sorted + 1, err));
    status = bm_grow_array(&ids->is_gone, &ids->cap_is_gone, ids->n_sorted + 1, err);
out:
    while (at > 0 && ids->sorted[at - 1] > number)
        at--;
    if (status != BM_OK || (at > 0 && ids->sorted[at - 1] == number))
        return status;
    memmove(ids->sorted + at + 1, ids->sorted + at, (ids->n_sorted - at) * sizeof *ids->sorted);
    memmove(ids->is_gone + at + 1, ids->is_gone + at, (ids->n_sorted - at) * sizeof *ids->is_gone);
    ids->sorted[at] = number;
    ids->is_gone[at] = false;
    ids->n_sorted++;
    return BM_OK;
}

bm_status bm_index_ids_look_up(bm_index_ids *ids, size_t i, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_grow_array(&ids->known, &ids->cap_known, i + 1, err));
    ids->known[i] = BM_ID_NONE;
    bm_status status = bm_store_view_id(ids->view, ids->batch->docs[i].id, &number, err);
    if (status != BM_OK)
        return status == BM_NOT_FOUND ? BM_OK : status;
    ids->known[i] = number;
    return add_known(ids, number, err);
}

/* --- who has an id --- */

/* The first place of a number in `sorted`; n_sorted: it is not there. Several documents of the batch may
 * have the same id. */
static size_t place_of(const bm_index_ids *ids, uint32_t number)
{
    size_t begin = 0, end = ids->n_sorted;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (ids->sorted[middle] < number)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < ids->n_sorted && ids->sorted[begin] == number ? begin : ids->n_sorted;
}

bool bm_index_ids_is_gone(const bm_index_ids *ids, uint32_t number)
{
    const size_t at = place_of(ids, number);
    return at < ids->n_sorted && ids->is_gone[at];
}

static uint32_t holder_of(const bm_index_ids *ids, bm_str id)
{
    const uint32_t number = ids->set.n == 0 ? BM_ID_NONE : bm_id_set_find(&ids->set, id);
    return number == BM_ID_NONE ? BM_ID_NONE : ids->holder[number];
}

bool bm_index_ids_taken(const bm_index_ids *ids, size_t i, bool *in_batch, uint32_t *who)
{
    const uint32_t holder = holder_of(ids, ids->batch->docs[i].id), known = ids->known[i];
    *in_batch = holder != BM_ID_NONE;
    if (*in_batch)
        *who = holder;
    else if (known != BM_ID_NONE && !bm_index_ids_is_gone(ids, known))
        *who = known;
    else
        return false;
    return true;
}

bm_status bm_index_ids_hold(bm_index_ids *ids, size_t i, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_id_set_add(&ids->set, ids->batch->docs[i].id, &number, err));
    BM_TRY(bm_grow_array(&ids->holder, &ids->cap_holder, number + 1, err));
    ids->holder[number] = (uint32_t)i;
    return BM_OK;
}

bm_status bm_index_ids_drop(bm_index_ids *ids, size_t i, uint32_t *dropped, bm_error *err)
{
    bool in_batch;
    uint32_t who;
    *dropped = BM_ID_NONE;
    if (!bm_index_ids_taken(ids, i, &in_batch, &who))
        return BM_OK;
    if (in_batch) {
        ids->holder[bm_id_set_find(&ids->set, ids->batch->docs[i].id)] = BM_ID_NONE;
        *dropped = who;
        return BM_OK;
    }
    BM_TRY(bm_grow_array(&ids->gone, &ids->cap_gone, ids->n_gone + 1, err));
    ids->gone[ids->n_gone++] = who;
    ids->is_gone[place_of(ids, who)] = true;
    return BM_OK;
}

/* --- id#N --- */

bm_status bm_index_ids_number(bm_index_ids *ids, bm_str id, bm_str *out, bm_error *err)
{
    bm_status status = bm_grow_array(&ids->texts, &ids->cap_texts, ids->n_texts + 1, err);
    if (status != BM_OK)
        return status;
    for (uint32_t number = 2;; number++) {
        char *text = NULL;
        uint32_t who;
        bm_buf made = {0};
        status = bm_buf_add(&made, id.data, id.len, err);
        if (status == BM_OK)
            status = bm_buf_add_format(&made, err, "#%" PRIu32, number);
        text = made.data;
        if (status == BM_OK) {
            *out = (bm_str){text, made.len};
            if (holder_of(ids, *out) == BM_ID_NONE)
                status = bm_store_view_id(ids->view, *out, &who, err);
        }
        if (status == BM_NOT_FOUND) {
            ids->texts[ids->n_texts++] = text;
            return BM_OK;
        }
        bm_buf_reset(&made);
        if (status != BM_OK)
            return status;
    }
}
