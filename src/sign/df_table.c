/* SPDX-License-Identifier: Apache-2.0 */
/* df_table.c -- a sorted list of keys and their frequencies, in a column (base/column.h).
 *
 *     entries   [ key, df | key, df | ... ]   12 bytes each, keys ascending
 *     starts    [ 0 | 7 | 19 | ... ]          for each value of the leading bits, the index of the
 *                                             first entry whose key has this value
 *
 * Keys are mixed, so their leading bits are spread evenly. So a look-up has to scan only the few
 * entries from one start to the next. The column is in memory until the list exceeds table_memory.
 * Then all of it is moved to a file, with fewer starts. For look-ups in a file, hashes are sorted
 * first, so that the entries between two starts are read only once. They may be in the page
 * cache of the operating system.
 *
 * Tests: tests/unit/sign/test_df_count.c, tests/unit/sign/test_weigh.c */
#include "sign/df_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/column.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/portable_log.h"
#include "kernels/affine32.h"
#include "spill/sorted_runs.h"

#define CHUNK ((size_t)1 << 16) /* entries by which the column grows */
#define AHEAD ((size_t)16)      /* number of look-ups that are interleaved */
/* Approximate number of entries from one start to the next, if the list is in memory. */
#define PER_START     ((size_t)8)
#define PER_FILED     ((size_t)256) /* the same, if the list is in a file */
#define STEP_OF_COUNT UINT64_C(0x9E3779B97F4A7C15)

typedef struct entry { /* two halves of the key, so that an entry takes only 12 bytes */
    uint32_t key[2], df;
} entry;

struct bm_df_table {
    bm_df_cfg cfg;
    bm_df_facts facts;
    bm_column entries;
    uint64_t *starts; /* n_starts + 1 indexes into `entries` */
    size_t n_starts, per_start;
    unsigned shift; /* key >> shift is the index of the key's start */
};

/* The key of a shingle hash: its 64 bits, mixed. Given hashes may be spread unevenly. */
static uint64_t df_key(uint64_t hash)
{
    return bm_fmix64(hash);
}

static uint64_t key_of(const entry *e)
{
    uint64_t key;
    memcpy(&key, e->key, sizeof key);
    return key;
}

static const entry *entries_of(const bm_df_table *table)
{
    return table->entries.data;
}

static bool is_filed(const bm_df_table *table)
{
    return table->per_start == PER_FILED;
}

static bm_status df_table_open(const bm_df_cfg *cfg, bm_df_table **out, bm_error *err)
{
    bm_df_table *table = NULL;
    BM_TRY(bm_new_zero(&table, 1, err));
    table->cfg = *cfg;
    table->per_start = PER_START;
    *out = table;
    return BM_OK;
}

void bm_df_table_close(bm_df_table *table)
{
    if (table == NULL)
        return;
    bm_column_reset(&table->entries);
    bm_free_all(table->starts, table);
}

const bm_df_facts *bm_df_table_facts(const bm_df_table *table)
{
    return &table->facts;
}

uint64_t bm_df_table_bytes(const bm_df_table *table)
{
    const uint64_t entries = is_filed(table) ? 0 : table->facts.n_listed * sizeof(entry);
    return sizeof *table + entries + (table->n_starts + 1) * sizeof *table->starts;
}

/* --- adding --- */

/* Move the list to a file, because it takes too much memory. Later entries are added there.
 * BM_ERR_NOMEM: no files may be used. */
static bm_status move_to_file(bm_df_table *table, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed;
    bm_column filed = {0};
    if (table->cfg.temp_dir == NULL)
        return bm_fail(err, BM_ERR_NOMEM,
                       "the document frequencies of more than %zu shingles are more than `memory` "
                       "allows",
                       n);
    BM_TRY(bm_column_open_file(&filed, (n + CHUNK) * sizeof(entry), table->cfg.temp_dir, err));
    for (size_t i = 0; i < n; i += CHUNK) { /* n is a multiple of CHUNK */
        memcpy((entry *)filed.data + i, entries_of(table) + i, CHUNK * sizeof(entry));
        bm_column_leave(&filed);
    }
    bm_column_reset(&table->entries);
    table->entries = filed;
    table->per_start = PER_FILED;
    return BM_OK;
}

