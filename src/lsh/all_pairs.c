/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs.c -- finds all pairs above a threshold with an inverted index of rare shingles.
 *
 * The algorithms are AllPairs and PPJoin: Chaudhuri, Ganti and Kaushik 2006 (prefixes); Bayardo, Ma
 * and Srikant, "Scaling up all pairs similarity search", 2007 (documents in order of size, sizes
 * bounded); Xiao, Wang, Lin and Yu 2008 (a shorter prefix in the index, and the ranks of the first
 * common key).
 *
 * The search goes through the documents in order of size. A document x looks up the keys of its
 * prefix. The lists of these keys have smaller documents. Those that pass the filters are compared
 * with x (verify.c).
 *
 * If memory is bounded, the index covers one block of documents at a time. The documents of the
 * block are looked up in it, and then larger documents, as long as their size lets them reach the
 * threshold with the block's last document. The prefix of a document outside the block is made
 * again for each block. The shingle counters always cover all documents, so the prefixes and the
 * number of compared pairs do not depend on the memory.
 *
 * If sets are not in memory, the prefixes come from a store, which is read from front to back for
 * each block. The caller receives the pairs that pass the filters, and compares them itself.
 *
 * Threads: a round searches 64 lanes at once. A lane is a group of 64 documents with a buffer for
 * their pairs. After the round, the calling thread passes the buffers on in order, and finished
 * lanes get the next documents. If its buffer is full, a lane stops, even in the middle of a
 * document, and continues in the next round. So neither the order nor the memory depends on
 * threads.
 *
 * The time depends on the corpus: it is seconds if shared shingles are rare, and quadratic if the
 * threshold is low and all documents are alike.
 *
 * Tests: tests/unit/lsh/test_all_pairs.c, tests/unit/lsh/test_prefix_index.c */
#include "lsh/all_pairs.h"

#include <string.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"

/* === prefix search ===
 *
 * Reads the lists of a document's keys and drops the documents that cannot reach the threshold.
 *
 * Document x finds smaller documents y. T is the threshold. A document y is dropped because of its
 *
 *     size     |y| < the least c with c/|x| >= T: similarity is at most |y|/|x|. Such documents
 *              come first in a list, and are skipped by bisection (Bayardo, Ma and Srikant,
 *              "Scaling up all pairs similarity search", WWW 2007).
 *     ranks    i shingles of x and j of y are rarer than the first common key: they share at most
 *              m = min(|x| - i, |y| - j) (Xiao, Wang, Lin and Yu, WWW 2008). m / (|x| + |y| - m) is
 *              >= T in double only if m >= T/(1+T) (|x| + |y|), up to a relative error of 2^-50.
 *              The factor used is smaller by a relative 1e-12, more than this error. So rounding
 *              loses no pair, and the few pairs just below the threshold are compared.
 *
 * For containment no size is too small, and m must be at least T |y|, since y is the smaller one.
 *
 * The proofs that no pair is missed are in prefix_index.c. Each thread has a finder of its own. */

#define AHEAD 8u    /* keys that are prefetched at once */
#define SLACK 1e-12 /* relative reduction of the factor; see "ranks" above */

/* Return how many 64-bit words of memory the keys of a document outside the block need. */
static size_t key_words(const bm_prefix_store *store, size_t longest)
{
    return store != NULL ? BM_PREFIX_RANGE + store->most : 2 * longest;
}

/* Return the bytes of a finder if the longest document has n shingles. BM_PREFIX_FINDER_DOC bytes
 * for each document of the block are not included. `store` is that of bm_sized_sets. */
static uint64_t prefix_finder_bytes(const bm_prefix_store *store, size_t n)
{
    return (uint64_t)key_words(store, n) * sizeof(uint64_t);
}

static void prefix_finder_close(bm_prefix_finder *f)
{
    bm_free_all(f->seen, f->found, f->keys);
    *f = (bm_prefix_finder){0};
}

