/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_index.c -- makes the prefixes of a block of documents, then lists the documents for each
 * key.
 *
 *     1. prefixes    made in ranges of 16 documents, on all threads, until `memory` is used up
 *     2. entries     (key, position, rank) of the prefixes to index, partitioned by the leading
 *                    bits of the mixed hash. 64 slices of the block are counted and scattered; in
 *                    each part they are in order, so a part has ascending positions whichever
 *                    thread did which slice
 *     3. parts       each grouped by key through a table of its own (base/hash_table.h)
 *
 *     table   key -> its first entry
 *     entries [ k1 p3 | k1 p9 | k1 p40 | k2 p1 | ... ]
 *
 * A part has about 2,048 entries, which fit into a core's cache, so the order of their keys does
 * not matter. A part is longer if many documents share a key; the work is still linear.
 *
 * Memory, at most: 8 bytes for each key of a prefix to probe; for each entry 64 bytes while the
 * index is built, then 16 and a slot; 13 bytes for each document. The memory is estimated
 * beforehand. A group of ranges is begun only if its documents would fit even if every shingle
 * needed a key. Memory that a group did not need is used for the next group. The limit of 2^32 - 2
 * entries is enforced by a bound on the bytes.
 *
 * Tests: tests/unit/lsh/test_prefix_index.c, tests/unit/lsh/test_rare_prefix.c */
#include "lsh/prefix_index.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

/* === rare prefix ===
 *
 * Ranks a document's shingles by rarity and returns the rarest.
 *
 * The prefix filter: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in
 * data cleaning" (ICDE 2006); the shorter prefix in the index: Xiao, Wang, Lin and Yu, "Efficient
 * similarity joins for near duplicate detection" (WWW 2008).
 *
 * A shingle's key is
 *
 *     [ count, 16 bits | 48 bits of its mixed hash ]
 *
 * and keys ascend, so the rarest come first. Two shingles may have the same key; the proof allows
 * that. Let x and y share c shingles, and let k be the least key of these. In x, all c shared
 * shingles have keys >= k, so the first key k is among the first |x| - c + 1 keys of x. The same is
 * true of y. So k is in both prefixes if they are cut after so many keys. No shingle with a key
 * below k is shared. So if i keys of x come before its first k, at most |x| - i of its shingles are
 * shared. The same is true of y. The first key that is found in both prefixes is the least of their
 * common keys, and is at most k.
 *
 * The threshold T implies a lower bound for c, which holds for rounded doubles too, not only for
 * real numbers. Similarity is c / u, rounded, with u = |x or y|, and rounding is monotone. Since u
 * >= |x|, similarity <= c / |x| rounded. So a pair reaches T only if c >= least_share(|x|). For |x|
 * >= |y|, u >= 2|y| - c, hence similarity <= c / (2|y| - c) rounded, and so c >=
 * bm_jaccard_least_common(|y|, |y|).
 *
 * Containment is c / |y| for |x| >= |y|, so c >= least_share(|y|), whatever |x| is. So n - c + 1
 * keys of y are in the index as above, and all keys of x are looked up. No document that has
 * shingles is excluded because it is small.
 *
 * A shingle with a count of 1 is in this document only. It counts towards the length of the prefix
 * but needs no key. In real text most shingles have a count of 1. Often the whole prefix consists
 * of such shingles, and then nothing is sorted. */

#define BLOCK 32u /* counters that are prefetched at once */

static size_t length_for(size_t n, size_t least)
{
    return least == 0 ? n : n - least + 1;
}

size_t bm_least_size(bm_join_rule rule, size_t n)
{
    return rule.measure == BM_MEASURE_JACCARD ? bm_least_share(n, rule.threshold) : n != 0;
}

size_t bm_prefix_to_probe(bm_join_rule rule, size_t n)
{
    if (n == 0 || rule.measure == BM_MEASURE_CONTAINMENT)
        return n;
    return length_for(n, bm_least_share(n, rule.threshold));
}