/* Make room for CHUNK more entries. If the list would exceed table_memory, it is moved to a
 * file. */
static bm_status make_room(bm_df_table *table, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed + CHUNK;
    const uint64_t each = sizeof(entry) + 2 * sizeof *table->starts / PER_START;
    if (!is_filed(table) && table->cfg.table_memory != 0 && n * each > table->cfg.table_memory)
        return move_to_file(table, err);
    bm_column_leave(&table->entries);
    return bm_column_grow(&table->entries, n * sizeof(entry), NULL, err);
}

/* Add a shingle. If `df` is 1, the shingle is only counted. Otherwise it is listed, and listed
 * shingles must be added in ascending order of keys. */
static bm_status df_table_add(bm_df_table *table, uint64_t key, uint32_t df, bm_error *err)
{
    bm_df_facts *facts = &table->facts;
    const uint64_t sum = bm_fmix64(key ^ df * STEP_OF_COUNT);
    facts->n_shingles++;
    facts->digest.lo += sum;
    facts->digest.hi += bm_fmix64(sum + key);
    if (df < 2)
        return BM_OK;
    if (facts->n_listed % CHUNK == 0)
        BM_TRY(make_room(table, err));
    entry *to = (entry *)table->entries.data + facts->n_listed++;
    memcpy(to->key, &key, sizeof key);
    to->df = df;
    return BM_OK;
}

/* For each value of the leading bits, find the first entry whose key has this value. */
static bm_status make_starts(bm_df_table *table, bm_error *err)
{
    const size_t n = (size_t)table->facts.n_listed;
    unsigned bits = 1;
    while (bits < 40 && (n >> bits) >= table->per_start)
        bits++;
    table->n_starts = (size_t)1 << bits;
    table->shift = 64 - bits;
    BM_TRY(bm_new(&table->starts, table->n_starts + 1, err));
    size_t i = 0;
    for (size_t s = 0; s <= table->n_starts; s++) {
        for (; i < n && key_of(&entries_of(table)[i]) >> table->shift < s; i++)
            if (i % CHUNK == 0)
                bm_column_leave(&table->entries);
        table->starts[s] = i;
    }
    bm_column_leave(&table->entries);
    return BM_OK;
}

/* End adding. `n_docs`: number of counted documents. `run_bytes`: bytes of sorted runs in temporary
 * files. */
static bm_status df_table_end(bm_df_table *table, uint64_t n_docs, uint64_t run_bytes,
                              bm_error *err)
{
    bm_df_facts *facts = &table->facts;
    const size_t bytes = (size_t)facts->n_listed * sizeof(entry);
    facts->n_docs = n_docs;
    facts->digest.lo = bm_fmix64(facts->digest.lo + n_docs * STEP_OF_COUNT);
    facts->digest.hi = bm_fmix64(facts->digest.hi + facts->digest.lo + facts->n_shingles);
    facts->file_bytes = run_bytes + (is_filed(table) ? bytes : 0);
    bm_column_trim(&table->entries, bytes);
    return make_starts(table, err);
}

/* --- looking up --- */

/* Find `key` among n entries, and return its frequency; 1 if it is not listed. */
static uint32_t find(const entry *e, size_t n, uint64_t key)
{
    while (n > PER_START) { /* the list is in a file, or keys were crafted to be close together */
        const size_t middle = n / 2;
        const bool below = key_of(&e[middle]) < key;
        e += below ? middle + 1 : 0;
        n = below ? n - middle - 1 : middle + 1;
    }
    for (; n > 0; e++, n--)
        if (key_of(e) >= key)
            return key_of(e) == key ? e->df : 1;
    return 1;
}

static uint32_t look_up_one(const bm_df_table *table, uint64_t key)
{
    const uint64_t *start = &table->starts[key >> table->shift];
    return find(entries_of(table) + start[0], (size_t)(start[1] - start[0]), key);
}

