/* find_pairs.c -- bm_find_pairs: pairs of similar documents, in memory, from sets of hashes.
 *
 *     copy, sort, drop repeats -> sign on the native CPU -> band keys -> candidates -> verify ->
 * sort
 *
 * Every step runs over ranges of documents or pairs on all threads. Only the bands*rows words that
 * the plan needs are computed, and none is stored unless signatures verify. Band keys come out of
 * the backend a document after another and are turned band by band while a range is in cache.
 *
 * Memory: 8 bytes a hash, 8 bytes a band and document (4 a word and document under SIGNATURE),
 * 13 bytes a document while bucketing, and the pairs found.
 *
 * A call owns its threads; different calls are independent. */
#include <bandmill/sketch.h>

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "lsh/all_pairs.h"
#include "lsh/band_plan.h"
#include "lsh/candidates.h"
#include "lsh/verify.h"
#include "pipeline/inmem/csr_check.h"
#include "sketch/scheme.h"

#define DOC_GRAIN    256u   /* documents a range */
#define PAIR_GRAIN   1024u  /* pairs a range */
#define CHUNK        65536u /* candidates a chunk */
#define SHARES_A_BIT 1e-300 /* a threshold that any shared hash reaches */

typedef struct finder {
    const bm_find_config *config;
    bm_verify verify;
    uint32_t bands, rows;
    const uint64_t *offsets, *hashes;
    size_t n_docs;
    bm_pool *pool;
    bm_backend *backend;
    uint64_t *sorted;      /* the hashes, each document's in ascending order */
    const uint64_t **docs; /* into sorted */
    uint32_t *sizes;       /* distinct */
    uint8_t *skip;         /* no hashes */
    uint64_t **keys;       /* bands arrays */
    uint32_t *words;       /* under SIGNATURE: perms a document */
    bm_pair *chunk;        /* being verified */
    bm_pair *pairs;
    size_t n_pairs, cap_pairs;
} finder;

static bm_status prepare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    finder *f = ctx;
    size_t longest = 0;
    for (size_t i = begin; i < end; i++) {
        size_t n = (size_t)(f->offsets[i + 1] - f->offsets[i]);
        longest = n > longest ? n : longest;
    }
    uint64_t *scratch = bm_alloc(longest, sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, longest * sizeof *scratch);
    for (size_t i = begin; i < end; i++) {
        size_t n = (size_t)(f->offsets[i + 1] - f->offsets[i]);
        uint64_t *set = f->sorted + f->offsets[i];
        if (n != 0)
            memcpy(set, f->hashes + f->offsets[i], n * sizeof *set);
        bm_hashes_sort(set, n, scratch);
        f->docs[i] = set;
        f->sizes[i] = (uint32_t)bm_hashes_distinct(set, n);
        f->skip[i] = n == 0;
    }
    bm_free(scratch);
    return BM_OK;
}

static bm_status prepare(finder *f, bm_error *err)
{
    size_t n = f->n_docs, n_hashes = n == 0 ? 0 : (size_t)f->offsets[n];
    f->sorted = bm_alloc(n_hashes, sizeof *f->sorted);
    f->docs = bm_alloc(n, sizeof *f->docs);
    f->sizes = bm_alloc(n, sizeof *f->sizes);
    f->skip = bm_alloc(n, sizeof *f->skip);
    if (f->sorted == NULL || f->docs == NULL || f->sizes == NULL || f->skip == NULL)
        return bm_fail_nomem(err, n_hashes * sizeof *f->sorted + n * 13);
    if (f->verify == BM_VERIFY_SIGNATURE) {
        f->words = bm_alloc(n, f->config->sketch.perms * sizeof *f->words);
        if (f->words == NULL)
            return bm_fail_nomem(err, n * f->config->sketch.perms * sizeof *f->words);
    }
    return bm_pool_for(f->pool, n, DOC_GRAIN, prepare_range, f, err);
}

static bm_status sign_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    finder *f = ctx;
    size_t n = end - begin;
    uint64_t *keys = bm_alloc(n * f->bands, sizeof *keys);
    if (keys == NULL)
        return bm_fail_nomem(err, n * f->bands * sizeof *keys);
    bm_sign_task task = {.offsets = f->offsets + begin,
                         .hashes = f->hashes != NULL ? f->hashes : f->sorted, /* none is read */
                         .n_docs = n,
                         .keys = f->bands == 0 ? NULL : keys,
                         .words = f->words};
    if (f->words != NULL)
        task.words += begin * f->config->sketch.perms;
    bm_status status = f->backend->ops->submit(f->backend, &task, err);
    if (status == BM_OK)
        status = f->backend->ops->wait(f->backend, &task, err);
    for (uint32_t band = 0; status == BM_OK && band < f->bands; band++)
        for (size_t i = 0; i < n; i++)
            f->keys[band][begin + i] = keys[i * f->bands + band];
    bm_free(keys);
    return status;
}

