/* SPDX-License-Identifier: Apache-2.0 */
/* test_df_count.c -- document frequencies against a count by sorting, with counts and table each in
 * memory or in files: source src/sign/df_table.c. */
#include "sign/df_table.c"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/colliding.h"
#include "tests/world/scratch.h"
#include "tests/world/sized.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

/* The number of steps that insertions took past slots of other keys. Call it while no thread
 * adds. */
static uint64_t df_count_steps(const bm_df_count *count)
{
    uint64_t n = 0;
    for (size_t p = 0; p < PARTS; p++)
        n += count->parts[p].n_steps;
    return n;
}

#define DOCS     6000u
#define PER_DOC  40u
#define BATCHES  60u
#define PER_TURN (DOCS / BATCHES)
#define THREADS  3u

/* Documents of distinct hashes. Most hashes are small numbers, which several documents share. */
typedef struct corpus {
    bm_shingle_batch batches[BATCHES];
    uint64_t *hashes; /* those of all documents, ascending */
    size_t n;
} corpus;

static void add_document(bm_shingle_batch *batch, uint64_t *state)
{
    const size_t n = world_random(state) % PER_DOC; /* sometimes 0 */
    cr_assert_eq(bm_shingle_batch_reserve(batch, 1, n, NULL), BM_OK);
    uint64_t *to = n > 0 ? batch->hashes + bm_shingle_batch_hashes(batch) : NULL;
    size_t made = 0;
    while (made < n) {
        uint64_t bits = 4 + world_random(state) % 28, hash = world_random(state) >> (64 - bits);
        size_t i = 0;
        for (; i < made && to[i] != hash; i++)
            ;
        if (i == made)
            to[made++] = hash;
    }
    batch->offsets[batch->n_docs + 1] = batch->offsets[batch->n_docs] + n;
    batch->n_docs++;
}

static void make_corpus(corpus *c, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t d = 0; d < PER_TURN; d++)
            add_document(&c->batches[b], &seed);
    for (size_t b = 0; b < BATCHES; b++)
        c->n += bm_shingle_batch_hashes(&c->batches[b]);
    c->hashes = malloc(c->n * sizeof *c->hashes);
    c->n = 0;
    for (size_t b = 0; b < BATCHES; b++) {
        const size_t n = bm_shingle_batch_hashes(&c->batches[b]);
        memcpy(c->hashes + c->n, c->batches[b].hashes, n * sizeof *c->hashes);
        c->n += n;
    }
    qsort(c->hashes, c->n, sizeof *c->hashes, world_ascending);
}

static void free_corpus(corpus *c)
{
    for (size_t b = 0; b < BATCHES; b++)
        bm_shingle_batch_reset(&c->batches[b]);
    free(c->hashes);
}

typedef struct turn {
    bm_df_count *count;
    const corpus *c;
    size_t first, step;
} turn;

static void *add_batches(void *ctx)
{
    const turn *t = ctx;
    for (size_t b = t->first; b < BATCHES; b += t->step)
        cr_assert_eq(bm_df_count_add(t->count, &t->c->batches[b], NULL), BM_OK);
    return NULL;
}

