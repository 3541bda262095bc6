/* SPDX-License-Identifier: Apache-2.0 */
/* finder.c -- finds pairs of documents in memory: hash sets, copies, candidates, comparison.
 *
 * Tests: tests/reference/test_groups.py, tests/reference/test_report.py,
 *        tests/unit/inmem/test_compare_pairs.c, tests/unit/inmem/test_find_pairs.c,
 *        tests/unit/inmem/test_hash_sets.c, tests/unit/inmem/test_set_links.c,
 *        tests/unit/inmem/test_sketch_usage.c */
#include "inmem/finder.h"

#include <bandmill/sketch.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "base/threads.h"
#include "cpu/cpu_backend.h"
#include "inmem/documents.h"
#include "lsh/all_pairs.h"
#include "lsh/band_plan.h"
#include "lsh/candidates.h"
#include "lsh/similarity.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"
#include "text/distinct.h"
#include "text/stop_words.h"

/* set_links -- links copies, and passes all sets that are not copies to bm_find_pairs. */

double bm_six_decimals(double similarity)
{
    char text[32];
    uint32_t millionths = 0;
    if (isnan(similarity))
        return similarity;
    snprintf(text, sizeof text, "%.6f", similarity); /* rounds exactly, unlike a multiplication */
    for (const char *c = text; *c != '\0'; c++)
        if (*c >= '0' && *c <= '9') /* skips the decimal point, which depends on the locale */
            millionths = millionths * 10 + (uint32_t)(*c - '0');
    return millionths / 1e6;
}

static bool same_content(const bm_hash128 *x, const bm_hash128 *y)
{
    return x->hi == y->hi && x->lo == y->lo;
}

/* Order documents by content hash, and copies by input order. */
static int by_content(const void *x, const void *y, void *ctx)
{
    const bm_hash128 *contents = ctx;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    const bm_hash128 *p = &contents[a], *q = &contents[b];
    if (p->hi != q->hi)
        return p->hi < q->hi ? -1 : 1;
    if (p->lo != q->lo)
        return p->lo < q->lo ? -1 : 1;
    return a < b ? -1 : a > b;
}

typedef struct rest {
    uint32_t *order;   /* the numbers of all sets, ordered by content hash */
    uint8_t *copy;     /* copy[i] is 1 if set i is a copy, else 0 */
    uint32_t *numbers; /* the numbers of the n sets that are not copies */
    uint64_t *offsets; /* n + 1 offsets of the n sets that are not copies; gather() sets them */
    size_t n;
} rest;

/* Link each copy to the first document with the same content. */
static bm_status link_copies(const bm_linked_sets *s, rest *r, bm_set_link_fn fn, void *ctx,
                             bm_error *err)
{
    for (size_t i = 0; i < s->n; i++)
        r->order[i] = (uint32_t)i;
    qsort_r(r->order, s->n, sizeof *r->order, by_content, (void *)(uintptr_t)s->contents);
    for (size_t i = 1, first = 0; i < s->n; i++) {
        const uint32_t a = r->order[first], b = r->order[i];
        if (!same_content(&s->contents[a], &s->contents[b])) {
            first = i;
            continue;
        }
        r->copy[b] = 1;
        BM_TRY(fn(ctx, (bm_pair){a, b, 1.0}, err));
    }
    return BM_OK;
}

/* Move the sets that are not copies together, to the beginning of the arrays. */
static void gather(const bm_linked_sets *s, rest *r)
{
    r->offsets[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t size = (size_t)(s->offsets[i + 1] - s->offsets[i]);
        if (r->copy[i] != 0)
            continue;
        if (size > 0)
            memmove(s->hashes + r->offsets[r->n], s->hashes + s->offsets[i],
                    size * sizeof *s->hashes);
        if (size > 0 && s->weights != NULL)
            memmove(s->weights + r->offsets[r->n], s->weights + s->offsets[i],
                    size * sizeof *s->weights);
        r->offsets[r->n + 1] = r->offsets[r->n] + size;
        r->numbers[r->n++] = (uint32_t)i;
    }
}

static bm_status find_pairs(const bm_find_options *options, const bm_linked_sets *s, const rest *r,
                            bm_set_link_fn fn, void *ctx, bm_error *err)
{
    bm_pair_set *found = NULL;
    const bm_documents docs = bm_documents_of_weights(r->offsets, s->hashes, s->weights, r->n);
    BM_TRY(bm_find_pairs(options, &docs, &found, err));
    const bm_pair *pairs = bm_pair_set_data(found);
    bm_status status = BM_OK;
    for (size_t i = 0; i < bm_pair_set_count(found); i++)
        BM_TRY_OUT(fn(ctx,
                      (bm_pair){r->numbers[pairs[i].a], r->numbers[pairs[i].b],
                                bm_six_decimals(pairs[i].similarity)},
                      err));
out:
    bm_pair_set_free(found);
    return status;
}

bm_status bm_set_links(const bm_find_options *options, const bm_linked_sets *sets,
                       bm_set_link_fn fn, void *ctx, bm_error *err)
{
    const size_t n = sets->n;
    rest r = {.order = bm_alloc(n, sizeof *r.order),
              .copy = bm_alloc_zero(n, sizeof *r.copy),
              .numbers = bm_alloc(n, sizeof *r.numbers),
              .offsets = bm_alloc(n + 1, sizeof *r.offsets)};
    bm_status status = BM_OK;
    if (r.order == NULL || r.copy == NULL || r.numbers == NULL || r.offsets == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * 17));
    BM_TRY_OUT(link_copies(sets, &r, fn, ctx, err));
    gather(sets, &r);
    status = find_pairs(options, sets, &r, fn, ctx, err);
