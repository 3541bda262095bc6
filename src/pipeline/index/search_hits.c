/* search_hits.c -- band keys of documents to the numbers that share one.
 *
 * Band by band, which threads share: the keys of all documents of the batch in ascending order, each once, are
 * looked up as one; what a key finds is found for each document that has it.
 *
 *     band 0    keys of documents, sorted -> store -> (number, document) sorted -> list 0
 *     band 1    ...                                                           -> list 1
 *
 * What is too little for several threads goes to one list. Many documents that find very many (a crowded
 * bucket asked for by each) are given back to the caller, who asks for fewer at once; of one document
 * the hits are sorted, and repeats dropped, as often as they fill the room, so that there are never more than the
 * index has documents, twice.
 *
 * Tests: tests/unit/index/test_search.c */
#include "pipeline/index/search_hits.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

#define SMALL_BUCKET 24u
#define KEYS_AT_ONCE 1024u /* so that too many hits are noticed in time */

typedef struct key_of {
    uint64_t key;
    uint32_t doc;
} key_of;

/* What one look-up of a band needs, used again by the next. */
typedef struct band_scratch {
    key_of *order;   /* of documents by their keys */
    uint64_t *keys;  /* each once */
    uint32_t *begin; /* where those of a key begin in `order` */
    size_t n, n_keys;
    bm_store_hits found;
} band_scratch;

typedef struct look_up {
    const bm_key_batch *batch;
    bm_search_hits *out;
    atomic_size_t n_hits;
    atomic_bool many;
} look_up;

static bm_status scratch_init(band_scratch *scratch, size_t n, bm_error *err)
{
    *scratch = (band_scratch){.order = bm_alloc(n, sizeof(key_of)),
                              .keys = bm_alloc(n, sizeof(uint64_t)),
                              .begin = bm_alloc(n + 1, sizeof(uint32_t))};
    return scratch->order == NULL || scratch->keys == NULL || scratch->begin == NULL
               ? bm_fail_nomem(err, n * (sizeof(key_of) + sizeof(uint64_t) + sizeof(uint32_t)))
               : BM_OK;
}

static void scratch_reset(band_scratch *scratch)
{
    bm_free(scratch->order);
    bm_free(scratch->keys);
    bm_free(scratch->begin);
    bm_free(scratch->found.list);
}

