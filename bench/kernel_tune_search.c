/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_tune_search.c -- see kernel_tune_search.h.
 *
 * Tests: tests/box/test_kernel_tune_rate.c, tests/box/test_kernel_tune_search.c */
#include "kernel_tune_search.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "cpu/cpu_backend.h"
#include "model/scheme_facts.h"

/* kernel_tune_rate -- see kernel_tune_search.h. */

#define MIN_HASHES  ((size_t)100000)
#define MAX_SECONDS 10.0
#define MAX_DEPTH   8u

static const struct {
    double share; /* of the hashes */
    uint32_t least, most;
} kinds[] = {{.7, 20, 216}, {.2, 500, 3500}, {.1, 60000, 60000}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Makes documents one by one, each of the kind that is furthest behind its share. */
static bm_status make_documents(size_t n_hashes, bm_shingle_batch *batch, bm_error *err)
{
    bm_random random;
    double done[N_KINDS] = {0};
    bm_random_init(&random, 1);
    for (size_t n = 0; n < n_hashes;) {
        int kind = 0;
        for (int k = 1; k < N_KINDS; k++)
            if (done[k] / kinds[k].share < done[kind] / kinds[kind].share)
                kind = k;
        const uint32_t range = kinds[kind].most - kinds[kind].least + 1;
        const size_t len = kinds[kind].least + bm_random_u32(&random) % range;
        BM_TRY(bm_shingle_batch_reserve(batch, 1, len, err));
        batch->offsets[0] = 0;
        for (size_t i = 0; i < len; i++)
            batch->hashes[n + i] = bm_random_u64(&random);
        n += len;
        batch->offsets[++batch->n_docs] = n;
        done[kind] += (double)len;
    }
    return BM_OK;
}

static bm_status sign_natively(const bm_kernel_tune_options *options,
                               const bm_kernel_tune_corpus *corpus, bm_error *err)
{
    const bm_backend_cfg cfg = {
        .sketch = options->sketch, .device = "cpu", .cpu = options->device.cpu};
    bm_backend *cpu = NULL;
    bm_sign_task task = {.offsets = corpus->batch.offsets,
                         .hashes = corpus->batch.hashes,
                         .n_docs = corpus->batch.n_docs,
                         .words = corpus->right};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_backend_cpu.open(&cfg, &cpu, err));
    status = cpu->ops->submit(cpu, &task, err);
out:
    bm_backend_close(cpu);
    return status;
}

bm_status bm_kernel_tune_corpus_open(const bm_kernel_tune_options *options, size_t n_hashes,
                                     bm_kernel_tune_corpus *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->row_uints = bm_scheme_row_uints(options->sketch.scheme, options->sketch.perms);
    BM_TRY(make_documents(n_hashes > MIN_HASHES ? n_hashes : MIN_HASHES, &out->batch, err));
    const size_t n = out->batch.n_docs * out->row_uints;
    BM_TRY(bm_new_aligned(&out->words, n, err));
    BM_TRY(bm_new_aligned(&out->right, n, err));
    return sign_natively(options, out, err);
}

void bm_kernel_tune_corpus_reset(bm_kernel_tune_corpus *corpus)
{
    bm_shingle_batch_reset(&corpus->batch);
    bm_free_all(corpus->words, corpus->right);
    memset(corpus, 0, sizeof *corpus);
}

/* A task of the documents from `begin` on, of the size that the backend prefers. */
static bm_sign_task next_task(const bm_kernel_tune_corpus *corpus, const bm_backend *backend,
                              size_t begin)
{
    const uint64_t *offsets = corpus->batch.offsets;
    size_t end = begin;
    do
        end++;
    while (end < corpus->batch.n_docs && offsets[end] - offsets[begin] < backend->batch_hashes);
    return (bm_sign_task){.offsets = offsets + begin,
                          .hashes = corpus->batch.hashes,
                          .n_docs = end - begin,
                          .words = corpus->words + begin * corpus->row_uints};
}

static size_t depth_of(const bm_backend *backend)
{
    return backend->depth < MAX_DEPTH ? backend->depth : MAX_DEPTH;
}

