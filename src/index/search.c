/* SPDX-License-Identifier: Apache-2.0 */
/* search.c -- verifies the candidates of a batch, and orders the answers.
 *
 *     hits of each band (search_hits.c), sorted    |  part 0  |   part 1   |  part 2 ...
 *     a part: its slices of all lists, merged and sorted, without repeats
 *             -> each document is read once, in file order, and compared with all queries that
 *                found it
 *     answers of all parts -> by document, best first
 *
 * The parts have about equally many hits, and threads share the parts. Answers do not depend on
 * where the parts are cut, and no two answers are equal in the final order. So the result depends
 * neither on threads nor on the batch.
 *
 * If the sizes of two sets already show that they cannot reach the threshold, the set of the
 * document is not read.
 *
 * Any number of threads may search the same view, each with its own result, and its own pool or
 * none.
 *
 * Tests: tests/cli/cases/query.sh, tests/reference/test_measure.py,
 *        tests/unit/index/test_search.c */
#include "index/search.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/set_overlaps.h"
#include "lsh/verify.h"

/* === search scan ===
 *
 * Searches by containment. An inverted index is made of the queries, and the documents of the
 * searched index are looked up in it.
 *
 *     queries of the batch -> bm_overlap_index (lsh/set_overlaps.h)
 *                          -> filters of the index (store_view.h)
 *                             -> a bit for each document that may contain a query
 *     document numbers 0 ... n-1, cut into parts
 *                          -> set of a document -> shared count for each query
 *                             -> enough?
 *
 * A document of any size may contain a query, and the shared shingles may be the rarest or the most
 * common ones. So neither bands nor prefixes of sorted shingles can select candidates.
 *
 * Probing the filter of the inverted index with each hash of a document's set takes about as long
 * as reading the set, and that filter rejects nearly all hashes. So a scan for thousands of queries
 * costs little more than a scan for a single query. For each shingle of the index, a scan costs
 * about 2 ns for all queries together, and the filters of the index cost about 20 ps for each
 * query. So the filters are used only for few queries, and only if they exclude most documents, as
 * they do for long queries at thresholds that are not small.
 *
 * Threads share the parts, each of which is contiguous in the file. */

#define PARTS_A_THREAD 8u
#define NUMBERS_AHEAD  16u
#define SET_BY_CHANCE                                                                              \
    0.17 /* share of set bits in a row of a filter, raised a little for common shingles */

typedef struct scanning {
    bm_scan *scan;
    uint32_t *docs; /* the documents of the batch that are searched for */
    /* for each entry of `docs`: the least number of shared shingles that suffices */
    uint32_t *least;
    uint32_t *n_sets; /* for each entry of `docs`: its number of shingles */
    const uint64_t **sets;
    size_t n;
    bm_filter_ask *asks;
    bm_overlap_index index; /* index of the sets of the documents in `docs` */
    uint32_t n_numbers;     /* count of document numbers in the store */
    /* one bit for each number: the document may contain a query; NULL: every document may */
    uint8_t *maybe;
    atomic_size_t n_found; /* answers so far */
} scanning;

static bm_status list_queries(scanning *s, bm_error *err)
{
    const bm_search_batch *batch = s->scan->batch;
    BM_TRY(bm_new(&s->docs, s->scan->n, err));
    BM_TRY(bm_new(&s->least, s->scan->n, err));
    BM_TRY(bm_new(&s->n_sets, s->scan->n, err));
    BM_TRY(bm_new(&s->sets, s->scan->n, err));
    BM_TRY(bm_new(&s->asks, s->scan->n, err));
    for (size_t i = 0; i < s->scan->n; i++) {
        const uint32_t n = batch->n_shingles[i];
        if (n == 0 || (batch->same != NULL && batch->same[i] != i))
            continue;
        s->docs[s->n] = (uint32_t)i;
        s->least[s->n] = (uint32_t)bm_least_share(n, s->scan->cfg->threshold);
        s->n_sets[s->n] = n;
        s->sets[s->n] = batch->sets[i];
        s->asks[s->n] = (bm_filter_ask){batch->sets[i], n, s->least[s->n]};
        s->n++;
    }
    const bm_hash_sets sets = {.sets = s->sets, .sizes = s->n_sets, .n = s->n};
    return bm_overlap_index_build(&sets, &s->index, err);
}

