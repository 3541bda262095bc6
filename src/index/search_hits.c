/* SPDX-License-Identifier: Apache-2.0 */
/* search_hits.c -- looks up band keys, and finds the numbers of the documents that share a key.
 *
 * Threads share the bands. For a band, the distinct keys of the batch are looked up in ascending
 * order. Each document of the batch that has a key gets the documents found by this key as hits.
 *
 *     band 0    keys of documents, sorted -> store -> (number, document) sorted -> list 0
 *     band 1    ...                                                           -> list 1
 *
 * If many documents of the index have a key (a crowded bucket), the key is not stored as pairs, but
 * as two lists: one of the queries that have it, one of the documents of the index that have it
 * (search_hits.h). If only few queries have the key, it is turned into pairs at the end.
 *
 * If batch->first is set, the candidates of a document are the smallest batch->first numbers that
 * its keys find. The counts of the keys show which documents may find more than that. For these
 * documents, each key has one bit for each number. The numbers are visited in ascending order, one
 * range at a time. The visit of a document ends when batch->first numbers have a bit in any of its
 * keys. All larger numbers are counted, and dropped before pairs are listed.
 *
 * If the work is too small for several threads, there is only one list. If there are too many hits,
 * the caller must retry with fewer documents. For a single document, hits are sorted and repeats
 * dropped whenever the buffer is full. So there are never more than twice as many hits as documents
 * in the index.
 *
 * Tests: tests/unit/index/test_search.c */
#include "index/search_hits.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

#define SMALL_BUCKET 24u
#define KEYS_AT_ONCE 1024u /* a small limit, so that too many hits are noticed early */
/* A key is crowded if at least CROWDED documents of the index have it. But a crowded key is turned
 * into hits if fewer than ASKERS documents of the batch have it and it makes fewer than LISTED
 * hits. */
#define CROWDED       64u
#define ASKERS        8u
#define LISTED        1024u
#define NUMBERS_A_HIT 16u /* how many numbers of crowded keys count as one hit */
#define FREE_NUMBERS  4u  /* numbers not counted, as a multiple of bands * batch->first */
#define WORD_BITS     64u
#define RANGE_WORDS   ((size_t)1 << 18) /* words that the bits of all keys take in a range */
#define RANGE_MOST    512u              /* most words that the bits of one key take in a range */
#define SPAN_MOST     ((size_t)1 << 22) /* most numbers that a range covers */

typedef struct key_of {
    uint64_t key;
    uint32_t doc;
} key_of;

/* The buffers for looking up a band; reused for each band. */
typedef struct band_scratch {
    key_of *order;   /* documents, ordered by key */
    uint64_t *keys;  /* the distinct keys, ascending */
    uint32_t *begin; /* where the documents of a key begin in `order` */
    size_t n, n_keys;
    bm_store_hits found;
    /* for each key, offset of its numbers in `numbers`. While numbers are gathered, ends[i + 1] is
     * where the numbers of key i end; afterwards, where they begin */
    size_t *ends;
    uint32_t *numbers;
    uint64_t *left; /* for each key: how many further documents of the index have it */
    size_t cap_ends, cap_numbers, cap_left;
} band_scratch;

