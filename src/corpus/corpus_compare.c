/* corpus_compare.c -- similarities of pairs, wherever the sets lie.
 *
 * Where sets are in memory, those that the pairs need are sorted unless they are, and compared.
 * Where they are in a file, as many pairs are taken at a time as their sets fit into the arena;
 * their documents are listed once each in ascending order, which is the order of their places on
 * disk, read on all threads, sorted and compared.
 *
 *     pairs   (3,9) (3,20) (9,12) …        documents   3 9 12 20      data   -> arena
 *
 * Reading a set again costs less than making it again from its text, which would have to be found,
 * read, parsed and hashed; and a stream cannot be read twice. The pages read were mostly written a
 * moment ago and are still in the system's cache, which is not the process's memory.
 *
 * Tests: tests/unit/job/test_corpus_spill.c */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "lsh/verify.h"
#include "model/option_names.h"
#include "corpus/corpus.h"
#include "sketch/scheme.h"

#define PAIR_GRAIN 256u
#define DOC_GRAIN  512u

typedef struct comparison {
    bm_corpus *corpus;
    bm_verify verify;
    bm_measure measure;
    double threshold;
    bm_share share;
    bm_pool *pool;
    bm_pair *pairs;
    size_t n;
    /* Where sets are in a file: the documents of the pairs at hand. */
    uint64_t *docs; /* distinct, ascending */
    uint64_t *at;   /* byte of the arena where the set of each begins; scratch before that */
    size_t n_docs;
} comparison;

/* --- comparing --- */

static const void *set_of(const comparison *c, uint32_t rep)
{
    const bm_corpus_sets *sets = &c->corpus->sets;
    if (!bm_corpus_sets_in_file(c->corpus))
        return c->verify == BM_VERIFY_SIGNATURE ? (const void *)sets->words[rep]
                                                : (const void *)sets->hashes[rep];
    size_t begin = 0, end = c->n_docs;
    while (end - begin > 1) {
        size_t middle = begin + (end - begin) / 2;
        if (c->docs[middle] <= rep)
            begin = middle;
        else
            end = middle;
    }
    return sets->arena + c->at[begin];
}

static double similarity(const comparison *c, uint32_t a, uint32_t b)
{
    const bm_corpus *corpus = c->corpus;
    uint32_t x = corpus->rep[a], y = corpus->rep[b];
    const void *set_x = set_of(c, x), *set_y = set_of(c, y);
    if (c->verify == BM_VERIFY_SIGNATURE)
        return bm_agreement_at_least(set_x, set_y, corpus->cfg.words, c->threshold);
    if (x == y)
        return 1.0;
    if (corpus->cfg.weighted)
        return bm_weighted_jaccard(bm_corpus_weighted(set_x, corpus->sizes[x]),
                                   bm_corpus_weighted(set_y, corpus->sizes[y]));
    if (c->verify == BM_VERIFY_CONTAINED)
        return bm_jaccard_held(set_x, corpus->sizes[x], set_y, corpus->sizes[y], c->share);
    return bm_similarity_at_least(c->measure, set_x, corpus->sizes[x], set_y, corpus->sizes[y],
                                  c->threshold);
}

static bm_status compare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    comparison *c = ctx;
    for (size_t i = begin; i < end; i++)
        c->pairs[i].similarity = similarity(c, c->pairs[i].a, c->pairs[i].b);
    return BM_OK;
}

static bm_status compare(comparison *c, bm_error *err)
{
    if (c->n <= PAIR_GRAIN) /* not worth waking anybody */
        return compare_range(c, 0, 0, c->n, err);
    return bm_pool_for(c->pool, (bm_pool_split){c->n, PAIR_GRAIN}, compare_range, c, err);
}

/* --- sets in a file: of the documents of as many pairs as fit --- */

static size_t set_len(const comparison *c, uint64_t rep)
{
    const bm_corpus *corpus = c->corpus;
    return c->verify == BM_VERIFY_SIGNATURE ? corpus->cfg.words.uints * sizeof(uint32_t)
                                            : corpus->sizes[rep] * bm_corpus_element_bytes(corpus);
}

/* List the documents of the first c->n pairs; how many bytes their sets have. */
static uint64_t list_docs(comparison *c)
{
    size_t n = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->docs[n++] = c->corpus->rep[c->pairs[i].a];
        c->docs[n++] = c->corpus->rep[c->pairs[i].b];
    }
    bm_hashes_sort(c->docs, n, c->at); /* numbers of documents here */
    c->n_docs = bm_hashes_distinct(c->docs, n);
    for (size_t i = 0; i < c->n_docs; i++)
        bytes += set_len(c, c->docs[i]);
    return bytes;
}

