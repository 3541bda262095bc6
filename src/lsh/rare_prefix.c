/* rare_prefix.c -- rank shingles by rarity and index the prefixes of documents.
 *
 * Why a prefix is enough. Let x and y share c shingles, c >= s(x) and c >= s(y), and let w be the
 * rarest of the shared (first in the one order that all documents use). c - 1 shared ones follow w
 * in x, so w is among the first |x| - c + 1 <= |x| - s(x) + 1 of x; the same in y.
 * Why s(x) = least_share(|x|) is right in double, not only on paper: similarity is c / u rounded,
 * with u = |x or y| >= |x|. Rounding is monotone, so similarity <= c / |x| rounded; where that is
 * below the threshold, so is the similarity.
 *
 * Steps: a table counts in how many documents each shingle stands (one thread); the documents'
 * prefixes are ordered by (count, slot of the table) on all threads; lists are filled in document
 * order. A shingle that only one document has ranks first, takes its place in the prefix, and is
 * not stored: in real text that is most of them.
 *
 * Memory: 12 bytes a slot of the table (between 1.4 and 2.7 slots a distinct shingle), 8 bytes a
 * slot for the lists, 16 bytes a stored prefix item. Limit: 2^32 slots. */
#include "lsh/rare_prefix.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

#define SLOTS_MIN 1024u
#define SLOTS_MAX ((size_t)1 << 32)
#define GRAIN     64u /* documents a range */
#define AHEAD     8u  /* shingles whose slots are fetched ahead */

typedef struct shingle_table {
    uint64_t *hashes;
    uint32_t *n_docs; /* 0: the slot is empty */
    size_t n_slots, n_used;
} shingle_table;

size_t bm_least_share(size_t n, double threshold)
{
    double estimate = threshold * (double)n;
    size_t share = estimate >= (double)n ? n : (size_t)estimate;
    while (share > 0 && (double)(share - 1) / (double)n >= threshold)
        share--;
    while (share < n && (double)share / (double)n < threshold)
        share++;
    return share;
}

static size_t slot_of(const shingle_table *table, uint64_t hash)
{
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash ^ hash >> 32) & (table->n_slots - 1);
}

/* The slot of `hash`, or the empty one where it belongs. */
static size_t find(const shingle_table *table, uint64_t hash)
{
    size_t at = slot_of(table, hash);
    while (table->n_docs[at] != 0 && table->hashes[at] != hash)
        at = (at + 1) & (table->n_slots - 1);
    return at;
}

static void table_reset(shingle_table *table)
{
    bm_free(table->hashes);
    bm_free(table->n_docs);
    *table = (shingle_table){0};
}

static bm_status table_init(shingle_table *table, size_t n_slots, bm_error *err)
{
    if (n_slots > SLOTS_MAX)
        return bm_fail(err, BM_ERR_UNSUPPORTED,
                       "too many distinct shingles to compare all pairs (at most 3 * 2^30)");
    *table = (shingle_table){.n_slots = n_slots};
    table->hashes = bm_alloc(n_slots, sizeof *table->hashes);
    table->n_docs = bm_alloc_zero(n_slots, sizeof *table->n_docs);
    if (table->hashes != NULL && table->n_docs != NULL)
        return BM_OK;
    table_reset(table);
    return bm_fail_nomem(err, n_slots * 12);
}

static bm_status table_grow(shingle_table *table, bm_error *err)
{
    shingle_table grown;
    bm_status status = table_init(&grown, table->n_slots * 2, err);
    if (status != BM_OK)
        return status;
    for (size_t i = 0; i < table->n_slots; i++) {
        if (table->n_docs[i] == 0)
            continue;
        size_t at = find(&grown, table->hashes[i]);
        grown.hashes[at] = table->hashes[i];
        grown.n_docs[at] = table->n_docs[i];
    }
    grown.n_used = table->n_used;
    table_reset(table);
    *table = grown;
    return BM_OK;
}

static bool left_out(const bm_set_list *sets, size_t doc)
{
    return sets->sizes[doc] == 0 || (sets->skip != NULL && sets->skip[doc] != 0);
}

static bm_status count_shingles(shingle_table *table, const bm_set_list *sets, bm_error *err)
{
    bm_status status = table_init(table, SLOTS_MIN, err);
    for (size_t doc = 0; status == BM_OK && doc < sets->n_docs; doc++) {
        if (left_out(sets, doc))
            continue;
        const uint64_t *set = sets->docs[doc];
        size_t n = sets->sizes[doc];
        for (size_t i = 0; i < n; i++) {
            if (table->n_used * 4 >= table->n_slots * 3) {
                status = table_grow(table, err);
                if (status != BM_OK)
                    break;
            }
            size_t ahead = slot_of(table, set[i + AHEAD < n ? i + AHEAD : n - 1]);
            __builtin_prefetch(&table->n_docs[ahead]);
            __builtin_prefetch(&table->hashes[ahead]);
            size_t at = find(table, set[i]);
            table->hashes[at] = set[i];
            table->n_used += table->n_docs[at]++ == 0;
        }
    }
    return status;
}

typedef struct build {
    const bm_set_list *sets;
    const shingle_table *table;
    double threshold;
    bm_rare_prefix *index;
    bool store; /* second pass: fill the items; first: count them */
} build;