/* --- filters --- */

/* Estimate the share of the documents that pass the filters although they share no shingle with a
 * query, because by chance at least `least` of n bits are set. The result is the tail of a binomial
 * distribution: the first term by Stirling's formula, times the sum of a geometric series with the
 * ratio of the first two terms. */
static double pass_rate(const bm_filter_ask *ask)
{
    const double set = SET_BY_CHANCE, n = ask->n, share = (double)ask->least / n;
    if (ask->least == ask->n)
        return pow(set, n);
    if (share <= set)
        return 1;
    const double divergence = share * log(share / set) + (1 - share) * log((1 - share) / (1 - set));
    const double first = exp(-n * divergence) / sqrt(2 * M_PI * n * share * (1 - share));
    return fmin(1, first / (1 - (1 - share) / share * set / (1 - set)));
}

/* Does using the filters first save time? The unit of cost is the time to read one shingle of the
 * index. */
static bool filters_help(const scanning *s)
{
    const bm_store_counts counts = bm_store_view_counts(s->scan->cfg->view);
    const double words = (double)counts.next_number / 64;
    double cost = 0;
    for (size_t i = 0; i < s->n; i++) {
        const double rows = (s->asks[i].n - s->asks[i].least + 1) / (1 - SET_BY_CHANCE);
        cost += words * rows + pass_rate(&s->asks[i]) * (double)counts.shingles;
    }
    return bm_store_view_filters(s->scan->cfg->view) > 0 && cost < (double)counts.shingles;
}

static bm_status ask_filters(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    scanning *s = ctx;
    for (size_t filter = begin; filter < end; filter++)
        BM_TRY(bm_store_view_filter(s->scan->cfg->view, filter, s->asks, s->n, s->maybe, err));
    return BM_OK;
}

static bm_status filter_documents(scanning *s, bm_error *err)
{
    const bm_search_cfg *cfg = s->scan->cfg;
    const size_t n_filters = bm_store_view_filters(cfg->view);
    if (!filters_help(s))
        return BM_OK;
    BM_TRY(bm_new_zero(&s->maybe, s->n_numbers / 8 + (size_t)1, err));
    bm_store_view_unfiltered(cfg->view, s->maybe);
    return cfg->pool == NULL
               ? ask_filters(s, 0, 0, n_filters, err)
               : bm_pool_for(cfg->pool, (bm_pool_split){n_filters, 1}, ask_filters, s, err);
}

/* --- documents --- */

/* Add the document to `found` for each query that it contains. */
static bm_status add_overlaps(scanning *s, const bm_overlaps *overlaps, uint32_t number,
                              const bm_store_doc *doc, bm_found_list *found, bm_error *err)
{
    for (size_t i = 0; i < overlaps->n_found; i++) {
        const uint32_t query = overlaps->found[i], at = s->docs[query];
        const uint32_t shared = overlaps->common[query];
        const uint32_t weight = s->scan->weights != NULL ? s->scan->weights[at] : 1;
        found->steps++;
        if (shared < s->least[query])
            continue;
        found->candidates += weight;
        found->verified += weight;
        if (bm_search_skips(s->scan->cfg, s->scan->batch, at, doc->id))
            continue;
        const bm_answer answer = {number, (double)shared / (double)s->n_sets[query]};
        atomic_fetch_add_explicit(&s->n_found, 1, memory_order_relaxed);
        BM_TRY(bm_found_keep(found, s->scan->alone ? s->scan->cfg->top : 0, (bm_found){at, answer},
                             err));
    }
    return BM_OK;
}

