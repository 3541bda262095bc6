/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_avx512.c -- the loops of the shingler with AVX-512 F, BW, DQ, VL. A block is one
 * register. A comparison makes a mask directly.
 *
 * Tests: tests/unit/text/test_shingler.c */
#include <immintrin.h>

#include "kernels/affine32.h"
#include "kernels/content_hash.h"
#include "text/shingle_ops.h"
#include "text/slice_steps.h"

typedef __m512i bm_block;

static inline bm_block block_load(const char *p)
{
    return _mm512_loadu_si512(p);
}

static inline bm_block block_load_part(const char *p, size_t n)
{
    return _mm512_mask_loadu_epi8(_mm512_set1_epi8(' '), _bzhi_u64(~UINT64_C(0), (unsigned)n), p);
}

static inline void block_store(char *p, bm_block b)
{
    _mm512_storeu_si512(p, b);
}

static inline uint64_t block_high(bm_block b)
{
    return _mm512_movepi8_mask(b);
}

static inline uint64_t block_may_be_space(bm_block b)
{
    __m512i group = _mm512_and_si512(b, _mm512_set1_epi8((char)0xFC));
    return _mm512_cmpeq_epi8_mask(group, _mm512_set1_epi8((char)0xE0)) |
           _mm512_cmpeq_epi8_mask(b, _mm512_set1_epi8((char)0xC2));
}

static inline uint64_t block_equal(bm_block b, char byte)
{
    return _mm512_cmpeq_epi8_mask(b, _mm512_set1_epi8(byte));
}

static inline uint64_t block_9x(bm_block b)
{
    __m512i high = _mm512_and_si512(b, _mm512_set1_epi8((char)0xF0));
    return _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)0x90));
}

static inline uint64_t block_lead(bm_block b)
{
    return _mm512_cmpgt_epi8_mask(b, _mm512_set1_epi8((char)0xBF));
}

/* The mask of the bytes with low <= byte < low + n. */
static inline uint64_t within(bm_block b, char low, char n)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(b, _mm512_set1_epi8(low)), _mm512_set1_epi8(n));
}

/* The mask of the bytes below 0x20 except TAB, LF, FF and CR. In the table, only these four bytes
 * equal their entries. */
static inline uint64_t block_control(bm_block b)
{
    const __m512i white = _mm512_broadcast_i32x4(
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, 9, 10, -1, 12, 13, -1, -1));
    return _mm512_mask_cmpneq_epi8_mask(_mm512_cmplt_epu8_mask(b, _mm512_set1_epi8(0x20)), b,
                                        _mm512_shuffle_epi8(white, b));
}

static inline uint64_t block_cut(bm_block *b, bm_join_rule rule)
{
    const __m512i blank = _mm512_set1_epi8(' ');
    uint64_t sep;
    if (rule == BM_JOIN_COPY)
        return 0;
    if (rule == BM_JOIN_SPACE)
        sep = _mm512_cmpeq_epi8_mask(*b, blank) | within(*b, 9, 5);
    else
        sep = ~(within(_mm512_or_si512(*b, blank), 'a', 26) | within(*b, '0', 10));
    if (rule == BM_JOIN_EACH)
        sep &= ~_mm512_cmpeq_epi8_mask(*b, _mm512_set1_epi8('_'));
    *b = _mm512_mask_mov_epi8(*b, sep, blank);
    return sep;
}

static inline uint64_t block_punct(bm_block b)
{
    const __m512i by_low = _mm512_broadcast_i32x4(_mm_setr_epi8(BM_PUNCT_BY_LOW));
    const __m512i by_high = _mm512_broadcast_i32x4(_mm_setr_epi8(BM_PUNCT_BY_HIGH));
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(b, 4), _mm512_set1_epi8(0x0F));
    return _mm512_test_epi8_mask(_mm512_shuffle_epi8(by_low, b), /* 0 for bytes >= 0x80 */
                                 _mm512_shuffle_epi8(by_high, high));
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    if (lower)
        b = _mm512_mask_add_epi8(b, within(b, 'A', 26), b, _mm512_set1_epi8(0x20));
    if (digits)
        b = _mm512_mask_mov_epi8(b, within(b, '0', 10), _mm512_set1_epi8('0'));
    return b;
}

/* Hash windows of 4 to 8 bytes, eight at a time. XXH3 reads the first four and the last four bytes
 * of a window. One shuffle of the 16 bytes at p + i moves these bytes of each window into its lane.
 * Returns how many windows were hashed. */