static bm_status prefix_finder_open(bm_prefix_finder *f, const bm_sized_sets *docs,
                                    const bm_prefix_index *index, bm_error *err)
{
    size_t n = index->end - index->begin;
    *f = (bm_prefix_finder){.docs = docs, .index = index, .range = SIZE_MAX};
    const double threshold = docs->rule.threshold;
    f->of_both = docs->rule.measure == BM_MEASURE_JACCARD;
    f->factor = (f->of_both ? threshold / (1 + threshold) : threshold) * (1 - SLACK);
    f->longest = docs->n == 0 ? 0 : bm_sized_size(docs, docs->n - 1);
    f->seen = bm_alloc_zero(n, sizeof *f->seen);
    f->found = bm_alloc(n, sizeof *f->found);
    f->keys = bm_alloc(key_words(docs->store, f->longest), sizeof *f->keys);
    if (f->seen != NULL && f->found != NULL && f->keys != NULL)
        return BM_OK;
    prefix_finder_close(f);
    return bm_fail_nomem(err, n * BM_PREFIX_FINDER_DOC +
                                  (size_t)prefix_finder_bytes(docs->store, f->longest));
}

/* Return the first position of the block with a document of at least `size` shingles, or the
 * block's end. */
static uint32_t first_of_size(const bm_prefix_finder *f, size_t size)
{
    bm_bisect b = {f->index->begin, f->index->end};
    while (b.low < b.high)
        bm_bisect_go(&b, bm_sized_size(f->docs, bm_middle(&b)) < size);
    return (uint32_t)b.low;
}

/* From index `at` on, skip the entries of `key` with positions below `first`. Returns the index
 * after the skipped entries. */
static size_t skip_smaller(const bm_prefix_index *index, size_t at, uint64_t key, uint32_t first)
{
    const bm_prefix_entry *entries = index->entries;
    size_t step = 1, end = index->n_entries;
    while (at + step < end && entries[at + step].key == key && entries[at + step].position < first)
        step *= 2;
    bm_bisect b = {at, at + step < end ? at + step : end};
    while (b.low < b.high) {
        const bm_prefix_entry *entry = &entries[bm_middle(&b)];
        bm_bisect_go(&b, entry->key == key && entry->position < first);
    }
    return b.low;
}

/* Handle an entry: its document y has a key in common with x. If this is the first such entry of y,
 * add y to `found`, unless the ranks of the key show that y cannot reach the threshold. left_x: the
 * number of x's shingles that are not rarer than the key. */
static void meet(bm_prefix_finder *f, const bm_prefix_entry *entry, size_t n_x, size_t left_x)
{
    size_t y = entry->position - f->index->begin;
    if (f->seen[y] == f->stamp)
        return;
    f->seen[y] = f->stamp;
    size_t n_y = bm_sized_size(f->docs, entry->position), left_y = n_y - entry->rank;
    size_t most = left_x < left_y ? left_x : left_y;
    if ((double)most >= f->factor * (double)(f->of_both ? n_x + n_y : n_y))
        f->found[f->n_found++] = entry->position;
}

/* Forget which documents of the block this search has met. */
static void new_stamp(bm_prefix_finder *f)
{
    if (++f->stamp != 0)
        return;
    memset(f->seen, 0, (f->index->end - f->index->begin) * sizeof *f->seen);
    f->stamp = 1;
}

typedef struct prefix {
    const uint64_t *keys;
    size_t n, n_alone;
} prefix;

/* Read the prefix of the document at x from the store. */
static bm_status stored_prefix(bm_prefix_finder *f, size_t x, prefix *out, bm_error *err)
{
    const bm_prefix_store *store = f->docs->store;
    size_t range = x / BM_PREFIX_RANGE, before = BM_PREFIX_RANGE;
    if (f->range != range) {
        f->range = SIZE_MAX;
        BM_TRY(store->read(store->ctx, range, f->keys, err));
        f->range = range;
    }
    for (size_t i = 0; i < x % BM_PREFIX_RANGE; i++)
        before += (uint32_t)f->keys[i];
    uint64_t head = f->keys[x % BM_PREFIX_RANGE];
    *out = (prefix){f->keys + before, (uint32_t)head, (size_t)(head >> 32)};
    return BM_OK;
}