/* Return how many of the rarest shingles of a document of n shingles are in the index: n - c + 1.
 * Only documents of n or more shingles look them up. For Jaccard, c is the least number of common
 * shingles with which two documents of n shingles each reach the threshold. For containment, c is
 * bm_least_share(n). The result is never more than bm_prefix_to_probe. */
static size_t prefix_to_index(bm_join_rule rule, size_t n)
{
    if (n == 0)
        return 0;
    return length_for(n, rule.measure == BM_MEASURE_JACCARD
                             ? bm_jaccard_least_common(n, n, rule.threshold)
                             : bm_least_share(n, rule.threshold));
}

size_t bm_rare_prefix_cut(uint64_t *keys, size_t n_keys, size_t n, size_t length, uint64_t *scratch)
{
    size_t n_alone = n - n_keys;
    if (n_alone >= length)
        return 0;
    bm_hashes_sort(keys, n_keys, scratch);
    return length - n_alone < n_keys ? length - n_alone : n_keys;
}

bm_rare_prefix_size bm_rare_prefix(const bm_shingle_counts *counts, const uint64_t *set, size_t n,
                                   size_t length, bm_rare_prefix_buffers buffers)
{
    size_t n_keys = 0;
    for (size_t at = 0; at < n; at += BLOCK) {
        uint64_t mixed[BLOCK];
        size_t many = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < many; i++) {
            mixed[i] = bm_shingle_mix(set[at + i]);
            __builtin_prefetch(bm_shingle_counts_at(counts, mixed[i]));
        }
        for (size_t i = 0; i < many; i++) {
            uint32_t count = bm_shingle_counts_get(counts, mixed[i]);
            buffers.keys[n_keys] = bm_rare_key(mixed[i], count);
            n_keys += count > 1;
        }
    }
    return (bm_rare_prefix_size){
        .n_keys = bm_rare_prefix_cut(buffers.keys, n_keys, n, length, buffers.scratch),
        .n_alone = n - n_keys};
}

#define BYTES_PER_KEY   8u
#define BYTES_PER_ENTRY 64u
#define BYTES_PER_DOC   13u
#define MEMORY_MAX      ((uint64_t)BYTES_PER_ENTRY << 32) /* no more than 2^32 entries */
#define PART_ENTRIES    2048u
#define PART_BITS_MAX   12u
#define SLICES          64u

uint64_t bm_prefix_index_bytes(bm_join_rule rule, size_t n)
{
    return BYTES_PER_DOC + (uint64_t)bm_prefix_to_probe(rule, n) * BYTES_PER_KEY +
           (uint64_t)prefix_to_index(rule, n) * BYTES_PER_ENTRY;
}

bm_status bm_order_by_size(const bm_set_list *sets, uint32_t *order, size_t *n, bm_error *err)
{
    uint64_t *sorted = bm_alloc(sets->n_docs, 2 * sizeof *sorted);
    *n = 0;
    if (sorted == NULL)
        return bm_fail_nomem(err, sets->n_docs * 2 * sizeof *sorted);
    for (size_t doc = 0; doc < sets->n_docs; doc++)
        if (bm_set_list_has(sets, doc))
            sorted[(*n)++] = (uint64_t)sets->sizes[doc] << 32 | doc;
    bm_hashes_sort(sorted, *n, sorted + sets->n_docs);
    for (size_t i = 0; i < *n; i++)
        order[i] = (uint32_t)sorted[i];
    bm_free(sorted);
    return BM_OK;
}

/* --- 1. prefixes --- */

typedef struct build {
    bm_prefix_index *index;
    const bm_prefix_block *block;
    const bm_sized_sets *docs; /* block->docs */
    size_t group;              /* first position of the current group */
    size_t end;
    /* SLICES rows, with a column for each part: first the number of entries that the slice has in
     * the part, later the index of the next such entry to write */
    uint32_t *counts;
} build;

/* Return the end of the range that begins at `at`. */
static size_t range_end(size_t at, size_t end)
{
    return end - at < BM_PREFIX_RANGE ? end : at + BM_PREFIX_RANGE;
}

