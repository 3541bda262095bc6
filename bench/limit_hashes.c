/* SPDX-License-Identifier: Apache-2.0 */
/* limit_hashes.c -- XXH3_64bits of the shingles of a text, where they stand.
 *
 * Shingles of 17 to 64 bytes are hashed without a branch on their length (XXH3 has a class for each
 * 32 bytes; lengths of real shingles change class all the time, and a wrong guess costs more than a
 * hash): with AVX-512 the terms of both classes eight at a time and the further ones from a list,
 * with AVX2 all four terms, of which two are masked away. */
#include "limit_hashes.h"

#include <immintrin.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t fold(uint64_t x, uint64_t y)
{
    unsigned __int128 product = (unsigned __int128)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t read64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t mix16(const char *p, size_t at)
{
    const uint8_t *secret = XXH3_kSecret + at;
    return fold(read64(p) ^ read64(secret), read64(p + 8) ^ read64(secret + 8));
}

/* XXH3_64bits. The class of 33 to 64 bytes is that of 17 to 32 with two more terms: both are
 * computed and masked away; reading 15 bytes before and 32 after the shingle is safe. */
static inline uint64_t finish(uint64_t acc)
{
    acc ^= acc >> 37;
    acc *= UINT64_C(0x165667919E3779F9);
    return acc ^ (acc >> 32);
}

static __attribute__((noinline)) uint64_t other_hash(const char *p, size_t len)
{
    return XXH3_64bits(p, len);
}

static inline uint64_t token_hash(const char *p, size_t len)
{
    if (len - 17 > 64 - 17)
        return other_hash(p, len);
    uint64_t more = (uint64_t)0 - (uint64_t)(len > 32);
    uint64_t acc = len * XXH_PRIME64_1 + mix16(p, 0) + mix16(p + len - 16, 16);
    return finish(acc + ((mix16(p + 16, 32) + mix16(p + len - 32, 48)) & more));
}

#if defined(__AVX512BW__)
/* mix16 of eight places, in the lanes 0 4 1 5 2 6 3 7: the product of 64 bits from four of 32. */
static inline __m512i mix16_8(const char *p, const uint32_t *at, size_t secret)
{
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    __m512i key = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(XXH3_kSecret + secret)));
    __m512i half[2];
    for (size_t i = 0; i < 2; i++, at += 4) {
        __m256i x = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[0])));
        __m256i y = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[2])));
        x = _mm256_inserti128_si256(x, _mm_loadu_si128((const void *)(p + at[1])), 1);
        y = _mm256_inserti128_si256(y, _mm_loadu_si128((const void *)(p + at[3])), 1);
        half[i] = _mm512_xor_si512(_mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1), key);
    }
    __m512i a = _mm512_unpacklo_epi64(half[0], half[1]);
    __m512i b = _mm512_unpackhi_epi64(half[0], half[1]);
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    __m512i ll = _mm512_mul_epu32(a, b), hl = _mm512_mul_epu32(a_high, b);
    __m512i lh = _mm512_mul_epu32(a, b_high), hh = _mm512_mul_epu32(a_high, b_high);
    __m512i cross = _mm512_add_epi64(_mm512_srli_epi64(ll, 32), _mm512_and_si512(hl, low));
    cross = _mm512_add_epi64(cross, lh);
    hh = _mm512_add_epi64(hh, _mm512_srli_epi64(hl, 32));
    hh = _mm512_add_epi64(hh, _mm512_srli_epi64(cross, 32));
    return _mm512_xor_si512(hh, _mm512_mask_shuffle_epi32(ll, 0xAAAA, cross, _MM_PERM_CCAA));
}

void limit_hash_block(const char *text, const uint32_t *starts, uint32_t span, size_t n,
                      uint64_t *out)
{
    const __m512i lanes = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i unlanes = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    uint32_t more[HASH_BLOCK + 8], other[HASH_BLOCK + 8];
    size_t n_more = 0, n_other = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint32_t *end = starts + i + span;
        __m256i len = _mm256_sub_epi32(_mm256_loadu_si256((const void *)end),
                                       _mm256_loadu_si256((const void *)(starts + i)));
        __m256i over = _mm256_sub_epi32(len, _mm256_set1_epi32(18)); /* of lengths from 17 */
        __mmask8 is_other = _mm256_cmpgt_epu32_mask(over, _mm256_set1_epi32(64 - 17));
        __mmask8 is_more =
            _mm256_cmpgt_epu32_mask(over, _mm256_set1_epi32(32 - 17)) & (__mmask8)~is_other;
        __m256i at =
            _mm256_add_epi32(_mm256_set1_epi32((int)i), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        _mm256_storeu_si256((void *)(more + n_more), _mm256_maskz_compress_epi32(is_more, at));
        _mm256_storeu_si256((void *)(other + n_other), _mm256_maskz_compress_epi32(is_other, at));
        n_more += (size_t)__builtin_popcount(is_more);
        n_other += (size_t)__builtin_popcount(is_other);
        __m512i wide = _mm512_sub_epi64(_mm512_cvtepu32_epi64(len), _mm512_set1_epi64(1));
        __m512i acc = _mm512_mullo_epi64(_mm512_permutexvar_epi64(lanes, wide),
                                         _mm512_set1_epi64((int64_t)XXH_PRIME64_1));
        acc = _mm512_add_epi64(acc, mix16_8(text, starts + i, 0));
        acc = _mm512_add_epi64(acc, mix16_8(text - 17, end, 16));
        _mm512_storeu_si512(out + i, _mm512_permutexvar_epi64(unlanes, acc));
    }
    for (size_t m = 0; m < n_more; m++)
        out[more[m]] +=
            mix16(text + starts[more[m]] + 16, 32) + mix16(text + starts[more[m] + span] - 33, 48);
    const size_t whole = i;
    for (i = 0; i < whole; i++)
        out[i] = finish(out[i]);
    for (size_t o = 0; o < n_other; o++)
        out[other[o]] =
            other_hash(text + starts[other[o]], starts[other[o] + span] - starts[other[o]] - 1);
    for (; i < n; i++)
        out[i] = token_hash(text + starts[i], starts[i + span] - starts[i] - 1);
}
#else
void limit_hash_block(const char *text, const uint32_t *starts, uint32_t span, size_t n,
                      uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = token_hash(text + starts[i], starts[i + span] - starts[i] - 1);
}
#endif