out:
    bm_free_all(r.order, r.copy, r.numbers, r.offsets);
    return status;
}

/* hash_sets -- for the documents of a call, makes sets of distinct hashes; used by bm_shingle_texts
 * and bm_find_pairs.
 *
 *     ranges of documents -> the sets of each range, stored as a chunk
 *
 * The number of hashes of a text is not known before it is cut. So the sets of a range stay in the
 * chunk where they are made. bm_shingle_texts copies each chunk into the result, and frees the
 * chunk. So the memory in use is about the size of the result: while the result is filled page by
 * page, the pages of chunks are freed. */

#define RANGE_WORK (UINT64_C(512) << 10)
#define LEAST_WORK (UINT64_C(16) << 10)

struct bm_hash_sets {
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1 elements */
    uint64_t *hashes;  /* offsets[n_docs] elements */
    uint64_t *content; /* content hashes, two elements each: lo, hi */
};

/* The sets of consecutive documents. */
typedef struct chunk {
    size_t first, n_docs;
    size_t n_hashes;
    uint64_t *hashes;
} chunk;

typedef struct sets_job {
    const bm_documents *docs; /* accepted by bm_documents_accept; have no hashes32 */
    uint64_t work;            /* work of all documents */
    const bm_text_options *text;
    const char *cpu;
    bool sorted;     /* sort the sets of texts; sets of given hashes are always sorted */
    uint64_t memory; /* most bytes of hashes; 0: no limit */
    bm_pool *pool;
    bm_meter *meter; /* used on the caller's thread */
    /* Arrays of results for each document. All but `sizes` may be NULL. */
    uint32_t *sizes;
    const uint64_t **sets;
    uint64_t *content; /* two elements per document */
} sets_job;

typedef struct maker {
    const sets_job *job;
    bm_doc_ranges ranges;
    pthread_mutex_t lock; /* protects the members from `chunks` to `n_hashes` */
    chunk *chunks;
    size_t n_chunks, cap_chunks;
    uint64_t n_hashes;
    uint64_t *given;   /* if hashes are given: the memory of all chunks; else NULL, and each chunk
                          has its own memory */
    bm_hash_sets *out; /* the result of bm_shingle_texts */
} maker;

/* Memory per hash, in 64-bit words. If a set has weights, they follow its hashes. */
static size_t words_a_hash(const bm_documents *docs)
{
    return docs->weights != NULL ? 2 : 1;
}

typedef struct element {
    uint64_t hash;
    double weight;
} element;

/* Order by hash; equal hashes by weight, the greatest first. */
static int by_hash(const void *x, const void *y)
{
    const element *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->weight < b->weight) - (a->weight > b->weight);
}

/* Sort n hashes, and drop repeats, which the hashes of a text do not have. In a bag of given
 * hashes, repeats become distinct elements instead. Returns the number of hashes that remain. */
static size_t sort_set(const sets_job *job, uint64_t *set, size_t n, void *scratch)
{
    bm_hashes_sort(set, n, scratch);
    if (job->docs->texts != NULL)
        return n;
    if (job->text->bag) {
        bm_repeats_replace(set, n);
        bm_hashes_sort(set, n, scratch);
    }
    return bm_hashes_distinct(set, n);
}

/* Make the sorted set of a document with weights, and put its weights after its hashes. Of equal
 * hashes, the one with the greatest weight is kept. Returns the number of hashes of the set. */
static size_t weigh_set(const sets_job *job, size_t doc, uint64_t *set, element *scratch)
{
    const uint64_t begin = job->docs->offsets[doc];
    const size_t n = (size_t)(job->docs->offsets[doc + 1] - begin);
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = (element){job->docs->hashes[begin + i], job->docs->weights[begin + i]};
    if (n > 1)
        qsort(scratch, n, sizeof *scratch, by_hash);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || scratch[i].hash != scratch[left - 1].hash)
            scratch[left++] = scratch[i];
    double *weights = (double *)(set + left);
    for (size_t i = 0; i < left; i++) {
        set[i] = scratch[i].hash;
        weights[i] = scratch[i].weight;
    }
    return left;
}

/* Convert the hashes of a chunk to sorted sets, and set job->sizes to the sizes of the sets. On
 * entry, job->sizes has the numbers of hashes of the documents. Without weights, the hashes are in
 * c->hashes; with weights, they are read from the caller's arrays. */
static bm_status sort_chunk(const sets_job *job, chunk *c, bm_error *err)
{
    const bool weighted = job->docs->weights != NULL;
    uint32_t *sizes = job->sizes + c->first, longest = 0;
    uint64_t *from = c->hashes, *to = c->hashes;
    element *scratch = NULL;
    for (size_t i = 0; i < c->n_docs; i++)
        longest = sizes[i] > longest ? sizes[i] : longest;
    BM_TRY(bm_new(&scratch, longest, err));
    for (size_t i = 0; i < c->n_docs; i++) {
        const size_t n = sizes[i];
        sizes[i] = (uint32_t)(weighted ? weigh_set(job, c->first + i, to, scratch)
                                       : sort_set(job, from, n, scratch));
        if (!weighted && to != from)
            memmove(to, from, sizes[i] * sizeof *to);
        from += n;
        to += sizes[i] * words_a_hash(job->docs);
    }
    bm_free(scratch);
    return BM_OK;
}