static inline size_t block_hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    if (k < 4 || k > 8 || n < 16)
        return 0;
    char index[64];
    for (size_t i = 0; i < 64; i++)
        index[i] = (char)(i / 8 + (i % 8 < 4 ? k - 4 + i % 4 : i % 4));
    const __m512i order = _mm512_loadu_si512(index);
    const __m512i secret = _mm512_set1_epi64((int64_t)UINT64_C(0xC73AB174C5ECD5A2));
    const __m512i factor = _mm512_set1_epi64((int64_t)UINT64_C(0x9FB21C651E98DF25));
    const __m512i len = _mm512_set1_epi64((int64_t)k);
    size_t i = 0;
    for (; i + 16 <= n; i += 8) {
        __m512i text = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(p + i)));
        __m512i h = _mm512_xor_si512(_mm512_shuffle_epi8(text, order), secret);
        h = _mm512_ternarylogic_epi64(h, _mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24), 0x96);
        h = _mm512_mullo_epi64(h, factor);
        h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), len));
        h = _mm512_mullo_epi64(h, factor);
        _mm512_storeu_si512(hashes + i, _mm512_xor_si512(h, _mm512_srli_epi64(h, 28)));
    }
    return i;
}

/* Multiply 64-bit lanes to 128 bits, and combine the two halves of each product by xor. A product
 * is the sum of four 32-bit products, as in long multiplication. */
static inline __m512i fold_products(__m512i a, __m512i b)
{
    const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    __m512i ll = _mm512_mul_epu32(a, b), hl = _mm512_mul_epu32(a_high, b);
    __m512i lh = _mm512_mul_epu32(a, b_high), hh = _mm512_mul_epu32(a_high, b_high);
    __m512i cross = _mm512_add_epi64(_mm512_srli_epi64(ll, 32), _mm512_and_si512(hl, low));
    cross = _mm512_add_epi64(cross, lh);
    __m512i upper = _mm512_add_epi64(_mm512_srli_epi64(hl, 32), _mm512_srli_epi64(cross, 32));
    upper = _mm512_add_epi64(upper, hh);
    __m512i lower = _mm512_mask_shuffle_epi32(ll, 0xAAAA, cross, _MM_PERM_CCAA);
    return _mm512_xor_si512(upper, lower);
}

/* Load 16 bytes from each of the four addresses p + at[0] … p + at[3]. */
static inline __m512i load_four(const char *p, const size_t *at)
{
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[0])));
    __m256i high = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + at[2])));
    low = _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)(p + at[1])), 1);
    high = _mm256_inserti128_si256(high, _mm_loadu_si128((const void *)(p + at[3])), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* For each i: XXH3's mix of the 16 bytes at p + at[i] with two words of the secret. The lanes have
 * the results in the order 0 4 1 5 2 6 3 7. */
static inline __m512i mix_eight(const char *p, const size_t *at, const uint64_t *secret)
{
    const __m512i key = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)secret));
    __m512i x = _mm512_xor_si512(load_four(p, at), key);
    __m512i y = _mm512_xor_si512(load_four(p, at + 4), key);
    return fold_products(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
}

/* For eight slices at a time, store in the array of hashes the terms that all slices of 17 to 64
 * bytes have, and fill the two lists. */