static bm_status scan_part(scanning *s, uint32_t begin, uint32_t end, bm_found_list *found,
                           bm_error *err)
{
    const bm_store_view *view = s->scan->cfg->view;
    bm_overlaps overlaps = {0};
    uint64_t *set = NULL;
    size_t cap = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_overlaps_open(&s->index, &overlaps, err));
    for (uint32_t number = begin; number < end; number++) {
        bm_store_doc doc;
        if (s->maybe != NULL && number % 8 == 0 && s->maybe[number / 8] == 0 && end - number > 8)
            number += 7;
        if (s->maybe != NULL && (s->maybe[number / 8] >> number % 8 & 1) == 0)
            continue;
        if (!s->scan->alone && atomic_load(&s->n_found) > s->scan->most)
            break;
        if (s->maybe == NULL && end - number > NUMBERS_AHEAD)
            bm_store_view_expect(view, number + NUMBERS_AHEAD, false);
        status = bm_store_view_doc(view, number, &doc, err);
        if (status == BM_NOT_FOUND || (status == BM_OK && doc.n_shingles == 0)) {
            status = BM_OK;
            continue;
        }
        BM_TRY_OUT(status);
        BM_TRY_OUT(bm_grow_array(&set, &cap, doc.n_shingles, err));
        BM_TRY_OUT(bm_store_doc_set(&doc, set, err));
        bm_overlaps_find(&overlaps, &s->index, set, doc.n_shingles);
        BM_TRY_OUT(add_overlaps(s, &overlaps, number, &doc, found, err));
    }
out:
    bm_overlaps_close(&overlaps);
    bm_free(set);
    return status;
}

static bm_status scan_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    scanning *s = ctx;
    const size_t n_parts = s->scan->n_found;
    for (size_t part = begin; part < end; part++)
        BM_TRY(scan_part(s, (uint32_t)((uint64_t)s->n_numbers * part / n_parts),
                         (uint32_t)((uint64_t)s->n_numbers * (part + 1) / n_parts),
                         &s->scan->found[part], err));
    return BM_OK;
}

/* Find the documents that contain at least the share cfg->threshold of a query's shingles. The
 * result is exact. BM_ERR_NOMEM. BM_ERR_FORMAT: the index is damaged. */
static bm_status search_scan(bm_scan *scan, bm_error *err)
{
    bm_pool *pool = scan->cfg->pool;
    scanning s = {.scan = scan,
                  .n_numbers = (uint32_t)bm_store_view_counts(scan->cfg->view).next_number};
    bm_status status = BM_OK;
    scan->n_found = pool == NULL ? 1 : (size_t)bm_pool_size(pool) * PARTS_A_THREAD;
    BM_TRY_OUT(bm_new_zero(&scan->found, scan->n_found, err));
    BM_TRY_OUT(list_queries(&s, err));
    BM_TRY_OUT(filter_documents(&s, err));
    scan->read_all = s.maybe == NULL;
    if (s.n > 0 && pool != NULL)
        status = bm_pool_for(pool, (bm_pool_split){scan->n_found, 1}, scan_parts, &s, err);
    else if (s.n > 0)
        status = scan_parts(&s, 0, 0, scan->n_found, err);
    scan->many = !scan->alone && atomic_load(&s.n_found) > scan->most;
out:
    bm_overlap_index_reset(&s.index);
    bm_free_all(s.docs, s.least, s.n_sets, s.sets, s.asks, s.maybe);
    return status;
}

#define HIT_BYTES    64u /* memory for a hit, from look-up to answer */
#define HITS_LEAST   ((size_t)1 << 12)
#define SORT_GRAIN   64u
#define PLACES_AHEAD 16u /* how many hits ahead a document's offset is prefetched */
#define DOCS_AHEAD   8u
#define MANY_ANSWERS 256u

