/* SPDX-License-Identifier: Apache-2.0 */
/* parity_batch.h -- documents from a seeded generator, the right words and keys by the scalar
 * reference, and a comparison with those of a backend. Shared by the tests of backends. */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "model/backend.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

#include "tests/world/world_random.h"

typedef struct parity_batch {
    uint32_t row, bands, rows; /* row: 32-bit words of a document's signature */
    size_t n_docs;
    uint64_t *offsets, *hashes, *keys, *right_keys;
    uint32_t *words, *right_words;
} parity_batch;

/* How to make the documents. */
typedef struct parity_docs {
    const uint32_t *sizes; /* n_docs sizes, in hashes */
    size_t n_docs;
    uint64_t seed;
    uint64_t distinct; /* number of different hashes at most; 0: any */
} parity_docs;

/* Computes the right words and keys of the batch's hashes. */
static void parity_answer(parity_batch *b, const bm_backend_cfg *cfg)
{
    const bm_scheme_ops *ops = bm_scheme_get(cfg->sketch.scheme);
    bm_scheme_params params;
    bm_error err = {0};
    cr_assert_eq(bm_scheme_draw(&cfg->sketch, &params, &err), BM_OK, "%s", err.message);
    uint32_t *row = malloc(bm_scheme_row_uints(ops->scheme, cfg->sketch.perms) * sizeof *row);
    for (size_t i = 0; i < b->n_docs; ++i) {
        const size_t size = b->offsets[i + 1] - b->offsets[i];
        params.ops->sign(&params, b->hashes + b->offsets[i], size, row);
        memcpy(b->right_words + i * b->row, row, b->row * sizeof *row);
        if (b->bands > 0)
            bm_band_keys_of(bm_scheme_value_bytes(ops->scheme))(row, b->bands, b->rows, size == 0,
                                                                b->right_keys + i * b->bands);
    }
    free(row);
    bm_scheme_params_reset(&params);
}

static void parity_make_docs(parity_batch *b, const bm_backend_cfg *cfg, const parity_docs *docs)
{
    const uint32_t *sizes = docs->sizes;
    const size_t n_docs = docs->n_docs;
    const uint64_t distinct = docs->distinct;
    uint64_t seed = docs->seed;
    const bm_scheme_ops *ops = bm_scheme_get(cfg->sketch.scheme);
    const uint32_t perms = cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms;
    *b = (parity_batch){.row = bm_scheme_row_uints(ops->scheme, perms),
                        .bands = cfg->bands,
                        .rows = cfg->rows,
                        .n_docs = n_docs};
    b->offsets = calloc(n_docs + 1, sizeof *b->offsets);
    b->offsets[0] = 3; /* offsets need not begin at 0 */
    for (size_t i = 0; i < n_docs; ++i)
        b->offsets[i + 1] = b->offsets[i] + sizes[i];
    b->hashes = malloc((b->offsets[n_docs] + 1) * sizeof *b->hashes);
    for (size_t i = 0; i < b->offsets[n_docs]; ++i)
        b->hashes[i] = distinct > 0 ? world_random(&seed) % distinct : world_random(&seed);
    b->words = malloc(n_docs * b->row * sizeof *b->words + 1);
    b->right_words = malloc(n_docs * b->row * sizeof *b->words + 1);
    b->keys = malloc(n_docs * b->bands * sizeof *b->keys + 1);
    b->right_keys = malloc(n_docs * b->bands * sizeof *b->keys + 1);
    parity_answer(b, cfg);
}

static void parity_make(parity_batch *b, const bm_backend_cfg *cfg, const uint32_t *sizes,
                        size_t n_docs, uint64_t seed)
{
    parity_make_docs(b, cfg, &(parity_docs){sizes, n_docs, seed, 0});
}

static void parity_forget(parity_batch *b) /* discards the last results */
{
    memset(b->words, 0xA5, b->n_docs * b->row * sizeof *b->words);
    memset(b->keys, 0xA5, b->n_docs * b->bands * sizeof *b->keys);
}

static bm_sign_task parity_task(parity_batch *b, size_t first, size_t n, bool words, bool keys)
{
    return (bm_sign_task){.offsets = b->offsets + first,
                          .hashes = b->hashes,
                          .n_docs = n,
                          .words = words ? b->words + first * b->row : NULL,
                          .keys = keys ? b->keys + first * b->bands : NULL};
}

static void parity_compare(const parity_batch *b, bool words, bool keys, const char *what)
{
    for (size_t i = 0; words && i < b->n_docs * b->row; ++i)
        if (b->words[i] != b->right_words[i])
            cr_assert_fail(
                "%s: word (32 bits) %zu of document %zu (%llu shingles) is %08x, right is %08x",
                what, i % b->row, i / b->row,
                (unsigned long long)(b->offsets[i / b->row + 1] - b->offsets[i / b->row]),
                b->words[i], b->right_words[i]);
    for (size_t i = 0; keys && i < b->n_docs * b->bands; ++i)
        if (b->keys[i] != b->right_keys[i])
            cr_assert_fail(
                "%s: key %zu of document %zu (%llu shingles) is %016llx, right is %016llx", what,
                i % b->bands, i / b->bands,
                (unsigned long long)(b->offsets[i / b->bands + 1] - b->offsets[i / b->bands]),
                (unsigned long long)b->keys[i], (unsigned long long)b->right_keys[i]);
}

static void parity_free(parity_batch *b)
{
    free(b->offsets);
    free(b->hashes);
    free(b->words);
    free(b->right_words);
    free(b->keys);
    free(b->right_keys);
}