/* One measurement. */
typedef struct signing {
    bm_kernel_tune_corpus *corpus;
    bm_backend *backend;
    size_t depth;   /* tasks in flight */
    double seconds; /* minimum time; all documents are signed at least once */
} signing;

/* Signs the documents again and again until the time is over. *n: hashes signed. */
static bm_status sign_for(const signing *s, double *n, bm_error *err)
{
    const bm_kernel_tune_corpus *corpus = s->corpus;
    bm_backend *backend = s->backend;
    bm_sign_task tasks[MAX_DEPTH];
    const double begin = bm_clock_seconds();
    size_t under_way = 0, at = 0;
    bm_status status = BM_OK;
    double now = begin;
    *n = 0;
    for (size_t doc = 0; status == BM_OK;) {
        bm_sign_task *task = &tasks[at];
        if (under_way == s->depth)
            status = backend->ops->wait(backend, task, err);
        else
            under_way++;
        if (status != BM_OK)
            break;
        *task = next_task(corpus, backend, doc);
        status = backend->ops->submit(backend, task, err);
        doc += task->n_docs;
        *n += (double)(task->offsets[task->n_docs] - task->offsets[0]);
        at = (at + 1) % s->depth;
        now = bm_clock_seconds();
        if (now - begin > MAX_SECONDS || (doc == corpus->batch.n_docs && now - begin >= s->seconds))
            break;
        if (doc == corpus->batch.n_docs)
            doc = 0;
    }
    bm_status last = backend->ops->drain(backend, status == BM_OK ? err : NULL);
    return status == BM_OK ? last : status;
}

bm_status bm_kernel_tune_check(bm_kernel_tune_corpus *corpus, bm_backend *backend, bm_error *err)
{
    const size_t bytes = corpus->batch.n_docs * corpus->row_uints * sizeof *corpus->words;
    double n = 0;
    memset(corpus->words, 0, bytes);
    BM_TRY(sign_for(&(signing){corpus, backend, depth_of(backend), 0}, &n, err));
    const size_t signed_to = corpus->batch.n_docs;
    if (n < (double)corpus->batch.offsets[signed_to])
        return bm_fail(err, BM_ERR_DEVICE, "it is too slow to be measured");
    if (memcmp(corpus->words, corpus->right, bytes) != 0)
        return bm_fail(err, BM_ERR_SELFTEST, "it computes wrong signatures");
    return BM_OK;
}

bm_status bm_kernel_tune_run(bm_kernel_tune_corpus *corpus, bm_backend *backend, double seconds,
                             bm_kernel_tune_score *score, bm_error *err)
{
    double alone = 0, n = 0;
    const double before = backend->kernel_seconds;
    BM_TRY(sign_for(&(signing){corpus, backend, 1, seconds / 2}, &alone, err));
    const double kernels = backend->kernel_seconds - before;
    const double begin = bm_clock_seconds();
    bm_status status =
        sign_for(&(signing){corpus, backend, depth_of(backend), seconds / 2}, &n, err);
    const double wall = bm_clock_seconds() - begin;
    score->host = wall > 0 ? n / wall * 1e-6 : 0;
    score->kernel = kernels > 0 ? alone / kernels * 1e-6 : score->host;
    return status;
}

#define ROUNDS     2
#define MAX_VALUES 6

typedef struct axis {
    bm_kernel_param column;
    bool host; /* compared by the host's rate: the column does not affect kernels */
    bool tied; /* `other` takes the same value */
    bm_kernel_param other;
    uint32_t values[MAX_VALUES]; /* end with 0; only the first may be 0 */
} axis;