/* Cut the texts of the chunk into shingles. Afterwards c->hashes points into `batch`. */
static bm_status cut_texts(const sets_job *job, bm_doc_hasher *hasher, bm_shingle_batch *batch,
                           chunk *c, bm_error *err)
{
    bm_shingle_batch_clear(batch);
    for (size_t i = 0; i < c->n_docs; i++) {
        BM_TRY(bm_doc_hasher_add(hasher, job->docs, c->first + i, batch, err));
        job->sizes[c->first + i] = bm_shingle_batch_last(batch);
        if (job->content != NULL)
            memcpy(job->content + 2 * (c->first + i),
                   (const uint64_t[]){batch->content[i].lo, batch->content[i].hi},
                   2 * sizeof *job->content);
    }
    c->n_hashes = bm_shingle_batch_hashes(batch);
    c->hashes = batch->hashes;
    return BM_OK;
}

/* Copy the hashes of the chunk from the batch to new memory. */
static bm_status keep_hashes(chunk *c, bm_error *err)
{
    const uint64_t *from = c->hashes;
    BM_TRY(bm_new(&c->hashes, c->n_hashes, err));
    if (c->n_hashes != 0)
        memcpy(c->hashes, from, c->n_hashes * sizeof *from);
    return BM_OK;
}

/* Make a chunk of given hashes. Hashes with weights are not copied here, but in sort_chunk. */
static void copy_hashes(const maker *m, chunk *c)
{
    const bm_documents *docs = m->job->docs;
    const uint64_t *offsets = docs->offsets + c->first;
    c->n_hashes = (size_t)(offsets[c->n_docs] - offsets[0]);
    c->hashes = m->given + offsets[0] * words_a_hash(docs);
    for (size_t i = 0; i < c->n_docs; i++)
        m->job->sizes[c->first + i] = (uint32_t)(offsets[i + 1] - offsets[i]);
    if (docs->weights == NULL && c->n_hashes != 0)
        memcpy(c->hashes, docs->hashes + offsets[0], c->n_hashes * sizeof *c->hashes);
}

static bm_status add_chunk(maker *m, chunk *add, bm_error *err)
{
    pthread_mutex_lock(&m->lock);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&m->chunks, &m->cap_chunks, m->n_chunks + 1, err));
    m->n_hashes += add->n_hashes;
    const uint64_t memory = m->job->memory;
    if (memory != 0 && m->n_hashes > memory / sizeof(uint64_t))
        BM_TRY_OUT(bm_fail(err, BM_ERR_NOMEM,
                           "the hashes of the texts need more than %llu bytes "
                           "(`memory`)",
                           (unsigned long long)memory));
    m->chunks[m->n_chunks++] = *add;
out:
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bm_status make_chunk(maker *m, bm_doc_hasher *hasher, bm_shingle_batch *batch,
                            const size_t range[2], bm_error *err)
{
    const sets_job *job = m->job;
    const bool texts = job->docs->texts != NULL;
    chunk made = {.first = range[0], .n_docs = range[1] - range[0]};
    if (texts)
        BM_TRY(cut_texts(job, hasher, batch, &made, err));
    else
        copy_hashes(m, &made);
    if (job->sorted || !texts)
        BM_TRY(sort_chunk(job, &made, err));
    if (texts)
        BM_TRY(keep_hashes(&made, err));
    const uint64_t *set = made.hashes;
    for (size_t doc = range[0]; job->sets != NULL && doc < range[1]; doc++) {
        job->sets[doc] = set;
        set += job->sizes[doc] * words_a_hash(job->docs);
    }
    const bm_status status = add_chunk(m, &made, err);
    if (status != BM_OK && texts)
        bm_free(made.hashes);
    return status;
}

static bm_status make_chunks(void *ctx, uint32_t thread, bm_error *err)
{
    maker *m = ctx;
    bm_doc_hasher hasher = {0};
    bm_shingle_batch batch = {0};
    size_t range[2] = {0, 0};
    bm_status status = BM_OK;
    if (m->job->docs->texts != NULL)
        status = bm_doc_hasher_init(&hasher, m->job->text, m->job->cpu, err);
    while (bm_doc_ranges_next(&m->ranges, thread, range, &status, err))
        status = make_chunk(m, &hasher, &batch, range, err);
    bm_shingle_batch_reset(&batch);
    bm_doc_hasher_reset(&hasher);
    return status;
}

static void chunks_free(maker *m)
{
    for (size_t i = 0; m->given == NULL && i < m->n_chunks; i++)
        bm_free(m->chunks[i].hashes);
    bm_free_all(m->chunks, m->given);
    m->chunks = NULL;
}

/* Make all results that the job requests. The caller frees the chunks. BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
static bm_status make_sets(const sets_job *job, maker *m, bm_error *err)
{
    const bm_range_size size = {bm_pool_size(job->pool), RANGE_WORK, LEAST_WORK};
    const bm_documents *docs = job->docs;
    m->job = job;
    if (docs->texts == NULL && docs->n_docs > 0)
        BM_TRY(bm_new(&m->given, (size_t)docs->offsets[docs->n_docs] * words_a_hash(docs), err));
    pthread_mutex_init(&m->lock, NULL);
    bm_doc_ranges_begin(&m->ranges, docs, job->work, &size);
    m->ranges.meter = job->meter;
    bm_meter_stage(job->meter, "shingle", "documents");
    const bm_status status = bm_pool_run(job->pool, make_chunks, m, err);
    bm_doc_ranges_end(&m->ranges);
    pthread_mutex_destroy(&m->lock);
    return status;
}

/* --- the public call --- */