/* Read the prefixes of a range from the store. */
static bm_status load_range(build *b, size_t at, bm_error *err)
{
    bm_prefix_index *index = b->index;
    const bm_prefix_store *store = b->docs->store;
    size_t range = at / BM_PREFIX_RANGE, end = range_end(at, b->end), used = 0;
    uint64_t *keys;
    BM_TRY(bm_new(&keys, BM_PREFIX_RANGE + (size_t)store->n_keys[range], err));
    bm_status status = BM_OK;
    BM_TRY_OUT(store->read(store->ctx, range, keys, err));
    for (size_t position = at; position < end; position++) {
        used += (uint32_t)keys[position - at];
        index->key_ends[position - index->begin] = used;
        index->n_alone[position - index->begin] = (uint32_t)(keys[position - at] >> 32);
    }
    memmove(keys, keys + BM_PREFIX_RANGE, used * sizeof *keys);
out:
    index->ranges[(at - index->begin) / BM_PREFIX_RANGE] = keys;
    return status;
}

/* Make the prefixes of a range from its sets or, if there is a store, read them from it. */
static bm_status make_range(build *b, size_t at, bm_error *err)
{
    bm_prefix_index *index = b->index;
    const bm_sized_sets *docs = b->docs;
    size_t end = range_end(at, b->end), most = 0, longest = 0, used = 0;
    if (docs->store != NULL)
        return load_range(b, at, err);
    for (size_t position = at; position < end; position++) {
        size_t n = bm_sized_size(docs, position);
        most += bm_prefix_to_probe(docs->rule, n);
        longest = n > longest ? n : longest;
    }
    uint64_t *keys = NULL;
    BM_TRY(bm_new(&keys, most + 2 * longest, err));
    bm_rare_prefix_buffers own = {.keys = keys + most, .scratch = keys + most + longest};
    for (size_t position = at; position < end; position++) {
        size_t n = bm_sized_size(docs, position);
        bm_rare_prefix_size size = bm_rare_prefix(docs->counts, bm_sized_set(docs, position), n,
                                                  bm_prefix_to_probe(docs->rule, n), own);
        memcpy(keys + used, own.keys, size.n_keys * sizeof *keys);
        used += size.n_keys;
        index->key_ends[position - index->begin] = used;
        index->n_alone[position - index->begin] = (uint32_t)size.n_alone;
    }
    uint64_t *fitting = bm_alloc(used, sizeof *fitting);
    if (fitting != NULL)
        memcpy(fitting, keys, used * sizeof *fitting);
    bm_free(keys);
    index->ranges[(at - index->begin) / BM_PREFIX_RANGE] = fitting;
    return fitting != NULL ? BM_OK : bm_fail_nomem(err, used * sizeof *fitting);
}

static bm_status make_ranges(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    build *b = ctx;
    for (size_t range = begin; range < end; range++)
        BM_TRY(make_range(b, b->group + range * BM_PREFIX_RANGE, err));
    return BM_OK;
}

static bm_status run(build *b, size_t n, bm_pool_range_fn fn, bm_error *err)
{
    bm_pool *pool = b->block->pool;
    if (n == 0)
        return BM_OK;
    return pool != NULL ? bm_pool_for(pool, (bm_pool_split){n, 1}, fn, b, err)
                        : fn(b, 0, 0, n, err);
}

/* Count the document's keys that are in the index. They are its first keys. Sets *keys and
 * *n_alone. */
static size_t to_index(const build *b, size_t position, const uint64_t **keys, size_t *n_alone)
{
    size_t n_keys;
    *keys = bm_prefix_index_keys(b->index, position, &n_keys, n_alone);
    size_t length = prefix_to_index(b->docs->rule, bm_sized_size(b->docs, position));
    size_t left = length > *n_alone ? length - *n_alone : 0;
    return left < n_keys ? left : n_keys;
}

