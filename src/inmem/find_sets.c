/* find_sets.c -- from texts or hashes to sorted sets of distinct hashes, and to band keys.
 *
 * Only the bands*rows words that the plan needs are computed, and none is stored unless signatures
 * verify. Band keys come out of the backend a document after another and are turned band by band
 * while a range is in cache.
 *
 * Tests: tests/unit/inmem/test_find_pairs.c */
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "model/scheme_facts.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/verify.h"
#include "inmem/finder.h"
#include "sketch/scheme.h"
#include "text/repeats.h"

#define DOC_GRAIN 256u /* documents a range */

bm_status bm_finder_reserve(bm_finder *finder, uint64_t bytes, bm_error *err)
{
    const uint64_t memory = finder->options->resources.memory;
    finder->bytes += bytes;
    if (memory != 0 && finder->bytes > memory)
        return bm_fail(err, BM_ERR_NOMEM, "%llu bytes are needed (`memory` is %llu)",
                       (unsigned long long)finder->bytes, (unsigned long long)memory);
    return BM_OK;
}

/* Whether to go on, asked on the caller's thread alone. */
static bm_status look_up(bm_finder *f, uint32_t thread, size_t n_done, bm_error *err)
{
    if (thread != 0)
        return BM_OK;
    bm_meter_progress(&f->meter, n_done, f->sets.n_docs, n_done);
    return bm_meter_check(&f->meter, err);
}

/* --- sets --- */

/* Of hashes that the caller brought: a copy. */
static void copy_set(bm_finder *f, size_t doc, uint64_t *scratch)
{
    const uint64_t *offsets = f->sets.offsets;
    size_t n = (size_t)(offsets[doc + 1] - offsets[doc]);
    uint64_t *set = f->sets.hashes + offsets[doc];
    if (n != 0)
        memcpy(set, f->input.hashes + offsets[doc], n * sizeof *set);
    bm_hashes_sort(set, n, scratch);
    if (f->options->text.bag) {
        bm_repeats_replace(set, n);
        bm_hashes_sort(set, n, scratch);
    }
}

typedef struct element {
    uint64_t hash;
    double weight;
} element;

/* Of equal hashes the greatest weight first. */
static int by_hash(const void *x, const void *y)
{
    const element *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

/* The same with weights: a hash that repeats has its greatest; how many are left. */
static size_t copy_weighted(bm_finder *f, size_t doc, element *scratch)
{
    const uint64_t begin = f->sets.offsets[doc];
    const size_t n = (size_t)(f->sets.offsets[doc + 1] - begin);
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = (element){f->input.hashes[begin + i], f->input.weights[begin + i]};
    if (n > 1)
        qsort(scratch, n, sizeof *scratch, by_hash);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && scratch[i].hash == scratch[i - 1].hash)
            continue;
        f->sets.hashes[begin + left] = scratch[i].hash;
        f->weights[begin + left++] = scratch[i].weight;
    }
    return left;
}

/* The sorted set of hashes that the caller brought; how many are left. */
static size_t take_set(bm_finder *f, size_t doc, void *scratch)
{
    if (f->weights != NULL)
        return copy_weighted(f, doc, scratch);
    copy_set(f, doc, scratch);
    return bm_hashes_distinct(f->sets.hashes + f->sets.offsets[doc],
                              (size_t)(f->sets.offsets[doc + 1] - f->sets.offsets[doc]));
}

static bm_status prepare_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    bm_finder *f = ctx;
    const bool copied = f->input.texts == NULL;
    const uint64_t *offsets = f->sets.offsets;
    size_t longest = 0;
    BM_TRY(look_up(f, thread, begin, err));
    for (size_t i = begin; copied && i < end; i++) {
        size_t n = (size_t)(offsets[i + 1] - offsets[i]);
        longest = n > longest ? n : longest;
    }
    element *scratch = NULL;
    BM_TRY(bm_new(&scratch, longest, err));
    for (size_t i = begin; i < end; i++) {
        size_t n = (size_t)(offsets[i + 1] - offsets[i]);
        f->docs[i] = f->sets.hashes + offsets[i];
        f->sizes[i] = (uint32_t)(copied ? take_set(f, i, scratch) : n);
        f->skip[i] = n == 0;
    }
    bm_free(scratch);
    return BM_OK;
}

/* Sets of the input's own offsets. */
static bm_status copy_offsets(bm_finder *f, bm_error *err)
{
    const size_t n = f->input.n_docs, n_hashes = n == 0 ? 0 : (size_t)f->input.offsets[n];
    BM_TRY(bm_finder_reserve(f, (n_hashes + n) * sizeof(uint64_t), err));
    f->sets.n_docs = n;
    f->sets.hashes = bm_alloc(n_hashes, sizeof *f->sets.hashes);
    f->sets.offsets = bm_alloc(n + 1, sizeof *f->sets.offsets);
    if (f->sets.hashes == NULL || f->sets.offsets == NULL)
        return bm_fail_nomem(err, (n_hashes + n) * sizeof *f->sets.hashes);
    bm_status status = BM_OK;
    if (f->input.weights != NULL) {
        status = bm_finder_reserve(f, n_hashes * sizeof *f->weights, err);
        f->weights = status == BM_OK ? bm_alloc(n_hashes, sizeof *f->weights) : NULL;
        if (f->weights == NULL)
            return status != BM_OK ? status : bm_fail_nomem(err, n_hashes * sizeof *f->weights);
    }
    f->sets.offsets[0] = 0;
    if (n != 0)
        memcpy(f->sets.offsets, f->input.offsets, (n + 1) * sizeof *f->sets.offsets);
    return BM_OK;
}

