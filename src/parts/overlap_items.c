/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_items.c -- the items of a test set as one table of shingles.
 *
 * Items are cut by all threads and enter the table in their order, so numbers depend on nothing
 * else. An item is looked up among the classes by its set of numbers. A short item, of fewer units
 * than a shingle has, is a set of one shingle: all of its units. Where it may begin is told by the
 * first units of it, as many as the shortest item has: those are shingles of no class.
 *
 * The filter is a blocked Bloom filter, a block being one word of 64 bits: 8 to 16 bits for a
 * shingle, 3 of them set. While it stays within the second-level cache of a core, a shingle that is
 * none of the items' costs about two nanoseconds.
 *
 * Limits: 2^32-2 shingles, classes and items. Threads: reading is the ingest's; afterwards any.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "lsh/verify.h"
#include "text/join_exact.h"

#define FILTER_BITS 8u /* for a shingle, at least */

/* --- a table of shingles --- */

static uint64_t slot_hash(const bm_items *items, uint64_t hash)
{
    return items->table.seed == 0 ? hash : bm_hash_seeded(hash, 0, items->table.seed);
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    const bm_items *items = owner;
    return bm_hash_seeded(items->hashes[number], 0, seed);
}

static bool has_hash(const void *owner, uint32_t number, const void *key)
{
    const bm_items *items = owner;
    return items->hashes[number] == *(const uint64_t *)key;
}

void bm_items_fetch(const bm_items *items, uint64_t hash)
{
    bm_hash_table_fetch(&items->table, slot_hash(items, hash));
}

uint32_t bm_items_find(const bm_items *items, uint64_t hash)
{
    const size_t at =
        bm_hash_table_find(&items->table, slot_hash(items, hash), has_hash, items, &hash);
    return bm_hash_table_is_free(&items->table, at) ? BM_NO_CLASS
                                                    : bm_hash_table_number(&items->table, at);
}

/* *number: of the shingle, which is added if it is new. */
static bm_status add_shingle(bm_items *items, uint64_t hash, uint32_t *number, bm_error *err)
{
    BM_TRY(bm_hash_table_reserve(&items->table, hash_again, items, err));
    const uint64_t slot = slot_hash(items, hash);
    const size_t at = bm_hash_table_find(&items->table, slot, has_hash, items, &hash);
    if (!bm_hash_table_is_free(&items->table, at)) {
        *number = bm_hash_table_number(&items->table, at);
        return BM_OK;
    }
    if (items->n_shingles >= UINT32_MAX - 1)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "the items have more than 2^32-2 shingles");
    BM_TRY(bm_grow_array(&items->hashes, &items->cap_shingles, items->n_shingles + 1, err));
    items->hashes[items->n_shingles] = hash;
    *number = (uint32_t)items->n_shingles++;
    bm_hash_table_put(&items->table, at, slot, *number);
    return BM_OK;
}

/* --- classes --- */

typedef struct set_key {
    const uint32_t *set;
    size_t n;
    uint32_t units;
} set_key;

static uint64_t set_hash(const uint32_t *set, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(set, n * sizeof *set, seed);
}

static uint64_t set_again(const void *owner, uint32_t number, uint64_t seed)
{
    const bm_items *items = owner;
    const bm_item_class *class = &items->classes[number];
    return set_hash(items->sets + class->begin, (size_t)(class->end - class->begin), seed);
}

static bool has_set(const void *owner, uint32_t number, const void *key)
{
    const bm_items *items = owner;
    const set_key *k = key;
    const bm_item_class *class = &items->classes[number];
    return class->end - class->begin == k->n && class->units == k->units &&
           memcmp(items->sets + class->begin, k->set, k->n * sizeof *k->set) == 0;
}

/* The last n numbers of items->sets are a set of shingles of so many units: *out is its class. They
 * stay where it is a new one. */
static bm_status find_class(bm_items *items, size_t n, uint32_t units, uint32_t *out, bm_error *err)
{
    const set_key key = {items->sets + items->n_sets - n, n, units};
    BM_TRY(bm_hash_table_reserve(&items->by_set, set_again, items, err));
    const uint64_t hash = set_hash(key.set, n, items->by_set.seed);
    const size_t at = bm_hash_table_find(&items->by_set, hash, has_set, items, &key);
    if (!bm_hash_table_is_free(&items->by_set, at)) {
        *out = bm_hash_table_number(&items->by_set, at);
        items->n_sets -= n;
        return BM_OK;
    }
    BM_TRY(bm_grow_array(&items->classes, &items->cap_classes, items->n_classes + 1, err));
    items->classes[items->n_classes] =
        (bm_item_class){.begin = items->n_sets - n, .end = items->n_sets, .n = n, .units = units};
    *out = (uint32_t)items->n_classes++;
    bm_hash_table_put(&items->by_set, at, hash, *out);
    return BM_OK;
}

