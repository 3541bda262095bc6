/* SPDX-License-Identifier: Apache-2.0 */
/* weighted_pairs.c -- looks documents up in an index of the heaviest shingles of earlier documents.
 *
 *     block    documents first … end-1: as many as fit into the index with their heaviest
 *              shingles
 *     probe    each document after `first` is looked up by all its shingles. Documents of the
 *              block that come before it and share a shingle are candidates, once each, unless
 *              the sums of the weights rule them out
 *     compare  candidates are compared in chunks, like the candidates of bands
 *
 * The comment of the weighted index below proves that no pair is lost. The similarity of two
 * documents is at most the smaller sum of weights divided by the greater sum. So a pair is skipped
 * if its sums differ too much, with the same allowance for rounding.
 *
 * If the documents do not fit into one block, all sets after the first document of a block are read
 * once for each block. All threads probe, one document at a time, until there are enough candidates
 * to compare. */
#include "match/weighted_pairs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "corpus/corpus.h"
#include "lsh/shingle_counts.h"

/* === weighted index ===
 *
 * Has the heaviest shingles of each document, in buckets by the leading bits of their mixed hashes.
 *
 * Omitting the lighter shingles loses no pair. Let x and y be documents of similarity J >= t, and S
 * the sum of the weights of x. Let M be the sum, over the shared shingles, of the smaller of the
 * two weights. J is M divided by the sum of the greater weights, which is at least S. So M >= t S.
 * Omit the lightest elements of x, as long as the omitted elements together weigh less than t S. If
 * y had none of the remaining elements, all shared shingles would be among the omitted ones, and M
 * < t S. So y has at least one of the remaining elements, and these are in the index. The proof
 * holds whichever of the two documents is x, and for any order of omission. The heaviest elements
 * are kept because they are the fewest, and mostly the rarest. Omitting elements on one side of a
 * pair is enough, because y is looked up with all its elements.
 *
 * Rounding: a sum of n positive doubles has a relative error below n e, where e = 2^-53. Let L be
 * the number of elements of the longest set. The computed similarity, with n = 2 L, has a relative
 * error below (2 n + 1) e. The errors of S and of the remaining weight are below 2 L e S. In total,
 * the error is below 8 (L + 1) e of t S and of S. weighted_share subtracts more than that from the
 * share, so that more elements are kept. */

#define PER_BUCKET 2u /* approximate number of entries in a bucket */

typedef struct heavy {
    uint64_t hash;
    double weight;
} heavy;

/* If the computed similarity of two sets reaches `threshold`, they have at least this share of the
 * weight of either set in common. Sets have at most `longest` elements. */
static double weighted_share(double threshold, size_t longest)
{
    const double off = 0x1p-49 * ((double)longest + 1);
    return threshold - off * (1 + threshold);
}

