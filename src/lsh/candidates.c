/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.c -- finds the pairs of documents that share a band key, each pair once.
 *
 * The documents are bucketed band by band. The buckets of a band are walked in the order of their
 * first documents, and the pairs of each bucket are enumerated one chunk at a time. So no list of
 * all pairs is ever in memory, even for a bucket of 10^5 documents (5 * 10^9 pairs).
 *
 * A pair belongs to the first band in which its keys agree. In a later band it is dropped. To
 * detect this, its keys in the earlier bands are compared, beginning with band 0, in which similar
 * documents mostly agree. If all documents of a bucket were already together in one earlier band,
 * none of its pairs can be new, and the bucket is skipped. This check takes linear time, and it
 * succeeds for near-copies in almost every band.
 *
 * If only components are wanted, a band is walked twice. In the first walk, each bucket emits a
 * star: the pairs of its first document with every other one. The stars of all buckets share
 * chunks, so that many small buckets are verified at once. This joins most documents. In the second
 * walk, if the documents of a bucket are still in several groups, the bucket emits its pairs across
 * groups. A small bucket emits them at once, and a large bucket goes through the bucket join below.
 *
 * If stars are wanted, a small bucket emits its pairs at once, and a large bucket is kept for later
 * (crowded_buckets in candidates.h).
 *
 * Bucketing uses the pool, and so does the check for buckets that may have new pairs. In between,
 * pairs are enumerated on the calling thread, so `fn` may use the pool itself. Memory: 13 bytes and
 * a bit a document, the document numbers of the largest bucket, and one chunk.
 *
 * Tests: tests/unit/lsh/test_band_buckets.c, tests/unit/lsh/test_bucket_join.c,
 *        tests/unit/lsh/test_candidates.c, tests/unit/match/test_match_stars.c */
#include "lsh/candidates.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/groups.h"

/* === band buckets ===
 *
 * Buckets one band: a radix partition, then a small hash table for each part.
 *
 * 1. Each key is mixed once more (one multiplication), so that keys of any origin are spread
 * evenly. The top bits of the mixed key select its part. Its low 32 bits, the tag, form an entry
 * together with the document's number:
 *
 *        entries   [ tag doc | tag doc | …  part 0 ][ … part 1 ][ … ]       8 bytes a document
 *
 *    Documents are counted and scattered in blocks, and a part has its blocks in order. So a part
 *    lists its documents in ascending order, whichever thread did which block.
 * 2. The documents of a part (about 2,048) are looked up in a small table (base/hash_table.h) that
 *    stays in the first caches. A slot holds the tag of a key and the last document that had the
 *    key; where tags agree, the two keys themselves are compared. A document with an equal key is
 *    appended to the chain. The table grows with the distinct keys, not with the documents, so a
 *    million copies of one document fill one slot.
 *
 * Unlike in one table for the whole band, a look-up causes no cache miss and needs no prefetch.
 * Parts are independent, so all threads can work on one band; each further thread costs only one
 * small table. */

#define PART_DOCS  2048u  /* approximate number of documents of a part */
#define PARTS_MAX  4096u  /* write streams of the scatter */
#define BLOCK_DOCS 65536u /* least documents in a block of the scatter */
#define BLOCKS_MAX 64u    /* most blocks of the scatter */

static uint64_t mix(uint64_t key)
{
    key *= UINT64_C(0x9E3779B97F4A7C15);
    return key ^ key >> 32;
}

static size_t block_begin(const bm_band_buckets *b, size_t block)
{
    size_t size = (b->n_docs + b->n_blocks - 1) / b->n_blocks;
    size_t begin = block * size;
    return begin < b->n_docs ? begin : b->n_docs;
}

static bm_status count_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_band_buckets *b = ctx;
    for (size_t block = begin; block < end; block++) {
        size_t *counts = b->ends + block * b->n_parts;
        memset(counts, 0, b->n_parts * sizeof *counts);
        size_t stop = block_begin(b, block + 1);
        for (size_t doc = block_begin(b, block); doc < stop; doc++) {
            if (b->skip == NULL || b->skip[doc] == 0)
                counts[mix(b->keys[doc]) >> 1 >> b->part_shift]++;
        }
    }
    return BM_OK;
}

/* Turn the counts into indexes in `entries`: for each block and part, where the block's documents
 * of the part begin. */
static void sum_counts(bm_band_buckets *b)
{
    size_t sum = 0;
    for (size_t part = 0; part < b->n_parts; part++) {
        for (size_t block = 0; block < b->n_blocks; block++) {
            size_t *slot = &b->ends[block * b->n_parts + part];
            size_t count = *slot;
            *slot = sum;
            sum += count;
        }
    }
}

static bm_status scatter_blocks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    bm_band_buckets *b = ctx;
    for (size_t block = begin; block < end; block++) {
        size_t *ends = b->ends + block * b->n_parts;
        size_t stop = block_begin(b, block + 1);
        for (size_t doc = block_begin(b, block); doc < stop; doc++) {
            b->next[doc] = BM_NO_DOC;
            b->inner[doc] = 0;
            if (b->skip != NULL && b->skip[doc] != 0)
                continue;
            uint64_t mixed = mix(b->keys[doc]);
            b->entries[ends[mixed >> 1 >> b->part_shift]++] = mixed << 32 | doc;
        }
    }
    return BM_OK;
}

static uint64_t hash_again(const void *owner, uint32_t doc, uint64_t seed)
{
    return bm_hash_seeded(((const bm_band_buckets *)owner)->keys[doc], 0, seed);
}

static bool has_key(const void *owner, uint32_t doc, const void *key)
{
    return ((const bm_band_buckets *)owner)->keys[doc] == *(const uint64_t *)key;
}