static inline void begin_slices(const bm_slices *s, size_t first, size_t n, bm_slice_lists *lists)
{
    const __m512i lanes = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
    const __m512i unlanes = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m512i gap = _mm512_set1_epi64((int64_t)s->gap);
    for (size_t done = 0; done < n; done += 8) {
        const size_t left = n - done,
                     back = left < 8 ? 8 - left : 0; /* number of lanes that are computed again */
        const size_t i = first + done - back;
        const __mmask8 fresh = (__mmask8)(0xFFu << back);
        const size_t *begin = s->starts + i, *end = begin + s->k;
        __m512i len = _mm512_sub_epi64(_mm512_loadu_si512(end), _mm512_loadu_si512(begin));
        len = _mm512_sub_epi64(len, gap);
        __m512i over = _mm512_sub_epi64(len, _mm512_set1_epi64(17));
        __mmask8 more = _mm512_mask_cmpgt_epu64_mask(fresh, over, _mm512_set1_epi64(32 - 17));
        __mmask8 other = _mm512_mask_cmpgt_epu64_mask(fresh, over, _mm512_set1_epi64(64 - 17));
        __m256i at =
            _mm256_add_epi32(_mm256_set1_epi32((int)i), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        _mm256_storeu_si256((void *)(lists->more + lists->n_more),
                            _mm256_maskz_compress_epi32(more & (__mmask8)~other, at));
        _mm256_storeu_si256((void *)(lists->other + lists->n_other),
                            _mm256_maskz_compress_epi32(other, at));
        lists->n_more += (unsigned)__builtin_popcount(more & (__mmask8)~other);
        lists->n_other += (unsigned)__builtin_popcount(other);
        __m512i h = _mm512_mullo_epi64(_mm512_permutexvar_epi64(lanes, len),
                                       _mm512_set1_epi64((int64_t)BM_XXH_PRIME64_1));
        h = _mm512_add_epi64(h, mix_eight(s->joined, begin, bm_xxh3_secret));
        h = _mm512_add_epi64(h, mix_eight(s->joined - s->gap - 16, end, bm_xxh3_secret + 2));
        h = _mm512_permutexvar_epi64(unlanes, h);
        if (back == 0)
            _mm512_storeu_si512(s->hashes + i, h);
        else
            _mm512_mask_storeu_epi64(s->hashes + i, fresh, h);
    }
}

static inline __m512i finish_eight(__m512i h)
{
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 37)),
                           _mm512_set1_epi64((int64_t)BM_XXH_PRIME_MX1));
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}

/* Whole registers are stored without a mask. A masked store would delay a load that follows
 * soon. */
static inline void finish_slices(uint64_t *hashes, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_si512(hashes + i, finish_eight(_mm512_loadu_si512(hashes + i)));
    if (i < n) {
        __mmask8 lanes = (__mmask8)((1u << (n - i)) - 1);
        __m512i h = finish_eight(_mm512_maskz_loadu_epi64(lanes, hashes + i));
        _mm512_mask_storeu_epi64(hashes + i, lanes, h);
    }
}

static inline size_t block_hash_slices(const bm_slices *s, size_t n)
{
    return hash_slices_in_steps(s, n, 8, begin_slices, finish_slices);
}

static inline __m512i fmix64_eight(__m512i k)
{
    k = _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
    k = _mm512_mullo_epi64(k, _mm512_set1_epi64((int64_t)0xFF51AFD7ED558CCD));
    k = _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
    k = _mm512_mullo_epi64(k, _mm512_set1_epi64((int64_t)0xC4CEB9FE1A85EC53));
    return _mm512_xor_si512(k, _mm512_srli_epi64(k, 33));
}

/* The sums A and B of eight blocks, one block in each lane. */
typedef struct content_lanes {
    __m512i a, b;
} content_lanes;

static inline __attribute__((always_inline)) void content_row(content_lanes *to, __m512i hashes,
                                                              unsigned r)
{
    const __m512i a = _mm512_set1_epi64(bm_content_a[r]), b = _mm512_set1_epi64(bm_content_b[r]);
    const __m512i folded = _mm512_xor_si512(hashes, _mm512_srli_epi64(hashes, 32));
    to->a = _mm512_add_epi64(to->a, _mm512_mul_epu32(hashes, a));
    to->b = _mm512_add_epi64(to->b, _mm512_mul_epu32(folded, b));
}

/* Sum the first n hashes of `run`, but at most one stretch. Returns the mask of the lanes that have
 * a block. */
static inline __mmask8 content_stretch(content_lanes *to, const uint64_t *run, size_t n)
{
    unsigned r = 0;
    to->a = to->b = _mm512_setzero_si512();
    if (n >= BM_CONTENT_STRETCH) {
#pragma GCC unroll 16
        for (r = 0; r < BM_CONTENT_ROWS; r++)
            content_row(to, _mm512_loadu_si512(run + 8 * (size_t)r), r);
        return 0xFF;
    }
    for (; n >= 8; n -= 8, r++)
        content_row(to, _mm512_loadu_si512(run + 8 * (size_t)r), r);
    const __mmask8 lanes = (__mmask8)((1u << n) - 1);
    if (n > 0)
        content_row(to, _mm512_maskz_loadu_epi64(lanes, run + 8 * (size_t)r), r);
    return r > 0 ? 0xFF : lanes;
}

/* Sum all lanes mod 2^64. (_mm512_reduce_add_epi64 adds signed numbers, whose overflow is
 * undefined.) */