typedef struct search_part {
    uint64_t begin, end; /* hits >= `begin` and < `end`; end UINT64_MAX: all hits from `begin` on */
    bm_found_list found;
} search_part;

typedef struct search {
    const bm_search_cfg *cfg;
    const bm_search_batch *batch;
    size_t n_asked;    /* the current search is for the first n_asked documents of the batch */
    uint32_t *weights; /* for each document of the batch, how many documents get its answers;
                        * NULL: 1 */
    bm_search_hits hits;
    search_part *parts;
    size_t n_parts;
    bm_crowd_search crowds;
    bm_scan scan; /* used with containment; hits, parts and crowds then are not */
    bool many;    /* the hits do not fit into memory: retry with fewer documents */
} search;

/* --- a pair --- */

/* Compare document `doc` of the batch with *t. *similarity becomes negative if it would be below
 * the threshold. */
static bm_status compare(const search *s, uint32_t doc, bm_search_target *t, double threshold,
                         double *similarity, bm_error *err)
{
    const bm_search_batch *batch = s->batch;
    const bm_store_facts *facts = s->cfg->facts;
    const uint32_t n = batch->n_shingles[doc];
    *similarity = -1;
    if (facts->kind == BM_STORE_SETS &&
        bm_jaccard_least_common(n, t->doc.n_shingles, threshold) == SIZE_MAX)
        return BM_OK;
    BM_TRY(bm_search_target_read(s->cfg, t, err));
    const bm_similarity_rule rule =
        bm_search_rule(facts->kind, (bm_word_rows){facts->words, s->cfg->word_bytes}, threshold);
    *similarity =
        facts->kind == BM_STORE_SETS
            ? bm_similarity(&rule, (bm_compared){batch->sets[doc], n},
                            (bm_compared){t->set, t->doc.n_shingles})
            : bm_similarity(&rule, (bm_compared){batch->words + (size_t)doc * facts->words, 0},
                            (bm_compared){t->words, 0});
    return BM_OK;
}

/* --- a part --- */

/* The index of the first hit in the list that is at least `hit`. */
static size_t lower_bound(const bm_hit_list *list, uint64_t hit)
{
    bm_bisect b = {0, list->n};
    while (b.low < b.high)
        bm_bisect_go(&b, list->list[bm_middle(&b)] < hit);
    return b.low;
}

/* Collect the hits of a part from all lists, ascending and without repeats. */
static bm_status gather(const search *s, const search_part *p, bm_hit_list *out, bm_error *err)
{
    for (size_t i = 0; i < s->hits.n_lists; i++) {
        const bm_hit_list *list = &s->hits.lists[i];
        const size_t begin = lower_bound(list, p->begin);
        const size_t n = (p->end == UINT64_MAX ? list->n : lower_bound(list, p->end)) - begin;
        BM_TRY(bm_grow_array(&out->list, &out->cap, out->n + n, err));
        if (n > 0)
            memcpy(out->list + out->n, list->list + begin, n * sizeof *out->list);
        out->n += n;
    }
    return s->hits.n_lists == 1 ? BM_OK : bm_hits_sort(out->list, &out->n, err);
}

/* Prefetch for later comparisons: the offset of a document first, and some hits later the bytes at
 * that offset. */
static inline void expect(const search *s, const bm_hit_list *hits, size_t i)
{
    if (i + PLACES_AHEAD < hits->n)
        bm_store_view_expect(s->cfg->view, (uint32_t)(hits->list[i + PLACES_AHEAD] >> 32), false);
    if (i + DOCS_AHEAD < hits->n)
        bm_store_view_expect(s->cfg->view, (uint32_t)(hits->list[i + DOCS_AHEAD] >> 32), true);
}

/* The similarity that an answer must reach. If a single document is searched for, hits ascend by
 * number. Once `top` answers are found, a later answer must therefore be more similar than the
 * worst of them. */