typedef struct look_up {
    const bm_key_batch *batch;
    bm_search_hits *out;
    atomic_size_t n_hits, n_numbers;
    atomic_bool many;
    size_t n_runs; /* number of runs of the index */
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

static int by_key(const void *x, const void *y)
{
    const key_of *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

/* Sort one bucket by key. On entry, the entries are in the order of their documents. */
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

/* Sort the documents that are searched for by their keys. The first bits of a key select a bucket.
 * There are about as many buckets as documents. Since keys are hashes, a bucket has about one
 * document. */
static void order_by_key(const bm_key_batch *batch, uint32_t band, band_scratch *s)
{
    unsigned bits = 1;
    uint32_t *next = s->begin; /* for each bucket, its write position; n_buckets + 1 entries */
    while ((size_t)2 << bits <= batch->n)
        bits++;
    const size_t n_buckets = batch->n < 2 ? 1 : (size_t)1 << bits;
    const unsigned shift = batch->n < 2 ? 63 : 64 - bits;
    const uint64_t mask = n_buckets - 1;
    memset(next, 0, (n_buckets + 1) * sizeof *next);
    for (size_t i = 0; i < batch->n; i++)
        if (is_asked(batch, i))
            next[(batch->keys[i * batch->bands + band] >> shift & mask) + 1]++;
    for (size_t i = 0; i < n_buckets; i++)
        next[i + 1] += next[i];
    s->n = next[n_buckets];
    for (size_t i = 0; i < batch->n; i++) {
        const uint64_t key = batch->keys[i * batch->bands + band];
        if (is_asked(batch, i))
            s->order[next[key >> shift & mask]++] = (key_of){key, (uint32_t)i};
    }
    for (size_t i = 0; i < n_buckets; i++) { /* next[i] is now the end of bucket i */
        const size_t begin = i == 0 ? 0 : next[i - 1];
        sort_bucket(s->order + begin, next[i] - begin);
    }
}

/* List the distinct keys of a band, ascending. */
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
    bm_sorter sorter = {0};
    if (*n < 2)
        return BM_OK;
    const bm_status status = bm_sorter_sort(&sorter, list, *n, err);
    bm_sorter_reset(&sorter);
    if (status == BM_OK)
        *n = bm_hashes_distinct(list, *n);
    return status;
}

size_t bm_numbers_below(const uint32_t *list, size_t n, uint64_t number)
{
    bm_bisect b = {0, n};
    while (b.low < b.high)
        bm_bisect_go(&b, list[bm_middle(&b)] < number);
    return b.low;
}

/* Count `more` hits. Returns false if there are too many. */
static bool fits(look_up *l, size_t more)
{
    const size_t all = atomic_fetch_add(&l->n_hits, more) + more;
    if (!l->batch->alone && all > l->batch->most)
        atomic_store(&l->many, true);
    return !atomic_load(&l->many);
}

static bm_status reserve_hits(const look_up *l, bm_hit_list *out, size_t more, bm_error *err)
{
    bm_status status = BM_OK;
    if (l->batch->alone && out->n + more > l->batch->most)
        status = bm_hits_sort(out->list, &out->n, err);
    return status == BM_OK ? bm_grow_array(&out->list, &out->cap, out->n + more, err) : status;
}

/* A key and the documents found by it. */
typedef struct found_key {
    const key_of *docs; /* documents of the batch that have the key; n_docs */
    uint32_t *numbers;  /* documents of the index that have the key, ascending; n_numbers */
    size_t n_docs, n_numbers;
    uint64_t left; /* how many further documents of the index have the key */
} found_key;

static bm_status keep_crowded(const found_key *k, bool listed, bm_hit_list *out, bm_error *err)
{
    bm_status status = bm_grow_array(&out->crowded, &out->cap_crowded, out->n_crowded + 1, err);
    if (status != BM_OK)
        return status;
    uint32_t *block;
    BM_TRY(bm_new(&block, k->n_numbers + k->n_docs, err));
    memcpy(block, k->numbers, k->n_numbers * sizeof *block);
    for (size_t i = 0; i < k->n_docs; i++)
        block[k->n_numbers + i] = k->docs[i].doc;
    out->crowded[out->n_crowded++] = (bm_crowded_key){
        block, block + k->n_numbers, (uint32_t)k->n_numbers, (uint32_t)k->n_docs, k->left, listed};
    return BM_OK;
}

/* Add the documents that a key found to `out`: as hits, or as two lists if the key is crowded. Only
 * the first batch->first documents of the index that have the key can be candidates. The rest are
 * only counted. */
static bm_status add_key(look_up *l, found_key *k, bm_hit_list *out, bm_error *err)
{
    const bm_key_batch *batch = l->batch;
    const size_t first = batch->first == 0 ? SIZE_MAX : batch->first;
    const bool crowded = k->n_numbers + k->left >= CROWDED || k->n_numbers + k->left > first;
    if (k->n_numbers > first) {
        k->left += k->n_numbers - first;
        k->n_numbers = first;
    }
    size_t more = k->n_docs * k->n_numbers;
    const bool listed =
        !batch->keep_crowded || batch->alone || (k->n_docs < ASKERS && more < LISTED);
    if (crowded && !listed) {
        /* A smaller batch does not make the list of numbers of a key shorter, so a retry with fewer
         * documents would not help. Therefore some numbers are free: FREE_NUMBERS times as many as
         * one document may find. */
        const size_t all = atomic_fetch_add(&l->n_numbers, k->n_numbers) + k->n_numbers;
        const size_t free = (size_t)FREE_NUMBERS * batch->bands * batch->first;
        more = all <= free ? 0 : all - free < k->n_numbers ? all - free : k->n_numbers;
        more = more / NUMBERS_A_HIT + k->n_docs / ASKERS;
    }
    if (!fits(l, more))
        return BM_OK;
    if (crowded)
        return keep_crowded(k, listed, out, err);
    BM_TRY(reserve_hits(l, out, more, err));
    for (size_t i = 0; i < k->n_numbers; i++)
        for (size_t d = 0; d < k->n_docs; d++)
            out->list[out->n++] = (uint64_t)k->numbers[i] << 32 | k->docs[d].doc;
    return BM_OK;
}

/* Add the keys that were looked up with one call, key by key. The numbers of each key must be
 * collected first, because the hits come run by run. */
static bm_status add_large_keys(look_up *l, band_scratch *s, size_t first_key, size_t n_keys,
                                bm_hit_list *out, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY(bm_grow_array(&s->ends, &s->cap_ends, n_keys + 1, err));
    BM_TRY(bm_grow_array(&s->numbers, &s->cap_numbers, s->found.n, err));
    BM_TRY(bm_grow_array(&s->left, &s->cap_left, n_keys, err));
    memset(s->ends, 0, (n_keys + 1) * sizeof *s->ends);
    memset(s->left, 0, n_keys * sizeof *s->left);
    for (size_t i = 0; i < s->found.n; i++)
        s->ends[s->found.list[i].asked + 1]++;
    for (size_t i = 0; i < s->found.n_rest; i++)
        s->left[s->found.rest[i].asked] += s->found.rest[i].n;
    for (size_t i = 0; i < n_keys; i++)
        s->ends[i + 1] += s->ends[i];
    for (size_t i = s->found.n; i > 0; i--) /* moves ends[k + 1] back to where the numbers of key k
                                             * begin */
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
            if (k.numbers[j] < k.numbers[j - 1]) { /* the numbers came from several runs */
                qsort(k.numbers, k.n_numbers, sizeof *k.numbers, bm_order_u32);
                break;
            }
        status = add_key(l, &k, out, err);
    }
    return status;
}