static bm_status prefix_of(bm_prefix_finder *f, size_t x, prefix *out, bm_error *err)
{
    const bm_sized_sets *docs = f->docs;
    if (x < f->index->end) {
        out->keys = bm_prefix_index_keys(f->index, x, &out->n, &out->n_alone);
        return BM_OK;
    }
    if (docs->store != NULL)
        return stored_prefix(f, x, out, err);
    size_t n_x = bm_sized_size(docs, x);
    bm_rare_prefix_buffers buffers = {.keys = f->keys, .scratch = f->keys + f->longest};
    bm_rare_prefix_size size = bm_rare_prefix(docs->counts, bm_sized_set(docs, x), n_x,
                                              bm_prefix_to_probe(docs->rule, n_x), buffers);
    *out = (prefix){f->keys, size.n_keys, size.n_alone};
    return BM_OK;
}

/* Fill `found` with the positions of the documents of the block that are before x and may reach the
 * threshold with the document at x. Each position occurs once. They are ordered by the first key
 * that the document shares with x, then by position. x must not be before the block. Returns BM_OK
 * or an error of the store. */
static bm_status prefix_find(bm_prefix_finder *f, size_t x, bm_error *err)
{
    const bm_prefix_index *index = f->index;
    size_t n_x = bm_sized_size(f->docs, x);
    prefix p;
    f->n_found = 0;
    BM_TRY(prefix_of(f, x, &p, err));
    if (p.n == 0)
        return BM_OK;
    uint32_t first = first_of_size(f, bm_least_size(f->docs->rule, n_x));
    new_stamp(f);
    for (size_t i = 0; i < p.n && i < AHEAD; i++)
        bm_prefix_index_fetch(index, p.keys[i]);
    for (size_t i = 0; i < p.n; i++) {
        if (i + AHEAD < p.n)
            bm_prefix_index_fetch(index, p.keys[i + AHEAD]);
        if (i > 0 && p.keys[i] == p.keys[i - 1])
            continue;
        size_t at = bm_prefix_index_find(index, p.keys[i]);
        if (at < index->n_entries && index->entries[at].position < first)
            at = skip_smaller(index, at, p.keys[i], first);
        for (; at < index->n_entries; at++) {
            const bm_prefix_entry *entry = &index->entries[at];
            if (entry->key != p.keys[i] || entry->position >= x)
                break;
            meet(f, entry, n_x, n_x - p.n_alone - i);
        }
    }
    return BM_OK;
}

#define LANES     64u /* groups of documents that are searched at once */
#define LANE_DOCS 64u
#define FULL_MAX  65536u /* the most pairs in a lane's buffer */
#define FULL_MIN  1024u
#define CHUNK     65536u
#define LEAST     (256u << 10) /* the least bytes of memory for an index */

typedef struct lane {
    size_t next, end; /* positions still to search: next … end-1 */
    size_t compared;  /* how many of the documents that were found for position `next` were
                         compared */
    bm_pair *pairs;
    size_t n, cap;
    uint64_t n_compared;
} lane;

typedef struct search {
    const bm_all_pairs_job *job;
    bm_set_list sets;
    bm_shingle_counts counts;
    bm_sized_sets docs;
    uint32_t *order; /* owned; NULL if there is a store */
    bm_prefix_index index;
    size_t full; /* how many pairs fill a lane's buffer */
    size_t end;  /* position after the last document that is looked up in the index */
    bm_prefix_finder *finders;
    uint32_t n_threads;
    lane lanes[LANES];
    bm_pair *chunk;
    size_t n_chunk;
    bm_all_pairs_stats stats;
    double began_s;
} search;

/* --- comparing --- */

/* Is there space in the lane's buffer? */
static bool has_space(const search *s, const lane *l)
{
    return l->n < s->full;
}

/* Return the similarity of two documents, negative if it is below the threshold. If there is a
 * store, the similarity is not known yet, and 0 is returned. */
static double similarity_of(const search *s, uint32_t x, uint32_t y)
{
    const bm_set_list *sets = &s->sets;
    if (sets->docs == NULL)
        return 0;
    return bm_similarity_at_least(s->docs.rule.measure, sets->docs[x], sets->sizes[x],
                                  sets->docs[y], sets->sizes[y], s->docs.rule.threshold);
}