/* Return the bytes of the group's documents. By now it is known which shingles have keys. */
static uint64_t bytes_used(const build *b)
{
    uint64_t bytes = 0;
    for (size_t position = b->group; position < b->end; position++) {
        const uint64_t *keys;
        size_t n_keys, n_alone;
        bm_prefix_index_keys(b->index, position, &n_keys, &n_alone);
        bytes += BYTES_PER_DOC + n_keys * BYTES_PER_KEY +
                 to_index(b, position, &keys, &n_alone) * BYTES_PER_ENTRY;
    }
    return bytes;
}

uint64_t bm_prefix_range_bytes(const bm_sized_sets *docs, size_t at)
{
    size_t end = range_end(at, docs->n), to_index = 0;
    uint64_t bytes = 0;
    for (size_t position = at; position < end; position++) {
        size_t n = bm_sized_size(docs, position);
        bytes += bm_prefix_index_bytes(docs->rule, n);
        to_index += prefix_to_index(docs->rule, n);
    }
    if (docs->store == NULL)
        return bytes;
    size_t n_keys = docs->store->n_keys[at / BM_PREFIX_RANGE];
    return (end - at) * BYTES_PER_DOC + n_keys * BYTES_PER_KEY +
           (to_index < n_keys ? to_index : n_keys) * BYTES_PER_ENTRY;
}

/* Return the end of a group that begins at `at` and may need `memory` bytes; `at`: not even one
 * range fits. `beside`: bytes that the caller needs for each document (see bm_prefix_block). */
static size_t group_end(const bm_sized_sets *docs, size_t at, uint64_t memory, uint64_t beside)
{
    uint64_t bytes = 0;
    size_t end = at;
    while (end < docs->n) {
        size_t next = range_end(end, docs->n);
        bytes += beside * (next - end) + bm_prefix_range_bytes(docs, end);
        if (bytes > memory)
            break;
        end = next;
    }
    return end;
}

static bm_status reserve(bm_prefix_index *index, size_t n_docs, bm_error *err)
{
    size_t need = (n_docs + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE, had = index->cap_ranges;
    if (need <= had)
        return BM_OK;
    size_t cap = need + (had == 0 ? 0 : had / 2);
    void *ranges = bm_resize(index->ranges, cap, sizeof *index->ranges);
    index->ranges = ranges != NULL ? ranges : index->ranges;
    void *ends = bm_resize(index->key_ends, cap * BM_PREFIX_RANGE, sizeof *index->key_ends);
    index->key_ends = ends != NULL ? ends : index->key_ends;
    void *alone = bm_resize(index->n_alone, cap * BM_PREFIX_RANGE, sizeof *index->n_alone);
    index->n_alone = alone != NULL ? alone : index->n_alone;
    if (ranges == NULL || ends == NULL || alone == NULL)
        return bm_fail_nomem(err, cap * (sizeof *index->ranges + BM_PREFIX_RANGE * 12));
    memset(index->ranges + had, 0, (cap - had) * sizeof *index->ranges);
    index->cap_ranges = cap;
    return BM_OK;
}

static bm_status make_prefixes(build *b, bm_error *err)
{
    bm_prefix_index *index = b->index;
    uint64_t memory = b->block->memory, beside = b->block->beside;
    bm_status status = BM_OK;
    if (memory == 0 || memory > MEMORY_MAX)
        memory = MEMORY_MAX;
    while (b->end < b->docs->n && index->bytes < memory - memory / 8) {
        b->group = b->end;
        b->end = group_end(b->docs, b->group, memory - index->bytes, beside);
        if (b->end == b->group && b->group > index->begin)
            break;
        if (b->end == b->group) /* at least one range */
            b->end = range_end(b->group, b->docs->n);
        BM_TRY_OUT(reserve(index, b->end - index->begin, err));
        size_t n_ranges = (b->end - b->group + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
        BM_TRY_OUT(run(b, n_ranges, make_ranges, err));
        index->bytes += bytes_used(b) + (b->end - b->group) * beside;
    }
out:
    index->end = b->end;
    return status;
}

/* --- 2. entries --- */

static size_t slice_begin(const build *b, size_t slice)
{
    return b->index->begin + (b->index->end - b->index->begin) * slice / SLICES;
}

/* For each entry of a slice: if where == NULL, count the entry in its part; else store the entry
 * there. */
static void each_entry(build *b, size_t slice, bm_prefix_entry *where)
{
    const bm_prefix_index *index = b->index;
    uint32_t *counts = b->counts + (slice << index->part_bits);
    for (size_t position = slice_begin(b, slice); position < slice_begin(b, slice + 1);
         position++) {
        const uint64_t *keys;
        size_t n_alone, n = to_index(b, position, &keys, &n_alone);
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && keys[i] == keys[i - 1])
                continue; /* of equal keys, only the first is an entry */
            uint32_t *count =
                &counts[(keys[i] & ((UINT64_C(1) << 48) - 1)) >> (48 - index->part_bits)];
            if (where != NULL)
                where[*count] =
                    (bm_prefix_entry){keys[i], (uint32_t)position, (uint32_t)(n_alone + i)};
            ++*count;
        }
    }
}