/* Add the keys that were looked up with one call. Each document that has a key gets all numbers of
 * the key as hits. If any of the keys may be crowded, or batch->first is small, all keys are left
 * to add_large_keys. */
static bm_status add_found_keys(look_up *l, band_scratch *s, size_t first_key, size_t n_keys,
                                bm_hit_list *out, bm_error *err)
{
    size_t more = 0;
    if (s->found.most_of_a_key * l->n_runs >= CROWDED ||
        (l->batch->first > 0 && l->batch->first < CROWDED))
        return add_large_keys(l, s, first_key, n_keys, out, err);
    for (size_t i = 0; i < s->found.n; i++) {
        const size_t key = first_key + s->found.list[i].asked;
        more += s->begin[key + 1] - s->begin[key];
    }
    if (!fits(l, more))
        return BM_OK;
    BM_TRY(reserve_hits(l, out, more, err));
    for (size_t i = 0; i < s->found.n; i++) {
        const bm_store_hit hit = s->found.list[i];
        const size_t key = first_key + hit.asked;
        for (uint32_t k = s->begin[key]; k < s->begin[key + 1]; k++)
            out->list[out->n++] = (uint64_t)hit.number << 32 | s->order[k].doc;
    }
    return BM_OK;
}

/* Look up the keys of one band of all documents, and append the hits to `out`. */
static bm_status look_up_band(look_up *l, uint32_t band, band_scratch *s, bm_hit_list *out,
                              bm_error *err)
{
    list_keys(l->batch, band, s);
    for (size_t k = 0; k < s->n_keys && !atomic_load(&l->many); k += KEYS_AT_ONCE) {
        const size_t n = s->n_keys - k < KEYS_AT_ONCE ? s->n_keys - k : KEYS_AT_ONCE;
        const bm_store_ask ask = {band, s->keys + k, n, l->batch->first};
        s->found.n = s->found.n_rest = s->found.most_of_a_key = 0;
        BM_TRY(bm_store_view_find(l->batch->view, &ask, &s->found, err));
        BM_TRY(add_found_keys(l, s, k, n, out, err));
    }
    return BM_OK;
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
    }
    bm_free_all(scratch.order, scratch.keys, scratch.begin, scratch.found.list, scratch.found.rest,
                scratch.ends, scratch.numbers, scratch.left);
    return status;
}