/* Look up at most AHEAD hashes. Each look-up waits for memory twice. The look-ups are interleaved,
 * so that they wait at the same time. */
static void look_up_some(const bm_df_table *table, const uint64_t *hashes, size_t n, uint32_t *df)
{
    uint64_t keys[AHEAD];
    for (size_t i = 0; i < n; i++) {
        keys[i] = df_key(hashes[i]);
        __builtin_prefetch(&table->starts[keys[i] >> table->shift]);
    }
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(entries_of(table) + table->starts[keys[i] >> table->shift]);
    for (size_t i = 0; i < n; i++)
        df[i] = look_up_one(table, keys[i]);
}

typedef struct wanted {
    uint64_t key;
    size_t at;
} wanted;

static int by_key(const void *x, const void *y)
{
    const wanted *a = x, *b = y;
    return (a->key > b->key) - (a->key < b->key);
}

/* Entries begin … begin+n-1 of a list in a file, which were read from there. */
typedef struct window {
    size_t begin, n;
    entry entries[2 * PER_FILED];
} window;

static bm_status read_entries(const bm_df_table *table, entry *to, size_t begin, size_t n,
                              bm_error *err)
{
    return bm_column_read_file(&table->entries, to, n * sizeof *to, begin * sizeof *to, err);
}

/* Set the window to the entries that contain `key` if it is listed. If the window already has these
 * entries, nothing is read. */
static bm_status read_window(const bm_df_table *table, uint64_t key, window *w, bm_error *err)
{
    const uint64_t *start = &table->starts[key >> table->shift];
    size_t begin = (size_t)start[0], n = (size_t)start[1] - begin;
    while (n > sizeof w->entries / sizeof *w->entries) { /* keys crafted to be close together */
        entry middle;
        BM_TRY(read_entries(table, &middle, begin + n / 2, 1, err));
        const bool below = key_of(&middle) < key;
        begin += below ? n / 2 + 1 : 0;
        n = below ? n - n / 2 - 1 : n / 2 + 1;
    }
    if (begin == w->begin && n == w->n)
        return BM_OK;
    BM_TRY(read_entries(table, w->entries, begin, n, err));
    w->begin = begin;
    w->n = n;
    return BM_OK;
}

static bm_status look_up_in_file(const bm_df_table *table, const uint64_t *hashes, size_t n,
                                 uint32_t *df, bm_error *err)
{
    bm_status status = BM_OK;
    window w = {.n = 0};
    wanted *list = NULL;
    BM_TRY(bm_new(&list, n, err));
    for (size_t i = 0; i < n; i++)
        list[i] = (wanted){df_key(hashes[i]), i};
    if (n > 1)
        qsort(list, n, sizeof *list, by_key);
    for (size_t i = 0; i < n; i++) {
        BM_TRY_OUT(read_window(table, list[i].key, &w, err));
        df[list[i].at] = find(w.entries, w.n, list[i].key);
    }
out:
    bm_free(list);
    return status;
}

/* For n hashes, set df[i] to the number of documents that have hashes[i], which is 1 for a hash
 * that is not listed. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_FORMAT. */
static bm_status df_table_look_up(const bm_df_table *table, const uint64_t *hashes, size_t n,
                                  uint32_t *df, bm_error *err)
{
    if (table->facts.n_listed == 0) { /* the column does not exist */
        for (size_t i = 0; i < n; i++)
            df[i] = 1;
        return BM_OK;
    }
    if (is_filed(table))
        return look_up_in_file(table, hashes, n, df, err);
    for (size_t i = 0; i < n; i += AHEAD)
        look_up_some(table, hashes + i, n - i < AHEAD ? n - i : AHEAD, df + i);
    return BM_OK;
}