BM_OPTIONS_INIT(shingle, .text = BM_TEXT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

static bm_status place_chunks(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    maker *m = ctx;
    for (size_t i = begin; i < end; i++) {
        chunk *c = &m->chunks[i];
        if (c->n_hashes != 0)
            memcpy(m->out->hashes + m->out->offsets[c->first], c->hashes,
                   c->n_hashes * sizeof *c->hashes);
        bm_free(c->hashes);
        c->hashes = NULL;
    }
    return BM_OK;
}

static bm_status shingle(const bm_shingle_options *options, const bm_documents *docs, uint64_t work,
                         bm_hash_sets *out, bm_error *err)
{
    bm_meter meter;
    const size_t n = out->n_docs = docs->n_docs;
    sets_job job = {.docs = docs,
                    .work = work,
                    .text = &options->text,
                    .cpu = options->cpu,
                    .sorted = options->sorted,
                    .memory = options->resources.memory,
                    .meter = &meter,
                    .sizes = bm_alloc(n, sizeof *job.sizes),
                    .content = bm_alloc(n, 2 * sizeof *job.content)};
    maker m = {.out = out};
    const uint32_t threads = options->resources.threads;
    bm_meter_init(&meter, &options->callbacks);
    out->offsets = bm_alloc_zero(n + 1, sizeof *out->offsets);
    out->content = job.content;
    bm_status status = BM_OK;
    if (job.sizes == NULL || out->offsets == NULL || out->content == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, (n + 1) * 2 * sizeof *out->content));
    BM_TRY_OUT(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &job.pool, err));
    BM_TRY_OUT(make_sets(&job, &m, err));
    for (size_t i = 0; i < n; i++)
        out->offsets[i + 1] = out->offsets[i] + job.sizes[i];
    BM_TRY_OUT(bm_new(&out->hashes, (size_t)m.n_hashes, err));
    status = bm_pool_for(job.pool, (bm_pool_split){m.n_chunks, 1}, place_chunks, &m, err);
out:
    chunks_free(&m);
    bm_pool_close(job.pool);
    bm_free(job.sizes);
    bm_meter_reset(&meter);
    return status;
}

bm_status bm_shingle_texts(const bm_shingle_options *options, const bm_str *texts, size_t n_docs,
                           bm_hash_sets **out, bm_error *err)
{
    bm_shingle_options used = shingle_defaults;
    bm_documents docs, given = bm_documents_of_texts(texts, n_docs);
    uint64_t work;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_shingle_options, callbacks), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used.text,
                                                    .resources = &used.resources,
                                                    .callbacks = &used.callbacks},
                                 err));
    if (texts == NULL && n_docs != 0)
        return bm_fail_field(err, "texts", "`texts` is NULL and has %zu entries", n_docs);
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the sets given");
    BM_TRY(bm_documents_accept(&given, &docs, &work, err));
    bm_hash_sets *sets = bm_alloc_zero(1, sizeof *sets);
    char *stop_words = NULL;
    if (sets == NULL)
        return bm_fail_nomem(err, sizeof *sets);
    used.text.of_scheme = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_stop_words_load(&used.text, &stop_words, err));
    status = shingle(&used, &docs, work, sets, err);
out:
    bm_free(stop_words);
    if (status == BM_OK)
        *out = sets;
    else
        bm_hash_sets_free(sets);
    return status;
}

const uint64_t *bm_hash_sets_content(const bm_hash_sets *sets)
{
    return sets != NULL ? sets->content : NULL;
}

size_t bm_hash_sets_count(const bm_hash_sets *sets)
{
    return sets != NULL ? sets->n_docs : 0;
}

const uint64_t *bm_hash_sets_offsets(const bm_hash_sets *sets)
{
    return sets != NULL ? sets->offsets : NULL;
}

const uint64_t *bm_hash_sets_hashes(const bm_hash_sets *sets)
{
    return sets != NULL ? sets->hashes : NULL;
}

void bm_hash_sets_free(bm_hash_sets *sets)
{
    if (sets == NULL)
        return;
    bm_free_all(sets->offsets, sets->hashes, sets->content, sets);
}

/* find_sets -- makes sorted sets of distinct hashes, and band keys.
 *
 * If pairs are verified by signature, all words are computed and stored. Otherwise, only the words
 * that the band keys need are computed, and they are not stored. The backend returns band keys
 * document by document. They are reordered band by band while a range is in cache. */

struct bm_pair_set {
    bm_pair *pairs;
    size_t n;
    bm_find_stats stats;
    bm_band_plan plan;
};

typedef struct finder {
    const bm_find_options *options; /* checked; perms and verify are chosen */
    bm_documents input;
    uint64_t work; /* work of all documents of `input` */
    bm_pool *pool;
    bm_meter meter;
    bm_backend *backend;
    maker sets;            /* owns the hashes */
    const uint64_t **docs; /* the sorted set of each document, followed by its weights, if any */
    uint32_t *sizes;
    uint8_t *skip;   /* 1 for documents without hashes */
    uint64_t **keys; /* for each band, the keys of all documents */
    uint32_t *words; /* with BM_VERIFY_SIGNATURE, bm_scheme_row_uints per document; else NULL */
    uint64_t bytes;  /* bytes of the arrays above, and of all hashes */
    bm_pair *chunk;  /* pairs being verified */
    size_t cap_pairs;
    bm_pair_set *out;
} finder;

/* Call this before `bytes` are allocated. BM_ERR_NOMEM: the limit `memory` does not allow them. */
static bm_status reserve(finder *f, uint64_t bytes, bm_error *err)
{
    const uint64_t memory = f->options->resources.memory;
    f->bytes += bytes;
    if (memory != 0 && f->bytes > memory)
        return bm_fail(err, BM_ERR_NOMEM, "%llu bytes are needed (`memory` is %llu)",
                       (unsigned long long)f->bytes, (unsigned long long)memory);
    return BM_OK;
}

