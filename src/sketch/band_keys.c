/* SPDX-License-Identifier: Apache-2.0 */
/* band_keys.c -- 64-bit keys of the bands of a signature, by the formula of kernels/affine32.h.
 *
 * A signature alone does not show whether its document had shingles. bm_band_keys treats a row of
 * words with all bits set as the row of a document without shingles. A document with shingles has
 * such a row only if all its minima are 2^32-1. With one permutation and one shingle, the
 * probability of this is 2^-32; with more words it is far less. Backends know the number of
 * shingles, and do not need this rule. */
#include <bandmill/sketch.h>

#include <string.h>

#include "base/error.h"
#include "kernels/affine32.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

void bm_band_keys_scalar(const void *signature, uint32_t bands, uint32_t rows, bool empty,
                         uint64_t *keys)
{
    const uint32_t *words = signature;
    for (uint32_t band = 0; band < bands; band++) {
        uint64_t key = bm_band_key_begin(band);
        for (uint32_t row = 0; row < rows; row++)
            key = bm_band_key_add(key, words[(size_t)band * rows + row]);
        keys[band] = empty ? BM_NO_BAND_KEY : bm_band_key_end(key);
    }
}

/* Like bm_band_keys_scalar, for 64-bit words. They may be stored in an array of 32-bit words, so
 * they need not be aligned. */
static void band_keys64(const void *signature, uint32_t bands, uint32_t rows, bool empty,
                        uint64_t *keys)
{
    const char *at = signature;
    for (uint32_t band = 0; band < bands; band++) {
        uint64_t key = bm_band_key_begin(band), word;
        for (uint32_t row = 0; row < rows; row++, at += sizeof word) {
            memcpy(&word, at, sizeof word);
            key = bm_band_key_add(key, word);
        }
        keys[band] = empty ? BM_NO_BAND_KEY : bm_band_key_end(key);
    }
}

bm_band_keys_fn *bm_band_keys_of(uint32_t word_bytes)
{
    return word_bytes == sizeof(uint64_t) ? band_keys64 : bm_band_keys_scalar;
}

static bm_status check(const void *words, size_t n_docs, const bm_band_plan *plan,
                       const uint64_t *keys, bm_error *err)
{
    if (plan == NULL)
        return bm_fail_field(err, "plan", "no plan given");
    if (plan->perms == 0 || plan->perms > BM_PERMS_MAX)
        return bm_fail_field(err, "perms", "%u permutations (1 to %u)", plan->perms, BM_PERMS_MAX);
    if (plan->bands == 0 || plan->rows == 0 || (uint64_t)plan->bands * plan->rows > plan->perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows (at least 1 of 1, and at most %u values in all)",
                             plan->bands, plan->rows, plan->perms);
    if (n_docs != 0 && (words == NULL || keys == NULL))
        return bm_fail_field(err, words == NULL ? "signatures" : "keys",
                             "`%s` of %zu documents is NULL", words == NULL ? "signatures" : "keys",
                             n_docs);
    return BM_OK;
}

bm_status bm_band_keys(const uint32_t *signatures, size_t n_docs, const bm_band_plan *plan,
                       uint64_t *keys, bm_error *err)
{
    BM_TRY(check(signatures, n_docs, plan, keys, err));
    for (size_t doc = 0; doc < n_docs; doc++) {
        const uint32_t *row = signatures + doc * plan->perms;
        uint32_t all = BM_NO_SHINGLE32;
        for (uint32_t i = 0; i < plan->perms; i++)
            all &= row[i];
        bm_band_keys_scalar(row, plan->bands, plan->rows, all == BM_NO_SHINGLE32,
                            keys + doc * plan->bands);
    }
    return BM_OK;
}

bm_status bm_band_keys64(const uint64_t *signatures, size_t n_docs, const bm_band_plan *plan,
                         uint64_t *keys, bm_error *err)
{
    BM_TRY(check(signatures, n_docs, plan, keys, err));
    for (size_t doc = 0; doc < n_docs; doc++) {
        const uint64_t *row = signatures + doc * plan->perms;
        uint64_t all = BM_NO_SHINGLE64;
        for (uint32_t i = 0; i < plan->perms; i++)
            all &= row[i];
        band_keys64(row, plan->bands, plan->rows, all == BM_NO_SHINGLE64, keys + doc * plan->bands);
    }
    return BM_OK;
}

bm_status bm_signed_rows_keys(const bm_signed_rows *rows, const bm_band_plan *plan, uint64_t *keys,
                              bm_error *err)
{
    if (bm_scheme_value_bytes(rows->scheme) == sizeof *rows->words)
        return bm_band_keys(rows->words, rows->n, plan, keys, err);
    return bm_band_keys64((const uint64_t *)(const void *)rows->words, rows->n, plan, keys, err);
}
