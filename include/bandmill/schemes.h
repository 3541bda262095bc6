/* SPDX-License-Identifier: Apache-2.0 */
/* schemes.h -- the formulas of signature schemes (bm_scheme, types.h), and facts about the schemes.
 *
 * A signature has K = perms values. In the formulas, x is the token hash of a shingle: the low 32
 * bits of its hash (bm_token_hash). The finalisers are those of MurmurHash3:
 *
 *     fmix32(h):  h ^= h >> 16;  h *= 0x85EBCA6B;  h ^= h >> 13;  h *= 0xC2B2AE35;  h ^= h >> 16
 *     fmix64(k):  k ^= k >> 33;  k *= 0xFF51AFD7ED558CCD;  k ^= k >> 33;
 *                 k *= 0xC4CEB9FE1A85EC53;  k ^= k >> 33
 *
 * Random numbers are drawn from the MT19937 of NumPy's RandomState(seed). n32 is one output. n64 is
 * two outputs, the first of them in the high half.
 *
 * affine32. First all a_i = 2 (n32 & 0x7FFFFFFF) + 1 are drawn, then all b_i = n32, for i from 0 to
 * K - 1 (bm_affine32_coefficients, sketch.h). Value i is the minimum of a_i fmix32(x) + b_i mod
 * 2^32 over the document's shingles.
 *
 * oph. Drawn are a = 2 (n32 & 0x7FFFFFFF) + 1, b = n32, mul = n64, add = n64. With h = min(fmix32(a
 * fmix32(x) + b mod 2^32), 2^32 - 2), the bin of h is floor(h K / 2^32), and value i is the least h
 * in bin i. An empty bin gets the value of the first non-empty bin among donor(i, 0), donor(i, 1)
 * ... donor(i, 16 K - 1), with
 *
 *     donor(i, t) = floor(fmix32(floor((mul (1024 t + i) + add mod 2^64) / 2^32)) K / 2^32)
 *
 * or, if all of these are empty, of the next non-empty bin after i, cyclically. docs/schemes.md has
 * the formulas of cws and of the schemes of other tools.
 *
 * Band keys. Band j, from 0, of r rows has the values j r to j r + r - 1 of a signature. Its key is
 *
 *     k = j + 1
 *     for each value v of the band, in order:  k = k * 0x9E3779B97F4A7C15 + v  mod 2^64
 *     key = fmix64(k)
 *
 * so that equal values in two bands have different keys.
 *
 * If a document has no shingles, all bits of its values are 1 (BM_NO_SHINGLE32 or BM_NO_SHINGLE64),
 * and each of its keys is BM_NO_BAND_KEY. No program may put it into a bucket with another
 * document.
 *
 * Threads: any; there is no state. */
#ifndef BANDMILL_SCHEMES_H
#define BANDMILL_SCHEMES_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Return the default hash of shingles, or the default seed, of a scheme. Schemes of other tools
 * have the defaults of these tools. Bandmill's own schemes have XXH3 and 1. docs/schemes.md lists
 * the hashes that each scheme accepts. */
BM_API bm_token_hash bm_scheme_hash(bm_scheme scheme);
BM_API uint32_t bm_scheme_seed(bm_scheme scheme);
/* Return the bytes of a value of a signature: 4 or 8. */
BM_API uint32_t bm_scheme_value_bytes(bm_scheme scheme);

#if defined(__cplusplus)
}
#endif
#endif