/* On the caller's thread, report progress and check for cancellation. On other threads, do
 * nothing. */
static bm_status look_up(finder *f, uint32_t thread, size_t n_done, bm_error *err)
{
    if (thread != 0)
        return BM_OK;
    bm_meter_progress(&f->meter, n_done, f->input.n_docs, n_done);
    return bm_meter_check(&f->meter, err);
}

/* --- sets --- */

static bm_status prepare(finder *f, bm_error *err)
{
    const bm_documents *docs = &f->input;
    const size_t n = docs->n_docs,
                 row = bm_scheme_row_uints(f->options->sketch.scheme, f->options->sketch.perms) *
                       sizeof *f->words;
    const bool words = f->options->verify == BM_VERIFY_SIGNATURE, texts = docs->texts != NULL;
    const size_t a_doc = sizeof *f->docs + sizeof *f->sizes + sizeof *f->skip + (words ? row : 0);
    BM_TRY(reserve(f, (uint64_t)n * a_doc, err));
    if (n > 0 && !texts)
        BM_TRY(reserve(f, docs->offsets[n] * words_a_hash(docs) * sizeof(uint64_t), err));
    f->docs = bm_alloc(n, sizeof *f->docs);
    f->sizes = bm_alloc(n, sizeof *f->sizes);
    f->skip = bm_alloc(n, sizeof *f->skip);
    f->words = words ? bm_alloc(n, row) : NULL;
    if (f->docs == NULL || f->sizes == NULL || f->skip == NULL || (words && f->words == NULL))
        return bm_fail_nomem(err, n * a_doc);
    const sets_job job = {.docs = docs,
                          .work = f->work,
                          .text = &f->options->text,
                          .cpu = f->options->cpu,
                          .sorted = true,
                          .memory = texts ? f->options->resources.memory : 0,
                          .pool = f->pool,
                          .meter = &f->meter,
                          .sizes = f->sizes,
                          .sets = f->docs};
    BM_TRY(make_sets(&job, &f->sets, err));
    if (texts)
        BM_TRY(reserve(f, f->sets.n_hashes * sizeof(uint64_t), err));
    for (size_t i = 0; i < n; i++) {
        f->skip[i] = f->sizes[i] == 0;
        f->out->stats.shingles += f->sizes[i];
        f->out->stats.empty += f->skip[i];
    }
    f->out->stats.documents = n;
    return BM_OK;
}

/* --- band keys and words --- */

static bm_status sign_chunk(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)end; /* a range is always one chunk */
    finder *f = ctx;
    const chunk *c = &f->sets.chunks[begin];
    const size_t n = c->n_docs;
    const uint32_t bands = f->out->plan.bands;
    BM_TRY(look_up(f, thread, begin * f->input.n_docs / f->sets.n_chunks, err));
    uint64_t *offsets = NULL;
    BM_TRY(bm_new(&offsets, 1 + n + n * bands, err));
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + f->sizes[c->first + i];
    uint64_t *keys = offsets + 1 + n;
    const bool given = f->input.weights != NULL; /* weighted documents are signed from the caller's
                                                    arrays */
    bm_sign_task task = {.offsets = given ? f->input.offsets + c->first : offsets,
                         .hashes = given ? f->input.hashes : c->hashes,
                         .weights = f->input.weights,
                         .n_docs = n,
                         .keys = bands == 0 ? NULL : keys};
    if (f->words != NULL)
        task.words = f->words + c->first * bm_scheme_row_uints(f->options->sketch.scheme,
                                                               f->options->sketch.perms);
    bm_status status = BM_OK;
    BM_TRY_OUT(f->backend->ops->submit(f->backend, &task, err));
    BM_TRY_OUT(f->backend->ops->wait(f->backend, &task, err));
    for (uint32_t band = 0; band < bands; band++) {
        for (size_t i = 0; i < n; i++)
            f->keys[band][c->first + i] = keys[i * bands + band];
    }
out:
    bm_free(offsets);
    return status;
}

static bm_status sign(finder *f, bm_error *err)
{
    const size_t n = f->input.n_docs;
    const uint32_t bands = f->out->plan.bands;
    if (bands == 0 && f->words == NULL)
        return BM_OK;
    const bm_doc_recipe recipe = {.sketch = &f->options->sketch,
                                  .bands = bands,
                                  .rows = f->out->plan.rows,
                                  .words = f->words != NULL,
                                  .cpu = f->options->cpu};
    BM_TRY(reserve(f, (uint64_t)n * bands * sizeof **f->keys, err));
    BM_TRY(bm_new_zero(&f->keys, bands, err));
    for (uint32_t band = 0; band < bands; band++) {
        BM_TRY(bm_new(&f->keys[band], n, err));
    }
    bm_meter_stage(&f->meter, "sign", "documents");
    BM_TRY(bm_doc_backend_open(&recipe, &f->backend, err));
    return bm_pool_for(f->pool, (bm_pool_split){f->sets.n_chunks, 1}, sign_chunk, f, err);
}

/* find_search -- finds pairs by band keys, or by comparing all sets; verifies and sorts them. */

#define DOC_GRAIN    256u   /* documents in a range */
#define PAIR_GRAIN   1024u  /* pairs in a range */
#define CHUNK        65536u /* candidates in a chunk */
#define SHARES_A_BIT 1e-300 /* a threshold that one shared hash reaches */

static bool comes_with_similarity(const finder *f)
{
    return f->options->verify == BM_VERIFY_EXACT && f->input.weights == NULL;
}

