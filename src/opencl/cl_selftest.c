/* cl_selftest.c -- a driver may compile wrong code, and a cached binary may be another kernel's:
 * every call then succeeds and the words are wrong. So a program signs documents whose answers the
 * scalar reference gives before it is used.
 *
 * The batch is small (a few thousand shingles, made by a fixed generator) and meets every path: no
 * shingle, quads that are not full, packing, a document of its own chunk, one in parts. For the
 * last the cut is lowered while the test runs.
 *
 * One more document is as long as a work-group ever signs at once, since Mesa's llvmpipe leaves a
 * loop after 65,535 turns (docs/opencl.md). It is of few different shingles, round and round, and
 * one that stands at its end alone and without which its words are others: so its answer costs
 * little, and no loop that ends too early can give it.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/answers.sh
 * Tests: tests/parity/test_mesa.sh */
#include "opencl/cl_selftest.h"

#include <string.h>

#include "opencl/known_answers.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

static const uint32_t sizes[] = {0, 1, 2, 17, 118, 0, 5, 1000, 33, 4, 3001, 64, 7};
enum { N_DOCS = sizeof sizes / sizeof *sizes, LONGEST = 65536, DISTINCT = 64 };

typedef struct answers {
    const uint32_t *sizes;
    size_t n_docs;  /* at most N_DOCS */
    bool repeating; /* the one document is made by make_long */
    uint64_t offsets[N_DOCS + 1];
    uint64_t *hashes, *keys, *right_keys;
    uint32_t *words, *right_words;
} answers;

/* n shingles, more than DISTINCT: those of a set but one over and over, then that one, which makes
 * a difference. The last DISTINCT are the set. */
static void make_long(const bm_cl_stream *stream, uint64_t *hashes, size_t n)
{
    const bm_scheme_ops *scheme = stream->shape->scheme;
    const size_t bytes = stream->shape->row_uints * sizeof(uint32_t);
    uint64_t set[DISTINCT], state = 21;
    uint32_t with[2 * BM_PERMS_MAX], without[2 * BM_PERMS_MAX];
    for (size_t i = 0; i < DISTINCT; ++i)
        set[i] = bm_splitmix64(&state);
    scheme->sign(stream->params, set, DISTINCT, with);
    for (size_t i = DISTINCT; i-- > 0;) {
        const uint64_t alone = set[i];
        set[i] = set[DISTINCT - 1];
        set[DISTINCT - 1] = alone;
        scheme->sign(stream->params, set, DISTINCT - 1, without);
        if (memcmp(with, without, bytes) != 0)
            break;
    }
    for (size_t i = 0; i + 1 < n; ++i)
        hashes[i] = set[i % (DISTINCT - 1)];
    hashes[n - 1] = set[DISTINCT - 1];
}

static bm_status reserve(answers *a, const bm_cl_shape *shape, bm_error *err)
{
    const size_t n = (size_t)a->offsets[a->n_docs];
    const size_t words = a->n_docs * shape->row_uints, keys = a->n_docs * shape->bands;
    a->hashes = bm_alloc(n, sizeof *a->hashes);
    a->keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->right_keys = bm_alloc_zero(keys, sizeof *a->keys);
    a->words = bm_alloc_zero(words, sizeof *a->words);
    a->right_words = bm_alloc_zero(words, sizeof *a->words);
    if (!a->hashes || !a->keys || !a->right_keys || !a->words || !a->right_words)
        return bm_fail_nomem(err, n * 8 + words * 8 + keys * 16);
    return BM_OK;
}

/* Documents and their answers; a->sizes, n_docs and repeating are set. */
static bm_status prepare(answers *a, const bm_cl_stream *stream, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    uint64_t state = 20;
    for (size_t i = 0; i < a->n_docs; ++i)
        a->offsets[i + 1] = a->offsets[i] + a->sizes[i];
    BM_TRY(reserve(a, shape, err));
    const size_t n = (size_t)a->offsets[a->n_docs];
    for (size_t i = 0; i < n && !a->repeating; ++i)
        a->hashes[i] = bm_splitmix64(&state);
    if (a->repeating)
        make_long(stream, a->hashes, n);
    for (size_t i = 0; i < a->n_docs; ++i) {
        uint32_t *words = a->right_words + i * shape->row_uints;
        const size_t different = a->repeating ? DISTINCT : a->sizes[i];
        shape->scheme->sign(stream->params, a->hashes + a->offsets[i + 1] - different, different,
                            words);
        if (shape->bands > 0)
            bm_band_keys_of(bm_scheme_word_bytes(shape->scheme->scheme))(
                words, shape->bands, shape->rows, a->sizes[i] == 0,
                a->right_keys + i * shape->bands);
    }
    return BM_OK;
}