static int by_key(const void *x, const void *y)
{
    const key_of *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

/* Those of one bucket, which come in the order of their documents. */
static void sort_bucket(key_of *list, size_t n)
{
    if (n > SMALL_BUCKET) {
        qsort(list, n, sizeof *list, by_key);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const key_of one = list[i];
        size_t at = i;
        for (; at > 0 && list[at - 1].key > one.key; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

static inline bool is_asked(const bm_key_batch *batch, size_t i)
{
    return batch->n_shingles[i] != 0 && (batch->same == NULL || batch->same[i] == i);
}

/* Documents with shingles by their keys: keys are hashes, so that as many buckets as documents, by the first bits, hold about one
 * each. */
static void order_by_key(const bm_key_batch *batch, uint32_t band, band_scratch *s)
{
    unsigned bits = 1;
    uint32_t *place = s->begin; /* of each bucket; n + 1 */
    while ((size_t)2 << bits <= batch->n)
        bits++;
    const size_t n_buckets = batch->n < 2 ? 1 : (size_t)1 << bits;
    const unsigned shift = batch->n < 2 ? 63 : 64 - bits;
    const uint64_t mask = n_buckets - 1;
    memset(place, 0, (n_buckets + 1) * sizeof *place);
    for (size_t i = 0; i < batch->n; i++)
        if (is_asked(batch, i))
            place[(batch->keys[i * batch->bands + band] >> shift & mask) + 1]++;
    for (size_t i = 0; i < n_buckets; i++)
        place[i + 1] += place[i];
    s->n = place[n_buckets];
    for (size_t i = 0; i < batch->n; i++) {
        const uint64_t key = batch->keys[i * batch->bands + band];
        if (is_asked(batch, i))
            s->order[place[key >> shift & mask]++] = (key_of){key, (uint32_t)i};
    }
    for (size_t i = 0; i < n_buckets; i++) { /* which now ends at its place */
        const size_t begin = i == 0 ? 0 : place[i - 1];
        sort_bucket(s->order + begin, place[i] - begin);
    }
}

/* The keys of a band, ascending, each once. */
static void list_keys(const bm_key_batch *batch, uint32_t band, band_scratch *s)
{
    order_by_key(batch, band, s);
    s->n_keys = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i > 0 && s->order[i].key == s->order[i - 1].key)
            continue;
        s->begin[s->n_keys] = (uint32_t)i;
        s->keys[s->n_keys++] = s->order[i].key;
    }
    s->begin[s->n_keys] = (uint32_t)s->n;
}

bm_status bm_hits_sort(uint64_t *list, size_t *n, bm_error *err)
{
    const size_t cap = *n < BM_SORT_SCRATCH ? *n : BM_SORT_SCRATCH;
    if (*n < 2)
        return BM_OK;
    uint64_t *scratch = bm_alloc(cap < 16 ? 16 : cap, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, cap * sizeof *scratch);
    bm_hashes_sort_within(list, *n, scratch, cap < 16 ? 16 : cap);
    *n = bm_hashes_distinct(list, *n);
    bm_free(scratch);
    return BM_OK;
}

/* Each document that has the key found what the key found. */
static bm_status take_found(look_up *l, const band_scratch *s, size_t first_key, bm_hit_list *out,
                            bm_error *err)
{
    const bm_key_batch *batch = l->batch;
    size_t more = 0;
    for (size_t i = 0; i < s->found.n; i++) {
        const size_t key = first_key + s->found.list[i].asked;
        more += s->begin[key + 1] - s->begin[key];
    }
    const size_t all = atomic_fetch_add(&l->n_hits, more) + more;
    if (!batch->alone && all > batch->most) {
        atomic_store(&l->many, true);
        return BM_OK;
    }
    if (batch->alone && out->n + more > batch->most) {
        bm_status status = bm_hits_sort(out->list, &out->n, err);
        if (status != BM_OK)
            return status;
    }
    bm_status status = bm_grow_array(&out->list, &out->cap, out->n + more, err);
    for (size_t i = 0; status == BM_OK && i < s->found.n; i++) {
        const bm_store_hit hit = s->found.list[i];
        const size_t key = first_key + hit.asked;
        for (uint32_t k = s->begin[key]; k < s->begin[key + 1]; k++)
            out->list[out->n++] = (uint64_t)hit.number << 32 | s->order[k].doc;
    }
    return status;
}

/* A band of all documents: what is found is appended to `out`. */
static bm_status look_up_band(look_up *l, uint32_t band, band_scratch *s, bm_hit_list *out,
                              bm_error *err)
{
    bm_status status = BM_OK;
    list_keys(l->batch, band, s);
    for (size_t k = 0; status == BM_OK && k < s->n_keys && !atomic_load(&l->many);
         k += KEYS_AT_ONCE) {
        const size_t n = s->n_keys - k < KEYS_AT_ONCE ? s->n_keys - k : KEYS_AT_ONCE;
        const bm_store_ask ask = {band, s->keys + k, n};
        s->found.n = 0;
        status = bm_store_view_find(l->batch->view, &ask, &s->found, err);
        if (status == BM_OK)
            status = take_found(l, s, k, out, err);
    }
    return status;
}

static bm_status look_up_bands(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    look_up *l = ctx;
    band_scratch scratch;
    bm_status status = scratch_init(&scratch, l->batch->n, err);
    for (size_t band = begin; status == BM_OK && band < end; band++) {
        bm_hit_list *out = &l->out->lists[l->out->n_lists == 1 ? 0 : band];
        status = look_up_band(l, (uint32_t)band, &scratch, out, err);
        if (status == BM_OK && l->out->n_lists > 1)
            status = bm_hits_sort(out->list, &out->n, err);
    }
    scratch_reset(&scratch);
    return status;
}

bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err)
{
    const size_t bands = batch->bands;
    look_up l = {.batch = batch, .out = out};
    bm_status status;
    *many = false;
    const bool together =
        batch->pool != NULL && batch->n > 1 && bands > 1 && batch->n * bands >= BM_SEARCH_TOGETHER;
    out->n_lists = together ? bands : 1;
    out->lists = bm_alloc_zero(out->n_lists, sizeof *out->lists);
    if (out->lists == NULL)
        return bm_fail_nomem(err, out->n_lists * sizeof *out->lists);
    if (together) {
        status = bm_pool_for(batch->pool, (bm_pool_split){bands, 1}, look_up_bands, &l, err);
    } else {
        status = look_up_bands(&l, 0, 0, bands, err);
        if (status == BM_OK)
            status = bm_hits_sort(out->lists[0].list, &out->lists[0].n, err);
    }
    *many = atomic_load(&l.many);
    if (status != BM_OK || *many)
        bm_search_hits_reset(out);
    return status;
}

void bm_search_hits_reset(bm_search_hits *hits)
{
    for (size_t i = 0; hits->lists != NULL && i < hits->n_lists; i++)
        bm_free(hits->lists[i].list);
    bm_free(hits->lists);
    *hits = (bm_search_hits){0};
}