static bm_compared compared(const finder *f, const bm_similarity_rule *rule, uint32_t doc)
{
    if (rule->verify == BM_VERIFY_SIGNATURE)
        return (bm_compared){f->words + (size_t)doc * rule->words.uints, 0};
    return (bm_compared){f->docs[doc], f->sizes[doc]};
}

/* Set the similarities of a range of pairs. If a pair does not reach the threshold, its similarity
 * becomes -1. */
static bm_status verify_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    const finder *f = ctx;
    const bm_similarity_rule rule = {
        .verify = f->options->verify,
        .measure = BM_MEASURE_JACCARD,
        .weighted = f->input.weights != NULL,
        .words = bm_scheme_rows(f->options->sketch.scheme, f->options->sketch.perms),
        .threshold = f->options->bands.threshold};
    for (size_t i = begin; i < end; i++) {
        bm_pair *p = &f->chunk[i];
        p->similarity = bm_similarity(&rule, compared(f, &rule, p->a), compared(f, &rule, p->b));
    }
    return BM_OK;
}

/* Are the pairs within the limits? Sorting copies them, so twice their memory is counted. */
static bm_status check_limits(const finder *f, bm_error *err)
{
    const uint64_t max_pairs = f->options->max_pairs, memory = f->options->resources.memory;
    if (max_pairs != 0 && f->out->n > max_pairs)
        return bm_fail(err, BM_ERR_NOMEM, "more than %llu pairs", (unsigned long long)max_pairs);
    if (memory != 0 && f->out->n > (memory - f->bytes) / (2 * sizeof *f->out->pairs))
        return bm_fail(err, BM_ERR_NOMEM,
                       "more than %zu pairs need more than %llu bytes "
                       "(`memory`)",
                       f->out->n - 1, (unsigned long long)memory);
    return BM_OK;
}

static bm_status keep(finder *f, const bm_pair *pairs, size_t n, bm_error *err)
{
    bm_pair_set *out = f->out;
    void *kept = out->pairs;
    bm_status status = bm_grow(&kept, &f->cap_pairs, out->n + n, sizeof *out->pairs, err);
    out->pairs = kept;
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        out->pairs[out->n] = pairs[i];
        out->n += !(pairs[i].similarity < 0);
    }
    return status == BM_OK ? check_limits(f, err) : status;
}

static bm_status on_candidates(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    finder *f = ctx;
    f->chunk = pairs;
    f->out->stats.candidates += n;
    f->out->stats.verified += f->options->verify == BM_VERIFY_NONE ? 0 : n;
    BM_TRY(bm_pool_for(f->pool, (bm_pool_split){n, PAIR_GRAIN}, verify_range, f, err));
    return keep(f, pairs, n, err);
}

/* With exact verification, the pairs have their similarities already, unless documents are
 * weighted. Weighted pairs are only known to share a hash, so they are verified like candidates. */
static bm_status on_all_pairs(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    finder *f = ctx;
    return comes_with_similarity(f) ? keep(f, pairs, n, err) : on_candidates(ctx, pairs, n, err);
}

static bm_status search_all(finder *f, const bm_callbacks *callbacks, bm_error *err)
{
    const bool exact = comes_with_similarity(f);
    const uint64_t memory = f->options->resources.memory;
    bm_all_pairs_stats stats = {0};
    bm_all_pairs_job job = {
        .docs = f->docs,
        .sizes = f->sizes,
        .skip = f->skip,
        .n_docs = f->input.n_docs,
        .rule = {BM_MEASURE_JACCARD, exact ? f->options->bands.threshold : SHARES_A_BIT},
        .memory = memory == 0 ? 0 : memory - f->bytes + 1,
        .pool = f->pool,
        .fn = on_all_pairs,
        .ctx = f,
        .callbacks = callbacks};
    bm_status status = bm_all_pairs(&job, &stats, err);
    if (exact)
        f->out->stats.candidates = f->out->stats.verified = stats.n_compared;
    return status;
}

static bm_status search(finder *f, bm_error *err)
{
    bm_callbacks callbacks = bm_meter_callbacks(&f->meter);
    bm_status status;
    if (f->options->candidates == BM_CANDIDATES_ALL) {
        bm_meter_stage(&f->meter, "compare", "documents");
        status = search_all(f, &callbacks, err);
    } else {
        bm_band_keyset keys = {.bands = f->out->plan.bands,
                               .n_docs = f->input.n_docs,
                               .keys = (const uint64_t *const *)f->keys,
                               .skip = f->skip};
        bm_meter_stage(&f->meter, "bucket", "bands");
        status = bm_candidates(&(bm_candidates_job){.keys = &keys,
                                                    .pool = f->pool,
                                                    .chunk = CHUNK,
                                                    .fn = on_candidates,
                                                    .ctx = f,
                                                    .callbacks = &callbacks},
                               err);
    }
    f->out->stats.edges = f->out->n;
    return status;
}

/* One round of a stable counting sort, by a or by b. `begins`: n_docs + 1 zeros. */
static void order_by(const finder *f, const bm_pair *from, bm_pair *to, bool by_a, size_t *begins)
{
    for (size_t i = 0; i < f->out->n; i++)
        begins[(size_t)(by_a ? from[i].a : from[i].b) + 1]++;
    for (size_t doc = 1; doc <= f->input.n_docs; doc++)
        begins[doc] += begins[doc - 1];
    for (size_t i = 0; i < f->out->n; i++)
        to[begins[by_a ? from[i].a : from[i].b]++] = from[i];
}