/* --- the bound --- */

/* Work data for finding the last candidate of each document. Only documents that may find more than
 * batch->first numbers need one. */
typedef struct bounding {
    const bm_key_batch *batch;
    bm_search_hits *hits;
    const bm_crowded_key **keys; /* crowded keys of all lists */
    /* at: for each key, the index of its first number that was not visited yet */
    size_t n_keys, *at;
    /* for each key, its bits in the current range; NULL: no document in `docs` has the key */
    uint64_t **bits;
    /* docs: documents that have not found batch->first numbers yet; met: for each document of the
     * batch, how many numbers it has found */
    uint32_t *docs, *met;
    size_t n_docs;
    size_t *keys_begin; /* for each document of the batch, where its keys begin in `doc_keys`; n + 2
                         * entries */
    uint32_t *doc_keys;
    uint64_t *extras; /* hits of keys that are not crowded: document << 32 | number, ascending */
    /* extra_at: for each document of the batch, its first entry of `extras` that was not visited
     * yet */
    size_t n_extras, cap_extras, *extra_at;
    /* The current range covers the numbers `low` to `high` - 1. The numbers in it that a key or an
     * extra finds are ranked in ascending order. `span`: how many numbers the next range covers. */
    uint64_t low, high, span;
    uint64_t *there;      /* one bit for each number of the range: is it found? */
    uint32_t *rank_begin; /* for each word of `there`: rank of its first number */
    uint32_t *numbers;    /* for each rank: its number */
    size_t n_ranks, n_words;
    uint64_t *words, *asked; /* words: bits of all keys, one for each rank; asked: the union of the
                              * bits of all keys and extras of one document */
    size_t cap_words;        /* how many of `words` each key may use */
} bounding;

bm_status bm_crowded_keys(const bm_search_hits *hits, const bm_crowded_key ***keys, size_t *n,
                          bm_error *err)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < hits->n_lists; i++)
        all += hits->lists[i].n_crowded;
    BM_TRY(bm_new(keys, all, err));
    *n = all;
    for (size_t i = 0; i < hits->n_lists; i++)
        for (size_t k = 0; k < hits->lists[i].n_crowded; k++)
            (*keys)[at++] = &hits->lists[i].crowded[k];
    return BM_OK;
}

