/* df_count.c -- 64 hash tables, each with a lock, and sorted runs behind them.
 *
 *     hash -> key (mixed) -> table by its leading 6 bits -> slot by the bits below
 *
 *     table is full -> its keys and counts so far go to the runs, and it is empty again
 *     end           -> all in ascending order of the key, counts of equal keys added up -> df_table
 *
 * A thread sorts the keys of a batch by table first, so that each lock is taken once a batch. A table
 * doubles as long as its share of the memory lasts. Of four parts of the memory three are for the
 * tables, one for the runs. Keys and counts stand in the slots themselves, 12 bytes, for a count is all
 * that is asked of a key: with base/hash_table.h it would be 22 to 40 bytes a key instead of 16 to 32.
 *
 * Where no table was ever full, only keys that were counted twice go through the runs, for the others
 * are not listed; of these the sums of the digest are taken on the way.
 *
 * Tests: tests/unit/corpus/test_df_count.c */
#include "corpus/df_count.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "spill/sorted_runs.h"

#define PART_BITS   6u
#define PARTS       (1u << PART_BITS)
#define AHEAD       8u /* keys between fetching a slot and using it */
#define SLOTS_LEAST ((size_t)256)
#define SLOT_BYTES  (sizeof(uint64_t) + sizeof(uint32_t))

typedef struct part {
    pthread_mutex_t lock;
    uint64_t *keys;
    uint32_t *counts; /* 0: the slot is free */
    size_t n, n_slots;
    uint64_t seed; /* these three as in base/hash_table.h, whose defence this is */
    int64_t patience;
    uint64_t n_steps;
} part;

struct bm_df_count {
    bm_df_cfg cfg;
    part parts[PARTS];
    uint64_t part_bytes; /* of a part at most; 0: no bound */
    pthread_mutex_t runs_lock;
    bm_sorted_runs *runs;
    bool spilled; /* parts were full */
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
    bm_free(p->keys);
    bm_free(p->counts);
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

/* Where the key is looked for first. */
static size_t first_slot(const part *p, uint64_t key)
{
    const uint64_t hash =
        p->seed == 0 ? key << PART_BITS >> 20 : bm_hash_seeded(key, 0, p->seed) >> 20;
    return (size_t)hash & (p->n_slots - 1);
}

/* The slot of the key, or the free one where it belongs. */
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
    bm_free(p->keys);
    bm_free(p->counts);
    p->keys = bigger.keys;
    p->counts = bigger.counts;
    p->n_slots = n_slots;
    p->seed = bigger.seed;
    p->patience = BM_HASH_PATIENCE;
    return BM_OK;
}

/* Its keys to the runs; it is empty then. */
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

/* One more key comes: there must be a free slot behind it. */
static bm_status make_room(bm_df_count *count, part *p, bm_error *err)
{
    if (p->n_slots == 0)
        return resize(p, SLOTS_LEAST, err);
    if (p->patience < 0)
        return resize(p, p->n_slots, err);
    if ((p->n + 1) * 4 <= p->n_slots * 3)
        return BM_OK;
    /* Both tables exist while keys move from one to the other. */
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
        BM_TRY_OUT(make_room(count, p, err));
        if (i + AHEAD < n) {
            const size_t later = first_slot(p, keys[i + AHEAD]);
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
        ends[(bm_df_key(batch->hashes[i]) >> (64 - PART_BITS)) + 1]++;
    for (size_t p = 0; p < PARTS; p++)
        ends[p + 1] += ends[p];
    for (size_t i = 0; i < n;
         i++) { /* each begin moves to its end, which is the next one's begin */
        const uint64_t key = bm_df_key(batch->hashes[i]);
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

uint64_t bm_df_count_steps(const bm_df_count *count)
{
    uint64_t n = 0;
    for (size_t p = 0; p < PARTS; p++)
        n += count->parts[p].n_steps;
    return n;
}

/* --- the end --- */

/* What is still in the tables, to the runs. Where nothing went there before, keys that were counted
 * once go to the table's sums at once. */
static bm_status empty_parts(bm_df_count *count, bm_df_table *table, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t p = 0; status == BM_OK && p < PARTS; p++) {
        part *from = &count->parts[p];
        for (size_t i = 0; status == BM_OK && i < from->n_slots; i++) {
            if (from->counts[i] == 0)
                continue;
            if (from->counts[i] == 1 && !count->spilled)
                status = bm_df_table_add(table, from->keys[i], 1, err);
            else
                status = bm_sorted_runs_add(count->runs, from->keys[i], from->counts[i], err);
        }
        free_part(from);
    }
    bm_memory_trim();
    return status;
}

/* All that is in the runs, counts of equal keys added up. */
static bm_status merge(bm_df_count *count, bm_df_table *table, bm_error *err)
{
    bm_run_record record = {0};
    uint64_t key = 0, df = 0;
    bm_status status = bm_sorted_runs_begin(count->runs, err);
    while (status == BM_OK && (status = bm_sorted_runs_next(count->runs, &record, err)) == BM_OK) {
        if (df > 0 && record.key != key) {
            status = bm_df_table_add(table, key, (uint32_t)df, err);
            df = 0;
        }
        key = record.key;
        df += record.value;
    }
    if (status != BM_NOT_FOUND)
        return status;
    return df > 0 ? bm_df_table_add(table, key, (uint32_t)df, err) : BM_OK;
}

bm_status bm_df_count_end(bm_df_count *count, bm_df_table **out, bm_error *err)
{
    const uint64_t n_docs = atomic_load(&count->n_docs);
    bm_df_table *table = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_df_table_open(&count->cfg, &table, err));
    if (n_docs > BM_DOCS_MAX)
        BM_TRY_OUT(
            bm_fail(err, BM_ERR_INPUT, "more than %u documents in one run", (unsigned)BM_DOCS_MAX));
    BM_TRY_OUT(empty_parts(count, table, err));
    BM_TRY_OUT(merge(count, table, err));
    status = bm_df_table_end(table, n_docs, bm_sorted_runs_spilled(count->runs), err);
out:
    bm_sorted_runs_close(count->runs);
    count->runs = NULL;
    if (status == BM_OK)
        *out = table;
    else
        bm_df_table_close(table);
    return status;
}
