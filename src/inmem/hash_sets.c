/* hash_sets.c -- bm_shingle_texts.
 *
 *     ranges of texts -> hashes of each range, kept as a chunk -> sizes summed up -> chunks copied to
 * their places, each freed when it is
 *
 * How many hashes a text has is known when it has been cut, so chunks come first. While they are
 * copied the memory in use stays about that of the result, as the pages of the result come into
 * being when those of the chunks go.
 *
 * Tests: tests/unit/inmem/test_hash_sets.c */
#include "inmem/hash_sets.h"

#include <stdatomic.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "lsh/verify.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "inmem/documents.h"
#include "inmem/text_hasher.h"
#include "text/stop_words.h"

#define RANGE_WORK (UINT64_C(512) << 10)
#define LEAST_WORK (UINT64_C(16) << 10)

typedef struct chunk {
    size_t first; /* document */
    size_t n_hashes;
    uint64_t *hashes;
} chunk;

typedef struct maker {
    const bm_hash_sets_job *job;
    bm_hash_sets *out; /* offsets[i + 1]: size of document i, until they are summed up */
    bm_doc_ranges ranges;
    atomic_bool stopped;
    atomic_size_t n_done;
    pthread_mutex_t lock; /* of the chunks */
    chunk *chunks;
    size_t n_chunks, cap_chunks;
    uint64_t n_hashes;
} maker;

void bm_hash_sets_reset(bm_hash_sets *sets)
{
    bm_free(sets->offsets);
    bm_free(sets->hashes);
    bm_free(sets->content);
    *sets = (bm_hash_sets){0};
}

/* Each document's hashes ascending. */
static bm_status sort_batch(bm_shingle_batch *batch, bm_error *err)
{
    size_t longest = 0;
    for (size_t i = 0; i < batch->n_docs; i++) {
        size_t n = (size_t)(batch->offsets[i + 1] - batch->offsets[i]);
        longest = n > longest ? n : longest;
    }
    uint64_t *scratch = NULL;
    BM_TRY(bm_new(&scratch, longest, err));
    for (size_t i = 0; i < batch->n_docs; i++)
        bm_hashes_sort(batch->hashes + batch->offsets[i],
                       (size_t)(batch->offsets[i + 1] - batch->offsets[i]), scratch);
    bm_free(scratch);
    return BM_OK;
}

static bm_status add_chunk(maker *m, chunk add, bm_error *err)
{
    pthread_mutex_lock(&m->lock);
    void *chunks = m->chunks;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow(&chunks, &m->cap_chunks, m->n_chunks + 1, sizeof *m->chunks, err));
    m->chunks = chunks;
    m->n_hashes += add.n_hashes;
    const uint64_t memory = m->job->memory;
    if (memory != 0 && m->n_hashes > memory / sizeof(uint64_t))
        BM_TRY_OUT(bm_fail(err, BM_ERR_NOMEM,
                           "the hashes of the texts need more than %llu bytes "
                           "(`memory`)",
                           (unsigned long long)memory));
    m->chunks[m->n_chunks++] = add;
out:
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bm_status make_chunk(maker *m, bm_text_hasher *hasher, bm_shingle_batch *batch,
                            const size_t range[2], bm_error *err)
{
    bm_shingle_batch_clear(batch);
    for (size_t doc = range[0]; doc < range[1]; doc++) {
        BM_TRY(bm_text_hasher_add(hasher, m->job->docs->texts[doc], batch, err));
        m->out->offsets[doc + 1] = bm_shingle_batch_last(batch);
    }
    for (size_t i = 0; m->out->content != NULL && i < batch->n_docs; i++) {
        m->out->content[2 * (range[0] + i)] = batch->content[i].lo;
        m->out->content[2 * (range[0] + i) + 1] = batch->content[i].hi;
    }
    if (m->job->sorted)
        BM_TRY(sort_batch(batch, err));
    chunk made = {.first = range[0], .n_hashes = bm_shingle_batch_hashes(batch)};
    BM_TRY(bm_new(&made.hashes, made.n_hashes, err));
    if (made.n_hashes != 0)
        memcpy(made.hashes, batch->hashes, made.n_hashes * sizeof *made.hashes);
    bm_status status = add_chunk(m, made, err);
    if (status != BM_OK)
        bm_free(made.hashes);
    return status;
}

