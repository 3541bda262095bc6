/* corpus_sort.c -- sets in memory are sorted when somebody first needs them, since most documents
 * are never a candidate.
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/unit/match/test_match_all_pairs.c */
#include "base/error.h"
#include "lsh/verify.h"
#include "corpus/corpus.h"

#define SORT_GRAIN 64u

typedef struct sort_job {
    bm_corpus *corpus;
    uint32_t *docs;
    size_t n, cap;
} sort_job;

static bm_status sort_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    sort_job *job = ctx;
    bm_corpus *corpus = job->corpus;
    size_t largest = 0;
    for (size_t i = begin; i < end; i++)
        largest = corpus->sizes[job->docs[i]] > largest ? corpus->sizes[job->docs[i]] : largest;
    const size_t cap = largest < BM_SORT_SCRATCH ? largest : BM_SORT_SCRATCH;
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, cap, err));
    for (size_t i = begin; i < end; i++)
        bm_hashes_sort_within(corpus->sets.hashes[job->docs[i]], corpus->sizes[job->docs[i]],
                              scratch, cap);
    bm_free(scratch);
    return BM_OK;
}

static bm_status want_sorted(sort_job *job, uint32_t doc, bm_error *err)
{
    uint32_t rep = job->corpus->rep[doc];
    if (job->corpus->sets.sorted[rep] || job->corpus->cfg.weighted) /* they came sorted */
        return BM_OK;
    BM_TRY(bm_grow(&job->docs, &job->cap, job->n + 1, sizeof *job->docs, err));
    job->docs[job->n++] = rep;
    job->corpus->sets.sorted[rep] = 1;
    return BM_OK;
}

static bm_status sort_wanted(sort_job *job, bm_status status, bm_pool *pool, bm_error *err)
{
    if (status == BM_OK)
        status = bm_pool_for(pool, (bm_pool_split){job->n, SORT_GRAIN}, sort_range, job, err);
    bm_free(job->docs);
    return status;
}

bm_status bm_corpus_sort(bm_corpus *corpus, const bm_pair *pairs, size_t n, bm_pool *pool,
                         bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++) {
        BM_TRY_OUT(want_sorted(&job, pairs[i].a, err));
        BM_TRY_OUT(want_sorted(&job, pairs[i].b, err));
    }
out:
    return sort_wanted(&job, status, pool, err);
}

bm_status bm_corpus_sort_docs(bm_corpus *corpus, const uint32_t *docs, size_t n, bm_pool *pool,
                              bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(want_sorted(&job, docs[i], err));
out:
    return sort_wanted(&job, status, pool, err);
}

bm_status bm_corpus_sort_all(bm_corpus *corpus, bm_pool *pool, bm_error *err)
{
    sort_job job = {.corpus = corpus};
    bm_status status = BM_OK;
    for (size_t i = 0; i < corpus->n; i++)
        BM_TRY_OUT(want_sorted(&job, (uint32_t)i, err));
out:
    return sort_wanted(&job, status, pool, err);
}