static const axis cpu_axes[] = {
    {.column = BM_CL_LANES, .values = {4, 8, 16}},
    {.column = BM_CL_ACC, .values = {2, 4, 8, 16}},
    {.column = BM_CL_PACK, .values = {1024, 4096, 16384}},
    {BM_CL_PART, .tied = true, .other = BM_CL_WHOLE, .values = {16384, 65536, 262144}},
    {.column = BM_CL_ZERO_COPY, .host = true, .values = {0, 1}},
    {.column = BM_CL_BATCH, .host = true, .values = {64, 128, 256, 512, 1024}},
};
static const axis gpu_axes[] = {
    {.column = BM_CL_EACH, .values = {1, 2, 4, 8}},
    {.column = BM_CL_GROUP, .values = {64, 128, 256, 512, 1024}},
    {BM_CL_TILE, .tied = true, .other = BM_CL_PACK, .values = {64, 128, 256, 512, 1024}},
    {.column = BM_CL_UNROLL, .values = {2, 4, 8, 16}},
    {.column = BM_CL_PACK, .values = {32, 64, 128, 256, 512, 1024}},
    {.column = BM_CL_PART, .values = {1024, 4096, 16384}},
    {.column = BM_CL_BATCH, .host = true, .values = {32, 64, 128, 256, 512}},
};

static const axis *axes_of(const bm_kernel_params *row, size_t *n)
{
    const bool gpu = strcmp(row->shape, "gpu") == 0;
    *n = gpu ? sizeof gpu_axes / sizeof *gpu_axes : sizeof cpu_axes / sizeof *cpu_axes;
    return gpu ? gpu_axes : cpu_axes;
}

static bool has_value(const axis *a, size_t i)
{
    return i < MAX_VALUES && (i == 0 || a->values[i] != 0);
}

size_t bm_kernel_tune_round(const bm_kernel_params *row)
{
    size_t n_axes, n = 0;
    const axis *axes = axes_of(row, &n_axes);
    for (size_t a = 0; a < n_axes; a++)
        for (size_t i = 0; has_value(&axes[a], i); i++)
            n++;
    return n;
}

typedef struct search {
    const bm_kernel_tune_trial *trial;
    bm_kernel_params *row;
    bm_kernel_tune_score *score;
    bm_kernel_params *tried;
    size_t n_tried, cap_tried;
    bool better; /* in this round */
} search;

static bool was_tried(const search *s, const bm_kernel_params *row)
{
    for (size_t i = 0; i < s->n_tried; i++)
        if (memcmp(s->tried[i].number, row->number, sizeof row->number) == 0)
            return true;
    return false;
}

static bm_status remember(search *s, const bm_kernel_params *row, bm_error *err)
{
    BM_TRY(bm_grow_array(&s->tried, &s->cap_tried, s->n_tried + 1, err));
    s->tried[s->n_tried++] = *row;
    return BM_OK;
}

static bm_status try_value(search *s, const axis *a, uint32_t value, bm_error *err)
{
    bm_kernel_params row = *s->row;
    row.number[a->column] = value;
    if (a->tied)
        row.number[a->other] = value;
    if (was_tried(s, &row) || (s->trial->until > 0 && bm_clock_seconds() > s->trial->until))
        return BM_OK;
    bm_kernel_tune_score score = {0};
    BM_TRY(remember(s, &row, err));
    BM_TRY(s->trial->run(s->trial->ctx, &row, s->score, &score, err));
    const double now = a->host ? score.host : score.kernel;
    const double before = a->host ? s->score->host : s->score->kernel;
    if (now > before * BM_KERNEL_TUNE_MARGIN) {
        *s->row = row;
        *s->score = score;
        s->better = true;
    }
    return BM_OK;
}

bm_status bm_kernel_tune_search(const bm_kernel_tune_trial *trial, bm_kernel_params *row,
                                bm_kernel_tune_score *score, bm_error *err)
{
    search s = {.trial = trial, .row = row, .score = score, .better = true};
    size_t n_axes;
    const axis *axes = axes_of(row, &n_axes);
    bm_status status = BM_OK;
    BM_TRY_OUT(remember(&s, row, err));
    for (int round = 0; round < ROUNDS && s.better; round++) {
        s.better = false;
        for (size_t a = 0; a < n_axes; a++) {
            for (size_t i = 0; has_value(&axes[a], i); i++)
                BM_TRY_OUT(try_value(&s, &axes[a], axes[a].values[i], err));
        }
    }
out:
    bm_free(s.tried);
    return status;
}