/* Count the entries of slices, the last slices first: they come later in the block, so their
 * documents are longer. */
static bm_status count_slices(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    for (size_t slice = begin; slice < end; slice++)
        each_entry(ctx, SLICES - 1 - slice, NULL);
    return BM_OK;
}

static bm_status scatter_slices(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    build *b = ctx;
    for (size_t slice = begin; slice < end; slice++)
        each_entry(b, SLICES - 1 - slice, b->index->entries);
    return BM_OK;
}

/* Turn the counts into indexes: where each slice's entries of each part begin. Also set where each
 * part begins. */
static void lay_out(build *b)
{
    bm_prefix_index *index = b->index;
    size_t n_parts = (size_t)1 << index->part_bits, entries = 0;
    for (size_t part = 0; part < n_parts; part++) {
        index->parts[part].entries_at = entries;
        for (size_t slice = 0; slice < SLICES; slice++) {
            uint32_t *count = &b->counts[(slice << index->part_bits) + part], n = *count;
            *count = (uint32_t)entries;
            entries += n;
        }
    }
    index->parts[n_parts].entries_at = index->n_entries = entries;
}

/* --- 3. parts --- */

typedef struct group {
    /* n: number of entries; first: index of the first entry. While entries are grouped, `first` is
     * the index of the next entry to write */
    uint32_t first, n;
} group;

/* The entries of a part, grouped by key. Each array has room for n elements. */
typedef struct grouped {
    bm_prefix_entry *entries; /* a copy, in the order in which they were scattered */
    group *groups;
    uint32_t *numbers; /* for each entry: the number of its group */
    uint32_t n, n_groups;
} grouped;

static uint64_t key_of(const grouped *g, uint32_t number)
{
    return g->entries[g->groups[number].first].key;
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_prefix_hash(key_of(owner, number), seed);
}

static bool has_key(const void *owner, uint32_t number, const void *key)
{
    return key_of(owner, number) == *(const uint64_t *)key;
}

/* Number the keys of a part in the order of their first entries. */
static bm_status number_keys(grouped *g, bm_hash_table *table, bm_error *err)
{
    BM_TRY(bm_hash_table_clear(table, g->n, err));
    for (uint32_t i = 0; i < g->n; i++) {
        BM_TRY(bm_hash_table_reserve(table, hash_again, g, err));
        const uint64_t key = g->entries[i].key, hash = bm_prefix_hash(key, table->seed);
        const size_t at = bm_hash_table_find(table, hash, has_key, g, &key);
        if (bm_hash_table_is_free(table, at)) {
            g->groups[g->n_groups] = (group){i, 0};
            bm_hash_table_put(table, at, hash, g->n_groups++);
        }
        g->numbers[i] = bm_hash_table_number(table, at);
        g->groups[g->numbers[i]].n++;
    }
    return BM_OK;
}