bm_status bm_crowded_doc_keys(const bm_crowded_key *const *keys, size_t n_keys, size_t n_docs,
                              size_t **begin, uint32_t **doc_keys, bm_error *err)
{
    BM_TRY(bm_new_zero(begin, n_docs + 2, err));
    size_t *at = *begin;
    for (size_t k = 0; k < n_keys; k++)
        for (size_t i = 0; i < keys[k]->n_docs; i++)
            at[keys[k]->docs[i] + 2]++;
    for (size_t i = 2; i < n_docs + 2; i++)
        at[i] += at[i - 1];
    BM_TRY(bm_new(doc_keys, at[n_docs + 1], err));
    for (size_t k = 0; k < n_keys; k++)
        for (size_t i = 0; i < keys[k]->n_docs; i++)
            (*doc_keys)[at[keys[k]->docs[i] + 1]++] = (uint32_t)k;
    return BM_OK;
}

/* List the documents that may find more than batch->first numbers: those that have more hits in
 * total, if each key is counted separately. */
static bm_status list_docs(bounding *b, bm_error *err)
{
    const size_t n = b->batch->n;
    uint64_t *sums = bm_alloc_zero(n, sizeof *sums);
    b->docs = bm_alloc(n, sizeof *b->docs);
    b->met = bm_alloc_zero(n, sizeof *b->met);
    bm_status status = BM_OK;
    if (sums == NULL || b->docs == NULL || b->met == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * (sizeof *sums + 2 * sizeof *b->docs)));
    for (size_t k = 0; k < b->n_keys; k++)
        for (size_t i = 0; i < b->keys[k]->n_docs; i++)
            sums[b->keys[k]->docs[i]] += b->keys[k]->n_numbers + b->keys[k]->rest;
    for (size_t i = 0; i < b->hits->n_lists; i++)
        for (size_t k = 0; k < b->hits->lists[i].n; k++)
            sums[(uint32_t)b->hits->lists[i].list[k]]++;
    for (size_t i = 0; i < n; i++)
        if (sums[i] > b->batch->first)
            b->docs[b->n_docs++] = (uint32_t)i;
out:
    bm_free(sums);
    return status;
}

/* Collect the extras of the documents in b->docs, each extra once. Meanwhile hits->last[] marks
 * these documents; at the end it is UINT32_MAX for all documents. */
static bm_status list_extras(bounding *b, bm_error *err)
{
    const size_t n = b->batch->n;
    bm_status status = BM_OK;
    bm_search_hits *hits = b->hits;
    BM_TRY(bm_new(&hits->last, n, err));
    BM_TRY(bm_new_zero(&hits->left, n, err));
    BM_TRY(bm_new_zero(&b->extra_at, n, err));
    memset(hits->last, 0xff, n * sizeof *hits->last);
    for (size_t i = 0; i < b->n_docs; i++)
        hits->last[b->docs[i]] = 0;
    for (size_t i = 0; i < hits->n_lists; i++)
        for (size_t k = 0; k < hits->lists[i].n; k++) {
            const uint64_t hit = hits->lists[i].list[k];
            if (hits->last[(uint32_t)hit] != 0)
                continue;
            BM_TRY_OUT(bm_grow_array(&b->extras, &b->cap_extras, b->n_extras + 1, err));
            b->extras[b->n_extras++] = hit << 32 | hit >> 32;
        }
    BM_TRY_OUT(bm_hits_sort(b->extras, &b->n_extras, err));
    for (size_t i = b->n_extras; i > 0; i--)
        b->extra_at[b->extras[i - 1] >> 32] = i - 1;
out:
    memset(hits->last, 0xff, n * sizeof *hits->last);
    return status;
}