static bm_status compare(const search *s, const bm_prefix_finder *f, lane *l, bm_error *err)
{
    uint32_t doc_x = s->docs.order[l->next];
    for (; l->compared < f->n_found && has_space(s, l); l->compared++) {
        uint32_t doc_y = s->docs.order[f->found[l->compared]];
        double similarity = similarity_of(s, doc_x, doc_y);
        l->n_compared++;
        if (similarity < 0)
            continue;
        BM_TRY(bm_grow(&l->pairs, &l->cap, l->n + 1, sizeof *l->pairs, err));
        l->pairs[l->n++] = (bm_pair){.a = doc_x < doc_y ? doc_x : doc_y,
                                     .b = doc_x < doc_y ? doc_y : doc_x,
                                     .similarity = similarity};
    }
    return BM_OK;
}

static bm_status search_lanes(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    search *s = ctx;
    bm_prefix_finder *f = &s->finders[thread];
    for (size_t i = begin; i < end; i++) {
        lane *l = &s->lanes[i];
        while (l->next < l->end && has_space(s, l)) {
            BM_TRY(prefix_find(f, l->next, err));
            BM_TRY(compare(s, f, l, err));
            if (l->compared == f->n_found) {
                l->next++;
                l->compared = 0;
            }
        }
    }
    return BM_OK;
}

/* --- passing pairs on --- */

static bm_status flush(search *s, bm_error *err)
{
    size_t n = s->n_chunk;
    s->n_chunk = 0;
    return n == 0 ? BM_OK : s->job->fn(s->job->ctx, s->chunk, n, err);
}

static bm_status emit(search *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < LANES; i++) {
        lane *l = &s->lanes[i];
        for (size_t k = 0; status == BM_OK && k < l->n;) {
            size_t room = CHUNK - s->n_chunk, many = l->n - k < room ? l->n - k : room;
            memcpy(s->chunk + s->n_chunk, l->pairs + k, many * sizeof *s->chunk);
            k += many;
            s->n_chunk += many;
            status = s->n_chunk == CHUNK ? flush(s, err) : BM_OK;
        }
        l->n = 0;
        s->stats.n_compared += l->n_compared;
        l->n_compared = 0;
    }
    return status;
}

/* Report progress as a number of documents: all documents of earlier blocks, and a share of this
 * block. The share grows with the documents searched so far. BM_ERR_CANCELLED: the caller wants to
 * stop. */
static bm_status report(const search *s, size_t at, bm_error *err)
{
    const bm_callbacks *callbacks = s->job->callbacks;
    if (callbacks == NULL)
        return BM_OK;
    if (callbacks->cancelled != NULL && callbacks->cancelled(callbacks->ctx))
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    if (callbacks->progress != NULL) {
        double all = (double)(s->end - s->index.begin), part = (double)(at - s->index.begin);
        double block = (double)(s->index.end - s->index.begin);
        size_t left_out = s->sets.n_docs - s->docs.n;
        size_t done = left_out + s->index.begin + (all > 0 ? (size_t)(block * part / all) : 0);
        bm_progress progress = {.stage = "compare",
                                .done = done,
                                .total = s->sets.n_docs,
                                .unit = "documents",
                                .n_docs = done,
                                .elapsed_s = bm_clock_seconds() - s->began_s};
        callbacks->progress(callbacks->ctx, &progress);
    }
    return BM_OK;
}

/* Give finished lanes their next documents, from *at on. Returns false if all lanes are done and no
 * documents are left. */
static bool refill(search *s, size_t *at)
{
    bool work = false;
    for (size_t i = 0; i < LANES; i++) {
        lane *l = &s->lanes[i];
        if (l->next == l->end && *at < s->end) {
            l->next = *at;
            l->end = s->end - *at < LANE_DOCS ? s->end : *at + LANE_DOCS;
            *at = l->end;
        }
        work |= l->next < l->end;
    }
    return work;
}