/* --- reading --- */

/* A lane's own, and what it says of an item in front of a short item's joined text. */
typedef struct item_lane {
    bm_items *items;
    bm_shingler *words; /* NULL: units are words */
} item_lane;

typedef struct item_facts {
    uint32_t n_words; /* at most as many as an item must have */
    uint32_t n_units; /* of a short item; else 0 */
    uint32_t bytes;   /* of its joined text, which follow */
} item_facts;

static bm_status open_lane(void *ctx, void **out, bm_error *err)
{
    bm_items *items = ctx;
    item_lane *lane = NULL;
    BM_TRY(bm_new_zero(&lane, 1, err));
    lane->items = items;
    bm_text_options text = items->settings->text;
    bm_status status = BM_OK;
    if (text.shingle != BM_SHINGLE_WORD) {
        text.shingle = BM_SHINGLE_WORD;
        text.shingle_k = 1;
        BM_TRY_OUT(bm_shingler_open(&text, items->settings->device.cpu, &lane->words, err));
    }
    *out = lane;
    return BM_OK;
out:
    bm_free(lane);
    return status;
}

static void close_lane(void *lane)
{
    item_lane *l = lane;
    if (l == NULL)
        return;
    bm_shingler_close(l->words);
    bm_free(l);
}

static bm_status pass_over(void *ctx, const bm_shingle_run *run, bm_error *err)
{
    (void)ctx;
    (void)run;
    (void)err;
    return BM_OK;
}

static bm_status look_at_item(void *ctx, bm_shingler *shingler, const bm_record *record,
                              bm_ingest_batch *batch, bm_error *err)
{
    item_lane *lane = ctx;
    const bm_settings *s = lane->items->settings;
    const bm_joined *joined = NULL;
    item_facts facts = {0};
    if (lane->words != NULL) {
        BM_TRY(bm_shingler_join(lane->words, record->text, &joined, err));
        facts.n_words = bm_joined_words(joined, s->pairs.min_words);
    }
    BM_TRY(bm_shingler_join(shingler, record->text, &joined, err));
    if (lane->words == NULL)
        facts.n_words = bm_joined_words(joined, s->pairs.min_words);
    uint64_t n_units = 0;
    const bool few = facts.n_words < s->pairs.min_words;
    const size_t at = batch->scanned.len;
    BM_TRY(bm_buf_add(&batch->scanned, &facts, sizeof facts, err));
    BM_TRY(bm_shingler_scan(shingler, s->text.shingle_k, pass_over, NULL, &n_units, err));
    if (n_units < s->text.shingle_k && !few && joined->len < UINT32_MAX) {
        facts.n_units = (uint32_t)n_units;
        facts.bytes = (uint32_t)joined->len;
        BM_TRY(bm_buf_add(&batch->scanned, joined->data, joined->len, err));
    }
    BM_TRY(bm_shingler_add_last_joined(shingler, &batch->shingles, err));
    memcpy(batch->scanned.data + at, &facts, sizeof facts);
    return BM_OK;
}

static uint64_t bytes_now(const bm_items *items)
{
    return items->cap_shingles * sizeof *items->hashes + items->table.cap_slots * 8 +
           items->by_set.cap_slots * 8 + items->cap_classes * sizeof *items->classes +
           items->cap_sets * sizeof *items->sets + items->cap * sizeof *items->items +
           items->short_text.cap + items->cap_short * sizeof *items->short_ends +
           items->cap_short_units * sizeof *items->short_units;
}

/* What is made of the table once all items are in it. */
static uint64_t bytes_behind(const bm_items *items)
{
    const uint64_t n = items->n_shingles;
    return n * (sizeof *items->class_begin + 4 + 2 * FILTER_BITS / 8) +
           items->n_sets * sizeof *items->class_list +
           items->n_classes * (sizeof *items->item_begin + 2 * sizeof(uint32_t)) +
           items->n * sizeof *items->item_list;
}

