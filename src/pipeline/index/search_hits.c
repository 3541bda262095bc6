/* search_hits.c -- band keys of documents to the numbers that share one.
 *
 * Band by band, which threads share: the keys of all documents of the batch in ascending order, each once, are
 * looked up as one; what a key finds is found for each document that has it.
 *
 *     band 0    keys of documents, sorted -> store -> (number, document) sorted -> list 0
 *     band 1    ...                                                           -> list 1
 *
 * A key that several documents ask for and many of the index have (a crowded bucket) is kept as it is: who asks, and who
 * has it, once each and not as pairs (search_crowds.h).
 *
 * What is too little for several threads goes to one list. Where documents find very many
 * they are given back to the caller, who asks for fewer at once; of one document
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
/* A key is crowded that so many documents of the index have, and so many of the batch ask for. One run of the index that
 * has LARGE of a key says that it may be. */
#define CROWDED       64u
#define ASKERS        8u
#define LARGE         8u
#define FIRST_LEAST   1024u /* runs that have less than LARGE each do not have so many together */
#define NUMBERS_A_HIT 16u   /* that take as much memory, of crowded keys */
#define FREE_NUMBERS  4u    /* times those that one document may find */

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
    size_t *ends; /* of what each key of a call found, in `numbers` */
    uint32_t *numbers;
    uint64_t *left; /* that each key has beyond these */
    size_t cap_ends, cap_numbers, cap_left;
} band_scratch;