static int heaviest_first(const void *x, const void *y)
{
    const heavy *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Add the next document of the block, but only its heaviest elements: the omitted ones have less
 * than `share` of its weight. `scratch` has space for set.n elements. BM_ERR_NOMEM. */
static bm_status weighted_index_add(bm_weighted_index *index, bm_weighted_set set, double share,
                                    void *scratch, bm_error *err)
{
    const double sum = bm_weighted_sum(set);
    heavy *list = scratch;
    double left = sum;
    BM_TRY(bm_grow_array(&index->sums, &index->cap_docs, index->n_docs + 1, err));
    BM_TRY(bm_grow_array(&index->entries, &index->cap, index->n + set.n, err));
    for (size_t i = 0; i < set.n; i++)
        list[i] = (heavy){set.hashes[i], set.weights[i]};
    if (set.n > 1)
        qsort(list, set.n, sizeof *list, heaviest_first);
    for (size_t i = 0; i < set.n && left >= share * sum; i++) {
        index->entries[index->n++] =
            (bm_weighted_entry){bm_shingle_mix(list[i].hash), index->n_docs};
        left -= list[i].weight;
    }
    index->sums[index->n_docs++] = sum;
    return BM_OK;
}

/* Build the index. Call this after all documents of the block were added. */
static bm_status weighted_index_build(bm_weighted_index *index, bm_error *err)
{
    unsigned bits = 1;
    while (bits < 40 && index->n >> bits >= PER_BUCKET)
        bits++;
    const size_t n_buckets = (size_t)1 << bits;
    bm_weighted_entry *ordered = bm_alloc(index->n, sizeof *ordered);
    bm_free(index->starts);
    index->starts = bm_alloc_zero(n_buckets + 2, sizeof *index->starts);
    index->bits = bits;
    if (ordered == NULL || index->starts == NULL) {
        bm_free(ordered);
        return bm_fail_nomem(err, index->n * sizeof *ordered);
    }
    /* ends[b] is where bucket b begins; while entries are placed, where its next entry goes */
    size_t *ends = index->starts + 1;
    for (size_t i = 0; i < index->n; i++)
        ends[(index->entries[i].key >> (64 - bits)) + 1]++;
    for (size_t b = 0; b < n_buckets; b++)
        ends[b + 1] += ends[b];
    for (size_t i = 0; i < index->n; i++)
        ordered[ends[index->entries[i].key >> (64 - bits)]++] = index->entries[i];
    bm_free(index->entries);
    index->entries = ordered;
    index->cap = index->n;
    return BM_OK;
}

/* Prefetch the bucket of a hash that will be looked up soon. */
static void weighted_index_expect(const bm_weighted_index *index, uint64_t hash)
{
    __builtin_prefetch(&index->starts[bm_shingle_mix(hash) >> (64 - index->bits)]);
}

/* Find the bucket of `hash`: entries[*begin] … entries[end - 1]. Sets *key to the mixed hash; all
 * entries with this key are in the bucket. Returns the end. */
static size_t weighted_index_find(const bm_weighted_index *index, uint64_t hash, uint64_t *key,
                                  size_t *begin)
{
    *key = bm_shingle_mix(hash);
    const size_t bucket = (size_t)(*key >> (64 - index->bits));
    *begin = index->starts[bucket];
    return index->starts[bucket + 1];
}

/* Empty the index, but keep its memory. */
static void weighted_index_clear(bm_weighted_index *index)
{
    index->n_docs = 0;
    index->n = 0;
}

static void weighted_index_reset(bm_weighted_index *index)
{
    bm_free_all(index->sums, index->entries, index->starts);
    memset(index, 0, sizeof *index);
}

/* number of shingles between prefetching entries and reading them */
#define AHEAD       12u
#define CHUNK_PAIRS 65536u              /* pairs that are compared at a time */
#define ROOM_LEAST  ((uint64_t)1 << 20) /* fewest bytes of an index */
#define ROOM_MOST   ((uint64_t)1 << 30) /* most bytes of an index, if memory is not limited */

/* The state of one thread. */
typedef struct prober {
    uint32_t *met; /* for each document of the block: 1 + the last document whose probe found it; 0:
                    * none did */
    bm_set_reader reader;
    bm_pair *pairs;
    size_t n, cap;
} prober;

typedef struct search {
    bm_match *match;
    const bm_corpus *corpus;
    bm_weighted_index index;
    size_t first, end; /* the block */
    double share;
    size_t longest;
    uint64_t index_bytes; /* limit for the bytes of the index */
    prober *probers;
    uint32_t n_probers;
    atomic_size_t next;    /* the next document to probe */
    atomic_size_t n_found; /* number of pairs that were found, but not compared yet */
} search;

/* --- sets --- */

static bm_status get_set(bm_set_reader *reader, size_t row, bm_weighted_set *out, bm_error *err)
{
    const void *set;
    BM_TRY(bm_set_reader_get(reader, row, &set, err));
    *out = bm_weighted_set_at(set, reader->corpus->sizes[row]);
    return BM_OK;
}

/* --- the index of a block --- */

/* Bytes that a document of the block takes in addition to its entries in the index. */
static uint64_t doc_bytes(const search *s)
{
    return sizeof *s->index.sums * 2 + s->n_probers * (sizeof(uint32_t) + sizeof(bm_pair));
}

static bm_status build_block(search *s, bm_error *err)
{
    const bm_corpus *corpus = s->corpus;
    bm_set_reader reader = {.corpus = corpus};
    void *scratch = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_by(bm_alloc, &scratch, s->longest, BM_WEIGHTED_SCRATCH, err));
    weighted_index_clear(&s->index);
    for (s->end = s->first; s->end < corpus->n; s->end++) {
        bm_weighted_set set = {NULL, NULL, 0};
        const size_t n = corpus->skip[s->end] ? 0 : corpus->sizes[s->end];
        if (s->end > s->first &&
            (s->index.n + n) * BM_WEIGHTED_ENTRY + (s->index.n_docs + 1) * doc_bytes(s) >
                s->index_bytes)
            break;
        if (n > 0)
            BM_TRY_OUT(get_set(&reader, s->end, &set, err));
        BM_TRY_OUT(weighted_index_add(&s->index, set, s->share, scratch, err));
        if (s->end % CHUNK_PAIRS == 0)
            BM_TRY_OUT(bm_meter_check(s->match->settings.meter, err));
    }
    status = weighted_index_build(&s->index, err);
out:
    bm_free(scratch);
    bm_set_reader_reset(&reader);
    return status;
}