static inline uint64_t sum_lanes(__m512i v)
{
    __m256i half = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

static void vector_add_content(const uint64_t *run, size_t n, uint64_t at, bm_content_sums *sums)
{
    const __m512i step = _mm512_set1_epi64((int64_t)(8 * BM_CONTENT_STEP));
    const __m512i lanes = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
    __m512i c = _mm512_setzero_si512(), d = c; /* j is, in each lane, (number of the lane's block +
                                                * 1) * G */
    __m512i j = _mm512_mullo_epi64(
        _mm512_add_epi64(lanes, _mm512_set1_epi64((int64_t)(at / BM_CONTENT_ROWS))),
        _mm512_set1_epi64((int64_t)BM_CONTENT_STEP));
    for (size_t begin = 0; begin < n; begin += BM_CONTENT_STRETCH) {
        content_lanes block;
        const __mmask8 live = content_stretch(&block, run + begin, n - begin);
        const __m512i v = fmix64_eight(_mm512_add_epi64(block.b, j));
        const __m512i u = fmix64_eight(_mm512_add_epi64(block.a, v));
        c = _mm512_mask_add_epi64(c, live, c, u);
        d = _mm512_mask_add_epi64(d, live, d, _mm512_xor_si512(v, _mm512_rol_epi64(u, 32)));
        j = _mm512_add_epi64(j, step);
    }
    sums->c += sum_lanes(c);
    sums->d += sum_lanes(d);
}

#define BM_ADD_CONTENT vector_add_content
static size_t vector_word_starts(const char *joined, size_t begin, size_t end, size_t *starts);
static size_t vector_char_starts(const char *joined, size_t begin, size_t end, size_t *starts);
#define BM_WORD_STARTS vector_word_starts
#define BM_CHAR_STARTS vector_char_starts
#include "text/shingle_loops.h"

/* Like put_bits, but stores sixteen entries at a time, and may overwrite up to 16 entries after the
 * end. AVX-512 VBMI2 (Ice Lake, Zen 4 and later) can pack the bytes that a mask selects. */
static inline __attribute__((always_inline, target("avx512vbmi2"))) size_t *
put_bits_vbmi2(uint64_t mask, size_t base, size_t *starts)
{
    const __m512i order = _mm512_set_epi64(
        0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120,
        0x1F1E1D1C1B1A1918, 0x1716151413121110, 0x0F0E0D0C0B0A0908, 0x0706050403020100);
    const __m512i bases = _mm512_set1_epi64((int64_t)base);
    __m512i index = _mm512_maskz_compress_epi8(mask, order);
    size_t *const end = starts + __builtin_popcountll(mask);
    do {
        __m128i low = _mm512_castsi512_si128(index), high = _mm_unpackhi_epi64(low, low);
        _mm512_storeu_si512(starts, _mm512_add_epi64(_mm512_cvtepu8_epi64(low), bases));
        _mm512_storeu_si512(starts + 8, _mm512_add_epi64(_mm512_cvtepu8_epi64(high), bases));
        index = _mm512_shuffle_i64x2(index, index, 0x39); /* move the next 16 bytes to the front */
        starts += 16;
    } while (starts < end);
    return end;
}

static __attribute__((target("avx512vbmi2"))) size_t
word_starts_vbmi2(const char *joined, size_t begin, size_t end, size_t *starts)
{
    size_t *out = starts;
    for (size_t at = begin; at < end; at += 64) {
        uint64_t mask = block_equal(block_load(joined + at), ' ') & low_bits(end - at);
        out = put_bits_vbmi2(mask, at + 1, out);
    }
    return (size_t)(out - starts);
}

static __attribute__((target("avx512vbmi2"))) size_t
char_starts_vbmi2(const char *joined, size_t begin, size_t end, size_t *starts)
{
    size_t *out = starts;
    for (size_t at = begin; at < end; at += 64)
        out = put_bits_vbmi2(block_lead(block_load(joined + at)) & low_bits(end - at), at, out);
    return (size_t)(out - starts);
}

static size_t vector_word_starts(const char *joined, size_t begin, size_t end, size_t *starts)
{
    return __builtin_cpu_supports("avx512vbmi2") ? word_starts_vbmi2(joined, begin, end, starts)
                                                 : word_starts(joined, begin, end, starts);
}

static size_t vector_char_starts(const char *joined, size_t begin, size_t end, size_t *starts)
{
    return __builtin_cpu_supports("avx512vbmi2") ? char_starts_vbmi2(joined, begin, end, starts)
                                                 : char_starts(joined, begin, end, starts);
}

const bm_shingle_ops bm_shingle_ops_avx512 = BM_SHINGLE_OPS_OF(BM_ISA_AVX512);