/* Sort the pairs by a, and pairs with equal a by b, in O(pairs + documents). */
static bm_status order(finder *f, bm_error *err)
{
    const size_t n_docs = f->input.n_docs, n_pairs = f->out->n;
    if (n_pairs < 2)
        return BM_OK;
    bm_pair *other = bm_alloc(n_pairs, sizeof *other);
    size_t *begins = bm_alloc_zero(n_docs + 1, 2 * sizeof *begins);
    bm_status status = BM_OK;
    if (other == NULL || begins == NULL) {
        status = bm_fail_nomem(err, n_pairs * sizeof *other + n_docs * 2 * sizeof *begins);
    } else {
        order_by(f, f->out->pairs, other, false, begins);
        order_by(f, other, f->out->pairs, true, begins + n_docs + 1);
    }
    bm_free_all(other, begins);
    return status;
}

/* find_pairs -- bm_find_pairs: finds pairs of similar documents in memory, from texts or sets of
 * hashes.
 *
 *     sets of sorted, distinct hashes -> sign on the native CPU -> band keys -> candidates
 *         -> verify -> sort
 *
 * Each step works on ranges of documents or pairs, on all threads.
 *
 * Memory: 8 bytes per hash, 16 with a weight; 8 bytes per band and document; with
 * BM_VERIFY_SIGNATURE, 4 bytes per 32-bit word of all signatures; 13 bytes per document; 32 bytes
 * per pair found. If there is a limit, a result that would exceed it is refused before it is
 * allocated. Tables of buckets, about 12 bytes per document, are not counted.
 *
 * A call owns its threads. Different calls are independent. */

BM_OPTIONS_INIT(find, .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS,
                .bands = BM_BAND_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

static bm_status read_options(const bm_find_options *options, bm_find_options *used, bm_error *err)
{
    *used = find_defaults;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sized_read(options, BM_SIZED_TYPE(bm_find_options, callbacks), used, err));
    BM_TRY_OUT(bm_option_parts_check(&(bm_option_parts){.text = &used->text,
                                                        .sketch = &used->sketch,
                                                        .bands = &used->bands,
                                                        .resources = &used->resources,
                                                        .callbacks = &used->callbacks},
                                     err));
    BM_TRY_OUT(bm_option_check(BM_OPTION_CANDIDATES, used->candidates, err));
    BM_TRY_OUT(bm_option_check(BM_OPTION_VERIFY, used->verify, err));
    if (used->verify == BM_VERIFY_CONTAINED)
        BM_TRY_OUT(bm_fail_field(err, "verify",
                                 "`verify` contained is for dedup (exact, signature or none)"));
out:
    if (used->verify == BM_VERIFY_AUTO)
        used->verify = BM_VERIFY_EXACT;
    if (used->candidates == BM_CANDIDATES_LENGTH)
        used->candidates = BM_CANDIDATES_ALL;
    used->sketch.perms = bm_band_perms_of_options(&used->bands, used->sketch.perms);
    return status;
}

/* Check that the scheme is weighted if the documents have weights, and only then. A bag cannot have
 * weights. */
static bm_status check_weights(const bm_find_options *options, const bm_documents *docs,
                               bm_error *err)
{
    if (docs->weights != NULL && options->text.bag)
        return bm_fail_field(err, "bag", "`bag` of hashes that have `weights`");
    return bm_scheme_weights_check(&options->sketch, docs->weights != NULL, err);
}

/* Run all steps, and measure the time of each. */
static bm_status find(finder *f, bm_error *err)
{
    bm_find_stats *stats = &f->out->stats;
    const double begin = bm_clock_seconds();
    BM_TRY(prepare(f, err));
    const double prepared = bm_clock_seconds();
    BM_TRY(sign(f, err));
    const double has_keys = bm_clock_seconds();
    BM_TRY(search(f, err));
    BM_TRY(order(f, err));
    const double end = bm_clock_seconds();
    stats->prepare_seconds = prepared - begin;
    stats->sign_seconds = has_keys - prepared;
    stats->search_seconds = end - has_keys;
    stats->seconds = end - begin;
    return BM_OK;
}

static void finder_reset(finder *f)
{
    if (f->backend != NULL)
        f->backend->ops->close(f->backend);
    for (uint32_t band = 0; f->keys != NULL && band < f->out->plan.bands; band++)
        bm_free(f->keys[band]);
    bm_free_all(f->keys, f->words, f->skip, f->sizes, f->docs);
    chunks_free(&f->sets);
    bm_meter_reset(&f->meter);
    bm_pool_close(f->pool);
}

bm_status bm_find_pairs(const bm_find_options *options, const bm_documents *documents,
                        bm_pair_set **out, bm_error *err)
{
    bm_find_options used;
    finder f = {.options = &used};
    bm_band_plan plan = {0};
    char *stop_words = NULL;
    BM_TRY(read_options(options, &used, err));
    BM_TRY(bm_documents_accept(documents, &f.input, &f.work, err));
    BM_TRY(check_weights(&used, &f.input, err));
    if (used.candidates == BM_CANDIDATES_LSH)
        BM_TRY(bm_documents_check_low_halves(&f.input, used.sketch.scheme, err));
    if (f.input.hashes32 != NULL && f.input.n_docs != 0)
        return bm_fail_field(err, "hashes32", "`hashes32` cannot be compared (64-bit `hashes`)");
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the pairs given");
    if (used.candidates == BM_CANDIDATES_LSH)
        BM_TRY(bm_band_plan_of_options(&used.bands, used.sketch.perms, &plan, err));
    BM_TRY(bm_stop_words_load(&used.text, &stop_words, err));
    bm_scheme_set_hashing(&used.sketch, &used.text);
    f.out = bm_alloc_zero(1, sizeof *f.out);
    if (f.out == NULL) {
        bm_free(stop_words);
        return bm_fail_nomem(err, sizeof *f.out);
    }
    f.out->plan = plan;
    bm_meter_init(&f.meter, &used.callbacks);
    const uint32_t threads = used.resources.threads;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &f.pool, err));
    status = find(&f, err);