/* Append the entry's document to the chain of its key, or begin a chain. */
static void chain(bm_band_buckets *b, bm_hash_table *table, uint64_t entry)
{
    const uint32_t doc = (uint32_t)entry;
    const uint64_t hash = table->seed == 0 ? entry : hash_again(b, doc, table->seed);
    const size_t at = bm_hash_table_find(table, hash, has_key, b, &b->keys[doc]);
    if (bm_hash_table_is_free(table, at)) {
        bm_hash_table_put(table, at, hash, doc);
        return;
    }
    b->next[bm_hash_table_number(table, at)] = doc;
    b->inner[doc] = 1;
    bm_hash_table_renumber(table, at, doc);
}

static bm_status chain_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    bm_band_buckets *b = ctx;
    bm_hash_table *table = &b->tables[thread];
    const size_t even = b->n_docs / b->n_parts, /* more than PART_DOCS in the largest bands */
        docs = even > PART_DOCS ? even + even / 16 : PART_DOCS;
    const size_t *ends = b->ends + (b->n_blocks - 1) * b->n_parts; /* where each part ends */
    for (size_t part = begin; part < end; part++) {
        BM_TRY(bm_hash_table_clear(table, docs, err));
        for (size_t i = part == 0 ? 0 : ends[part - 1]; i < ends[part]; i++) {
            BM_TRY(bm_hash_table_reserve(table, hash_again, b, err));
            chain(b, table, b->entries[i]);
        }
    }
    return BM_OK;
}

bm_status bm_band_buckets_init(bm_band_buckets *b, size_t n_docs, const uint8_t *skip,
                               bm_pool *pool, bm_error *err)
{
    unsigned part_bits = 0;
    while (((size_t)1 << part_bits) < PARTS_MAX && n_docs >> part_bits > PART_DOCS)
        part_bits++;
    size_t blocks = n_docs / BLOCK_DOCS;
    uint32_t threads = pool == NULL ? 1 : bm_pool_size(pool);
    *b = (bm_band_buckets){.n_docs = n_docs, .skip = skip};
    b->n_parts = (size_t)1 << part_bits;
    b->part_shift = 63 - part_bits;
    b->n_blocks = blocks < 1 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    b->pool = n_docs > BLOCK_DOCS && threads > 1 ? pool : NULL;
    b->next = bm_alloc(n_docs, sizeof *b->next);
    b->inner = bm_alloc(n_docs, sizeof *b->inner);
    if (b->next != NULL && b->inner != NULL)
        return BM_OK;
    bm_band_buckets_reset(b);
    return bm_fail_nomem(err, n_docs * 5);
}

/* Allocate the arrays that only bucketing by keys needs. */
static bm_status make_scratch(bm_band_buckets *b, bm_error *err)
{
    if (b->entries != NULL)
        return BM_OK;
    BM_TRY(bm_new(&b->ends, b->n_blocks * b->n_parts, err));
    BM_TRY(bm_new_zero(&b->tables, b->pool == NULL ? 1 : bm_pool_size(b->pool), err));
    return bm_new(&b->entries, b->n_docs, err);
}

static bm_status run(bm_band_buckets *b, size_t n, bm_pool_range_fn fn, bm_error *err)
{
    return b->pool == NULL ? fn(b, 0, 0, n, err)
                           : bm_pool_for(b->pool, (bm_pool_split){n, 1}, fn, b, err);
}

bm_status bm_band_buckets_fill(bm_band_buckets *b, const uint64_t *keys, bm_error *err)
{
    b->keys = keys;
    BM_TRY(make_scratch(b, err));
    BM_TRY(run(b, b->n_blocks, count_blocks, err));
    sum_counts(b);
    BM_TRY(run(b, b->n_blocks, scatter_blocks, err));
    return run(b, b->n_parts, chain_parts, err);
}

/* --- labels --- */

bm_status bm_band_buckets_label(const bm_band_buckets *b, bm_band_labels *out, bm_error *err)
{
    const size_t n_words = b->n_docs / 64 + 1;
    bm_band_labels labels = {0};
    uint32_t n = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&labels.shares, n_words, err));
    BM_TRY_OUT(bm_new(&labels.n_before, n_words, err));
    for (size_t doc = 0; doc < b->n_docs; doc++)
        if (b->inner[doc] != 0 || b->next[doc] != BM_NO_DOC)
            labels.shares[doc / 64] |= UINT64_C(1) << doc % 64;
    for (size_t i = 0; i < n_words; i++) {
        labels.n_before[i] = n;
        n += (uint32_t)__builtin_popcountll(labels.shares[i]);
    }
    BM_TRY_OUT(bm_new(&labels.firsts, n, err));
    labels.bytes = n_words * (sizeof *labels.shares + sizeof *labels.n_before) +
                   n * (uint64_t)sizeof *labels.firsts;
    for (size_t doc = 0; doc < b->n_docs; doc++) {
        if (b->inner[doc] != 0 || b->next[doc] == BM_NO_DOC)
            continue;
        for (uint32_t at = (uint32_t)doc; at != BM_NO_DOC; at = b->next[at])
            labels.firsts[bm_band_labels_place(&labels, at)] = (uint32_t)doc;
    }
out:
    if (status != BM_OK)
        bm_band_labels_reset(&labels);
    *out = labels;
    return status;
}

void bm_band_labels_reset(bm_band_labels *labels)
{
    bm_free_all(labels->shares, labels->n_before, labels->firsts);
    *labels = (bm_band_labels){0};
}

/* Make the same chains as bm_band_buckets_fill, but from labels. The documents are visited from the
 * last to the first. Each is inserted right after its label, which is the first document of its
 * chain. */