static double wanted(const search *s, const bm_found_list *found)
{
    const uint32_t top = s->cfg->top;
    if (s->n_asked != 1 || top == 0 || found->n < top)
        return s->cfg->threshold;
    uint64_t bits;
    double next =
        found->list[0].answer.similarity; /* similarities are not negative, so adding 1 to the bits
                                           * gives the next larger number */
    memcpy(&bits, &next, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof bits);
    return next;
}

static bm_status compare_hits(const search *s, search_part *p, const bm_hit_list *hits,
                              bm_search_target *t, bm_error *err)
{
    bm_found_list *found = &p->found;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < hits->n; i++) {
        const uint32_t number = (uint32_t)(hits->list[i] >> 32), doc = (uint32_t)hits->list[i];
        const uint32_t weight = s->weights != NULL ? s->weights[doc] : 1;
        const double least = wanted(s, found);
        double similarity = -1;
        expect(s, hits, i);
        found->candidates += weight;
        if (least > 1 && !s->cfg->skip_same_id) { /* no similarity exceeds 1 */
            found->verified += weight;
            continue;
        }
        if (i == 0 || number != t->number)
            status = bm_search_target_find(s->cfg, number, t, err);
        if (status != BM_OK || bm_search_skips(s->cfg, s->batch, doc, t->doc.id))
            continue;
        found->verified += weight;
        found->steps++;
        status = compare(s, doc, t, least, &similarity, err);
        if (status != BM_OK || similarity < 0)
            continue;
        status = bm_found_keep(found, s->n_asked == 1 ? s->cfg->top : 0,
                               (bm_found){doc, {number, similarity}}, err);
    }
    return status;
}

static bm_status do_part(const search *s, search_part *p, bm_error *err)
{
    const bool whole = s->n_parts == 1 && s->hits.n_lists == 1;
    bm_hit_list own = {0};
    bm_search_target t = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(whole ? BM_OK : gather(s, p, &own, err));
    status = compare_hits(s, p, whole ? &s->hits.lists[0] : &own, &t, err);
out:
    bm_free(own.list);
    bm_search_target_reset(&t);
    return status;
}

static bm_status do_parts(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    search *s = ctx;
    for (size_t i = begin; i < end; i++)
        BM_TRY(do_part(s, &s->parts[i], err));
    return BM_OK;
}

/* If there are several threads and many hits, cut the longest list into equal shares, and the other
 * lists at the same hits, since their hits are distributed similarly. Otherwise make one part. */
static bm_status cut_parts(search *s, bm_error *err)
{
    const bm_hit_list *longest = &s->hits.lists[0];
    size_t all = 0;
    for (size_t i = 0; i < s->hits.n_lists; i++) {
        all += s->hits.lists[i].n;
        if (s->hits.lists[i].n > longest->n)
            longest = &s->hits.lists[i];
    }
    s->n_parts = 1;
    if (s->cfg->pool != NULL && all >= BM_SEARCH_TOGETHER)
        s->n_parts = (size_t)bm_pool_size(s->cfg->pool) * PARTS_A_THREAD;
    if (s->n_parts > longest->n)
        s->n_parts = longest->n == 0 ? 1 : longest->n;
    BM_TRY(bm_new_zero(&s->parts, s->n_parts, err));
    for (size_t i = 0; i < s->n_parts; i++) {
        if (i > 0)
            s->parts[i].begin = s->parts[i - 1].end;
        s->parts[i].end =
            i + 1 == s->n_parts ? UINT64_MAX : longest->list[longest->n / s->n_parts * (i + 1)];
    }
    return BM_OK;
}

/* --- answers --- */

static int best_first(const void *x, const void *y)
{
    const bm_answer *a = x, *b = y;
    return bm_answer_before(a, b) ? -1 : bm_answer_before(b, a);
}