static bm_status make_chunks(void *ctx, uint32_t thread, bm_error *err)
{
    maker *m = ctx;
    bm_text_hasher hasher;
    bm_shingle_batch batch = {0};
    size_t range[2];
    bm_status status = bm_text_hasher_init(&hasher, m->job->text, m->job->cpu, err);
    while (status == BM_OK && !atomic_load(&m->stopped)) {
        if (thread == 0) {
            size_t n_done = atomic_load(&m->n_done);
            bm_meter_progress(m->job->meter, n_done, m->job->docs->n_docs, n_done);
            status = bm_meter_check(m->job->meter, err);
        }
        if (status != BM_OK || !bm_doc_ranges_take(&m->ranges, &range[0], &range[1]))
            break;
        status = make_chunk(m, &hasher, &batch, range, err);
        atomic_fetch_add(&m->n_done, range[1] - range[0]);
    }
    if (status != BM_OK)
        atomic_store(&m->stopped, true);
    bm_shingle_batch_reset(&batch);
    bm_text_hasher_reset(&hasher);
    return status;
}

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

static bm_status place(maker *m, bm_error *err)
{
    bm_hash_sets *out = m->out;
    for (size_t i = 0; i < out->n_docs; i++)
        out->offsets[i + 1] += out->offsets[i];
    BM_TRY(bm_new(&out->hashes, (size_t)m->n_hashes, err));
    return bm_pool_for(m->job->pool, (bm_pool_split){m->n_chunks, 1}, place_chunks, m, err);
}

bm_status bm_hash_sets_make(const bm_hash_sets_job *job, bm_hash_sets *out, bm_error *err)
{
    const size_t n = job->docs->n_docs;
    *out = (bm_hash_sets){.n_docs = n};
    out->offsets = bm_alloc(n + 1, sizeof *out->offsets);
    if (job->content)
        out->content = bm_alloc(n, 2 * sizeof *out->content);
    if (out->offsets == NULL || (job->content && out->content == NULL)) {
        bm_hash_sets_reset(out);
        return bm_fail_nomem(err, (n + 1) * 2 * sizeof *out->content);
    }
    out->offsets[0] = 0;
    maker m = {.job = job, .out = out};
    bm_range_size size = {bm_pool_size(job->pool), RANGE_WORK, LEAST_WORK};
    pthread_mutex_init(&m.lock, NULL);
    bm_doc_ranges_begin(&m.ranges, job->docs, job->work, &size);
    bm_meter_stage(job->meter, "shingle", "documents");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_run(job->pool, make_chunks, &m, err));
    status = place(&m, err);
out:
    for (size_t i = 0; i < m.n_chunks; i++)
        bm_free(m.chunks[i].hashes);
    bm_free(m.chunks);
    bm_doc_ranges_end(&m.ranges);
    pthread_mutex_destroy(&m.lock);
    if (status != BM_OK)
        bm_hash_sets_reset(out);
    return status;
}

/* --- the public call --- */

static const bm_shingle_options shingle_defaults = {.text = BM_TEXT_DEFAULTS,
                                                    .resources = BM_RESOURCE_DEFAULTS};

void bm_shingle_options_init_sized(bm_shingle_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &shingle_defaults, sizeof shingle_defaults);
}

static bm_status shingle(const bm_shingle_options *options, const bm_documents *docs, uint64_t work,
                         bm_hash_sets *out, bm_error *err)
{
    bm_meter meter;
    bm_hash_sets_job job = {.docs = docs,
                            .work = work,
                            .text = &options->text,
                            .cpu = options->cpu,
                            .sorted = options->sorted,
                            .content = true,
                            .memory = options->resources.memory,
                            .meter = &meter};
    const uint32_t threads = options->resources.threads;
    bm_meter_init(&meter, &options->callbacks);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_pool_open(threads != 0 ? threads : bm_cpu_count(), &job.pool, err));
    status = bm_hash_sets_make(&job, out, err);
out:
    bm_pool_close(job.pool);
    bm_meter_reset(&meter);
    return status;
}

bm_status bm_shingle_texts(const bm_shingle_options *options, const bm_str *texts, size_t n_docs,
                           bm_hash_sets **out, bm_error *err)
{
    bm_shingle_options used = shingle_defaults;
    bm_documents docs, given = bm_documents_of_texts(texts, n_docs);
    uint64_t work;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_shingle_options, callbacks), &used, err));
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used.text,
                                                    .resources = &used.resources,
                                                    .callbacks = &used.callbacks},
                                 err));
    if (texts == NULL && n_docs != 0)
        return bm_fail_field(err, "texts", "`texts` is NULL and has %zu entries", n_docs);
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the sets given");
    BM_TRY(bm_documents_take(&given, &docs, &work, err));
    bm_hash_sets *sets = bm_alloc_zero(1, sizeof *sets);
    char *stop_words = NULL;
    if (sets == NULL)
        return bm_fail_nomem(err, sizeof *sets);
    used.text.of_scheme = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_stop_words_settle(&used.text, &stop_words, err));
    status = shingle(&used, &docs, work, sets, err);
out:
    bm_free(stop_words);
    if (status == BM_OK)
        *out = sets;
    else
        bm_free(sets);
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
    bm_hash_sets_reset(sets);
    bm_free(sets);
}
