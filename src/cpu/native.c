/* SPDX-License-Identifier: Apache-2.0 */
/* native.c -- signs on the native CPU: a row of functions for each scheme.
 *
 * Tests: tests/unit/cpu/test_cpu_backend.c */
#include <string.h>

#include "cpu/native_row.h"
#include "kernels/affine32.h"
#include "kernels/affine64.h"

/* === native affine32 ===
 *
 * affine32 and nemo on the native CPU. Each scheme mixes a block in its own way. Then both take the
 * minima of a*h + b. */

static void affine32_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n,
                         void *block)
{
    choice->loops->premix(hashes, n, block);
}

static void nemo_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    uint32_t *out = block;
    (void)choice;
    for (size_t i = 0; i < n; i++)
        out[i] = bm_not_zero32((uint32_t)hashes[i]);
}

static void fold(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                 void *words)
{
    choice->loops->minima(choice->params, block, n, begun, words);
}

const bm_native_ops bm_native_affine32 = {.scheme = &bm_scheme_affine32,
                                          .block_bytes = sizeof(uint32_t),
                                          .mix = affine32_mix,
                                          .fold = fold};
const bm_native_ops bm_native_nemo = {
    .scheme = &bm_scheme_nemo, .block_bytes = sizeof(uint32_t), .mix = nemo_mix, .fold = fold};

/* === native oph ===
 *
 * oph on the native CPU. A shingle has one hash, and each bin keeps the least of its hashes. Bins
 * that stay empty get a word from a donor (oph_bins.c). */

static void oph_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    choice->loops->oph_hash(choice->params, hashes, n, block);
}

static void oph_fold(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                     void *words)
{
    const bm_scheme_params *params = choice->params;
    if (!begun)
        memset(words, 0xFF, params->perms_padded * sizeof(uint32_t));
    bm_oph_fill(params->perms, block, n, words);
}

static void oph_finish(const bm_native_choice *choice, void *words)
{
    bm_oph_densify(choice->params->plan, &choice->loops->oph, words);
}

const bm_native_ops bm_native_oph = {.scheme = &bm_scheme_oph,
                                     .block_bytes = sizeof(uint32_t),
                                     .mix = oph_mix,
                                     .fold = oph_fold,
                                     .finish = oph_finish};

/* === native wide ===
 *
 * The schemes with coefficients of 64 bits on the native CPU (bm_wide_loops). */

static void copy(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    (void)choice;
    memcpy(block, hashes, n * sizeof *hashes);
}

static void copy_low(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    uint64_t *out = block;
    (void)choice;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)hashes[i];
}

static void fold_low(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                     void *words)
{
    choice->loops->wide->low(choice->params, block, n, begun, words);
}

static void fold_affine(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                        void *words)
{
    choice->loops->wide->affine(choice->params, block, n, begun, words);
}

static void fold_prime(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                       void *words)
{
    choice->loops->wide->prime(choice->params, block, n, begun, words);
}

static void mix64(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    choice->loops->wide->fmix64(hashes, n, block);
}

/* Turn 64-bit values into 32-bit words, in place: their low halves or, for lance, bm_lance_word. */
static void narrow(const bm_native_choice *choice, void *words)
{
    const bm_scheme_params *params = choice->params;
    char *at = words;
    for (uint32_t i = 0; i < params->perms; i++) {
        uint64_t least;
        memcpy(&least, at + i * sizeof least, sizeof least);
        const uint32_t word =
            params->c64 != NULL ? bm_lance_word(params->c64[i], least) : (uint32_t)least;
        memcpy(at + i * sizeof word, &word, sizeof word);
    }
}

const bm_native_ops bm_native_legacy = {.scheme = &bm_scheme_legacy,
                                        .block_bytes = sizeof(uint64_t),
                                        .mix = copy_low,
                                        .fold = fold_low,
                                        .finish = narrow};
const bm_native_ops bm_native_text_dedup = {.scheme = &bm_scheme_text_dedup,
                                            .block_bytes = sizeof(uint64_t),
                                            .mix = copy_low,
                                            .fold = fold_low,
                                            .finish = narrow};
const bm_native_ops bm_native_lance = {.scheme = &bm_scheme_lance,
                                       .block_bytes = sizeof(uint64_t),
                                       .mix = copy,
                                       .fold = fold_affine,
                                       .finish = narrow};
const bm_native_ops bm_native_affine64 = {.scheme = &bm_scheme_affine64,
                                          .block_bytes = sizeof(uint64_t),
                                          .mix = mix64,
                                          .fold = fold_affine};
const bm_native_ops bm_native_datatrove = {.scheme = &bm_scheme_datatrove,
                                           .block_bytes = sizeof(uint64_t),
                                           .mix = copy,
                                           .fold = fold_prime};

/* === native table ===
 *
 * A row for each scheme; see native_row.h. */

static const bm_native_ops *const rows[] = {
    &bm_native_affine32, &bm_native_oph,        &bm_native_cws,
    &bm_native_legacy,   &bm_native_text_dedup, &bm_native_nemo,
    &bm_native_lance,    &bm_native_affine64,   &bm_native_datatrove};

const bm_native_ops *bm_native_find(const bm_scheme_ops *scheme)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i]->scheme == scheme)
            return rows[i];
    return NULL;
}
