/* cl_selftest.c -- a driver may compile wrong code, and a cached binary may be another kernel's:
 * every call then succeeds and the words are wrong. So a program signs documents whose answers the
 * scalar reference gives before it is used.
 *
 * The batch is small (a few thousand shingles, made by a fixed generator) and meets every path: no
 * shingle, quads that are not full, packing, a document of its own chunk, one in parts. For the
 * last the cut is lowered while the test runs.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/answers.sh */
#include "backend/opencl/cl_selftest.h"

#include <string.h>

#include "backend/opencl/cl_text_check.h"
#include "base/error.h"
#include "base/memory.h"
#include "sketch/scheme.h"

static const uint32_t sizes[] = {0, 1, 2, 17, 118, 0, 5, 1000, 33, 4, 3001, 64, 7};
enum { N_DOCS = sizeof sizes / sizeof *sizes };

static uint64_t next_hash(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u); /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

typedef struct answers {
    uint64_t offsets[N_DOCS + 1];
    uint64_t *hashes, *keys, *right_keys;
    uint32_t *words, *right_words;
} answers;

static void reset(answers *a)
{
    bm_free(a->hashes);
    bm_free(a->keys);
    bm_free(a->right_keys);
    bm_free(a->words);
    bm_free(a->right_words);
}

static bm_status prepare(answers *a, const bm_cl_stream *stream, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < N_DOCS; ++i)
        a->offsets[i + 1] = a->offsets[i] + sizes[i];
    const size_t n = (size_t)a->offsets[N_DOCS], n_words = (size_t)N_DOCS * shape->perms;
    const size_t keys = (size_t)N_DOCS * shape->bands;
    a->hashes = bm_alloc(n, sizeof *a->hashes);
    a->keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->right_keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->words = bm_alloc_zero(n_words, sizeof *a->words);
    a->right_words = bm_alloc_zero(n_words, sizeof *a->words);
    if (!a->hashes || !a->keys || !a->right_keys || !a->words || !a->right_words)
        return bm_fail_nomem(err, n * 8 + n_words * 8 + keys * 16);
    uint64_t state = 20;
    for (size_t i = 0; i < n; ++i)
        a->hashes[i] = next_hash(&state);
    for (size_t i = 0; i < N_DOCS; ++i) {
        uint32_t *words = a->right_words + i * shape->perms;
        shape->scheme->sign(stream->params, a->hashes + a->offsets[i], sizes[i], words);
        if (shape->bands > 0)
            bm_band_keys_scalar(words, shape->bands, shape->rows, sizes[i] == 0,
                                a->right_keys + i * shape->bands);
    }
    return BM_OK;
}

static bm_status compare(const answers *a, const bm_cl_shape *shape, bm_error *err)
{
    for (size_t i = 0; i < (size_t)N_DOCS * shape->perms; ++i)
        if (a->words[i] != a->right_words[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: word %zu of a document of %u shingles is %08x (%08x was "
                           "expected)",
                           i % shape->perms, sizes[i / shape->perms], a->words[i],
                           a->right_words[i]);
    for (size_t i = 0; i < (size_t)N_DOCS * shape->bands; ++i)
        if (a->keys[i] != a->right_keys[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: key %zu of a document of %u shingles is %016llx (%016llx "
                           "was expected)",
                           i % shape->bands, sizes[i / shape->bands],
                           (unsigned long long)a->keys[i], (unsigned long long)a->right_keys[i]);
    return BM_OK;
}

/* So that documents of a few thousand shingles meet every path. */
static void lower_cut(bm_cl_stream *stream)
{
    const bm_cl_shape *shape = stream->shape;
    stream->cut.pack_units = shape->chunk.pack < 64 ? shape->chunk.pack : 64;
    stream->cut.whole_units = shape->chunk.whole < 256 ? shape->chunk.whole : 256;
    stream->cut.part_units = 300;
}

bm_status bm_cl_selftest(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    answers a;
    bm_status status = prepare(&a, stream, err);
    if (status == BM_OK) {
        bm_sign_task task = {.offsets = a.offsets, .hashes = a.hashes, .n_docs = N_DOCS};
        task.words = a.words;
        task.keys = shape->bands > 0 ? a.keys : NULL;
        lower_cut(stream);
        status = bm_cl_stream_submit(stream, &task, err);
        if (status == BM_OK)
            status = bm_cl_stream_wait(stream, &task, err);
        if (status != BM_OK)
            bm_cl_stream_abandon(stream); /* what is under way would be copied to `task` later */
        bm_cl_stream_cut(stream);
    }
    if (status == BM_OK)
        status = compare(&a, shape, err);
    if (status == BM_OK && n_checks != NULL)
        *n_checks = N_DOCS * (shape->perms + shape->bands);
    reset(&a);
    if (status == BM_OK && shape->text.used) {
        lower_cut(stream);
        status = bm_cl_text_check(stream, n_checks, err);
        bm_cl_stream_cut(stream);
    }
    return status;
}