static bm_status search_block(search *s, bm_error *err)
{
    size_t at = s->index.begin;
    BM_TRY(report(s, at, err));
    while (refill(s, &at)) {
        if (s->job->pool != NULL)
            BM_TRY(bm_pool_for(s->job->pool, (bm_pool_split){LANES, 1}, search_lanes, s, err));
        else
            BM_TRY(search_lanes(s, 0, 0, LANES, err));
        BM_TRY(emit(s, err));
        BM_TRY(report(s, at, err));
    }
    return BM_OK;
}

/* --- opening --- */

static bm_status sort_by_size(search *s, bm_error *err)
{
    const bm_all_pairs_job *job = s->job;
    s->docs = (bm_sized_sets){.sets = &s->sets,
                              .order = job->order,
                              .n = job->n_order,
                              .store = job->store,
                              .rule = job->rule};
    if (job->store != NULL)
        return BM_OK;
    BM_TRY(bm_new(&s->order, job->n_docs, err));
    s->docs.order = s->order;
    s->docs.counts = &s->counts;
    return bm_order_by_size(&s->sets, s->order, &s->docs.n, err);
}

#define A_PAIR (LANES * sizeof(bm_pair) * 3 / 2) /* bytes for one more pair in each lane's buffer */

/* Return the bytes that are needed besides the index and the lanes' buffers. *longest becomes the
 * size of the longest document. */
static uint64_t fixed_bytes(const bm_all_pairs_job *job, size_t *longest)
{
    bm_set_list sets = {.sizes = job->sizes, .skip = job->skip, .n_docs = job->n_docs};
    uint32_t n_threads = job->pool == NULL ? 1 : bm_pool_size(job->pool);
    uint64_t n_shingles = 0, bytes = CHUNK * sizeof(bm_pair);
    *longest = 0;
    for (size_t doc = 0; doc < sets.n_docs; doc++) {
        if (!bm_set_list_has(&sets, doc))
            continue;
        n_shingles += sets.sizes[doc];
        *longest = sets.sizes[doc] > *longest ? sets.sizes[doc] : *longest;
    }
    if (job->store == NULL)
        bytes += (uint64_t)job->n_docs * 20 +
                 bm_shingle_counts_bytes(bm_shingle_counts_bits(n_shingles));
    return bytes + n_threads * prefix_finder_bytes(job->store, *longest);
}