out:
    finder_reset(&f);
    bm_free(stop_words);
    if (status == BM_OK)
        *out = f.out;
    else
        bm_pair_set_free(f.out);
    return status;
}

/* --- the result --- */

size_t bm_pair_set_count(const bm_pair_set *pairs)
{
    return pairs != NULL ? pairs->n : 0;
}

const bm_pair *bm_pair_set_data(const bm_pair_set *pairs)
{
    return pairs != NULL ? pairs->pairs : NULL;
}

const bm_find_stats *bm_pair_set_stats(const bm_pair_set *pairs)
{
    return pairs != NULL ? &pairs->stats : NULL;
}

const bm_band_plan *bm_pair_set_plan(const bm_pair_set *pairs)
{
    return pairs != NULL ? &pairs->plan : NULL;
}

void bm_pair_set_free(bm_pair_set *pairs)
{
    if (pairs == NULL)
        return;
    bm_free_all(pairs->pairs, pairs);
}

/* compare_pairs -- bm_compare_pairs: computes the exact similarities of pairs chosen by the caller,
 * from sorted sets of hashes.
 *
 * This is for programs that find candidates themselves, such as a cluster that shuffles band keys.
 * Only the common hashes of each pair are counted. Nothing is copied or sorted. The order of the
 * hashes in each set is checked once, since counting relies on it.
 *
 * A call owns its threads. Different calls are independent. */

BM_OPTIONS_INIT(compare, .resources = BM_RESOURCE_DEFAULTS)

typedef struct comparing {
    const bm_documents *docs;
    double threshold;
    bm_pair *pairs;
} comparing;

static bm_status check_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const bm_documents *docs = ((comparing *)ctx)->docs;
    for (size_t doc = begin; doc < end; doc++)
        for (uint64_t i = docs->offsets[doc] + 1; i < docs->offsets[doc + 1]; i++)
            if (docs->hashes[i - 1] >= docs->hashes[i])
                return bm_fail(err, BM_ERR_INPUT,
                               "document %zu: its hashes do not ascend (sorted, each once)", doc);
    return BM_OK;
}

static bm_status check_numbers(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const comparing *c = ctx;
    for (size_t i = begin; i < end; i++)
        if (c->pairs[i].a >= c->docs->n_docs || c->pairs[i].b >= c->docs->n_docs)
            return bm_fail(err, BM_ERR_INPUT, "pair %zu is of documents %u and %u (there are %zu)",
                           i, c->pairs[i].a, c->pairs[i].b, c->docs->n_docs);
    return BM_OK;
}

static bm_compared set_of(const bm_documents *docs, uint32_t doc)
{
    const uint64_t begin = docs->offsets[doc];
    return (bm_compared){docs->hashes + begin, (uint32_t)(docs->offsets[doc + 1] - begin)};
}

static bm_status compare(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    (void)err;
    const comparing *c = ctx;
    const bm_similarity_rule rule = {
        .verify = BM_VERIFY_EXACT, .measure = BM_MEASURE_JACCARD, .threshold = c->threshold};
    for (size_t i = begin; i < end; i++) {
        bm_pair *p = &c->pairs[i];
        p->similarity = bm_similarity(&rule, set_of(c->docs, p->a), set_of(c->docs, p->b));
    }
    return BM_OK;
}

static bm_status read_compare_options(const bm_compare_options *options, bm_compare_options *used,
                                      bm_error *err)
{
    *used = compare_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_compare_options, resources), used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.resources = &used->resources}, err));
    if (!(used->threshold >= 0.0 && used->threshold <= 1.0))
        return bm_fail_field(err, "threshold", "`threshold` %g (0 to 1)", used->threshold);
    return BM_OK;
}

static bm_status accept_documents(const bm_documents *documents, bm_documents *docs, bm_error *err)
{
    uint64_t work;
    BM_TRY(bm_documents_accept(documents, docs, &work, err));
    BM_TRY(bm_documents_no_weights(docs, err));
    if ((docs->texts != NULL || docs->hashes32 != NULL))
        return bm_fail_field(err, docs->texts != NULL ? "texts" : "hashes32",
                             "only sets of 64-bit `hashes` are compared");
    return BM_OK;
}

bm_status bm_compare_pairs(const bm_compare_options *options, const bm_documents *documents,
                           bm_pair *pairs, size_t n_pairs, bm_error *err)
{
    bm_compare_options used;
    bm_documents docs;
    bm_pool *pool = NULL;
    BM_TRY(read_compare_options(options, &used, err));
    BM_TRY(accept_documents(documents, &docs, err));
    if (pairs == NULL && n_pairs != 0)
        return bm_fail_field(err, "pairs", "`pairs` is NULL and has %zu entries", n_pairs);
    const uint32_t threads = used.resources.threads;
    BM_TRY(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &pool, err));
    comparing c = {.docs = &docs, .threshold = used.threshold, .pairs = pairs};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){docs.n_docs, DOC_GRAIN}, check_sets, &c, err));
    BM_TRY_OUT(bm_pool_for(pool, (bm_pool_split){n_pairs, PAIR_GRAIN}, check_numbers, &c, err));
    status = bm_pool_for(pool, (bm_pool_split){n_pairs, PAIR_GRAIN}, compare, &c, err);
out:
    bm_pool_close(pool);
    return status;
}
