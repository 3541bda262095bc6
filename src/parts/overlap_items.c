/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_items.c -- reads the items of a test set into a table of shingles, classes, and groups of
 * classes.
 *
 * All threads make shingles of items, but items are added to the table in order, so their numbers
 * do not depend on threads. The class of an item is looked up by the set of its shingle numbers.
 *
 * A short item has fewer units than a shingle. Its set is one shingle, made from all its units.
 * Anchors tell where in a document a short item may begin: the anchor of an item is a shingle of
 * its first units, as many as the shortest item has.
 *
 * After all items were read, shingles that more than 64 classes have are moved from these classes
 * to groups. Classes share a group if they have the same set of such shingles. Groups are looked up
 * by their sets, like classes.
 *
 * Limits: 2^32-2 shingles, classes and items. Threads: the threads of the ingest while it reads;
 * afterwards, any thread may read the tables.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "parts/overlap_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "lsh/verify.h"
#include "text/join_exact.h"

#define AHEAD 8u  /* how many shingles ahead are prefetched */
#define MANY  64u /* a shingle that more classes have is moved to groups */

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

/* Set *out to the class of a set: the last n numbers of items->sets. `units` is the number of units
 * in each of its shingles. If the class exists already, these numbers are removed from items->sets;
 * if not, it is made. */
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
    items->classes[items->n_classes] = (bm_item_class){.begin = items->n_sets - n,
                                                       .end = items->n_sets,
                                                       .n = n,
                                                       .units = units,
                                                       .group = BM_NO_CLASS};
    *out = (uint32_t)items->n_classes++;
    bm_hash_table_put(&items->by_set, at, hash, *out);
    return BM_OK;
}

/* --- reading --- */

/* The state of one thread. For each item, the thread writes an item_facts, followed by the joined
 * text if the item is short. */
typedef struct item_lane {
    bm_items *items;
    bm_shingler *words; /* counts words; NULL: the shingler of the job counts them, because it makes
                         * shingles of words */
} item_lane;

typedef struct item_facts {
    uint32_t n_words; /* number of words; counting stops at min_words */
    uint32_t n_units; /* number of units if the item is short, otherwise 0 */
    uint32_t bytes;   /* bytes of the joined text that follows */
} item_facts;