/* Return the bytes of the largest range of documents. An index must have room for it. */
static uint64_t largest_range(const bm_all_pairs_job *job, size_t longest)
{
    bm_set_list sets = {.sizes = job->sizes, .n_docs = job->n_docs};
    bm_sized_sets docs = {.sets = &sets,
                          .order = job->order,
                          .n = job->n_order,
                          .store = job->store,
                          .rule = job->rule};
    uint64_t largest = 0;
    if (job->store == NULL)
        return BM_PREFIX_RANGE * bm_prefix_index_bytes(job->rule, longest);
    for (size_t at = 0; at < docs.n; at += BM_PREFIX_RANGE) {
        uint64_t bytes = bm_prefix_range_bytes(&docs, at);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

uint64_t bm_all_pairs_least(const bm_all_pairs_job *job)
{
    size_t longest;
    uint64_t fixed = fixed_bytes(job, &longest), index = largest_range(job, longest);
    return fixed + (index < LEAST ? LEAST : index) + A_PAIR * FULL_MIN;
}

/* Divide job->memory between the lanes' buffers (s->full) and the index of a block (*block
 * bytes). */
static bm_status share_memory(search *s, uint64_t *block, bm_error *err)
{
    uint64_t memory = s->job->memory, least = bm_all_pairs_least(s->job);
    size_t longest;
    s->full = FULL_MAX;
    *block = 0;
    if (memory == 0)
        return BM_OK;
    if (memory < least)
        return bm_fail(err, BM_ERR_NOMEM,
                       "comparing all pairs needs %llu MiB beside the documents, and `memory` "
                       "leaves %llu MiB",
                       (unsigned long long)(least >> 20) + 1, (unsigned long long)(memory >> 20));
    s->full = FULL_MIN + (size_t)((memory - least) / 8 / A_PAIR);
    s->full = s->full > FULL_MAX ? FULL_MAX : s->full;
    s->stats.bytes = fixed_bytes(s->job, &longest) + A_PAIR * s->full;
    *block = memory - s->stats.bytes;
    return BM_OK;
}

static bm_status open_finders(search *s, bm_error *err)
{
    for (uint32_t i = 0; i < s->n_threads; i++)
        BM_TRY(prefix_finder_open(&s->finders[i], &s->docs, &s->index, err));
    return BM_OK;
}

static void close_finders(search *s)
{
    for (uint32_t i = 0; s->finders != NULL && i < s->n_threads; i++)
        prefix_finder_close(&s->finders[i]);
}

/* Return the position after the last document that can reach the threshold with a document of the
 * block. */
static size_t last_of_block(const search *s)
{
    size_t largest = bm_sized_size(&s->docs, s->index.end - 1);
    bm_bisect b = {s->index.end, s->docs.n};
    while (b.low < b.high)
        bm_bisect_go(&b, bm_least_size(s->docs.rule, bm_sized_size(&s->docs, bm_middle(&b))) <=
                             largest);
    return b.low;
}

static bm_status search_all(search *s, uint64_t memory, bm_error *err)
{
    bm_status status = BM_OK;
    uint64_t fixed = s->stats.bytes;
    for (size_t begin = 0; status == BM_OK && begin < s->docs.n;) {
        bm_prefix_block block = {.docs = &s->docs,
                                 .begin = begin,
                                 .memory = memory,
                                 .beside = s->n_threads * BM_PREFIX_FINDER_DOC,
                                 .pool = s->job->pool};
        status = bm_prefix_index_build(&s->index, &block, err);
        if (status == BM_OK)
            status = open_finders(s, err);
        if (status == BM_OK) {
            s->end = last_of_block(s);
            s->stats.n_blocks++;
            if (s->stats.bytes < fixed + s->index.bytes)
                s->stats.bytes = fixed + s->index.bytes;
            begin = s->index.end;
            status = search_block(s, err);
        }
        close_finders(s);
        bm_prefix_index_reset(&s->index);
    }
    return status == BM_OK ? flush(s, err) : status;
}

static void search_free(search *s)
{
    close_finders(s);
    for (size_t i = 0; i < LANES; i++)
        bm_free(s->lanes[i].pairs);
    bm_free_all(s->finders, s->chunk, s->order);
    bm_shingle_counts_reset(&s->counts);
    bm_free(s);
}

static bm_status check(const bm_all_pairs_job *job, bm_error *err)
{
    if (!(job->rule.threshold > 0 && job->rule.threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g is out of range (above 0, at most 1)",
                             job->rule.threshold);
    if (job->n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", job->n_docs,
                             BM_DOCS_MAX);
    return BM_OK;
}

bm_status bm_all_pairs(const bm_all_pairs_job *job, bm_all_pairs_stats *stats, bm_error *err)
{
    uint64_t block = 0;
    BM_TRY(check(job, err));
    search *s = NULL;
    BM_TRY(bm_new_zero(&s, 1, err));
    s->job = job;
    s->sets = (bm_set_list){
        .docs = job->docs, .sizes = job->sizes, .skip = job->skip, .n_docs = job->n_docs};
    s->n_threads = job->pool == NULL ? 1 : bm_pool_size(job->pool);
    s->began_s = bm_clock_seconds();
    s->finders = bm_alloc_zero(s->n_threads, sizeof *s->finders);
    s->chunk = bm_alloc(CHUNK, sizeof *s->chunk);
    bm_status status = BM_OK;
    if (s->finders == NULL || s->chunk == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, CHUNK * sizeof *s->chunk));
    BM_TRY_OUT(report(s, 0, err));
    BM_TRY_OUT(sort_by_size(s, err));
    BM_TRY_OUT(share_memory(s, &block, err));
    if (job->store == NULL)
        BM_TRY_OUT(bm_shingle_counts_make(&s->counts, &s->sets, job->pool, err));
    BM_TRY_OUT(search_all(s, block, err));
    if (stats != NULL)
        *stats = s->stats;
out:
    search_free(s);
    return status;
}