static bm_status sign(finder *f, bm_error *err)
{
    bm_backend_cfg cfg = {
        .sketch = f->config->sketch,
        .perms_used =
            f->words == NULL ? bm_scheme_words(&f->config->sketch, f->bands * f->rows) : 0,
        .bands = f->bands,
        .rows = f->rows,
        .device = "cpu",
        .cache_dir = "",
        .callbacks = &f->config->callbacks};
    f->keys = bm_alloc_zero(f->bands, sizeof *f->keys);
    if (f->keys == NULL)
        return bm_fail_nomem(err, f->bands * sizeof *f->keys);
    for (uint32_t band = 0; band < f->bands; band++) {
        f->keys[band] = bm_alloc(f->n_docs, sizeof *f->keys[band]);
        if (f->keys[band] == NULL)
            return bm_fail_nomem(err, f->n_docs * sizeof *f->keys[band]);
    }
    bm_status status = bm_backend_cpu.open(&cfg, &f->backend, err);
    return status == BM_OK ? bm_pool_for(f->pool, f->n_docs, DOC_GRAIN, sign_range, f, err)
                           : status;
}

/* A pair that is no edge gets a similarity below every threshold: -1. */
static bm_status verify_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    finder *f = ctx;
    uint32_t perms = f->config->sketch.perms;
    for (size_t i = begin; i < end; i++) {
        bm_pair *p = &f->chunk[i];
        if (f->verify == BM_VERIFY_EXACT) {
            p->similarity = bm_jaccard_at_least(f->docs[p->a], f->sizes[p->a], f->docs[p->b],
                                                f->sizes[p->b], f->config->threshold);
        } else if (f->verify == BM_VERIFY_SIGNATURE) {
            double agreement = bm_signature_agreement(f->words + (size_t)p->a * perms,
                                                      f->words + (size_t)p->b * perms, perms);
            p->similarity = agreement >= f->config->threshold ? agreement : -1;
        } else {
            p->similarity = NAN;
        }
    }
    return BM_OK;
}

static bm_status keep(finder *f, const bm_pair *pairs, size_t n, bm_error *err)
{
    void *kept = f->pairs;
    bm_status status = bm_grow(&kept, &f->cap_pairs, f->n_pairs + n, sizeof *f->pairs, err);
    f->pairs = kept;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        f->pairs[f->n_pairs] = pairs[i];
        f->n_pairs += !(pairs[i].similarity < 0);
    }
    if (status == BM_OK && f->config->max_pairs != 0 && f->n_pairs > f->config->max_pairs)
        status = bm_fail(err, BM_ERR_NOMEM, "more than %llu pairs",
                         (unsigned long long)f->config->max_pairs);
    return status;
}

static bm_status on_candidates(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    finder *f = ctx;
    f->chunk = pairs;
    bm_status status = bm_pool_for(f->pool, n, PAIR_GRAIN, verify_range, f, err);
    return status == BM_OK ? keep(f, pairs, n, err) : status;
}

/* Exact similarities are there already. */
static bm_status on_all_pairs(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    finder *f = ctx;
    return f->verify == BM_VERIFY_EXACT ? keep(f, pairs, n, err)
                                        : on_candidates(ctx, pairs, n, err);
}

static bm_status find(finder *f, bm_error *err)
{
    const bm_callbacks *callbacks = &f->config->callbacks;
    if (!f->config->all_candidates) {
        bm_band_keyset keys = {.bands = f->bands,
                               .n_docs = f->n_docs,
                               .keys = (const uint64_t *const *)f->keys,
                               .skip = f->skip};
        bm_candidates_job job = {.keys = &keys,
                                 .pool = f->pool,
                                 .chunk = CHUNK,
                                 .fn = on_candidates,
                                 .ctx = f,
                                 .callbacks = callbacks};
        return bm_candidates(&job, err);
    }
    double threshold = f->verify == BM_VERIFY_EXACT ? f->config->threshold : SHARES_A_BIT;
    bm_all_pairs_job job = {.docs = f->docs,
                            .sizes = f->sizes,
                            .skip = f->skip,
                            .n_docs = f->n_docs,
                            .threshold = threshold,
                            .pool = f->pool,
                            .fn = on_all_pairs,
                            .ctx = f,
                            .callbacks = callbacks};
    return bm_all_pairs(&job, NULL, err);
}

/* One round of a stable counting sort, by a or by b. begins: n_docs + 1 zeroes. */
static void order_by(const finder *f, const bm_pair *from, bm_pair *to, bool by_a, size_t *begins)
{
    for (size_t i = 0; i < f->n_pairs; i++)
        begins[(size_t)(by_a ? from[i].a : from[i].b) + 1]++;
    for (size_t doc = 1; doc <= f->n_docs; doc++)
        begins[doc] += begins[doc - 1];
    for (size_t i = 0; i < f->n_pairs; i++)
        to[begins[by_a ? from[i].a : from[i].b]++] = from[i];
}