static bm_status check_bytes(const bm_items *items, const bm_job_context *job, bm_error *err)
{
    const uint64_t bytes = bytes_now(items) + bytes_behind(items) + bm_doc_table_bytes(&job->docs);
    return items->most_bytes == 0 || bytes <= items->most_bytes
               ? BM_OK
               : bm_table_budget_refuse(items->settings, "the shingles of the items (`against`)",
                                        bytes, err);
}

static bm_status add_short(bm_items *items, const item_facts *facts, const char *text,
                           bm_error *err)
{
    const size_t n = items->n_short_texts;
    BM_TRY(bm_grow_array(&items->short_ends, &items->cap_short, n + 1, err));
    BM_TRY(bm_grow_array(&items->short_units, &items->cap_short_units, n + 1, err));
    BM_TRY(bm_buf_add(&items->short_text, text, facts->bytes, err));
    items->short_ends[n] = items->short_text.len;
    items->short_units[n] = facts->n_units;
    items->n_short_texts++;
    if (items->least_units == 0 || facts->n_units < items->least_units)
        items->least_units = facts->n_units;
    return BM_OK;
}

static bm_status add_item(bm_items *items, const bm_shingle_batch *shingles, size_t doc,
                          const item_facts *facts, const char *text, bm_error *err)
{
    const uint64_t *hashes = shingles->hashes + shingles->offsets[doc];
    const size_t n = (size_t)(shingles->offsets[doc + 1] - shingles->offsets[doc]);
    const bool few = facts->n_words < items->settings->pairs.min_words;
    BM_TRY(bm_grow_array(&items->items, &items->cap, items->n + 1, err));
    bm_item *item = &items->items[items->n++];
    *item = (bm_item){.class = BM_NO_CLASS, .too_short = few && facts->n_words > 0};
    items->n_short += item->too_short;
    items->n_empty += facts->n_words == 0;
    if (few || n == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&items->sets, &items->cap_sets, items->n_sets + n, err));
    uint32_t *set = items->sets + items->n_sets;
    for (size_t i = 0; i < n; i++)
        BM_TRY(add_shingle(items, hashes[i], &set[i], err));
    qsort(set, n, sizeof *set, bm_order_u32);
    items->n_sets += n;
    const size_t n_classes = items->n_classes;
    const uint32_t units = facts->n_units > 0 ? facts->n_units : items->settings->text.shingle_k;
    BM_TRY(find_class(items, n, units, &item->class, err));
    return facts->n_units > 0 && items->n_classes > n_classes ? add_short(items, facts, text, err)
                                                              : BM_OK;
}

typedef struct reading {
    bm_items *items;
    const bm_job_context *job;
} reading;

static bm_status take_items(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    const reading *r = ctx;
    const char *at = batch->scanned.data;
    (void)first_row;
    for (size_t i = 0; i < batch->n_docs; i++) {
        item_facts facts;
        memcpy(&facts, at, sizeof facts);
        at += sizeof facts;
        BM_TRY(add_item(r->items, &batch->shingles, i, &facts, at, err));
        at += facts.bytes;
    }
    return check_bytes(r->items, r->job, err);
}

/* --- completing --- */

/* Bytes of the first n units of joined text. */
static size_t units_bytes(const char *text, size_t len, bm_shingle_kind kind, uint32_t n)
{
    size_t at = 0;
    for (; at < len; at++) {
        const bool begins = kind == BM_SHINGLE_WORD ? text[at] == ' '
                            : kind == BM_SHINGLE_BYTE
                                ? at > 0
                                : at > 0 && ((unsigned char)text[at] & 0xC0) != 0x80;
        if (begins && --n == 0)
            break;
    }
    return at;
}

static bm_status add_anchors(bm_items *items, bm_error *err)
{
    const bm_settings *s = items->settings;
    bm_shingler *shingler = NULL;
    uint32_t *numbers = NULL;
    bm_status status = BM_OK;
    if (items->n_short_texts == 0)
        return BM_OK;
    BM_TRY_OUT(bm_new(&numbers, items->n_short_texts, err));
    BM_TRY_OUT(bm_shingler_open(&s->text, s->device.cpu, &shingler, err));
    for (size_t i = 0, begin = 0; i < items->n_short_texts; begin = items->short_ends[i++]) {
        const char *text = items->short_text.data + begin;
        const size_t len = units_bytes(text, (size_t)items->short_ends[i] - begin, s->text.shingle,
                                       items->least_units);
        BM_TRY_OUT(add_shingle(items, bm_shingler_hash_one(shingler, text, len), &numbers[i], err));
    }
    BM_TRY_OUT(bm_new_zero(&items->anchors, items->n_shingles / 8 + 1, err));
    for (size_t i = 0; i < items->n_short_texts; i++)
        items->anchors[numbers[i] / 8] |= (uint8_t)(1u << numbers[i] % 8);
    qsort(items->short_units, items->n_short_texts, sizeof *items->short_units, bm_order_u32);
    for (size_t i = 0; i < items->n_short_texts; i++)
        if (items->n_lengths == 0 ||
            items->short_units[items->n_lengths - 1] != items->short_units[i])
            items->short_units[items->n_lengths++] = items->short_units[i];
    items->lengths = items->short_units;
out:
    bm_shingler_close(shingler);
    bm_free(numbers);
    return status;
}