/* === df count ===
 *
 * Counts shingles in 64 hash tables, the parts. Each part has a lock. A full part is moved to
 * sorted runs.
 *
 *     hash -> key (mixed) -> part by the leading 6 bits of the key -> slot by lower bits
 *
 *     part is full -> its keys and counts are added to the runs, and the part is emptied
 *     end          -> all keys in ascending order, counts of equal keys added up -> df_table
 *
 * For each batch, a thread first sorts the keys by part, so it locks each part only once. If a part
 * must grow, it doubles; if its share of the memory does not allow this, the part is full. The
 * parts may use three quarters of the memory, and the runs one quarter. A slot of 12 bytes stores
 * key and count directly, so a key takes 16 to 32 bytes. With base/hash_table.h it would take 22 to
 * 40, and `sign --weights tfidf` would use 1.17 times the CPU time.
 *
 * If no part was ever full, only keys that were counted at least twice are added to the runs. Keys
 * that were counted once are not listed in the table: only their digest is needed, and it does not
 * depend on order. */

#define PART_BITS   6u
#define PARTS       (1u << PART_BITS)
#define COUNT_AHEAD 8u /* keys between prefetching a slot and using it */
#define SLOTS_LEAST ((size_t)256)
#define SLOT_BYTES  (sizeof(uint64_t) + sizeof(uint32_t))

typedef struct part {
    pthread_mutex_t lock;
    uint64_t *keys;
    uint32_t *counts; /* 0: the slot is free */
    size_t n, n_slots;
    /* Protection against crafted keys, as in base/hash_table.h. */
    uint64_t seed;
    int64_t patience;
    uint64_t n_steps;
} part;

struct bm_df_count {
    bm_df_cfg cfg;
    part parts[PARTS];
    uint64_t part_bytes; /* most bytes of a part; 0: no limit */
    pthread_mutex_t runs_lock;
    bm_sorted_runs *runs;
    bool spilled; /* some part was full, and was moved to the runs */
    atomic_ullong n_docs;
};

bm_status bm_df_count_open(const bm_df_cfg *cfg, bm_df_count **out, bm_error *err)
{
    bm_df_count *count = NULL;
    BM_TRY(bm_new_zero(&count, 1, err));
    count->cfg = *cfg;
    count->part_bytes = cfg->memory / 4 * 3 / PARTS;
    for (size_t i = 0; i < PARTS; i++)
        pthread_mutex_init(&count->parts[i].lock, NULL);
    pthread_mutex_init(&count->runs_lock, NULL);
    bm_status status = bm_sorted_runs_open(cfg->memory == 0 ? NULL : cfg->temp_dir,
                                           cfg->memory == 0 ? SIZE_MAX : (size_t)(cfg->memory / 4),
                                           &count->runs, err);
    if (status == BM_OK)
        *out = count;
    else
        bm_df_count_close(count);
    return status;
}

static void free_part(part *p)
{
    bm_free_all(p->keys, p->counts);
    p->keys = NULL;
    p->counts = NULL;
    p->n = p->n_slots = 0;
}

void bm_df_count_close(bm_df_count *count)
{
    if (count == NULL)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        free_part(&count->parts[i]);
        pthread_mutex_destroy(&count->parts[i].lock);
    }
    pthread_mutex_destroy(&count->runs_lock);
    bm_sorted_runs_close(count->runs);
    bm_free(count);
}

/* --- a part --- */

/* The slot where the search for `key` begins. */
static size_t first_slot(const part *p, uint64_t key)
{
    const uint64_t hash =
        p->seed == 0 ? key << PART_BITS >> 20 : bm_hash_seeded(key, 0, p->seed) >> 20;
    return (size_t)hash & (p->n_slots - 1);
}

/* The slot of `key`, or the free slot where it belongs. */
static size_t slot_of(const part *p, uint64_t key)
{
    size_t mask = p->n_slots - 1, i = first_slot(p, key);
    while (p->counts[i] != 0 && p->keys[i] != key)
        i = (i + 1) & mask;
    return i;
}