static bm_status begin_ranges(bounding *b, bm_error *err)
{
    b->cap_words = RANGE_WORDS / (b->n_keys + 1);
    b->cap_words = b->cap_words > RANGE_MOST ? RANGE_MOST : b->cap_words == 0 ? 1 : b->cap_words;
    b->span = b->cap_words * WORD_BITS;
    b->at = bm_alloc_zero(b->n_keys, sizeof *b->at);
    b->bits = bm_alloc(b->n_keys, sizeof *b->bits);
    b->there = bm_alloc(SPAN_MOST / WORD_BITS, sizeof *b->there);
    b->rank_begin = bm_alloc(SPAN_MOST / WORD_BITS, sizeof *b->rank_begin);
    b->numbers = bm_alloc(b->cap_words * WORD_BITS, sizeof *b->numbers);
    b->words = bm_alloc(b->n_keys * b->cap_words, sizeof *b->words);
    b->asked = bm_alloc(b->cap_words, sizeof *b->asked);
    return b->at == NULL || b->bits == NULL || b->there == NULL || b->rank_begin == NULL ||
                   b->numbers == NULL || b->words == NULL || b->asked == NULL
               ? bm_fail_nomem(err, b->n_keys * b->cap_words * sizeof *b->words)
               : BM_OK;
}

/* Return the next extra of the document, or NULL if its number is not below `high`. */
static const uint64_t *extra_of(const bounding *b, uint32_t doc, uint64_t high)
{
    const size_t at = b->extra_at[doc];
    return at < b->n_extras && b->extras[at] >> 32 == doc && (uint32_t)b->extras[at] < high
               ? &b->extras[at]
               : NULL;
}

/* Give each key of the remaining documents its part of b->words for its bits. Set b->low to the
 * smallest number not visited yet. Returns false if all numbers were visited. */
static bool find_low(bounding *b)
{
    size_t used = 0;
    b->low = UINT64_MAX;
    memset(b->bits, 0, b->n_keys * sizeof *b->bits);
    for (size_t i = 0; i < b->n_docs; i++) {
        const uint32_t doc = b->docs[i];
        const uint64_t *extra = extra_of(b, doc, UINT64_MAX);
        if (extra != NULL && (uint32_t)*extra < b->low)
            b->low = (uint32_t)*extra;
        for (size_t k = b->keys_begin[doc]; k < b->keys_begin[doc + 1]; k++) {
            const uint32_t key = b->doc_keys[k];
            if (b->bits[key] != NULL)
                continue;
            b->bits[key] = b->words + used++ * b->cap_words;
            if (b->at[key] < b->keys[key]->n_numbers && b->keys[key]->numbers[b->at[key]] < b->low)
                b->low = b->keys[key]->numbers[b->at[key]];
        }
    }
    return b->low != UINT64_MAX;
}