/* Return the bits of a similarity, inverted, so that they descend as the similarity rises.
 * Similarities are never negative. */
static inline uint64_t bits_of(double similarity)
{
    uint64_t bits;
    memcpy(&bits, &similarity, sizeof bits);
    return ~bits;
}

/* Sort many answers that have few distinct similarities. The distinct similarities are sorted
 * first. Then the answers are sorted by the rank of their similarity, and by number. */
static bm_status sort_many(bm_answer *list, size_t n, bm_error *err)
{
    uint64_t *ranks = bm_alloc(n, sizeof *ranks), *keys = bm_alloc(n, sizeof *keys);
    size_t n_ranks = n, n_keys = n;
    bm_status status = BM_OK;
    if (ranks == NULL || keys == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, 2 * n * sizeof *keys));
    for (size_t i = 0; i < n; i++)
        ranks[i] = bits_of(list[i].similarity);
    BM_TRY_OUT(bm_hits_sort(ranks, &n_ranks, err));
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = bits_of(list[i].similarity);
        bm_bisect rank = {1, n_ranks};
        while (rank.low < rank.high)
            bm_bisect_go(&rank, ranks[bm_middle(&rank)] <= bits);
        keys[i] = (uint64_t)(rank.low - 1) << 32 | list[i].number;
    }
    BM_TRY_OUT(bm_hits_sort(keys, &n_keys, err));
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = ~ranks[keys[i] >> 32];
        list[i].number = (uint32_t)keys[i];
        memcpy(&list[i].similarity, &bits, sizeof bits);
    }
out:
    bm_free_all(ranks, keys);
    return status;
}

/* With joins, a document's list may have the same answer twice: keep it once. */
static uint64_t drop_repeats(bm_answer *list, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || list[i].number != list[i - 1].number)
            list[kept++] = list[i];
    return kept;
}

/* Sort the answers of each document, and keep only the best cfg->top of them. */
static bm_status order_answers(const search *s, bm_search_result *result, bm_error *err)
{
    uint64_t n = 0, begin = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < result->n; i++) {
        const uint64_t end = result->begin[i + 1];
        uint64_t count = end - begin;
        if (count > MANY_ANSWERS)
            status = sort_many(result->list + begin, (size_t)count, err);
        else if (count > 1)
            qsort(result->list + begin, (size_t)count, sizeof *result->list, best_first);
        if (s->cfg->joins && count > 0)
            count = drop_repeats(result->list + begin, count);
        if (s->cfg->top != 0 && count > s->cfg->top)
            count = s->cfg->top;
        if (n != begin && count > 0)
            memmove(result->list + n, result->list + begin, (size_t)count * sizeof *result->list);
        begin = end;
        n += count;
        result->begin[i + 1] = n;
    }
    return status;
}

static const bm_found_list *found_at(const search *s, size_t i)
{
    if (s->scan.n_found > 0)
        return &s->scan.found[i];
    return i < s->n_parts ? &s->parts[i].found : &s->crowds.found[i - s->n_parts];
}