static bm_status make_filter(bm_items *items, bm_error *err)
{
    unsigned bits = 0; /* of the number of a word */
    while (((uint64_t)64 << bits) < (uint64_t)items->n_shingles * FILTER_BITS || bits < 6)
        bits++;
    items->n_filter = (size_t)1 << bits;
    items->filter_shift = 64 - bits;
    BM_TRY(bm_new_zero(&items->filter, items->n_filter, err));
    for (size_t i = 0; i < items->n_shingles; i++) {
        uint64_t mask;
        uint64_t *word = bm_items_filter(items, items->hashes[i], &mask);
        *word |= mask;
    }
    return BM_OK;
}

/* Lists are filled from places that lie one too far to the right, and end where they belong. */

static bm_status list_classes(bm_items *items, bm_error *err)
{
    BM_TRY(bm_new_zero(&items->class_begin, items->n_shingles + 2, err));
    BM_TRY(bm_new(&items->class_list, items->n_sets + 1, err));
    uint64_t *begin = items->class_begin + 1;
    for (size_t i = 0; i < items->n_sets; i++)
        begin[items->sets[i] + 1]++;
    for (size_t i = 1; i <= items->n_shingles; i++)
        begin[i] += begin[i - 1];
    for (uint32_t class = 0; class < items->n_classes; class ++)
        for (uint64_t i = items->classes[class].begin; i < items->classes[class].end; i++)
            items->class_list[begin[items->sets[i]]++] = class;
    return BM_OK;
}

static bm_status list_items(bm_items *items, bm_error *err)
{
    BM_TRY(bm_new_zero(&items->item_begin, items->n_classes + 2, err));
    BM_TRY(bm_new(&items->item_list, items->n + 1, err));
    uint64_t *begin = items->item_begin + 1;
    for (size_t i = 0; i < items->n; i++)
        if (items->items[i].class != BM_NO_CLASS)
            begin[items->items[i].class + 1]++;
    for (size_t i = 1; i <= items->n_classes; i++)
        begin[i] += begin[i - 1];
    for (uint32_t i = 0; i < items->n; i++)
        if (items->items[i].class != BM_NO_CLASS)
            items->item_list[begin[items->items[i].class]++] = i;
    return BM_OK;
}

bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err)
{
    reading r = {items, &build->context};
    const bm_ingest_request request = {
        .sink = take_items,
        .sink_ctx = &r,
        .scan = {.open = open_lane, .document = look_at_item, .close = close_lane, .ctx = items}};
    BM_TRY(bm_job_context_ingest(&build->context, &request, err));
    bm_doc_table_end_adding(&build->context.docs);
    items->n_own = items->n_shingles;
    BM_TRY(add_anchors(items, err));
    if (items->n_shingles == 0) /* the table has slots, so that it can be asked */
        BM_TRY(bm_hash_table_clear(&items->table, 1, err));
    bm_hash_table_reset(&items->by_set);
    bm_buf_reset(&items->short_text);
    BM_TRY(make_filter(items, err));
    BM_TRY(list_classes(items, err));
    BM_TRY(list_items(items, err));
    items->bytes =
        bytes_now(items) + bytes_behind(items) + bm_doc_table_bytes(&build->context.docs);
    return check_bytes(items, &build->context, err);
}

void bm_items_reset(bm_items *items)
{
    bm_free_all(items->items, items->hashes, items->filter, items->stopped, items->classes,
                items->sets, items->class_begin, items->item_begin, items->class_list,
                items->item_list, items->short_ends, items->short_units, items->anchors);
    bm_hash_table_reset(&items->table);
    bm_hash_table_reset(&items->by_set);
    bm_buf_reset(&items->short_text);
    *items = (bm_items){0};
}