static void fill_by_labels(bm_band_buckets *b, const bm_band_labels *labels)
{
    for (size_t doc = 0; doc < b->n_docs; doc++)
        b->next[doc] = BM_NO_DOC;
    memset(b->inner, 0, b->n_docs);
    for (size_t word = b->n_docs / 64 + 1; word-- > 0;) {
        for (uint64_t left = labels->shares[word]; left != 0;) {
            const uint32_t bit = 63 - (uint32_t)__builtin_clzll(left);
            const uint32_t doc = (uint32_t)(word * 64 + bit), first = bm_band_label(labels, doc);
            left ^= UINT64_C(1) << bit;
            if (first == doc)
                continue;
            b->next[doc] = b->next[first];
            b->next[first] = doc;
            b->inner[doc] = 1;
        }
    }
}

void bm_band_buckets_reset(bm_band_buckets *b)
{
    uint32_t threads = b->pool == NULL ? 1 : bm_pool_size(b->pool);
    for (uint32_t i = 0; b->tables != NULL && i < threads; i++)
        bm_hash_table_reset(&b->tables[i]);
    bm_free_all(b->tables, b->ends, b->entries, b->inner, b->next);
    *b = (bm_band_buckets){0};
}

/* === candidate walk ===
 *
 * Hands on chunks of candidates, and stops when the caller cancels. */