/* Group the entries of the part by key. The index of each key's first entry is stored in the part's
 * table. */
static bm_status regroup(bm_prefix_index *index, bm_prefix_part *p, grouped *g, bm_error *err)
{
    bm_prefix_entry *entries = index->entries + p->entries_at;
    uint32_t sum = 0;
    memcpy(g->entries, entries, g->n * sizeof *entries);
    BM_TRY(number_keys(g, &p->table, err));
    for (uint32_t k = 0; k < g->n_groups; k++) {
        g->groups[k].first = sum;
        sum += g->groups[k].n;
    }
    for (size_t at = 0; at < p->table.n_slots; at++)
        if (!bm_hash_table_is_free(&p->table, at)) {
            const group *first = &g->groups[bm_hash_table_number(&p->table, at)];
            bm_hash_table_renumber(&p->table, at, (uint32_t)(p->entries_at + first->first));
        }
    for (uint32_t i = 0; i < g->n; i++)
        entries[g->groups[g->numbers[i]].first++] = g->entries[i];
    return BM_OK;
}

static bm_status group_part(bm_prefix_index *index, size_t part, bm_error *err)
{
    bm_prefix_part *p = &index->parts[part];
    grouped g = {.n = (uint32_t)(p[1].entries_at - p->entries_at)};
    g.entries = bm_alloc(g.n, sizeof *g.entries);
    g.groups = bm_alloc(g.n, sizeof *g.groups);
    g.numbers = bm_alloc(g.n, sizeof *g.numbers);
    bm_status status = g.entries != NULL && g.groups != NULL && g.numbers != NULL
                           ? regroup(index, p, &g, err)
                           : bm_fail_nomem(err, (size_t)g.n * 28);
    bm_free_all(g.entries, g.groups, g.numbers);
    return status;
}

static bm_status group_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    build *b = ctx;
    for (size_t part = begin; part < end; part++)
        BM_TRY(group_part(b->index, part, err));
    return BM_OK;
}

static bm_status invert(build *b, bm_error *err)
{
    bm_prefix_index *index = b->index;
    uint64_t about = index->bytes / BYTES_PER_ENTRY / PART_ENTRIES;
    while (index->part_bits < PART_BITS_MAX && (uint64_t)1 << index->part_bits < about)
        index->part_bits++;
    size_t n_parts = (size_t)1 << index->part_bits;
    b->counts = bm_alloc_zero(SLICES * n_parts, sizeof *b->counts);
    index->parts = bm_alloc_zero(n_parts + 1, sizeof *index->parts);
    if (b->counts == NULL || index->parts == NULL)
        return bm_fail_nomem(err, SLICES * n_parts * sizeof *b->counts);
    BM_TRY(run(b, SLICES, count_slices, err));
    lay_out(b);
    BM_TRY(bm_new(&index->entries, index->n_entries, err));
    BM_TRY(run(b, SLICES, scatter_slices, err));
    return run(b, n_parts, group_parts, err);
}

bm_status bm_prefix_index_build(bm_prefix_index *index, const bm_prefix_block *block, bm_error *err)
{
    *index = (bm_prefix_index){.begin = block->begin, .end = block->begin};
    build b = {.index = index, .block = block, .docs = block->docs, .end = block->begin};
    bm_status status = BM_OK;
    BM_TRY_OUT(make_prefixes(&b, err));
    status = invert(&b, err);
out:
    bm_free(b.counts);
    if (status != BM_OK)
        bm_prefix_index_reset(index);
    return status;
}

void bm_prefix_index_reset(bm_prefix_index *index)
{
    for (size_t i = 0; i < index->cap_ranges; i++)
        bm_free(index->ranges[i]);
    bm_free_all(index->ranges, index->key_ends, index->n_alone, index->entries);
    for (size_t part = 0; index->parts != NULL && part < (size_t)1 << index->part_bits; part++)
        bm_hash_table_reset(&index->parts[part].table);
    bm_free(index->parts);
    *index = (bm_prefix_index){0};
}
