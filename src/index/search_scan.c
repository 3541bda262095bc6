/* search_scan.c -- an inverted index of the queries, and the documents of the index looked up in it.
 *
 *     queries of the batch -> bm_overlap_index (lsh/set_overlaps.h)
 *                          -> filters of the index (store_view.h) -> a bit for each document that may hold one
 *     numbers 0 ... n-1, cut into parts -> document, its set -> what it shares with each query -> enough of one?
 *
 * A query is contained by documents of any size, and by its rarest shingle or by its commonest: bands tell nothing about
 * that, and a prefix of the documents' shingles does not either. To read a set takes about as long as to look at each of
 * its hashes once in the filter of the queries' index, which nearly all of them end at; so thousands of queries cost
 * little more than one. The filters cost each query some 20 ps a shingle of the index instead of 2 ns for all queries, so they are asked for
 * few, and only where they leave out most documents: long queries, and thresholds that are not small.
 *
 * Threads share parts of the index, which lie one behind the other in its file.
 *
 * Tests: tests/reference/test_measure.py, tests/cli/cases/query.sh */
#include "index/search_crowds.h"

#include <math.h>
#include <stdatomic.h>

#include "base/error.h"
#include "lsh/set_overlaps.h"
#include "lsh/verify.h"

#define PARTS_A_THREAD 8u
#define NUMBERS_AHEAD  16u
#define SET_BY_CHANCE                                                                              \
    0.17 /* of a filter's rows, and a little for shingles that many documents have */

typedef struct scanning {
    bm_scan *scan;
    uint32_t *docs;   /* of the batch: those that are looked for */
    uint32_t *least;  /* of each: shingles that are enough */
    uint32_t *n_sets; /* of each: its shingles */
    const uint64_t **sets;
    size_t n;
    bm_filter_ask *asks;
    bm_overlap_index index; /* of these */
    uint32_t n_numbers;     /* of the store */
    uint8_t *maybe;         /* a bit each: it may hold a query; NULL: each may */
    atomic_size_t n_found;
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

/* The share of documents that pass the filters and have nothing in common with a query: `least` of n rows are set by chance. The tail of the
 * binomial distribution, from its first term by Stirling's formula and the ratio of its terms. */
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

/* Is it worth asking the filters first? What takes as long as to read a shingle of the index counts as one. */
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

static bool may_hold(const scanning *s, uint32_t number)
{
    return s->maybe == NULL || (s->maybe[number / 8] >> number % 8 & 1) != 0;
}

/* --- documents --- */

/* The queries that the document found last contains. */
static bm_status take_found(scanning *s, const bm_overlaps *overlaps, uint32_t number,
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
        if (!may_hold(s, number))
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
        BM_TRY_OUT(take_found(s, &overlaps, number, &doc, found, err));
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

bm_status bm_search_scan(bm_scan *scan, bm_error *err)
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
    bm_free(s.docs);
    bm_free(s.least);
    bm_free(s.n_sets);
    bm_free(s.sets);
    bm_free(s.asks);
    bm_free(s.maybe);
    return status;
}