/* The document's shingles as (count << 32 | slot), ascending. */
static void rank(const build *b, size_t doc, uint64_t *ranked, uint64_t *scratch)
{
    const uint64_t *set = b->sets->docs[doc];
    size_t n = b->sets->sizes[doc];
    for (size_t i = 0; i < n; i++) {
        size_t ahead = slot_of(b->table, set[i + AHEAD < n ? i + AHEAD : n - 1]);
        __builtin_prefetch(&b->table->n_docs[ahead]);
        __builtin_prefetch(&b->table->hashes[ahead]);
        size_t at = find(b->table, set[i]);
        ranked[i] = (uint64_t)b->table->n_docs[at] << 32 | at;
    }
    bm_hashes_sort(ranked, n, scratch);
}

static size_t keep_prefix(const build *b, size_t doc, const uint64_t *ranked)
{
    size_t n = b->sets->sizes[doc];
    size_t prefix = n - bm_least_share(n, b->threshold) + 1, stored = 0;
    if (prefix > n)
        prefix = n;
    bm_prefix_item *items =
        b->store ? b->index->items + (doc == 0 ? 0 : b->index->item_ends[doc - 1]) : NULL;
    for (size_t i = 0; i < prefix; i++) {
        if (ranked[i] >> 32 == 1)
            continue;
        if (b->store)
            items[stored] = (bm_prefix_item){.shingle = (uint32_t)ranked[i], .rank = (uint32_t)i};
        stored++;
    }
    return stored;
}

static bm_status rank_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    build *b = ctx;
    size_t longest = 0;
    for (size_t doc = begin; doc < end; doc++)
        longest = b->sets->sizes[doc] > longest ? b->sets->sizes[doc] : longest;
    uint64_t *ranked = bm_alloc(longest, 2 * sizeof *ranked);
    if (ranked == NULL)
        return bm_fail_nomem(err, longest * 2 * sizeof *ranked);
    for (size_t doc = begin; doc < end; doc++) {
        size_t stored = 0;
        if (!left_out(b->sets, doc)) {
            rank(b, doc, ranked, ranked + longest);
            stored = keep_prefix(b, doc, ranked);
        }
        if (!b->store)
            b->index->item_ends[doc] = stored;
    }
    bm_free(ranked);
    return BM_OK;
}

static bm_status run(build *b, bm_pool *pool, bm_error *err)
{
    if (pool == NULL)
        return b->sets->n_docs == 0 ? BM_OK : rank_range(b, 0, 0, b->sets->n_docs, err);
    return bm_pool_for(pool, b->sets->n_docs, GRAIN, rank_range, b, err);
}

static size_t sum_up(size_t *counts, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        counts[i] = sum += counts[i];
    return sum;
}

/* Postings by shingle from items by document; list_begins is zeroed. */
static void invert(bm_rare_prefix *index, size_t n_docs)
{
    size_t n_items = n_docs == 0 ? 0 : index->item_ends[n_docs - 1];
    size_t *begins = index->list_begins;
    for (size_t i = 0; i < n_items; i++)
        begins[index->items[i].shingle + 1]++;
    sum_up(begins + 1, index->n_shingles);
    for (size_t doc = n_docs; doc-- > 0;) { /* backwards: begins + 1 counts down to begins */
        for (size_t i = doc == 0 ? 0 : index->item_ends[doc - 1]; i < index->item_ends[doc]; i++) {
            bm_prefix_item item = index->items[i];
            index->postings[--begins[item.shingle + 1]] =
                (bm_posting){.doc = (uint32_t)doc, .rank = item.rank};
        }
    }
    /* begins[s + 1] is now where list s begins: move it down one place. */
    memmove(begins, begins + 1, index->n_shingles * sizeof *begins);
    begins[index->n_shingles] = n_items;
}

static bm_status fill(build *b, bm_pool *pool, bm_error *err)
{
    bm_rare_prefix *index = b->index;
    size_t n_docs = b->sets->n_docs;
    index->item_ends = bm_alloc_zero(n_docs, sizeof *index->item_ends);
    if (index->item_ends == NULL)
        return bm_fail_nomem(err, n_docs * sizeof *index->item_ends);
    bm_status status = run(b, pool, err);
    if (status != BM_OK)
        return status;
    size_t n_items = sum_up(index->item_ends, n_docs);
    index->n_shingles = b->table->n_slots;
    index->items = bm_alloc(n_items, sizeof *index->items);
    index->postings = bm_alloc(n_items, sizeof *index->postings);
    index->list_begins = bm_alloc_zero(index->n_shingles + 1, sizeof *index->list_begins);
    if (index->items == NULL || index->postings == NULL || index->list_begins == NULL)
        return bm_fail_nomem(err, n_items * 16 + index->n_shingles * sizeof *index->list_begins);
    b->store = true;
    status = run(b, pool, err);
    if (status == BM_OK)
        invert(index, n_docs);
    return status;
}

bm_status bm_rare_prefix_build(bm_rare_prefix *out, const bm_set_list *sets, double threshold,
                               bm_pool *pool, bm_error *err)
{
    *out = (bm_rare_prefix){0};
    shingle_table table;
    bm_status status = count_shingles(&table, sets, err);
    if (status == BM_OK) {
        build b = {.sets = sets, .table = &table, .threshold = threshold, .index = out};
        status = fill(&b, pool, err);
    }
    table_reset(&table);
    if (status != BM_OK)
        bm_rare_prefix_reset(out);
    return status;
}

void bm_rare_prefix_reset(bm_rare_prefix *index)
{
    bm_free(index->item_ends);
    bm_free(index->items);
    bm_free(index->list_begins);
    bm_free(index->postings);
    *index = (bm_rare_prefix){0};
}