static bm_status open_lane(bm_items *items, void **out, bm_error *err)
{
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

static bm_status look_at_item(void *ctx, void **opened, bm_shingler *shingler,
                              const bm_record *record, bm_ingest_batch *batch, bm_error *err)
{
    if (*opened == NULL)
        BM_TRY(open_lane(ctx, opened, err));
    const item_lane *lane = *opened;
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
    return bm_shingle_table_bytes(&items->table) + items->by_set.cap_slots * 8 +
           items->cap_classes * sizeof *items->classes + items->cap_sets * sizeof *items->sets +
           items->cap * sizeof *items->items + items->short_text.cap +
           items->cap_short * sizeof *items->short_ends +
           items->cap_short_units * sizeof *items->short_units;
}

/* Bytes of the tables that are made after all items were read, and of looking up documents
 * (bm_overlap_bytes). */
static uint64_t bytes_behind(const bm_items *items)
{
    const uint64_t n = items->table.n, n_sets = items->n_sets + items->n_classes;
    return (n + 2 * items->n_classes) * sizeof(uint64_t) + /* `begin` of the lists */
           (n_sets + items->n_classes + items->n) * sizeof(uint32_t) + bm_overlap_bytes(items);
}

/* Fail if the items take more than most_bytes bytes. */
static bm_status check_bytes(const bm_items *items, const bm_job_context *job, bm_error *err)
{
    const uint64_t bytes = bytes_now(items) + bytes_behind(items) + bm_doc_table_bytes(&job->docs);
    if (items->most_bytes == 0 || bytes <= items->most_bytes)
        return BM_OK;
    return bm_fail(err, BM_ERR_NOMEM,
                   "the shingles of the items (`against`) do not fit into `memory` of %lluM (at "
                   "least %lluM)",
                   (unsigned long long)(items->settings->memory >> 20),
                   (unsigned long long)(bm_budget_least(&job->budget, 2 * bytes) >> 20) + 1);
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

/* Sort the set. It is often sorted already, because new shingles have ascending numbers. */
static void sort_set(uint32_t *set, size_t n)
{
    size_t i = 1;
    while (i < n && set[i - 1] < set[i])
        i++;
    if (i < n)
        qsort(set, n, sizeof *set, bm_order_u32);
}

static bm_status add_item(bm_items *items, const bm_shingle_batch *shingles, size_t doc,
                          const item_facts *facts, const char *text, bm_error *err)
{
    const size_t n = (size_t)(shingles->offsets[doc + 1] - shingles->offsets[doc]);
    const bool few = facts->n_words < items->settings->pairs.min_words;
    BM_TRY(bm_grow_array(&items->items, &items->cap, items->n + 1, err));
    bm_item *item = &items->items[items->n++];
    *item = (bm_item){.class = BM_NO_CLASS, .too_short = few && facts->n_words > 0};
    items->n_short += item->too_short;
    items->n_empty += facts->n_words == 0;
    if (few || n == 0)
        return BM_OK;
    const uint64_t *hashes = shingles->hashes + shingles->offsets[doc];
    BM_TRY(bm_grow_array(&items->sets, &items->cap_sets, items->n_sets + n, err));
    uint32_t *set = items->sets + items->n_sets;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            bm_shingle_table_fetch(&items->table, hashes[i + AHEAD]);
        BM_TRY(bm_shingle_table_add(&items->table, hashes[i], &set[i], err));
    }
    sort_set(set, n);
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

/* The number of bytes of the first n units of joined text, or of all units if there are fewer. */
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
        BM_TRY_OUT(bm_shingle_table_add(&items->table, bm_shingler_hash_one(shingler, text, len),
                                        &numbers[i], err));
    }
    BM_TRY_OUT(bm_new_zero(&items->anchors, items->table.n / 8 + 1, err));
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

/* --- groups --- */

static uint64_t *count_classes(const bm_items *items, bm_error *err)
{
    uint64_t *counts = NULL;
    if (bm_new_zero(&counts, items->table.n + 1, err) == BM_OK)
        for (size_t i = 0; i < items->n_sets; i++)
            counts[items->sets[i]]++;
    return counts;
}

/* If a shingle of the class is in many classes, move it from the class to the class's group. */
static bm_status group_class(bm_items *items, uint32_t number, const uint64_t *counts,
                             bm_error *err)
{
    const uint64_t begin = items->classes[number].begin, end = items->classes[number].end;
    const size_t first = items->n_sets;
    uint64_t own = begin;
    uint32_t group;
    for (uint64_t i = begin; i < end; i++) {
        const uint32_t shingle = items->sets[i];
        if (counts[shingle] <= MANY) {
            items->sets[own++] = shingle;
            continue;
        }
        BM_TRY(bm_grow_array(&items->sets, &items->cap_sets, items->n_sets + 1, err));
        items->sets[items->n_sets++] = shingle;
    }
    if (own == end)
        return BM_OK;
    BM_TRY(find_class(items, items->n_sets - first, items->settings->text.shingle_k, &group, err));
    items->classes[number].end = own;
    items->classes[number].group = group;
    return BM_OK;
}

static bm_status make_groups(bm_items *items, bm_error *err)
{
    bm_status status = BM_OK;
    uint64_t *counts = NULL;
    const size_t n = items->n_classes;
    bm_hash_table_reset(&items->by_set); /* from now on, by_set finds groups instead of classes */
    counts = count_classes(items, err);
    if (counts == NULL)
        return BM_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        BM_TRY_OUT(group_class(items, i, counts, err));
out:
    items->n_groups = items->n_classes - n;
    items->n_classes = n;
    bm_free(counts);
    return status;
}

/* --- lists --- */

/* Sets *keys to the keys in whose lists `number` is entered. Returns the number of these keys. */
typedef size_t keys_fn(const bm_items *items, size_t number, const uint32_t **keys);

static size_t shingles_of(const bm_items *items, size_t class, const uint32_t **keys)
{
    *keys = items->sets + items->classes[class].begin;
    return (size_t)(items->classes[class].end - items->classes[class].begin);
}

static size_t class_of(const bm_items *items, size_t item, const uint32_t **keys)
{
    *keys = &items->items[item].class;
    return **keys != BM_NO_CLASS;
}

static size_t group_of(const bm_items *items, size_t class, const uint32_t **keys)
{
    *keys = &items->classes[class].group;
    return **keys != BM_NO_CLASS;
}

/* For each key below n_keys, make the ascending list of those numbers below n that have the key. At
 * first begin[] is shifted by one element; entering the numbers moves its values to their final
 * position. */
static bm_status make_lists(const bm_items *items, keys_fn *fn, size_t n, size_t n_keys,
                            bm_lists *out, bm_error *err)
{
    const uint32_t *keys;
    BM_TRY(bm_new_zero(&out->begin, n_keys + 2, err));
    uint64_t *begin = out->begin + 1;
    for (size_t i = 0; i < n; i++)
        for (size_t left = fn(items, i, &keys); left > 0; left--)
            begin[*keys++ + 1]++;
    for (size_t i = 1; i <= n_keys; i++)
        begin[i] += begin[i - 1];
    BM_TRY(bm_new(&out->list, (size_t)begin[n_keys] + 1, err));
    for (size_t i = 0; i < n; i++)
        for (size_t left = fn(items, i, &keys); left > 0; left--)
            out->list[begin[*keys++]++] = (uint32_t)i;
    return BM_OK;
}

static void lists_reset(bm_lists *lists)
{
    bm_free_all(lists->begin, lists->list);
    *lists = (bm_lists){0};
}

/* --- counting shingles --- */

static uint64_t count_those(const bm_items *items, const bm_item_class *class)
{
    uint64_t n = 0;
    for (uint64_t i = class->begin; i < class->end; i++)
        n += bm_items_counts(items, items->sets[i]);
    return n;
}

/* Sort the classes of a group by the number of their counting shingles. `room` has space for twice
 * as many numbers as there are classes in the group. */
static void order_group(bm_items *items, size_t group, uint64_t *room)
{
    uint32_t *list = items->members.list + items->members.begin[group];
    const size_t n = (size_t)(items->members.begin[group + 1] - items->members.begin[group]);
    for (size_t i = 0; i < n; i++)
        room[i] = items->classes[list[i]].n << 32 | list[i];
    bm_hashes_sort(room, n, room + n);
    for (size_t i = 0; i < n; i++)
        list[i] = (uint32_t)room[i];
}

bm_status bm_items_settle(bm_items *items, bm_error *err)
{
    const size_t n_all = items->n_classes + items->n_groups;
    uint64_t *room = NULL;
    bm_status status = BM_OK;
    /* groups come first, because the count of a class includes that of its group */
    for (size_t i = n_all; i-- > 0;) {
        bm_item_class *class = &items->classes[i];
        class->n = count_those(items, class);
        if (class->group != BM_NO_CLASS)
            class->n += items->classes[class->group].n;
    }
    const size_t n_members = (size_t)items->members.begin[n_all];
    BM_TRY_OUT(bm_new(&room, 2 * n_members + 1, err));
    for (size_t i = items->n_classes; i < n_all; i++)
        order_group(items, i, room);
    BM_TRY_OUT(bm_new(&items->member_items, n_members + 1, err));
    items->member_items[0] = 0;
    for (size_t i = 0; i < n_members; i++)
        items->member_items[i + 1] =
            items->member_items[i] + bm_items_of_class(items, items->members.list[i]);
out:
    bm_free(room);
    return status;
}

size_t bm_items_members(const bm_items *items, uint32_t group, uint64_t hits)
{
    const uint64_t begin = items->members.begin[group];
    bm_bisect b = {0, (size_t)(items->members.begin[group + 1] - begin)};
    while (b.low < b.high) {
        const uint32_t class = items->members.list[begin + bm_middle(&b)];
        bm_bisect_go(&b, bm_overlap_holds(items, hits, items->classes[class].n));
    }
    return b.low;
}

bm_status bm_items_read(bm_job *build, bm_items *items, bm_error *err)
{
    reading r = {items, &build->context};
    const bm_ingest_request request = {
        .sink = {.place = take_items, .ctx = &r},
        .scan = {.document = look_at_item, .close = close_lane, .ctx = items}};
    BM_TRY(bm_job_context_ingest(&build->context, &request, err));
    bm_doc_table_end_adding(&build->context.docs);
    items->n_own = items->table.n;
    BM_TRY(add_anchors(items, err));
    bm_buf_reset(&items->short_text);
    BM_TRY(bm_shingle_table_end(&items->table, err));
    BM_TRY(make_groups(items, err));
    bm_hash_table_reset(&items->by_set);
    const size_t n_all = items->n_classes + items->n_groups;
    BM_TRY(make_lists(items, shingles_of, n_all, items->table.n, &items->of_shingle, err));
    BM_TRY(make_lists(items, class_of, items->n, items->n_classes, &items->of_class, err));
    BM_TRY(make_lists(items, group_of, items->n_classes, n_all, &items->members, err));
    items->bytes =
        bytes_now(items) + bytes_behind(items) + bm_doc_table_bytes(&build->context.docs);
    return check_bytes(items, &build->context, err);
}

void bm_items_log(const bm_items *items, bm_meter *meter)
{
    const uint64_t n = items->n, few = items->n_short;
    if (n == few + items->n_empty)
        bm_meter_log(meter, BM_LOG_WARNING,
                     "none of the %" PRIu64 " items of `against` is looked for: %" PRIu64
                     " have fewer words than `min_words` %" PRIu32 ", %" PRIu64 " have none",
                     n, few, items->settings->pairs.min_words, items->n_empty);
    bm_meter_log(meter, BM_LOG_DEBUG, "%" PRIu64 " items, %zu of them different, %zu shingles", n,
                 items->n_classes, items->n_own);
}

void bm_items_reset(bm_items *items)
{
    bm_free_all(items->items, items->stopped, items->classes, items->sets, items->short_ends,
                items->short_units, items->anchors, items->member_items);
    lists_reset(&items->of_shingle);
    lists_reset(&items->of_class);
    lists_reset(&items->members);
    bm_shingle_table_reset(&items->table);
    bm_hash_table_reset(&items->by_set);
    bm_buf_reset(&items->short_text);
    *items = (bm_items){0};
}