static bm_status compare(const answers *a, const bm_cl_shape *shape, bm_error *err)
{
    for (size_t i = 0; i < a->n_docs * shape->row_uints; ++i)
        if (a->words[i] != a->right_words[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: word %zu of a document of %u shingles is %08x (%08x was "
                           "expected)",
                           i % shape->row_uints * shape->perms / shape->row_uints,
                           a->sizes[i / shape->row_uints], a->words[i], a->right_words[i]);
    for (size_t i = 0; i < a->n_docs * shape->bands; ++i)
        if (a->keys[i] != a->right_keys[i])
            return bm_fail(err, BM_ERR_SELFTEST,
                           "self-test: key %zu of a document of %u shingles is %016llx (%016llx "
                           "was expected)",
                           i % shape->bands, a->sizes[i / shape->bands],
                           (unsigned long long)a->keys[i], (unsigned long long)a->right_keys[i]);
    return BM_OK;
}

/* Sign documents as the stream is cut now. */
static bm_status check(bm_cl_stream *stream, answers a, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    bm_status status = BM_OK;
    BM_TRY_OUT(prepare(&a, stream, err));
    bm_sign_task task = {.offsets = a.offsets,
                         .hashes = a.hashes,
                         .n_docs = a.n_docs,
                         .words = a.words,
                         .keys = shape->bands > 0 ? a.keys : NULL};
    BM_TRY_OUT(bm_cl_stream_run(stream, &task, err));
    status = compare(&a, shape, err);
out:
    bm_free_all(a.hashes, a.keys, a.right_keys, a.words, a.right_words);
    return status;
}

/* So that documents of a few thousand shingles meet every path. */
static void lower_cut(bm_cl_stream *stream)
{
    const bm_cl_shape *shape = stream->shape;
    stream->cut.pack_units = shape->chunk.pack < 64 ? shape->chunk.pack : 64;
    stream->cut.whole_units = shape->chunk.whole < 256 ? shape->chunk.whole : 256;
    stream->cut.part_units = bm_cl_part_units(shape, 300);
}

/* As many shingles as a work-group signs at once, if a batch holds so many. */
static uint32_t longest_of(const bm_cl_stream *stream)
{
    const bm_cl_chunk_units *chunk = &stream->shape->chunk;
    const size_t parts = chunk->whole > chunk->part ? chunk->whole : chunk->part;
    const size_t one = stream->cut.doc_units > 0 ? (size_t)stream->cut.doc_units : parts;
    const size_t most = stream->cut.max_units < one ? stream->cut.max_units : one;
    const size_t n = most * stream->shape->unit;
    return n < LONGEST ? (uint32_t)n : LONGEST;
}

bm_status bm_cl_selftest(bm_cl_stream *stream, uint32_t *n_checks, bm_error *err)
{
    const bm_cl_shape *shape = stream->shape;
    const uint32_t longest = longest_of(stream);
    if (!bm_devices_are_checked)
        return BM_OK;
    lower_cut(stream);
    bm_status status = check(stream, (answers){.sizes = sizes, .n_docs = N_DOCS}, err);
    bm_cl_stream_cut(stream);
    uint32_t n_docs = N_DOCS;
    if (status == BM_OK && longest > DISTINCT && !stream->brief) {
        status = check(stream, (answers){.sizes = &longest, .n_docs = 1, .repeating = true}, err);
        ++n_docs;
    }
    if (status == BM_OK && n_checks != NULL)
        *n_checks = n_docs * (shape->perms + shape->bands);
    if (status == BM_OK && shape->text.used) {
        lower_cut(stream);
        status = bm_cl_text_check(stream, n_checks, err);
        bm_cl_stream_cut(stream);
    }
    return status;
}