static bm_df_table *count_all(const corpus *c, const bm_df_cfg *cfg, size_t n_threads)
{
    bm_df_table *table = NULL;
    pthread_t threads[THREADS];
    turn turns[THREADS];
    bm_df_count *count = world_open(bm_df_count, cfg);
    for (size_t i = 0; i < n_threads; i++) {
        turns[i] = (turn){count, c, i, n_threads};
        cr_assert_eq(pthread_create(&threads[i], NULL, add_batches, &turns[i]), 0);
    }
    for (size_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    bm_df_count_close(count);
    return table;
}

/* The table's frequency of each hash is its number of occurrences in the sorted list. */
static void check_table(const corpus *c, const bm_df_table *table)
{
    uint32_t *df = malloc(c->n * sizeof *df);
    const bm_df_facts *facts = bm_df_table_facts(table);
    uint64_t n_listed = 0, n_distinct = 0;
    cr_assert_eq(df_table_look_up(table, c->hashes, c->n, df, NULL), BM_OK);
    for (size_t i = 0; i < c->n;) {
        size_t end = i;
        while (end < c->n && c->hashes[end] == c->hashes[i])
            end++;
        for (size_t j = i; j < end; j++)
            if (df[j] != end - i)
                cr_assert_fail("hash %zu: %u instead of %zu", i, df[j], end - i);
        n_distinct++;
        n_listed += end - i > 1;
        i = end;
    }
    cr_assert_eq(facts->n_docs, DOCS);
    cr_assert_eq(facts->n_shingles, n_distinct);
    cr_assert_eq(facts->n_listed, n_listed);
    free(df);
}

Test(df_count, are_those_of_a_sorted_list_whatever_the_memory_and_the_threads)
{
    SCRATCH s = scratch_open();
    corpus c;
    make_corpus(&c, 1);
    bm_hash128 digest = {0};
    const bm_df_cfg cfgs[] = {{0},                                     /* all in memory */
                              {.memory = 1 << 20, .temp_dir = s.root}, /* counting in runs */
                              {.table_memory = 1, .temp_dir = s.root}, /* the list in a file */
                              {1 << 17, 1, s.root}};                   /* both */
    for (size_t i = 0; i < sizeof cfgs / sizeof cfgs[0]; i++)
        for (size_t n_threads = 1; n_threads <= THREADS; n_threads += THREADS - 1) {
            bm_df_table *table = count_all(&c, &cfgs[i], n_threads);
            const bm_df_facts *facts = bm_df_table_facts(table);
            check_table(&c, table);
            cr_assert_eq(facts->file_bytes > 0, i > 0, "%zu", i);
            if (digest.lo == 0)
                digest = facts->digest;
            cr_assert_eq(facts->digest.lo, digest.lo, "%zu", i);
            cr_assert_eq(facts->digest.hi, digest.hi, "%zu", i);
            bm_df_table_close(table);
        }
    free_corpus(&c);
}

Test(df_count, of_other_documents_have_another_digest)
{
    bm_hash128 seen[3];
    for (uint64_t i = 0; i < 3; i++) {
        corpus c;
        make_corpus(&c, i == 2 ? 1 : i + 1);
        if (i == 2) /* the same, except for one hash that no other document has */
            c.batches[7].hashes[3] ^= UINT64_C(1) << 63;
        bm_df_table *table = count_all(&c, &(bm_df_cfg){0}, 1);
        seen[i] = bm_df_table_facts(table)->digest;
        for (uint64_t j = 0; j < i; j++)
            cr_assert(seen[j].lo != seen[i].lo && seen[j].hi != seen[i].hi);
        bm_df_table_close(table);
        free_corpus(&c);
    }
}

Test(df_count, without_files_too_little_memory_is_said)
{
    corpus c;
    make_corpus(&c, 5);
    bm_df_table *table = NULL;
    bm_error err = {0};
    bm_df_count *count = world_open(bm_df_count, &(bm_df_cfg){.table_memory = 1});
    for (size_t b = 0; b < BATCHES; b++)
        cr_assert_eq(bm_df_count_add(count, &c.batches[b], NULL), BM_OK);
    cr_assert_eq(bm_df_count_end(count, &table, &err), BM_ERR_NOMEM);
    cr_assert(strstr(err.message, "`memory`") != NULL, "%s", err.message);
    cr_assert_eq(table, NULL);
    bm_df_count_close(count);
    free_corpus(&c);
}

Test(df_count, of_no_documents_are_none)
{
    bm_df_table *table = NULL;
    const uint64_t hash = 5;
    uint32_t df = 0;
    bm_df_count *count = world_open(bm_df_count, &(bm_df_cfg){0});
    cr_assert_eq(bm_df_count_add(count, &(bm_shingle_batch){0}, NULL), BM_OK);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    cr_assert_eq(bm_df_table_facts(table)->n_docs, 0);
    cr_assert_eq(df_table_look_up(table, &hash, 1, &df, NULL), BM_OK);
    cr_assert_eq(df, 1);
    bm_df_table_close(table);
    bm_df_count_close(count);
}

/* The hash that has this key: fmix64 inverted. */
static uint64_t hash_of_key(uint64_t key)
{
    key ^= key >> 33;
    key *= colliding_inverse(UINT64_C(0xC4CEB9FE1A85EC53));
    key ^= key >> 33;
    key *= colliding_inverse(UINT64_C(0xFF51AFD7ED558CCD));
    return key ^ key >> 33;
}

/* Counts keys that differ only in their lowest 14 bits and in their highest two: within a part all
 * keys collide, and in the list they are between few of its start entries. */
static void check_crowded(const bm_df_cfg *cfg, size_t n)
{
    bm_df_table *table = NULL;
    bm_shingle_batch batch = {0};
    uint32_t *df = malloc(n * sizeof *df);
    cr_assert_eq(bm_shingle_batch_reserve(&batch, 1, n, NULL), BM_OK);
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = (uint64_t)(i & 3) << 62 | i >> 2;
        batch.hashes[i] = hash_of_key(key);
        cr_assert_eq(df_key(batch.hashes[i]), key);
    }
    batch.offsets[1] = n;
    batch.n_docs = 1;
    bm_df_count *count = world_open(bm_df_count, cfg);
    for (int round = 0; round < 2; round++)
        cr_assert_eq(bm_df_count_add(count, &batch, NULL), BM_OK);
    const uint64_t steps = df_count_steps(count);
    cr_expect_leq(steps, 24 * n, "%zu steps for %zu hashes", (size_t)steps, n);
    cr_assert_eq(bm_df_count_end(count, &table, NULL), BM_OK);
    cr_expect_eq(bm_df_table_facts(table)->n_listed, n);
    cr_expect_eq(bm_df_table_facts(table)->file_bytes > 0, cfg->table_memory > 0);
    for (size_t i = 0; i < n; i += n / 4) /* and a few that are in no document */
        batch.hashes[i] = hash_of_key(i << 8 | UINT64_C(1) << 60);
    cr_assert_eq(df_table_look_up(table, batch.hashes, n, df, NULL), BM_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(df[i], i % (n / 4) == 0 ? 1 : 2, "%zu", i);
    bm_df_table_close(table);
    bm_df_count_close(count);
    bm_shingle_batch_reset(&batch);
    free(df);
}

Test(df_count, hashes_that_meet_in_one_place_take_no_more_than_a_factor)
{
    SCRATCH s = scratch_open();
    for (size_t n = 4000; n <= sized(64000, 8000); n *= 2) {
        check_crowded(&(bm_df_cfg){0}, n);
        check_crowded(&(bm_df_cfg){.table_memory = 1, .temp_dir = s.root}, n);
    }
}