static bm_status resize(part *p, size_t n_slots, bm_error *err)
{
    part bigger = {
        .n_slots = n_slots, .n = p->n, .seed = p->patience < 0 ? bm_hash_draw_seed() : p->seed};
    bigger.keys = bm_alloc(n_slots, sizeof *bigger.keys);
    bigger.counts = bm_alloc_zero(n_slots, sizeof *bigger.counts);
    if (bigger.keys == NULL || bigger.counts == NULL) {
        free_part(&bigger);
        return bm_fail_nomem(err, n_slots * SLOT_BYTES);
    }
    for (size_t i = 0; i < p->n_slots; i++) {
        if (p->counts[i] == 0)
            continue;
        const size_t at = slot_of(&bigger, p->keys[i]);
        bigger.keys[at] = p->keys[i];
        bigger.counts[at] = p->counts[i];
    }
    bm_free_all(p->keys, p->counts);
    p->keys = bigger.keys;
    p->counts = bigger.counts;
    p->n_slots = n_slots;
    p->seed = bigger.seed;
    p->patience = BM_HASH_PATIENCE;
    return BM_OK;
}

/* Move the keys and counts of the part to the runs. */
static bm_status spill(bm_df_count *count, part *p, bm_error *err)
{
    bm_status status = BM_OK;
    pthread_mutex_lock(&count->runs_lock);
    count->spilled = true;
    for (size_t i = 0; status == BM_OK && i < p->n_slots; i++) {
        if (p->counts[i] != 0)
            status = bm_sorted_runs_add(count->runs, p->keys[i], p->counts[i], err);
        p->counts[i] = 0;
    }
    pthread_mutex_unlock(&count->runs_lock);
    p->n = 0;
    return status;
}

/* Make room for one more key, and for at least one free slot besides. If the part may not grow, its
 * keys and counts are moved to the runs. */
static bm_status reserve_slot(bm_df_count *count, part *p, bm_error *err)
{
    if (p->n_slots == 0)
        return resize(p, SLOTS_LEAST, err);
    if (p->patience < 0)
        return resize(p, p->n_slots, err);
    if ((p->n + 1) * 4 <= p->n_slots * 3)
        return BM_OK;
    /* While the part is doubled, its old and new table together have 3 * n_slots slots. */
    if (count->part_bytes == 0 || 3 * p->n_slots * SLOT_BYTES <= count->part_bytes)
        return resize(p, 2 * p->n_slots, err);
    return spill(count, p, err);
}

static bm_status add_keys(bm_df_count *count, part *p, const uint64_t *keys, size_t n,
                          bm_error *err)
{
    bm_status status = BM_OK;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < n; i++) {
        BM_TRY_OUT(reserve_slot(count, p, err));
        if (i + COUNT_AHEAD < n) {
            const size_t later = first_slot(p, keys[i + COUNT_AHEAD]);
            __builtin_prefetch(&p->keys[later], 1);
            __builtin_prefetch(&p->counts[later], 1);
        }
        const size_t at = slot_of(p, keys[i]);
        if (p->counts[at] == 0) {
            const size_t steps = (at - first_slot(p, keys[i])) & (p->n_slots - 1);
            p->n++;
            p->n_steps += steps;
            bm_hash_spend(&p->patience, steps);
        }
        p->keys[at] = keys[i];
        p->counts[at]++;
    }
out:
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* --- adding --- */

bm_status bm_df_count_add(bm_df_count *count, const bm_shingle_batch *batch, bm_error *err)
{
    const size_t n = bm_shingle_batch_hashes(batch);
    size_t ends[PARTS + 1] = {0};
    bm_status status = BM_OK;
    atomic_fetch_add(&count->n_docs, batch->n_docs);
    if (n == 0)
        return BM_OK;
    uint64_t *keys = NULL;
    BM_TRY(bm_new(&keys, n, err));
    for (size_t i = 0; i < n; i++)
        ends[(df_key(batch->hashes[i]) >> (64 - PART_BITS)) + 1]++;
    for (size_t p = 0; p < PARTS; p++)
        ends[p + 1] += ends[p];
    /* this advances ends[p] from the beginning of part p to its end */
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = df_key(batch->hashes[i]);
        keys[ends[key >> (64 - PART_BITS)]++] = key;
    }
    for (size_t p = 0, begin = 0; p < PARTS; begin = ends[p++]) {
        if (ends[p] > begin)
            BM_TRY_OUT(add_keys(count, &count->parts[p], keys + begin, ends[p] - begin, err));
    }