/* Take as many of the next `left` pairs as fit, one at least; how many bytes their sets have. */
static uint64_t take(comparison *c, size_t left)
{
    uint64_t most = c->corpus->cfg.budget.arena;
    c->n = left;
    for (;;) {
        uint64_t bytes = list_docs(c);
        if (bytes <= most || c->n == 1)
            return bytes;
        size_t fewer = (size_t)((double)c->n * (double)most / (double)bytes * .9);
        c->n = fewer < 1 ? 1 : fewer < c->n ? fewer : c->n - 1;
    }
}

static bm_status read_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    comparison *c = ctx;
    size_t largest = 0;
    for (size_t i = begin; i < end; i++)
        largest = set_len(c, c->docs[i]) > largest ? set_len(c, c->docs[i]) : largest;
    bool sorts = c->verify != BM_VERIFY_SIGNATURE && !c->corpus->cfg.weighted;
    size_t cap = largest / sizeof(uint64_t);
    cap = !sorts ? 1 : cap < BM_SORT_SCRATCH ? cap : BM_SORT_SCRATCH;
    bm_set_reader reader = {.corpus = c->corpus};
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, cap, err));
    bm_status status = BM_OK;
    for (size_t i = begin; i < end; i++) {
        size_t len = set_len(c, c->docs[i]);
        void *to = c->corpus->sets.arena + c->at[i];
        BM_TRY_OUT(bm_set_reader_copy(&reader, c->docs[i], to, len, err));
        if (sorts)
            bm_hashes_sort_within(to, len / sizeof *scratch, scratch, cap);
    }
out:
    bm_set_reader_reset(&reader);
    bm_free(scratch);
    return status;
}

static bm_status load(comparison *c, uint64_t bytes, bm_error *err)
{
    bm_corpus_sets *sets = &c->corpus->sets;
    const uint64_t arena = c->corpus->cfg.budget.arena;
    if (bytes > arena && arena != 0) {
        /* two long documents */
        BM_TRY(bm_corpus_check_matching(c->corpus, bytes - arena, err));
    }
    if (bytes > sets->cap_arena) {
        bm_free(sets->arena);
        sets->arena = NULL;
        sets->cap_arena = 0;
        sets->arena = bm_alloc((size_t)bytes, 1);
        if (sets->arena == NULL)
            return bm_fail_nomem(err, (size_t)bytes);
        sets->cap_arena = (size_t)bytes;
    }
    uint64_t at = 0;
    for (size_t i = 0; i < c->n_docs; i++) {
        c->at[i] = at;
        at += set_len(c, c->docs[i]);
    }
    sets->bytes_back += bytes;
    return bm_pool_for(c->pool, (bm_pool_split){c->n_docs, DOC_GRAIN}, read_sets, c, err);
}

static bm_status compare_from_file(comparison *c, size_t n, bm_error *err)
{
    bm_status status = BM_OK;
    c->docs = bm_alloc(2 * n, sizeof *c->docs);
    c->at = bm_alloc(2 * n, sizeof *c->at);
    if (c->docs == NULL || c->at == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, 2 * n * (sizeof *c->docs + sizeof *c->at)));
    for (size_t left = n; left > 0; left -= c->n) {
        uint64_t bytes = take(c, left);
        BM_TRY_OUT(load(c, bytes, err));
        BM_TRY_OUT(compare(c, err));
        c->pairs += c->n;
    }
out:
    bm_free(c->docs);
    bm_free(c->at);
    return status;
}

bm_status bm_corpus_compare(bm_corpus *corpus, const bm_comparison *how, bm_pair *pairs, size_t n,
                            bm_error *err)
{
    comparison c = {.corpus = corpus,
                    .verify = how->verify,
                    .measure = how->measure,
                    .threshold = how->threshold,
                    .share = how->share,
                    .pool = how->pool,
                    .pairs = pairs,
                    .n = n};
    if (how->verify == BM_VERIFY_NONE) {
        for (size_t i = 0; i < n; i++)
            pairs[i].similarity = NAN;
        return BM_OK;
    }
    if (bm_corpus_sets_in_file(corpus))
        return n == 0 ? BM_OK : compare_from_file(&c, n, err);
    if (bm_verify_reads_sets(how->verify))
        BM_TRY(bm_corpus_sort(corpus, pairs, n, how->pool, err));
    return compare(&c, err);
}