static inline void set_bit(uint64_t *words, uint64_t at)
{
    words[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

static size_t rank_of(const bounding *b, uint32_t number)
{
    const uint64_t at = number - b->low, below = (UINT64_C(1) << at % WORD_BITS) - 1;
    return b->rank_begin[at / WORD_BITS] +
           (size_t)__builtin_popcountll(b->there[at / WORD_BITS] & below);
}

/* Assign ranks to the numbers found in the range. If there are too many, shorten the range. Adapt
 * b->span, the size of the next range, to the count. */
static void rank_numbers(bounding *b)
{
    const size_t most = b->cap_words * WORD_BITS, n_there = (size_t)(b->span / WORD_BITS);
    memset(b->there, 0, n_there * sizeof *b->there);
    b->high = b->low + b->span;
    for (size_t k = 0; k < b->n_keys; k++)
        for (size_t i = b->at[k];
             b->bits[k] != NULL && i < b->keys[k]->n_numbers && b->keys[k]->numbers[i] < b->high;
             i++)
            set_bit(b->there, b->keys[k]->numbers[i] - b->low);
    for (size_t i = 0; i < b->n_docs; i++)
        for (size_t k = b->extra_at[b->docs[i]];
             k < b->n_extras && b->extras[k] >> 32 == b->docs[i] &&
             (uint32_t)b->extras[k] < b->high;
             k++)
            set_bit(b->there, (uint32_t)b->extras[k] - b->low);
    b->n_ranks = 0;
    for (size_t w = 0; w < n_there && b->low + w * WORD_BITS < b->high; w++) {
        b->rank_begin[w] = (uint32_t)b->n_ranks;
        for (uint64_t bits = b->there[w]; bits != 0; bits &= bits - 1) {
            const uint64_t number = b->low + w * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
            if (b->n_ranks == most) {
                b->high = number;
                break;
            }
            b->numbers[b->n_ranks++] = (uint32_t)number;
        }
    }
    b->n_words = (b->n_ranks + WORD_BITS - 1) / WORD_BITS;
    if (b->high < b->low + b->span)
        b->span /= 2;
    else if (b->n_ranks < most / 4 && b->span < SPAN_MOST)
        b->span *= 2;
}

static void place_crowded(bounding *b)
{
    for (size_t k = 0; k < b->n_keys; k++) {
        const bm_crowded_key *key = b->keys[k];
        if (b->bits[k] == NULL)
            continue;
        memset(b->bits[k], 0, b->n_words * sizeof **b->bits);
        for (; b->at[k] < key->n_numbers && key->numbers[b->at[k]] < b->high; b->at[k]++)
            set_bit(b->bits[k], rank_of(b, key->numbers[b->at[k]]));
    }
}

/* Visit the numbers that document `doc` finds in the range. If it has found batch->first numbers by
 * then, set last[doc] to the greatest of the first batch->first numbers, and return true. */
static bool visit_doc(bounding *b, uint32_t doc)
{
    const size_t wanted = b->batch->first - b->met[doc];
    const uint64_t *extra;
    memset(b->asked, 0, b->n_words * sizeof *b->asked);
    for (size_t k = b->keys_begin[doc]; k < b->keys_begin[doc + 1]; k++)
        bm_bits_add(b->asked, b->bits[b->doc_keys[k]], b->n_words);
    for (; (extra = extra_of(b, doc, b->high)) != NULL; b->extra_at[doc]++)
        set_bit(b->asked, rank_of(b, (uint32_t)*extra));
    size_t n = bm_bits_count(b->asked, b->n_words), w = b->n_words;
    b->met[doc] += (uint32_t)n;
    if (n < wanted)
        return false;
    while (n >= wanted) /* find the word with the last candidate */
        n -= (size_t)__builtin_popcountll(b->asked[--w]);
    uint64_t bits = b->asked[w];
    for (; n + 1 < wanted; n++)
        bits &= bits - 1;
    b->hits->last[doc] = b->numbers[w * WORD_BITS + (size_t)__builtin_ctzll(bits)];
    return true;
}

/* For each document, add to left[] how many numbers of its keys and extras are above its last
 * candidate. Remove a number from a crowded key if it is a candidate of none of the key's
 * documents. */
static void count_left(bounding *b)
{
    bm_search_hits *hits = b->hits;
    for (size_t i = 0; i < hits->n_lists; i++)
        for (size_t k = 0; k < hits->lists[i].n_crowded; k++) {
            bm_crowded_key *key = &hits->lists[i].crowded[k];
            size_t most = 0;
            for (size_t d = 0; d < key->n_docs; d++) {
                const uint32_t doc = key->docs[d];
                const size_t n =
                    bm_numbers_below(key->numbers, key->n_numbers, (uint64_t)hits->last[doc] + 1);
                hits->left[doc] += key->rest + key->n_numbers - n;
                most = n > most ? n : most;
            }
            key->rest += key->n_numbers - most;
            key->n_numbers = (uint32_t)most;
        }
    for (size_t i = 0; i < b->n_extras; i++) {
        const uint32_t doc = (uint32_t)(b->extras[i] >> 32);
        hits->left[doc] += (uint32_t)b->extras[i] > hits->last[doc];
    }
}

static bm_status bound(const bm_key_batch *batch, bm_search_hits *hits, bm_error *err)
{
    bounding b = {.batch = batch, .hits = hits};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_crowded_keys(b.hits, &b.keys, &b.n_keys, err));
    if (b.n_keys > 0 || (uint64_t)batch->bands * CROWDED > batch->first)
        BM_TRY_OUT(list_docs(&b, err));
    if (b.n_docs == 0)
        goto out;
    BM_TRY_OUT(bm_crowded_doc_keys(b.keys, b.n_keys, b.batch->n, &b.keys_begin, &b.doc_keys, err));
    BM_TRY_OUT(list_extras(&b, err));
    BM_TRY_OUT(begin_ranges(&b, err));
    while (find_low(&b)) {
        size_t n = 0;
        rank_numbers(&b);
        place_crowded(&b);
        for (size_t i = 0; i < b.n_docs; i++)
            if (!visit_doc(&b, b.docs[i]))
                b.docs[n++] = b.docs[i];
        b.n_docs = n;
    }
    count_left(&b);
out:
    bm_free_all(b.keys, b.at, b.bits, b.docs, b.met, b.keys_begin, b.doc_keys, b.extras, b.extra_at,
                b.there, b.rank_begin, b.numbers, b.words, b.asked);
    return status;
}

/* --- all bands --- */

/* Drop each hit whose number is above the last candidate of its document (out->last), and each
 * crowded key that has no numbers left. Turn crowded keys marked `listed` into hits. Then sort the
 * hits. */
static bm_status finish_list(const look_up *l, bm_hit_list *list, bm_error *err)
{
    const uint32_t *last = l->out->last;
    bm_status status = BM_OK;
    size_t kept = 0;
    for (size_t i = 0; last != NULL && i < list->n; i++)
        if (list->list[i] >> 32 <= last[(uint32_t)list->list[i]])
            list->list[kept++] = list->list[i];
    if (last != NULL)
        list->n = kept;
    kept = 0;
    for (size_t k = 0; k < list->n_crowded; k++) {
        const bm_crowded_key key = list->crowded[k];
        if (status != BM_OK || (key.n_numbers > 0 && !key.listed)) {
            list->crowded[kept++] = key;
            continue;
        }
        status = reserve_hits(l, list, (size_t)key.n_docs * key.n_numbers, err);
        for (size_t i = 0; status == BM_OK && i < key.n_numbers; i++)
            for (size_t d = 0; d < key.n_docs; d++)
                if (last == NULL || key.numbers[i] <= last[key.docs[d]])
                    list->list[list->n++] = (uint64_t)key.numbers[i] << 32 | key.docs[d];
        bm_free(key.numbers);
    }
    list->n_crowded = kept;
    return status == BM_OK ? bm_hits_sort(list->list, &list->n, err) : status;
}

static bm_status finish_lists(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    look_up *l = ctx;
    for (size_t i = begin; i < end; i++)
        BM_TRY(finish_list(l, &l->out->lists[i], err));
    return BM_OK;
}

bm_status bm_search_look_up(const bm_key_batch *batch, bm_search_hits *out, bool *many,
                            bm_error *err)
{
    const size_t bands = batch->bands;
    const bm_store_counts counts = bm_store_view_counts(batch->view);
    look_up l = {.batch = batch, .out = out, .n_runs = (size_t)counts.runs};
    bm_status status = BM_OK;
    *many = false;
    const bool together =
        batch->pool != NULL && batch->n > 1 && bands > 1 && batch->n * bands >= BM_SEARCH_TOGETHER;
    out->n_lists = together ? bands : 1;
    BM_TRY(bm_new_zero(&out->lists, out->n_lists, err));
    BM_TRY_OUT(together
                   ? bm_pool_for(batch->pool, (bm_pool_split){bands, 1}, look_up_bands, &l, err)
                   : look_up_bands(&l, 0, 0, bands, err));
    if (!atomic_load(&l.many) && batch->first != 0 && counts.documents > batch->first)
        BM_TRY_OUT(bound(batch, out, err));
    if (!atomic_load(&l.many))
        BM_TRY_OUT(together
                       ? bm_pool_for(batch->pool, (bm_pool_split){bands, 1}, finish_lists, &l, err)
                       : finish_lists(&l, 0, 0, 1, err));
out:
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
        bm_free_all(list->crowded, list->list);
    }
    bm_free_all(hits->lists, hits->last, hits->left);
    *hits = (bm_search_hits){0};
}