/* By a, then b, in O(pairs + documents). */
static bm_status order(finder *f, bm_error *err)
{
    if (f->n_pairs < 2)
        return BM_OK;
    bm_pair *other = bm_alloc(f->n_pairs, sizeof *other);
    size_t *begins = bm_alloc_zero(f->n_docs + 1, 2 * sizeof *begins);
    bm_status status = BM_OK;
    if (other == NULL || begins == NULL) {
        status = bm_fail_nomem(err, f->n_pairs * sizeof *other + f->n_docs * 2 * sizeof *begins);
    } else {
        order_by(f, f->pairs, other, false, begins);
        order_by(f, other, f->pairs, true, begins + f->n_docs + 1);
    }
    bm_free(other);
    bm_free(begins);
    return status;
}

static bm_status check(const bm_find_config *config, const uint64_t *offsets, size_t n_docs,
                       bm_error *err)
{
    if (config->verify > BM_VERIFY_NONE)
        return bm_fail(err, BM_ERR_USAGE, "unknown way to verify (%d)", (int)config->verify);
    if (!(config->threshold > 0 && config->threshold <= 1))
        return bm_fail(err, BM_ERR_USAGE, "threshold %g is out of range (above 0, at most 1)",
                       config->threshold);
    if (config->sketch.perms == 0 || config->sketch.perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations are out of range (1 to %u)",
                       config->sketch.perms, BM_PERMS_MAX);
    if (n_docs > BM_DOCS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%zu documents are too many (at most %u)", n_docs,
                       BM_DOCS_MAX);
    return bm_csr_check(offsets, n_docs, err);
}

/* Bands and rows of the config; none given: chosen for its threshold. */
static bm_status settle_plan(finder *f, bm_error *err)
{
    const bm_find_config *config = f->config;
    const bm_band_plan *given = &config->plan;
    bm_band_plan plan = {0};
    bm_status status = BM_OK;
    double recall = given->recall > 0 && given->recall < 1 ? given->recall : .95;
    if (config->all_candidates)
        return BM_OK;
    if (given->bands == 0 && given->rows == 0)
        status = bm_band_plan_choose(config->threshold, recall, config->sketch.perms, &plan, err);
    else
        status = bm_band_plan_fixed(&(bm_band_plan){.perms = config->sketch.perms,
                                                    .bands = given->bands,
                                                    .rows = given->rows,
                                                    .threshold = config->threshold,
                                                    .recall = recall},
                                    &plan, err);
    f->bands = plan.bands;
    f->rows = plan.rows;
    return status;
}

static void finder_reset(finder *f)
{
    if (f->backend != NULL)
        f->backend->ops->close(f->backend);
    for (uint32_t band = 0; f->keys != NULL && band < f->bands; band++)
        bm_free(f->keys[band]);
    bm_free(f->keys);
    bm_free(f->words);
    bm_free(f->skip);
    bm_free(f->sizes);
    bm_free(f->docs);
    bm_free(f->sorted);
    bm_free(f->pairs);
    bm_pool_close(f->pool);
}

void bm_find_config_init(bm_find_config *config)
{
    *config = (bm_find_config){.sketch = {.perms = 128, .seed = 1}, .threshold = .8};
    config->verify = BM_VERIFY_AUTO;
    bm_band_plan_choose(config->threshold, .95, config->sketch.perms, &config->plan, NULL);
}

bm_status bm_find_pairs(const bm_find_config *config, const uint64_t *offsets,
                        const uint64_t *hashes, size_t n_docs, bm_pair **pairs, size_t *n_pairs,
                        bm_error *err)
{
    bm_status status = check(config, offsets, n_docs, err);
    if (status != BM_OK)
        return status;
    finder f = {.config = config, .offsets = offsets, .hashes = hashes, .n_docs = n_docs};
    f.verify = config->verify == BM_VERIFY_AUTO ? BM_VERIFY_EXACT : config->verify;
    uint32_t threads = config->threads == 0 ? bm_cpu_count() : config->threads;
    status = settle_plan(&f, err);
    if (status == BM_OK)
        status = bm_pool_open(threads, &f.pool, err);
    if (status == BM_OK)
        status = prepare(&f, err);
    if (status == BM_OK && (f.bands != 0 || f.words != NULL))
        status = sign(&f, err);
    if (status == BM_OK)
        status = find(&f, err);
    if (status == BM_OK)
        status = order(&f, err);
    if (status == BM_OK) {
        *pairs = f.pairs;
        *n_pairs = f.n_pairs;
        f.pairs = NULL;
    }
    finder_reset(&f);
    return status;
}

void bm_pairs_free(bm_pair *pairs)
{
    bm_free(pairs);
}