/* --- probing --- */

static bm_status found(search *s, prober *p, uint32_t a, uint32_t b, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&p->pairs, &p->cap, p->n + 1, err));
    p->pairs[p->n++] = (bm_pair){.a = a, .b = b};
out:
    atomic_fetch_add_explicit(&s->n_found, 1, memory_order_relaxed);
    return status;
}

static bm_status probe(search *s, prober *p, size_t row, bm_error *err)
{
    const bm_weighted_index *index = &s->index;
    const uint32_t before = (uint32_t)((row < s->end ? row : s->end) - s->first),
                   mark = (uint32_t)row + 1;
    bm_weighted_set set;
    BM_TRY(get_set(&p->reader, row, &set, err));
    const double sum = bm_weighted_sum(set);
    for (size_t i = 0; i < set.n; i++) {
        uint64_t key;
        size_t at;
        if (i + AHEAD < set.n)
            weighted_index_expect(index, set.hashes[i + AHEAD]);
        const size_t end = weighted_index_find(index, set.hashes[i], &key, &at);
        for (; at < end; at++) {
            const uint32_t other = index->entries[at].doc;
            if (index->entries[at].key != key || other >= before || p->met[other] == mark)
                continue;
            p->met[other] = mark;
            const double x = index->sums[other], least = x < sum ? x : sum,
                         most = x < sum ? sum : x;
            if (least >= s->share * most)
                BM_TRY(found(s, p, (uint32_t)(s->first + other), (uint32_t)row, err));
        }
    }
    return BM_OK;
}

/* Probe documents one after another, until enough pairs are found or no document is left. */
static bm_status run_prober(void *ctx, uint32_t thread, bm_error *err)
{
    search *s = ctx;
    const bm_corpus *corpus = s->corpus;
    while (atomic_load(&s->n_found) < CHUNK_PAIRS) {
        const size_t row = atomic_fetch_add(&s->next, 1);
        if (row >= corpus->n)
            break;
        if (!corpus->skip[row] && corpus->sizes[row] > 0)
            BM_TRY(probe(s, &s->probers[thread], row, err));
    }
    return BM_OK;
}