static bm_status make_sets(bm_finder *f, bm_error *err)
{
    if (f->input.texts == NULL)
        return copy_offsets(f, err);
    bm_hash_sets_job job = {.docs = &f->input,
                            .work = f->work,
                            .text = &f->options->text,
                            .cpu = f->options->cpu,
                            .sorted = true,
                            .memory = f->options->resources.memory,
                            .pool = f->pool,
                            .meter = &f->meter};
    BM_TRY(bm_hash_sets_make(&job, &f->sets, err));
    const uint64_t n_hashes = f->sets.offsets[f->sets.n_docs];
    return bm_finder_reserve(f, (n_hashes + f->sets.n_docs) * sizeof(uint64_t), err);
}

bm_status bm_finder_prepare(bm_finder *finder, bm_error *err)
{
    bm_finder *f = finder;
    const size_t n = f->input.n_docs,
                 row = bm_scheme_row_uints(f->options->sketch.scheme, f->options->sketch.perms) *
                       sizeof *f->words;
    const bool words = f->options->verify == BM_VERIFY_SIGNATURE;
    const size_t a_doc = sizeof *f->docs + sizeof *f->sizes + sizeof *f->skip + (words ? row : 0);
    BM_TRY(make_sets(f, err));
    BM_TRY(bm_finder_reserve(f, (uint64_t)n * a_doc, err));
    f->docs = bm_alloc(n, sizeof *f->docs);
    f->sizes = bm_alloc(n, sizeof *f->sizes);
    f->skip = bm_alloc(n, sizeof *f->skip);
    f->words = words ? bm_alloc(n, row) : NULL;
    if (f->docs == NULL || f->sizes == NULL || f->skip == NULL || (words && f->words == NULL))
        return bm_fail_nomem(err, n * a_doc);
    bm_meter_stage(&f->meter, "prepare", "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_for(f->pool, (bm_pool_split){n, DOC_GRAIN}, prepare_range, f, err));
    for (size_t i = 0; i < n; i++) {
        f->out->stats.shingles += f->sizes[i];
        f->out->stats.empty += f->skip[i];
    }
out:
    f->out->stats.documents = n;
    return status;
}

/* --- band keys, and words where they are compared --- */

static bm_status sign_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    bm_finder *f = ctx;
    const size_t n = end - begin;
    const uint32_t bands = f->out->plan.bands;
    BM_TRY(look_up(f, thread, begin, err));
    uint64_t *keys = NULL;
    BM_TRY(bm_new(&keys, n * bands, err));
    bm_sign_task task = {.offsets = f->sets.offsets + begin,
                         .hashes = f->input.texts == NULL ? f->input.hashes : f->sets.hashes,
                         .weights = f->input.weights,
                         .n_docs = n,
                         .keys = bands == 0 ? NULL : keys,
                         .words = f->words};
    if (f->words != NULL)
        task.words +=
            begin * bm_scheme_row_uints(f->options->sketch.scheme, f->options->sketch.perms);
    bm_status status = BM_OK;
    BM_TRY_OUT(f->backend->ops->submit(f->backend, &task, err));
    BM_TRY_OUT(f->backend->ops->wait(f->backend, &task, err));
    for (uint32_t band = 0; band < bands; band++) {
        for (size_t i = 0; i < n; i++)
            f->keys[band][begin + i] = keys[i * bands + band];
    }
out:
    bm_free(keys);
    return status;
}

bm_status bm_finder_sign(bm_finder *finder, bm_error *err)
{
    bm_finder *f = finder;
    const size_t n = f->sets.n_docs;
    const uint32_t bands = f->out->plan.bands, rows = f->out->plan.rows;
    if (bands == 0 && f->words == NULL)
        return BM_OK;
    bm_backend_cfg cfg = {
        .sketch = f->options->sketch,
        .perms_used = f->words == NULL ? bm_scheme_words(&f->options->sketch, bands * rows) : 0,
        .bands = bands,
        .rows = rows,
        .device = "cpu",
        .cpu = f->options->cpu,
        .cache_dir = ""};
    BM_TRY(bm_finder_reserve(f, (uint64_t)n * bands * sizeof **f->keys, err));
    BM_TRY(bm_new_zero(&f->keys, bands, err));
    for (uint32_t band = 0; band < bands; band++) {
        BM_TRY(bm_new(&f->keys[band], n, err));
    }
    bm_meter_stage(&f->meter, "sign", "documents");
    BM_TRY(bm_backend_cpu.open(&cfg, &f->backend, err));
    return bm_pool_for(f->pool, (bm_pool_split){n, DOC_GRAIN}, sign_range, f, err);
}
