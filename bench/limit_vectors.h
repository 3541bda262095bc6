/* SPDX-License-Identifier: Apache-2.0 */
/* limit_vectors.h -- vectors: the same few operations at 512 or 256 bits. */
#ifndef BM_BENCH_LIMIT_VECTORS_H
#define BM_BENCH_LIMIT_VECTORS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512BW__)
#if defined(__AVX512VBMI2__)
#define ISA "avx512 vbmi2"
#else
#define ISA "avx512"
#endif
#define LANES 16u
#define GROUP 8u /* registers of minima in one pass: all 128 permutations */
typedef __m512i vec;
#define v_load(p)     _mm512_loadu_si512(p)
#define v_store(p, x) _mm512_storeu_si512(p, x)
#define v_set1(x)     _mm512_set1_epi32((int)(x))
#define v_add(x, y)   _mm512_add_epi32(x, y)
#define v_mul(x, y)   _mm512_mullo_epi32(x, y)
#define v_min(x, y)   _mm512_min_epu32(x, y)
#define v_xor(x, y)   _mm512_xor_si512(x, y)
#define v_shr(x, n)   _mm512_srli_epi32(x, n)

/* 64 bytes with each control character among the white space turned into a space. */
static inline void copy_64(char *out, const char *p)
{
    __m512i x = _mm512_loadu_si512(p);
    __mmask64 control =
        _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(9)), _mm512_set1_epi8(5));
    _mm512_storeu_si512(out, _mm512_mask_mov_epi8(x, control, _mm512_set1_epi8(' ')));
}

/* Bit i: byte i of 64 is this one. */
static inline uint64_t bytes_equal(const char *p, char byte)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(byte));
}

/* Bit i: byte i is one of count values from `first` on. */
static inline uint64_t bytes_in(const char *p, unsigned char first, unsigned char count)
{
    __m512i x = _mm512_sub_epi8(_mm512_loadu_si512(p), _mm512_set1_epi8((char)first));
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8((char)count));
}
#else
#define ISA           "avx2"
#define LANES         8u
#define GROUP         4u
typedef __m256i vec;
#define v_load(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define v_store(p, x) _mm256_storeu_si256((__m256i *)(void *)(p), x)
#define v_set1(x)     _mm256_set1_epi32((int)(x))
#define v_add(x, y)   _mm256_add_epi32(x, y)
#define v_mul(x, y)   _mm256_mullo_epi32(x, y)
#define v_min(x, y)   _mm256_min_epu32(x, y)
#define v_xor(x, y)   _mm256_xor_si256(x, y)
#define v_shr(x, n)   _mm256_srli_epi32(x, n)

static inline void copy_64(char *out, const char *p)
{
    const __m256i nine = _mm256_set1_epi8(9), four = _mm256_set1_epi8(4);
    for (size_t i = 0; i < 64; i += 32) {
        __m256i x = v_load(p + i), y = _mm256_sub_epi8(x, nine);
        __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(y, four), y);
        v_store(out + i, _mm256_blendv_epi8(x, _mm256_set1_epi8(' '), control));
    }
}

static inline uint64_t two_halves(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static inline uint64_t bytes_equal(const char *p, char byte)
{
    const __m256i y = _mm256_set1_epi8(byte);
    return two_halves(_mm256_cmpeq_epi8(v_load(p), y), _mm256_cmpeq_epi8(v_load(p + 32), y));
}

static inline uint64_t bytes_in(const char *p, unsigned char first, unsigned char count)
{
    const __m256i f = _mm256_set1_epi8((char)first), last = _mm256_set1_epi8((char)(count - 1));
    __m256i x = _mm256_sub_epi8(v_load(p), f), y = _mm256_sub_epi8(v_load(p + 32), f);
    return two_halves(_mm256_cmpeq_epi8(_mm256_min_epu8(x, last), x),
                      _mm256_cmpeq_epi8(_mm256_min_epu8(y, last), y));
}
#endif

#endif