static bm_status collect_answers(const search *s, size_t n, bm_search_result *result, bm_error *err)
{
    const size_t n_lists = s->n_parts + s->crowds.n_found + s->scan.n_found;
    size_t all = 0;
    for (size_t i = 0; i < n_lists; i++)
        all += found_at(s, i)->n;
    BM_TRY(bm_grow_array(&result->begin, &result->cap_begin, n + 2, err));
    BM_TRY(bm_grow_array(&result->list, &result->cap_list, all, err));
    /* Count document i in begin[i + 2]. After summing, begin[i + 1] is the write position of
     * document i. */
    memset(result->begin, 0, (n + 2) * sizeof *result->begin);
    for (size_t i = 0; i < n_lists; i++)
        for (size_t k = 0; k < found_at(s, i)->n; k++)
            result->begin[found_at(s, i)->list[k].doc + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        result->begin[i] += result->begin[i - 1];
    for (size_t i = 0; i < n_lists; i++) {
        const bm_found_list *found = found_at(s, i);
        for (size_t k = 0; k < found->n; k++)
            result->list[result->begin[found->list[k].doc + 1]++] = found->list[k].answer;
        result->candidates += found->candidates;
        result->verified += found->verified;
        result->steps += found->steps;
    }
    for (size_t i = 0; s->hits.left != NULL && i < n; i++)
        result->not_compared += s->hits.left[i] * (s->weights != NULL ? s->weights[i] : 1);
    result->n = n;
    return order_answers(s, result, err);
}

/* --- the search --- */

/* The documents of the batch that have hits. */
typedef struct comparable {
    const bm_search_batch *batch;
    uint32_t *docs;
    size_t n;
} comparable;

static bm_status sort_some(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparable *c = ctx;
    const bm_search_batch *batch = c->batch;
    bm_sorter sorter = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; status == BM_OK && i < end; i++) {
        const uint64_t *set = batch->sets[c->docs[i]];
        status = bm_sorter_sort(&sorter, batch->unsorted + (set - batch->unsorted),
                                batch->n_shingles[c->docs[i]], err);
    }
    bm_sorter_reset(&sorter);
    return status;
}

/* If the batch has unsorted sets, sort those of the documents that have candidates. The sets of the
 * other documents, often most, are left unsorted. */
static bm_status sort_sets(const search *s, size_t n, bm_error *err)
{
    comparable c = {.batch = s->batch};
    if (s->batch->unsorted == NULL)
        return BM_OK;
    uint8_t *has = bm_alloc_zero(n, sizeof *has);
    c.docs = bm_alloc(n, sizeof *c.docs);
    bm_status status = BM_OK;
    if (has == NULL || c.docs == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * sizeof *c.docs));
    for (size_t i = 0; i < s->hits.n_lists; i++) {
        for (size_t k = 0; k < s->hits.lists[i].n; k++)
            has[(uint32_t)s->hits.lists[i].list[k]] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (has[i])
            c.docs[c.n++] = (uint32_t)i;
    }
    if (s->cfg->pool != NULL) {
        BM_TRY_OUT(bm_pool_for(s->cfg->pool, (bm_pool_split){c.n, SORT_GRAIN}, sort_some, &c, err));
    } else {
        BM_TRY_OUT(sort_some(&c, 0, 0, c.n, err));
    }
out:
    bm_free_all(has, c.docs);
    return status;
}

static bm_status count_copies(search *s, size_t n, bm_error *err)
{
    if (s->batch->same == NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&s->weights, n, err));
    for (size_t i = 0; i < n; i++)
        s->weights[s->batch->same[i]]++;
    return BM_OK;
}

static void reset_answers(search *s)
{
    for (size_t i = 0; s->parts != NULL && i < s->n_parts; i++)
        bm_free(s->parts[i].found.list);
    for (size_t i = 0; i < s->crowds.n_found; i++)
        bm_free(s->crowds.found[i].list);
    for (size_t i = 0; s->scan.found != NULL && i < s->scan.n_found; i++)
        bm_free(s->scan.found[i].list);
    bm_free_all(s->scan.found, s->crowds.found, s->parts, s->weights);
    s->crowds = (bm_crowd_search){0};
    s->scan = (bm_scan){0};
    s->parts = NULL;
    s->weights = NULL;
    s->n_parts = 0;
}