bm_status bm_candidate_walk_check(const bm_candidate_walk *w, bm_error *err)
{
    const bm_callbacks *callbacks = w->job.callbacks;
    if (callbacks != NULL && callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    return BM_OK;
}

bm_status bm_candidate_walk_flush(bm_candidate_walk *w, bm_error *err)
{
    BM_TRY(bm_candidate_walk_check(w, err));
    if (w->n_pairs == 0)
        return BM_OK;
    size_t n = w->n_pairs;
    w->n_pairs = 0;
    return w->job.fn(w->job.ctx, w->pairs, n, err);
}

/* === crowded buckets ===
 *
 * Crowded buckets are kept while the bands are walked. Rows are made from them afterwards.
 *
 * A row is the pairs of one centre with the documents of its crowded buckets. It may find the same
 * document in several bands. If the two documents are together in a small bucket, they were already
 * compared. Otherwise the pair is emitted in the row's first crowded bucket that is not CLOSED and
 * has both documents. */

#define MEMBER_BYTES 18u /* 12 bytes for each member, and half as much again while arrays grow */

/* The state of the centre's bucket in a band: SMALL (also if there is no bucket), CROWDED and not
 * walked yet, WALKED, or CLOSED. */
enum { SMALL, CROWDED, WALKED, CLOSED };

void bm_crowded_buckets_init(bm_crowded_buckets *crowded, size_t n_docs)
{
    *crowded = (bm_crowded_buckets){.n_docs = n_docs};
}

void bm_crowded_buckets_reset(bm_crowded_buckets *crowded)
{
    bm_free_all(crowded->buckets, crowded->members, crowded->links, crowded->heads,
                crowded->band_states, crowded->waiting);
    *crowded = (bm_crowded_buckets){0};
}

/* Make room for n more members. */
static bm_status reserve_members(bm_crowded_buckets *c, const bm_candidates_job *job, size_t n,
                                 bm_error *err)
{
    const size_t need = c->n_members + n;
    if (need >= UINT32_MAX)
        return bm_fail(err, BM_ERR_NOMEM, "too many documents in crowded buckets");
    if (c->heads == NULL && (c->heads = bm_alloc_zero(c->n_docs, sizeof *c->heads)) == NULL)
        return bm_fail_nomem(err, c->n_docs * sizeof *c->heads);
    if (need > c->cap_members && job->reserve != NULL)
        BM_TRY(job->reserve(job->ctx, c->n_docs * sizeof *c->heads + (uint64_t)need * MEMBER_BYTES,
                            err));
    BM_TRY(bm_grow_array(&c->members, &c->cap_members, need, err));
    BM_TRY(bm_grow_array(&c->links, &c->cap_links, need, err));
    return bm_grow_array(&c->buckets, &c->cap_buckets, c->n_buckets + 1, err);
}

#define EXACT_DOCS  1024u
#define PAIRS_A_DOC 64u /* pairs that a large bucket may try for each of its documents */

/* Return how many pairs a bucket of n documents may try. */
static int64_t budget_of(size_t n)
{
    int64_t docs = (int64_t)n, least = (int64_t)EXACT_DOCS * (EXACT_DOCS - 1) / 2;
    return docs * PAIRS_A_DOC > least ? docs * PAIRS_A_DOC : least;
}

/* Keep the current bucket, w->members, of band w->band. BM_ERR_NOMEM, or the status of
 * w->job.reserve. */
static bm_status crowded_buckets_keep(bm_crowded_buckets *c, const bm_candidate_walk *w,
                                      bm_error *err)
{
    BM_TRY(reserve_members(c, &w->job, w->n_members, err));
    c->buckets[c->n_buckets] = (bm_crowded_bucket){.begin = c->n_members,
                                                   .end = c->n_members + w->n_members,
                                                   .left = budget_of(w->n_members),
                                                   .n_live = (uint32_t)w->n_members,
                                                   .band = w->band};
    for (size_t i = 0; i < w->n_members; i++) {
        uint32_t *head = &c->heads[w->members[i]];
        c->members[c->n_members] = w->members[i];
        c->links[c->n_members] = (bm_crowded_link){(uint32_t)c->n_buckets, *head};
        *head = (uint32_t)++c->n_members;
    }
    c->n_buckets++;
    return BM_OK;
}

/* Is the document in a crowded bucket of this band? */
static bool crowded_buckets_have(const bm_crowded_buckets *c, uint32_t band, uint32_t doc)
{
    for (uint32_t at = c->heads == NULL ? 0 : c->heads[doc]; at != 0; at = c->links[at - 1].next)
        if (c->buckets[c->links[at - 1].bucket].band == band)
            return true;
    return false;
}

bm_status bm_crowded_buckets_begin_rows(bm_crowded_buckets *c, uint32_t bands,
                                        const uint32_t *centres, bm_error *err)
{
    c->centres = centres;
    c->band_states = bm_alloc_zero(bands, 1);
    c->waiting = bm_alloc_zero(c->n_docs, 1);
    return c->band_states != NULL && c->waiting != NULL ? BM_OK : bm_fail_nomem(err, c->n_docs);
}

void bm_crowded_buckets_remove(bm_crowded_buckets *c, uint32_t doc)
{
    for (uint32_t at = c->heads[doc]; at != 0; at = c->links[at - 1].next)
        c->buckets[c->links[at - 1].bucket].n_live--;
}

/* Are the two documents together in a small bucket, or in a bucket that the current row has already
 * walked? */
static bool met(const bm_crowded_buckets *c, const bm_candidate_walk *w, uint32_t a, uint32_t b)
{
    const bm_band_keyset *keys = w->job.keys;
    for (uint32_t band = 0; band < keys->bands; band++)
        if ((c->band_states[band] == SMALL || c->band_states[band] == WALKED) &&
            bm_band_keyset_at(keys, band, a) == bm_band_keyset_at(keys, band, b))
            return true;
    return false;
}

static bm_status walk_bucket(bm_crowded_buckets *c, bm_candidate_walk *w, bm_crowded_bucket *bucket,
                             uint32_t centre, bm_error *err)
{
    size_t kept = bucket->begin, i = bucket->begin;
    bm_status status = BM_OK;
    for (; i < bucket->end; i++) {
        const uint32_t doc = c->members[i];
        if (c->centres[doc] != BM_NOT_TAKEN)
            continue;
        c->members[kept++] = doc;
        if (met(c, w, centre, doc))
            continue;
        c->waiting[doc] = 1;
        BM_TRY_OUT(bm_candidate_walk_emit(w, centre, doc, err));
    }
out:
    bucket->end = kept;
    return status;
}

/* Take the row's pairs from those that the bucket may still try. If they are more, close the
 * bucket, and return true; the row's pairs then count as not compared. */
static bool is_closed(bm_crowded_buckets *c, bm_crowded_bucket *bucket)
{
    if (bucket->left >= (int64_t)bucket->n_live) {
        bucket->left -= (int64_t)bucket->n_live;
        return false;
    }
    c->stats.n_cut += bucket->left >= 0;
    c->stats.n_not_compared += bucket->n_live;
    bucket->left = -1;
    return true;
}

bm_status bm_crowded_buckets_row(bm_crowded_buckets *c, bm_candidate_walk *w, uint32_t centre,
                                 bm_error *err)
{
    const uint32_t head = c->heads[centre];
    bm_status status = BM_OK;
    for (uint32_t at = head; at != 0; at = c->links[at - 1].next) {
        bm_crowded_bucket *bucket = &c->buckets[c->links[at - 1].bucket];
        c->band_states[bucket->band] = is_closed(c, bucket) ? CLOSED : CROWDED;
    }
    for (uint32_t at = head; status == BM_OK && at != 0; at = c->links[at - 1].next) {
        bm_crowded_bucket *bucket = &c->buckets[c->links[at - 1].bucket];
        if (c->band_states[bucket->band] == CLOSED)
            continue;
        status = walk_bucket(c, w, bucket, centre, err);
        c->band_states[bucket->band] = WALKED;
    }
    for (uint32_t at = head; at != 0; at = c->links[at - 1].next)
        c->band_states[c->buckets[c->links[at - 1].bucket].band] = SMALL;
    return status;
}

/* === bucket join ===
 *
 * Handles one large bucket row by row, and updates the groups between rounds.
 *
 * The row of a document is its pairs with all documents of other groups. `live` lists the documents
 * that have not emitted their row yet, ordered by group:
 *
 *     live  [ a a a a a | b b | c | d | … ]      a row of b is  [ a a a a a ]  and  [ c | d | … ]
 *
 * So pairs within a group, which are most of the pairs in a bucket of copies, are never visited. A
 * round emits rows, waits for their verification, and sorts `live` again in O(n). Groups that have
 * not emitted a row come first, so for k clusters of near-copies about k rows are enough. Rounds
 * grow, so that even if little is joined, verification has enough pairs for all threads.
 *
 * The budget counts all tried pairs, not only compared ones, because comparing the keys of earlier
 * bands also takes time. The number of pairs across groups can only decrease. Once all of them fit
 * into the remaining budget, the result for the bucket is exact.
 *
 * Sub-buckets: pairs that agree in a second band are more likely to be similar. Only later bands
 * are used, because pairs that agree in an earlier band were tried in that band. A large sub-bucket
 * emits only a star.
 *
 * Keys that were chosen to collide in the table of sub-buckets only cost time. Used by one thread
 * at a time. */

/* every pair of a bucket is compared up to about this many documents */
#define REPRESENTATIVES 8u     /* rows that are emitted before sub-buckets are tried */
#define ROUND_PAIRS     65536u /* rounds grow up to about this many pairs */
/* bytes for each document: 22 in arrays, 4 and slack for members, up to 14 for slots */
#define SCRATCH_BYTES 42u

typedef bm_candidate_walk walk;
typedef bm_bucket_join join;

/* Allocates nothing yet. */
static void bucket_join_init(join *j, size_t n_docs)
{
    *j = (join){.n_docs = n_docs};
}

static void free_scratch(join *j)
{
    bm_free_all(j->live, j->spent, j->group, j->other, j->begin, j->taken, j->had);
    j->live = j->spent = j->group = j->other = j->begin = NULL;
    j->taken = j->had = NULL;
    j->cap = 0;
}

static void bucket_join_reset(join *j)
{
    free_scratch(j);
    bm_free(j->group_of_root);
    bm_hash_table_reset(&j->last);
    *j = (join){0};
}

static bm_status reserve(join *j, bm_error *err)
{
    const walk *w = j->walk;
    size_t n = w->n_members;
    if (j->group_of_root == NULL) {
        BM_TRY(bm_new(&j->group_of_root, j->n_docs, err));
        memset(j->group_of_root, 0xFF, j->n_docs * sizeof *j->group_of_root); /* sets each to
                                                                                 BM_NO_DOC */
    }
    if (n <= j->cap)
        return BM_OK;
    size_t cap = n + n / 4;
    if (w->job.reserve != NULL) {
        BM_TRY(w->job.reserve(w->job.ctx, (uint64_t)cap * SCRATCH_BYTES, err));
    }
    free_scratch(j);
    j->live = bm_alloc(cap, sizeof *j->live);
    j->spent = bm_alloc(cap, sizeof *j->spent);
    j->group = bm_alloc(cap, sizeof *j->group);
    j->other = bm_alloc(cap, sizeof *j->other);
    j->begin = bm_alloc(cap + 2, sizeof *j->begin);
    j->taken = bm_alloc_zero(cap, sizeof *j->taken);
    j->had = bm_alloc(cap, sizeof *j->had);
    if (j->live == NULL || j->spent == NULL || j->group == NULL || j->other == NULL ||
        j->begin == NULL || j->taken == NULL || j->had == NULL)
        return bm_fail_nomem(err, cap * 22);
    j->cap = cap;
    return BM_OK;
}

/* Sort `live` by group. Groups keep the order in which `live` first mentions them. Fill `begin` and
 * `had` for each group. */
static void regroup(join *j)
{
    const walk *w = j->walk;
    uint32_t *group_of_root = j->group_of_root, *begin = j->begin, n_groups = 0;
    for (size_t i = 0; i < j->n_live; i++) {
        uint32_t *g = &group_of_root[bm_union_find_root(w->job.groups, j->live[i])];
        if (*g == BM_NO_DOC)
            *g = n_groups++;
        j->group[i] = *g;
    }
    memset(begin, 0, ((size_t)n_groups + 2) * sizeof *begin);
    memset(j->had, 0, n_groups);
    for (size_t i = 0; i < j->n_spent; i++) {
        uint32_t g = group_of_root[bm_union_find_root(w->job.groups, j->spent[i])];
        if (g != BM_NO_DOC)
            j->had[g] = 1;
    }
    for (size_t i = 0; i < j->n_live; i++) {
        group_of_root[bm_union_find_root(w->job.groups, j->live[i])] = BM_NO_DOC;
        begin[j->group[i] + 2]++;
    }
    for (size_t g = 0; g < n_groups; g++)
        begin[g + 2] += begin[g + 1];
    for (size_t i = 0; i < j->n_live; i++)
        j->other[begin[j->group[i] + 1]++] = j->live[i];
    uint32_t *live = j->other;
    j->other = j->live;
    j->live = live;
    j->n_groups = n_groups;
}

/* Count the pairs of live documents that are in different groups. */
static int64_t across(const join *j)
{
    int64_t pairs = 0;
    for (size_t g = 0; g < j->n_groups; g++)
        pairs += (int64_t)(j->begin[g + 1] - j->begin[g]) * (int64_t)(j->n_live - j->begin[g + 1]);
    return pairs;
}

/* Emit the pairs of live[x] with live[from] … live[to-1]. Leaves out pairs that agree in an
 * earlier band, and pairs with a document that has emitted its row in this round. */
static bm_status emit_across(join *j, size_t x, size_t from, size_t to, bm_error *err)
{
    walk *w = j->walk;
    for (size_t i = from; i < to; i++) {
        if (j->taken[i] != 0)
            continue;
        j->left--;
        if (!bm_candidate_walk_met(w, w->band, w->band, j->live[x], j->live[i]))
            BM_TRY(bm_candidate_walk_emit(w, j->live[x], j->live[i], err));
    }
    return BM_OK;
}

/* Emit the row of live[x], which is in group g: its pairs with the documents of all other
 * groups. */
static bm_status row(join *j, size_t x, size_t g, bm_error *err)
{
    j->taken[x] = 1;
    BM_TRY(emit_across(j, x, 0, j->begin[g], err));
    return emit_across(j, x, j->begin[g + 1], j->n_live, err);
}

/* Move the documents that have emitted their row from `live` to `spent`. */
static void spend(join *j)
{
    size_t left = 0;
    for (size_t i = 0; i < j->n_live; i++) {
        if (j->taken[i] != 0)
            j->spent[j->n_spent++] = j->live[i];
        else
            j->live[left++] = j->live[i];
        j->taken[i] = 0;
    }
    j->n_live = left;
}

/* Emit rows until at least `pairs` pairs were tried, or until no row is left. Then wait for their
 * verification, and sort `live` again. */
static bm_status round_of(join *j, int64_t pairs, bm_error *err)
{
    walk *w = j->walk;
    int64_t stop = j->left - pairs;
    bm_status status = BM_OK;
    for (size_t g = 0; g < j->n_groups && j->left > stop; g++) {
        if (j->had[g] == 0)
            BM_TRY_OUT(row(j, j->begin[g], g, err));
    }
    for (size_t g = 0; g < j->n_groups && j->left > stop; g++) {
        for (size_t x = j->begin[g]; x < j->begin[g + 1] && j->left > stop; x++) {
            if (j->taken[x] == 0)
                BM_TRY_OUT(row(j, x, g, err));
        }
    }
    status = bm_candidate_walk_flush(w, err);
out:
    spend(j);
    regroup(j);
    return status;
}

/* Emit every pair across groups. These pairs fit into the remaining budget. */
static bm_status emit_all(join *j, bm_error *err)
{
    walk *w = j->walk;
    int64_t pairs = (int64_t)w->n_members / 2;
    while (across(j) > 0) {
        BM_TRY(round_of(j, pairs, err));
        if (pairs < ROUND_PAIRS)
            pairs *= 2;
    }
    return BM_OK;
}

/* Emit at most `rows` rows. Stop when the remaining pairs across groups fit into the budget, or the
 * budget is spent. */
static bm_status representatives(join *j, uint64_t rows, bm_error *err)
{
    for (; rows > 0 && j->left > 0 && across(j) > j->left; rows--)
        BM_TRY(round_of(j, 1, err));
    return BM_OK;
}

/* --- sub-buckets --- */

/* The keys of the live documents in one band, by index in `live`. */
typedef struct live_keys {
    const bm_band_keyset *keys;
    uint32_t band;
    const uint32_t *live;
} live_keys;

static uint64_t live_key(const live_keys *of, size_t at)
{
    return bm_band_keyset_at(of->keys, of->band, of->live[at]);
}

static uint64_t live_hash(uint64_t key, uint64_t seed)
{
    return seed == 0 ? key * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(key, 0, seed);
}

static uint64_t live_hash_again(const void *owner, uint32_t at, uint64_t seed)
{
    return live_hash(live_key(owner, at), seed);
}

static bool live_has_key(const void *owner, uint32_t at, const void *key)
{
    return live_key(owner, at) == *(const uint64_t *)key;
}

/* Chain the live documents by their keys. other[i] is the index in `live` of the next document of
 * the chain plus 1, or 0 at the end. group[i] is 1 if the chain has an earlier document, else 0. */
static bm_status chain_by_key(join *j, const bm_band_keyset *keys, uint32_t band, bm_error *err)
{
    const live_keys owner = {keys, band, j->live};
    BM_TRY(bm_hash_table_clear(&j->last, j->n_live, err));
    for (size_t i = 0; i < j->n_live; i++) {
        BM_TRY(bm_hash_table_reserve(&j->last, live_hash_again, &owner, err));
        const uint64_t key = live_key(&owner, i), hash = live_hash(key, j->last.seed);
        const size_t at = bm_hash_table_find(&j->last, hash, live_has_key, &owner, &key);
        const bool is_free = bm_hash_table_is_free(&j->last, at);
        j->group[i] = !is_free;
        j->other[i] = 0;
        if (is_free) {
            bm_hash_table_put(&j->last, at, hash, (uint32_t)i);
        } else {
            j->other[bm_hash_table_number(&j->last, at)] = (uint32_t)i + 1;
            bm_hash_table_renumber(&j->last, at, (uint32_t)i);
        }
    }
    return BM_OK;
}

/* Emit pairs of the sub-bucket docs[0] … docs[n-1]. Its keys agree in `band` too. If the sub-bucket
 * is small, and its pairs fit into the budget, all of them are tried, else only those of docs[0].
 * Pairs that are joined, or agree in an earlier band, are not emitted. */
static bm_status sub_bucket(join *j, uint32_t band, const uint32_t *docs, size_t n, bm_error *err)
{
    walk *w = j->walk;
    uint64_t pairs = (uint64_t)n * (n - 1) / 2;
    size_t rows = pairs <= (uint64_t)n * PAIRS_A_DOC && pairs <= (uint64_t)j->left ? n - 1 : 1;
    for (size_t a = 0; a < rows; a++) {
        for (size_t b = a + 1; b < n; b++) {
            j->left--;
            if (!bm_candidate_walk_joined(w, docs[a], docs[b]) &&
                !bm_candidate_walk_met(w, band, w->band, docs[a], docs[b]))
                BM_TRY(bm_candidate_walk_emit(w, docs[a], docs[b], err));
        }
    }
    return BM_OK;
}

/* While the budget lasts, emit pairs of the sub-buckets that the keys in `band` make of the live
 * documents. */
static bm_status sub_band(join *j, uint32_t band, bm_error *err)
{
    walk *w = j->walk;
    BM_TRY(chain_by_key(j, w->job.keys, band, err));
    uint32_t *docs = j->begin; /* unused until `live` is grouped again */
    for (size_t i = 0; i < j->n_live && j->left > 0; i++) {
        if (j->group[i] != 0 || j->other[i] == 0)
            continue;
        size_t n = 0;
        for (size_t at = i + 1; at != 0; at = j->other[at - 1])
            docs[n++] = j->live[at - 1];
        BM_TRY(sub_bucket(j, band, docs, n, err));
    }
    return bm_candidate_walk_flush(w, err);
}

/* Call sub_band for each band after the bucket's band, while the budget lasts. Then group `live`
 * again. */
static bm_status sub_bands(join *j, bm_error *err)
{
    walk *w = j->walk;
    bm_status status = BM_OK;
    for (uint32_t band = w->band + 1; band < w->job.keys->bands && j->left > 0; band++)
        BM_TRY_OUT(sub_band(j, band, err));
out:
    regroup(j);
    return status;
}

/* Join the bucket w->members of band w->band. Its first document must have been compared with all
 * others. BM_OK, BM_ERR_NOMEM, or the status of w->job.fn or w->job.reserve. */
static bm_status bucket_join_run(join *j, walk *w, bm_error *err)
{
    j->walk = w;
    BM_TRY(reserve(j, err));
    BM_TRY(bm_candidate_walk_flush(w, err));
    j->spent[0] = w->members[0];
    j->n_spent = 1;
    j->n_live = w->n_members - 1;
    memcpy(j->live, w->members + 1, j->n_live * sizeof *j->live);
    j->left = budget_of(w->n_members);
    regroup(j);
    BM_TRY(representatives(j, REPRESENTATIVES, err));
    if (across(j) > j->left)
        BM_TRY(sub_bands(j, err));
    BM_TRY(representatives(j, UINT64_MAX, err));
    if (across(j) <= j->left)
        return emit_all(j, err);
    j->stats.n_cut++;
    j->stats.n_not_compared += (uint64_t)across(j);
    return BM_OK;
}

#define CHUNK_DEFAULT 65536u
#define CHECK_ROWS    1024u /* rows of a bucket between two checks for cancellation */
#define SMALL_BUCKET  BM_SMALL_BUCKET

typedef bm_candidate_walk candidates_walk;

/* Where large buckets go. A member is NULL if the search does not use it. */
typedef struct sinks {
    bm_bucket_join join;
    bm_crowded_buckets *crowded;
    uint64_t *open; /* one bit for each document; see walk_band */
} sinks;

/* Is there an earlier band in which all documents of the bucket share one key? */
static bool all_met_before(const candidates_walk *w)
{
    for (uint32_t band = 0; band < w->band; band++) {
        uint64_t first = bm_band_keyset_at(w->job.keys, band, w->members[0]);
        size_t i = 1;
        while (i < w->n_members && bm_band_keyset_at(w->job.keys, band, w->members[i]) == first)
            i++;
        if (i == w->n_members)
            return true;
    }
    return false;
}

/* List the documents of the bucket that begins with `first`. */
static bm_status gather(candidates_walk *w, const bm_band_buckets *buckets, uint32_t first,
                        bm_error *err)
{
    w->n_members = 0;
    for (uint32_t doc = first; doc != BM_NO_DOC; doc = buckets->next[doc]) {
        if (w->n_members == w->cap_members) {
            BM_TRY(
                bm_grow(&w->members, &w->cap_members, w->n_members + 1, sizeof *w->members, err));
        }
        w->members[w->n_members++] = doc;
    }
    return BM_OK;
}

/* Emit row i of the bucket: its i-th document with each later one. Leaves out pairs that agree in
 * an earlier band and, if only components are wanted, pairs that are joined. */
static bm_status pair_row(candidates_walk *w, size_t i, bm_error *err)
{
    uint32_t a = w->members[i];
    for (size_t j = i + 1; j < w->n_members; j++) {
        uint32_t b = w->members[j];
        if ((w->job.groups == NULL || !bm_candidate_walk_joined(w, a, b)) &&
            !bm_candidate_walk_met(w, w->band, w->band, a, b))
            BM_TRY(bm_candidate_walk_emit(w, a, b, err));
    }
    return BM_OK;
}

/* Emit the rows of the bucket, beginning with row `first`. */
static bm_status pair_rows(candidates_walk *w, size_t first, bm_error *err)
{
    for (size_t i = first; i + 1 < w->n_members; i++) {
        /* check here too, because a huge bucket may emit no pair */
        if (i % CHECK_ROWS == CHECK_ROWS - 1)
            BM_TRY(bm_candidate_walk_check(w, err));
        BM_TRY(pair_row(w, i, err));
    }
    return BM_OK;
}

/* Are the bucket's documents in one group? */
static bool all_joined(const candidates_walk *w, const bm_band_buckets *buckets, uint32_t first)
{
    uint32_t root = bm_union_find_root(w->job.groups, first);
    for (uint32_t doc = buckets->next[first]; doc != BM_NO_DOC; doc = buckets->next[doc])
        if (bm_union_find_root(w->job.groups, doc) != root)
            return false;
    return true;
}

/* Emit the pairs of a small bucket. Leaves out pairs that were together in an earlier small
 * bucket. */
static bm_status pair_small(candidates_walk *w, const bm_crowded_buckets *crowded, bm_error *err)
{
    const bm_band_keyset *keys = w->job.keys;
    for (size_t i = 0; i < w->n_members; i++) {
        for (size_t j = i + 1; j < w->n_members; j++) {
            const uint32_t a = w->members[i], b = w->members[j];
            uint32_t band = 0;
            while (band < w->band &&
                   (bm_band_keyset_at(keys, band, a) != bm_band_keyset_at(keys, band, b) ||
                    crowded_buckets_have(crowded, band, a)))
                band++;
            if (band == w->band)
                BM_TRY(bm_candidate_walk_emit(w, a, b, err));
        }
    }
    return BM_OK;
}

/* --- a bucket is handled by one of four functions --- */

typedef bm_status (*bucket_fn)(candidates_walk *w, sinks *to, bm_error *err);

static bm_status every_pair(candidates_walk *w, sinks *to, bm_error *err)
{
    (void)to;
    return w->n_members == 2 || !all_met_before(w) ? pair_rows(w, 0, err) : BM_OK;
}

static bm_status keep_crowded(candidates_walk *w, sinks *to, bm_error *err)
{
    if (w->n_members > SMALL_BUCKET)
        return crowded_buckets_keep(to->crowded, w, err);
    return to->crowded->n_buckets > 0 ? pair_small(w, to->crowded, err) : every_pair(w, to, err);
}

static bm_status star(candidates_walk *w, sinks *to, bm_error *err)
{
    (void)to;
    return w->n_members == 2 || !all_met_before(w) ? pair_row(w, 0, err) : BM_OK;
}

static bm_status after_star(candidates_walk *w, sinks *to, bm_error *err)
{
    if (w->n_members == 2 || all_met_before(w))
        return BM_OK;
    return w->n_members <= SMALL_BUCKET ? pair_rows(w, 1, err) : bucket_join_run(&to->join, w, err);
}

#define LOOK_DOCS 16384u /* documents of a task; a multiple of the bits in a word of `open` */

/* A parallel pass over a band. It finds the open buckets before the band is walked: those that are
 * not all joined. */
typedef struct look {
    const candidates_walk *walk;
    const bm_band_buckets *buckets;
    uint64_t *open; /* a bit for each document, set if it begins an open bucket */
} look;

static bool is_open(const look *l, uint32_t doc)
{
    return l->buckets->next[doc] != BM_NO_DOC && l->buckets->inner[doc] == 0 &&
           (l->walk->job.groups == NULL || !all_joined(l->walk, l->buckets, doc));
}

static bm_status look_at(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    const look *l = ctx;
    (void)thread;
    (void)err;
    for (size_t doc = begin; doc < end;) {
        uint64_t open = 0;
        const size_t word = doc / 64, stop = word * 64 + 64 < end ? word * 64 + 64 : end;
        for (; doc < stop; doc++)
            open |= (uint64_t)is_open(l, (uint32_t)doc) << doc % 64;
        l->open[word] = open;
    }
    return BM_OK;
}

/* All threads find the open buckets, and then the caller walks them. Documents that were joined
 * stay joined, so in later bands most buckets are not open. */
static bm_status walk_band(candidates_walk *w, const bm_band_buckets *buckets, bucket_fn fn,
                           sinks *to, bm_error *err)
{
    look l = {w, buckets, to->open};
    BM_TRY(buckets->pool == NULL
               ? look_at(&l, 0, 0, buckets->n_docs, err)
               : bm_pool_for(buckets->pool, (bm_pool_split){buckets->n_docs, LOOK_DOCS}, look_at,
                             &l, err));
    for (size_t word = 0; word <= (buckets->n_docs - 1) / 64; word++) {
        for (uint64_t left = l.open[word]; left != 0; left &= left - 1) {
            const uint32_t doc = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
            if (!is_open(&l, doc))
                continue;
            BM_TRY(gather(w, buckets, doc, err));
            BM_TRY(fn(w, to, err));
        }
    }
    return BM_OK;
}

static bm_status report(const candidates_walk *w, double began_s, bm_error *err)
{
    const bm_callbacks *callbacks = w->job.callbacks;
    BM_TRY(bm_candidate_walk_check(w, err));
    if (callbacks != NULL && callbacks->progress != NULL) {
        bm_progress progress = {.stage = "bucket",
                                .done = w->band,
                                .total = w->job.keys->bands,
                                .unit = "bands",
                                .n_docs = w->job.keys->n_docs,
                                .elapsed_s = bm_clock_seconds() - began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return BM_OK;
}

static bm_status fill(const candidates_walk *w, bm_band_buckets *buckets, bm_error *err)
{
    if (w->job.keys->labels == NULL)
        return bm_band_buckets_fill(buckets, w->job.keys->keys[w->band], err);
    fill_by_labels(buckets, &w->job.keys->labels[w->band]);
    return BM_OK;
}

static bm_status walk_bands(candidates_walk *w, bm_band_buckets *buckets, sinks *to, bm_error *err)
{
    double began_s = bm_clock_seconds();
    const bucket_fn fn = w->job.groups != NULL ? star
                         : to->crowded != NULL ? keep_crowded
                                               : every_pair;
    bm_status status = BM_OK;
    for (; status == BM_OK && w->band < w->job.keys->bands; w->band++) {
        status = report(w, began_s, err);
        if (status == BM_OK)
            status = fill(w, buckets, err);
        if (status == BM_OK)
            status = walk_band(w, buckets, fn, to, err);
        if (status != BM_OK || w->job.groups == NULL)
            continue;
        status = bm_candidate_walk_flush(w, err); /* so that the groups include the stars */
        if (status == BM_OK)
            status = walk_band(w, buckets, after_star, to, err);
    }
    if (status == BM_OK)
        status = bm_candidate_walk_flush(w, err);
    return status == BM_OK ? report(w, began_s, err) : status;
}

static bm_status candidates_run(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                                bm_join_stats *stats, bm_error *err)
{
    size_t n_docs = job->keys->n_docs;
    if (n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", n_docs,
                             BM_DOCS_MAX);
    if (n_docs == 0)
        return BM_OK; /* without documents, there may be no arrays of keys either */
    candidates_walk w = {.job = *job};
    bm_band_buckets buckets;
    sinks to = {.crowded = crowded};
    w.job.chunk = job->chunk == 0 ? CHUNK_DEFAULT : job->chunk;
    bm_status status = BM_OK;
    bucket_join_init(&to.join, n_docs);
    BM_TRY_OUT(bm_new(&w.pairs, w.job.chunk, err));
    BM_TRY_OUT(bm_new(&to.open, n_docs / 64 + 1, err));
    status = bm_band_buckets_init(&buckets, n_docs, job->keys->skip, job->pool, err);
    if (status == BM_OK) {
        status = walk_bands(&w, &buckets, &to, err);
        bm_band_buckets_reset(&buckets);
    }
    if (stats != NULL)
        *stats = to.join.stats;
out:
    bucket_join_reset(&to.join);
    bm_free_all(to.open, w.members, w.pairs);
    return status;
}

bm_status bm_candidates(const bm_candidates_job *job, bm_error *err)
{
    return candidates_run(job, NULL, NULL, err);
}

bm_status bm_candidates_of_small(const bm_candidates_job *job, bm_crowded_buckets *crowded,
                                 bm_error *err)
{
    return candidates_run(job, crowded, NULL, err);
}

bm_status bm_candidates_join(const bm_candidates_job *job, bm_join_stats *stats, bm_error *err)
{
    return candidates_run(job, NULL, stats, err);
}