out:
    bm_free(keys);
    return status;
}

/* --- the end --- */

/* Move the contents of all parts to the runs, and free the parts. If no part was ever full, keys
 * that were counted once are added to the table directly. */
static bm_status empty_parts(bm_df_count *count, bm_df_table *table, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t p = 0; status == BM_OK && p < PARTS; p++) {
        part *from = &count->parts[p];
        for (size_t i = 0; status == BM_OK && i < from->n_slots; i++) {
            if (from->counts[i] == 0)
                continue;
            if (from->counts[i] == 1 && !count->spilled)
                status = df_table_add(table, from->keys[i], 1, err);
            else
                status = bm_sorted_runs_add(count->runs, from->keys[i], from->counts[i], err);
        }
        free_part(from);
    }
    bm_memory_trim();
    return status;
}

/* Read all runs, and add each key to the table with the sum of its counts. */
static bm_status merge(bm_df_count *count, bm_df_table *table, bm_error *err)
{
    bm_run_record record = {0};
    uint64_t key = 0, df = 0;
    bm_status status = bm_sorted_runs_begin(count->runs, err);
    while (status == BM_OK && (status = bm_sorted_runs_next(count->runs, &record, err)) == BM_OK) {
        if (df > 0 && record.key != key) {
            status = df_table_add(table, key, (uint32_t)df, err);
            df = 0;
        }
        key = record.key;
        df += record.value;
    }
    if (status != BM_NOT_FOUND)
        return status;
    return df > 0 ? df_table_add(table, key, (uint32_t)df, err) : BM_OK;
}

bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err)
{
    const uint64_t n_docs = atomic_load(&count->n_docs);
    bm_df_table *table = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(df_table_open(&count->cfg, &table, err));
    if (n_docs > BM_DOCS_MAX)
        BM_TRY_OUT(
            bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run", (unsigned)BM_DOCS_MAX));
    BM_TRY_OUT(empty_parts(count, table, err));
    BM_TRY_OUT(merge(count, table, err));
    status = df_table_end(table, n_docs, bm_sorted_runs_spilled(count->runs), err);
out:
    bm_sorted_runs_close(count->runs);
    count->runs = NULL;
    if (status == BM_OK)
        *out = table;
    else
        bm_df_table_close(table);
    return status;
}

/* === weigh ===
 *
 * The frequencies of a whole batch are looked up at once. Then the elements of each document are
 * sorted by their hashes, and written back to the batch. Elements of weight 0 are dropped.
 *
 * Hashes are usually spread evenly. So each of the n elements of a document is put into one of n
 * buckets, by the upper half of its hash. Then an insertion sort moves each element past a few
 * neighbours at most. If the hashes are spread unevenly, qsort sorts them instead. */

#define KNOWN_IDF 64u /* most frequencies are below this; their logarithms are computed once */

typedef struct element {
    uint64_t hash;
    double weight;
} element;

typedef struct weighing {
    uint32_t *df;               /* frequency of each hash of the batch */
    element *elements, *placed; /* memory for the elements of the longest document */
    uint32_t *ends;             /* ends of the buckets of a document: n + 1 numbers */
    double n_docs;
    double idf[KNOWN_IDF]; /* idf[df] is the logarithm for frequency df; idf[0] is not used */
} weighing;

static int by_hash(const void *x, const void *y)
{
    const element *a = x, *b = y;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

#define CROWDED 16u /* insertion sort is used only if no bucket has more elements */

static size_t place_of(uint64_t hash, size_t n)
{
    return (size_t)((hash >> 32) * n >> 32);
}

/* Put the n elements into `placed`, ordered by bucket. If a bucket has more than CROWDED elements,
 * returns false, and `placed` is not filled. */
static bool put_into_places(weighing *w, size_t n)
{
    uint32_t most = 0, end = 0;
    memset(w->ends, 0, (n + 1) * sizeof *w->ends);
    for (size_t i = 0; i < n; i++)
        w->ends[place_of(w->elements[i].hash, n) + 1]++;
    for (size_t i = 0; i < n; i++) {
        most = w->ends[i + 1] > most ? w->ends[i + 1] : most;
        w->ends[i + 1] = end += w->ends[i + 1];
    }
    if (most > CROWDED)
        return false;
    for (size_t i = 0; i < n; i++)
        w->placed[w->ends[place_of(w->elements[i].hash, n)]++] = w->elements[i];
    return true;
}

/* Sort the elements by their hashes, which are distinct. Returns the sorted array: `placed` or
 * `elements`. */
static const element *sort_elements(weighing *w, size_t n)
{
    if (n >> 32 != 0 || !put_into_places(w, n)) {
        qsort(w->elements, n, sizeof *w->elements, by_hash);
        return w->elements;
    }
    for (size_t i = 1; i < n; i++) {
        const element e = w->placed[i];
        size_t to = i;
        for (; to > 0 && w->placed[to - 1].hash > e.hash; to--)
            w->placed[to] = w->placed[to - 1];
        w->placed[to] = e;
    }
    return w->placed;
}

static double idf_of(const weighing *w, uint32_t df)
{
    return df < KNOWN_IDF ? w->idf[df] : bm_portable_log(w->n_docs / (double)df);
}

static size_t longest(const bm_shingle_batch *batch)
{
    size_t most = 0;
    for (size_t i = 0; i < batch->n_docs; i++) {
        const size_t n = (size_t)(batch->offsets[i + 1] - batch->offsets[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* Write the weighted elements of document i to the batch, from index `to` on. `begin`: index of the
 * document's first element before the call; `to` is at most `begin`. Returns the number of elements
 * written. */
static size_t weigh_document(weighing *w, bm_shingle_batch *batch, size_t i, uint64_t begin,
                             size_t to)
{
    size_t n = 0;
    for (uint64_t at = begin; at < batch->offsets[i + 1]; at++) {
        const double weight = (double)batch->counts[at] * idf_of(w, w->df[at]);
        if (weight > 0)
            w->elements[n++] = (element){batch->hashes[at], weight};
    }
    const element *sorted = n > 1 ? sort_elements(w, n) : w->elements;
    for (size_t k = 0; k < n; k++) {
        batch->hashes[to + k] = sorted[k].hash;
        batch->weights[to + k] = sorted[k].weight;
    }
    return n;
}

static void weigh_all(weighing *w, bm_shingle_batch *batch)
{
    uint64_t begin = batch->offsets[0];
    size_t to = 0;
    for (uint32_t df = 1; df < KNOWN_IDF; df++)
        w->idf[df] = bm_portable_log(w->n_docs / (double)df);
    for (size_t i = 0; i < batch->n_docs; i++) {
        const uint64_t end = batch->offsets[i + 1];
        const size_t n = weigh_document(w, batch, i, begin, to);
        batch->n_weightless += n == 0 && end > begin;
        begin = end;
        to += n;
        batch->offsets[i + 1] = to;
    }
}

bm_status bm_weigh_batch(const bm_df_table *table, bm_shingle_batch *batch, bm_error *err)
{
    const size_t n = bm_shingle_batch_hashes(batch), most = longest(batch);
    weighing w = {.n_docs = (double)bm_df_table_facts(table)->n_docs};
    if (batch->n_docs == 0)
        return BM_OK;
    BM_TRY(bm_grow_array(&batch->weights, &batch->cap_weights, n + 1, err));
    w.df = bm_alloc(n, sizeof *w.df);
    w.elements = bm_alloc(most, sizeof *w.elements);
    w.placed = bm_alloc(most, sizeof *w.placed);
    w.ends = bm_alloc(most + 1, sizeof *w.ends);
    bm_status status = BM_OK;
    if (w.df == NULL || w.elements == NULL || w.placed == NULL || w.ends == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * sizeof *w.df + most * 2 * sizeof *w.elements));
    BM_TRY_OUT(df_table_look_up(table, batch->hashes, n, w.df, err));
    weigh_all(&w, batch);
out:
    bm_free_all(w.df, w.elements, w.placed, w.ends);
    return status;
}