static bm_status compare_found(search *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint32_t t = 0; t < s->n_probers; t++) {
        prober *p = &s->probers[t];
        for (size_t at = 0; at < p->n; at += CHUNK_PAIRS)
            BM_TRY_OUT(bm_edges_compare(s->match, p->pairs + at,
                                        p->n - at < CHUNK_PAIRS ? p->n - at : CHUNK_PAIRS, err));
        p->n = 0;
    }
out:
    atomic_store(&s->n_found, 0);
    return status;
}

static bm_status probe_all(search *s, bm_error *err)
{
    const size_t n = s->corpus->n;
    bm_meter *meter = s->match->settings.meter;
    atomic_store(&s->next, s->first + 1);
    while (atomic_load(&s->next) < n) {
        BM_TRY(bm_meter_check(meter, err));
        BM_TRY(bm_pool_run(s->match->settings.pool, run_prober, s, err));
        BM_TRY(compare_found(s, err));
        const size_t done = atomic_load(&s->next);
        bm_meter_progress(meter, done < n ? done : n, n, done < n ? done : n);
    }
    return BM_OK;
}

/* --- the whole search --- */

static bm_status open_probers(search *s, bm_error *err)
{
    for (uint32_t t = 0; t < s->n_probers; t++) {
        prober *p = &s->probers[t];
        bm_free(p->met);
        BM_TRY(bm_new_zero(&p->met, s->index.n_docs, err));
        p->reader.corpus = s->corpus;
    }
    return BM_OK;
}

static void reset(search *s)
{
    for (uint32_t t = 0; s->probers != NULL && t < s->n_probers; t++) {
        bm_free(s->probers[t].met);
        bm_set_reader_reset(&s->probers[t].reader);
        bm_free(s->probers[t].pairs);
    }
    bm_free(s->probers);
    weighted_index_reset(&s->index);
}

/* Decide how many bytes the index may have. If too few are free, move sets to a file. */
static bm_status budget_index(search *s, bm_error *err)
{
    bm_corpus *corpus = s->match->settings.corpus;
    const uint64_t of_sets = s->longest * bm_corpus_element_bytes(corpus) * (s->n_probers + 2);
    if (corpus->cfg.memory == 0) {
        s->index_bytes = ROOM_MOST;
        return BM_OK;
    }
    if (corpus->cfg.temp_dir != NULL &&
        bm_corpus_matching_bytes(corpus) / 2 < ROOM_LEAST + of_sets + corpus->sets.bytes / 8)
        BM_TRY(bm_corpus_sets_to_file(corpus, err));
    BM_TRY(bm_corpus_check_matching(corpus, ROOM_LEAST + of_sets, err));
    s->index_bytes = (bm_corpus_matching_bytes(corpus) - of_sets) / 2;
    return BM_OK;
}

bm_status bm_match_weighted_pairs(bm_match *match, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    search s = {.match = match, .corpus = corpus, .n_probers = bm_pool_size(match->settings.pool)};
    uint64_t n_blocks = 0;
    for (size_t i = 0; i < corpus->n; i++)
        s.longest = corpus->sizes[i] > s.longest ? corpus->sizes[i] : s.longest;
    s.share = weighted_share(match->settings.threshold, s.longest);
    s.probers = bm_alloc_zero(s.n_probers, sizeof *s.probers);
    bm_status status = BM_OK;
    if (s.probers == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, s.n_probers * sizeof *s.probers));
    BM_TRY_OUT(budget_index(&s, err));
    bm_meter_stage(match->settings.meter, "compare", "documents");
    for (; s.first < corpus->n; s.first = s.end, n_blocks++) {
        BM_TRY_OUT(build_block(&s, err));
        BM_TRY_OUT(open_probers(&s, err));
        BM_TRY_OUT(probe_all(&s, err));
    }
    if (n_blocks > 1)
        bm_meter_log(match->settings.meter, BM_LOG_INFO,
                     "documents were compared through %llu indexes, one after another, to stay "
                     "within `memory`",
                     (unsigned long long)n_blocks);
out:
    reset(&s);
    return status;
}