static bm_status answer_hits(search *s, size_t most, bm_search_result *result, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(count_copies(s, s->n_asked, err));
    s->crowds = (bm_crowd_search){.cfg = s->cfg,
                                  .batch = s->batch,
                                  .n = s->n_asked,
                                  .weights = s->weights,
                                  .hits = &s->hits,
                                  .most = most};
    BM_TRY_OUT(bm_search_crowds(&s->crowds, err));
    s->many = s->crowds.many;
    if (s->many)
        goto out;
    BM_TRY_OUT(sort_sets(s, s->n_asked, err));
    BM_TRY_OUT(cut_parts(s, err));
    BM_TRY_OUT(s->n_parts == 1
                   ? do_part(s, &s->parts[0], err)
                   : bm_pool_for(s->cfg->pool, (bm_pool_split){s->n_parts, 1}, do_parts, s, err));
    status = collect_answers(s, s->n_asked, result, err);
out:
    reset_answers(s);
    return status;
}

static bm_status answer_by_scan(search *s, const bm_key_batch *asked, bm_search_result *result,
                                bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(count_copies(s, s->n_asked, err));
    s->scan = (bm_scan){.cfg = s->cfg,
                        .batch = s->batch,
                        .n = s->n_asked,
                        .weights = s->weights,
                        .most = asked->most,
                        .alone = asked->alone};
    BM_TRY_OUT(search_scan(&s->scan, err));
    s->many = s->scan.many;
    if (!s->many) {
        status = collect_answers(s, s->n_asked, result, err);
        result->read_all += s->scan.read_all ? s->n_asked : 0;
    }
out:
    reset_answers(s);
    return status;
}

/* Count the documents at the front of the batch, as long as at most `different` of them are
 * distinct. */
static size_t first_docs(const bm_search_batch *batch, size_t different)
{
    size_t n = 0;
    if (batch->same == NULL)
        return different < batch->n ? different : batch->n;
    for (size_t seen = 0; n < batch->n; n++) {
        seen += batch->same[n] == n;
        if (seen > different)
            break;
    }
    return n;
}

static size_t count_different(const bm_search_batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; batch->same != NULL && i < batch->n; i++)
        n += batch->same[i] == i;
    return batch->same == NULL ? batch->n : n;
}

/* Search for the first documents of the batch, as many as fit into memory. */
static bm_status ask(search *s, bm_key_batch *asked, bm_search_result *result, bm_error *err)
{
    const size_t all = count_different(s->batch);
    size_t different = result->fits > 0 && result->fits < all ? result->fits : all;
    bm_status status;
    for (;; different /= 2) {
        asked->n = s->n_asked = first_docs(s->batch, different);
        asked->alone = different <= 1;
        if (s->cfg->measure == BM_MEASURE_CONTAINMENT) {
            status = answer_by_scan(s, asked, result, err);
        } else {
            status = bm_search_look_up(asked, &s->hits, &s->many, err);
            if (status == BM_OK && !s->many)
                status = answer_hits(s, asked->most, result, err);
            bm_search_hits_reset(&s->hits);
        }
        if (status != BM_OK || !s->many)
            break;
    }
    /* The next run may find less, so let it try a few more documents. */
    result->fits = different < all ? different + different / 4 + 1 : 0;
    return status;
}

bm_status bm_search_run(const bm_search_cfg *cfg, const bm_search_batch *batch,
                        bm_search_result *result, bm_error *err)
{
    search s = {.cfg = cfg, .batch = batch};
    bm_key_batch asked = {.view = cfg->view,
                          .pool = cfg->pool,
                          .bands = cfg->facts->bands,
                          .keys = batch->keys,
                          .n_shingles = batch->n_shingles,
                          .same = batch->same,
                          .most = SIZE_MAX,
                          .first = cfg->first,
                          .keep_crowded = cfg->facts->kind == BM_STORE_SETS ||
                                          cfg->word_bytes == sizeof *batch->words};
    if (cfg->memory != 0)
        asked.most =
            cfg->memory / HIT_BYTES < HITS_LEAST ? HITS_LEAST : (size_t)(cfg->memory / HIT_BYTES);
    return ask(&s, &asked, result, err);
}

void bm_search_result_reset(bm_search_result *result)
{
    bm_free_all(result->begin, result->list);
    *result = (bm_search_result){0};
}