typedef struct look_up {
    const bm_key_batch *batch;
    bm_search_hits *out;
    atomic_size_t n_hits, n_numbers;
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
    bm_free(scratch->found.rest);
    bm_free(scratch->ends);
    bm_free(scratch->numbers);
    bm_free(scratch->left);
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

/* Count `more` hits. false: there are too many. */
static bool fits(look_up *l, size_t more)
{
    const size_t all = atomic_fetch_add(&l->n_hits, more) + more;
    if (!l->batch->alone && all > l->batch->most)
        atomic_store(&l->many, true);
    return !atomic_load(&l->many);
}

static bm_status make_room(const look_up *l, bm_hit_list *out, size_t more, bm_error *err)
{
    bm_status status = BM_OK;
    if (l->batch->alone && out->n + more > l->batch->most)
        status = bm_hits_sort(out->list, &out->n, err);
    return status == BM_OK ? bm_grow_array(&out->list, &out->cap, out->n + more, err) : status;
}

/* What one key found, in order. */
typedef struct found_key {
    const key_of *docs; /* n_docs that have it */
    uint32_t *numbers;
    size_t n_docs, n_numbers;
    uint64_t left; /* more than are among the numbers */
} found_key;

static bm_status leave_out(const found_key *k, bm_hit_list *out, bm_error *err)
{
    bm_status status = BM_OK;
    if (k->left > 0)
        status = bm_grow_array(&out->left, &out->cap_left, out->n_left + k->n_docs, err);
    for (size_t i = 0; status == BM_OK && k->left > 0 && i < k->n_docs; i++)
        out->left[out->n_left++] = (bm_hits_left){k->docs[i].doc, (uint32_t)k->left};
    return status;
}

static bm_status keep_crowded(const found_key *k, bm_hit_list *out, bm_error *err)
{
    bm_status status = bm_grow_array(&out->crowded, &out->cap_crowded, out->n_crowded + 1, err);
    if (status != BM_OK)
        return status;
    uint32_t *block = bm_alloc(k->n_numbers + k->n_docs, sizeof *block);
    if (block == NULL)
        return bm_fail_nomem(err, (k->n_numbers + k->n_docs) * sizeof *block);
    memcpy(block, k->numbers, k->n_numbers * sizeof *block);
    for (size_t i = 0; i < k->n_docs; i++)
        block[k->n_numbers + i] = k->docs[i].doc;
    out->crowded[out->n_crowded++] =
        (bm_crowded_key){block, block + k->n_numbers, (uint32_t)k->n_numbers, (uint32_t)k->n_docs};
    return BM_OK;
}

/* A key that has many documents: only the first ones count, and they may be kept as they are. */
static bm_status take_large_key(look_up *l, found_key *k, bm_hit_list *out, bm_error *err)
{
    const bm_key_batch *batch = l->batch;
    const size_t first = batch->first == 0 ? SIZE_MAX : batch->first;
    if (k->n_numbers > first) {
        k->left += k->n_numbers - first;
        k->n_numbers = first;
    }
    bm_status status = leave_out(k, out, err);
    if (status != BM_OK)
        return status;
    if (batch->keep_crowded && k->n_numbers >= CROWDED && k->n_docs >= ASKERS) {
        /* Numbers do not become fewer with the documents that ask: as many as a few may find are no reason to ask for fewer. */
        const size_t all = atomic_fetch_add(&l->n_numbers, k->n_numbers) + k->n_numbers;
        const size_t free = (size_t)FREE_NUMBERS * batch->bands * batch->first;
        const size_t more = all <= free ? 0 : all - free < k->n_numbers ? all - free : k->n_numbers;
        return fits(l, more / NUMBERS_A_HIT + k->n_docs / ASKERS) ? keep_crowded(k, out, err)
                                                                  : BM_OK;
    }
    const size_t more = k->n_docs * k->n_numbers;
    if (!fits(l, more))
        return BM_OK;
    status = make_room(l, out, more, err);
    for (size_t i = 0; status == BM_OK && i < k->n_numbers; i++)
        for (size_t d = 0; d < k->n_docs; d++)
            out->list[out->n++] = (uint64_t)k->numbers[i] << 32 | k->docs[d].doc;
    return status;
}

static int by_number(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* The keys of a call in order: of each its numbers, which lie in as many places as there are runs, side by side. */
static bm_status take_large(look_up *l, band_scratch *s, size_t first_key, size_t n_keys,
                            bm_hit_list *out, bm_error *err)
{
    bm_status status = bm_grow_array(&s->ends, &s->cap_ends, n_keys + 1, err);
    if (status == BM_OK)
        status = bm_grow_array(&s->numbers, &s->cap_numbers, s->found.n, err);
    if (status == BM_OK)
        status = bm_grow_array(&s->left, &s->cap_left, n_keys, err);
    if (status != BM_OK)
        return status;
    memset(s->ends, 0, (n_keys + 1) * sizeof *s->ends);
    memset(s->left, 0, n_keys * sizeof *s->left);
    for (size_t i = 0; i < s->found.n; i++)
        s->ends[s->found.list[i].asked + 1]++;
    for (size_t i = 0; i < s->found.n_rest; i++)
        s->left[s->found.rest[i].asked] += s->found.rest[i].n;
    for (size_t i = 0; i < n_keys; i++)
        s->ends[i + 1] += s->ends[i];
    for (size_t i = s->found.n; i > 0; i--) /* ends[i + 1] becomes where those of key i begin */
        s->numbers[--s->ends[s->found.list[i - 1].asked + 1]] = s->found.list[i - 1].number;
    for (size_t i = 0; status == BM_OK && i < n_keys && !atomic_load(&l->many); i++) {
        const size_t begin = s->ends[i + 1], end = i + 1 < n_keys ? s->ends[i + 2] : s->found.n;
        const uint32_t docs = s->begin[first_key + i];
        found_key k = {.docs = s->order + docs,
                       .n_docs = s->begin[first_key + i + 1] - docs,
                       .numbers = s->numbers != NULL ? s->numbers + begin : NULL,
                       .n_numbers = end - begin,
                       .left = s->left[i]};
        for (size_t j = 1; j < k.n_numbers; j++)
            if (k.numbers[j] < k.numbers[j - 1]) { /* of several runs */
                qsort(k.numbers, k.n_numbers, sizeof *k.numbers, by_number);
                break;
            }
        status = take_large_key(l, &k, out, err);
    }
    return status;
}

/* Each document that has the key found what the key found. */
static bm_status take_found(look_up *l, band_scratch *s, size_t first_key, size_t n_keys,
                            bm_hit_list *out, bm_error *err)
{
    size_t more = 0;
    if (s->found.most_of_a_key >= LARGE || (l->batch->first > 0 && l->batch->first < FIRST_LEAST))
        return take_large(l, s, first_key, n_keys, out, err);
    for (size_t i = 0; i < s->found.n; i++) {
        const size_t key = first_key + s->found.list[i].asked;
        more += s->begin[key + 1] - s->begin[key];
    }
    if (!fits(l, more))
        return BM_OK;
    bm_status status = make_room(l, out, more, err);
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
        const bm_store_ask ask = {band, s->keys + k, n, l->batch->first};
        s->found.n = s->found.n_rest = s->found.most_of_a_key = 0;
        status = bm_store_view_find(l->batch->view, &ask, &s->found, err);
        if (status == BM_OK)
            status = take_found(l, s, k, n, out, err);
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
    for (size_t i = 0; hits->lists != NULL && i < hits->n_lists; i++) {
        bm_hit_list *list = &hits->lists[i];
        for (size_t k = 0; k < list->n_crowded; k++)
            bm_free(list->crowded[k].numbers);
        bm_free(list->crowded);
        bm_free(list->left);
        bm_free(list->list);
    }
    bm_free(hits->lists);
    *hits = (bm_search_hits){0};
}
