/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_avx2.c -- the loops of the shingler with AVX2 and BMI2. A block is two registers. AVX2
 * cannot compare unsigned bytes, so a saturating subtraction and a comparison with zero are used.
 *
 * Tests: tests/unit/text/test_shingler.c */
#include <immintrin.h>

#include "kernels/affine32.h"
#include "kernels/content_hash.h"
#include "text/shingle_ops.h"
#include "text/slice_steps.h"

typedef struct bm_block {
    __m256i low, high;
} bm_block;

static inline bm_block block_load(const char *p)
{
    return (bm_block){_mm256_loadu_si256((const void *)p),
                      _mm256_loadu_si256((const void *)(p + 32))};
}

static inline bm_block block_load_part(const char *p, size_t n)
{
    char bytes[64];
    _mm256_storeu_si256((void *)bytes, _mm256_set1_epi8(' '));
    _mm256_storeu_si256((void *)(bytes + 32), _mm256_set1_epi8(' '));
    __builtin_memcpy(bytes, p, n);
    return block_load(bytes);
}

static inline void block_store(char *p, bm_block b)
{
    _mm256_storeu_si256((void *)p, b.low);
    _mm256_storeu_si256((void *)(p + 32), b.high);
}

static inline uint64_t block_high(bm_block b)
{
    return (uint32_t)_mm256_movemask_epi8(b.low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b.high)
                                                       << 32;
}

static inline uint64_t block_equal(bm_block b, char byte)
{
    __m256i all = _mm256_set1_epi8(byte);
    return block_high((bm_block){_mm256_cmpeq_epi8(b.low, all), _mm256_cmpeq_epi8(b.high, all)});
}

static inline uint64_t block_may_be_space(bm_block b)
{
    const __m256i bits = _mm256_set1_epi8((char)0xFC);
    bm_block group = {_mm256_and_si256(b.low, bits), _mm256_and_si256(b.high, bits)};
    return block_equal(group, (char)0xE0) | block_equal(b, (char)0xC2);
}

static inline uint64_t block_9x(bm_block b)
{
    const __m256i bits = _mm256_set1_epi8((char)0xF0);
    bm_block high = {_mm256_and_si256(b.low, bits), _mm256_and_si256(b.high, bits)};
    return block_equal(high, (char)0x90);
}

static inline uint64_t block_lead(bm_block b)
{
    const __m256i last = _mm256_set1_epi8((char)0xBF);
    return block_high((bm_block){_mm256_cmpgt_epi8(b.low, last), _mm256_cmpgt_epi8(b.high, last)});
}

/* Sets all bits of the bytes with low <= byte < low + n. */
static inline __m256i within(__m256i v, char low, char n)
{
    __m256i above = _mm256_sub_epi8(v, _mm256_set1_epi8(low));
    return _mm256_cmpeq_epi8(_mm256_subs_epu8(above, _mm256_set1_epi8((char)(n - 1))),
                             _mm256_setzero_si256());
}

/* Sets all bits of the bytes below 0x20 except TAB, LF, FF and CR. In the table, only these four
 * bytes equal their entries. */
static inline __m256i controls(__m256i v)
{
    const __m256i white = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, 9, 10, -1, 12, 13, -1, -1));
    const __m256i below = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(white, v), v), below);
}

static inline uint64_t block_control(bm_block b)
{
    return block_high((bm_block){controls(b.low), controls(b.high)});
}

static inline __m256i separators(__m256i v, bm_join_rule rule)
{
    const __m256i blank = _mm256_set1_epi8(' ');
    if (rule == BM_JOIN_SPACE)
        return _mm256_or_si256(_mm256_cmpeq_epi8(v, blank), within(v, 9, 5));
    __m256i alnum = _mm256_or_si256(within(_mm256_or_si256(v, blank), 'a', 26), within(v, '0', 10));
    if (rule == BM_JOIN_EACH)
        alnum = _mm256_or_si256(alnum, _mm256_cmpeq_epi8(v, _mm256_set1_epi8('_')));
    return _mm256_xor_si256(alnum, _mm256_set1_epi8(-1));
}

static inline uint64_t block_cut(bm_block *b, bm_join_rule rule)
{
    const __m256i blank = _mm256_set1_epi8(' ');
    if (rule == BM_JOIN_COPY)
        return 0;
    bm_block sep = {separators(b->low, rule), separators(b->high, rule)};
    b->low = _mm256_blendv_epi8(b->low, blank, sep.low);
    b->high = _mm256_blendv_epi8(b->high, blank, sep.high);
    return block_high(sep);
}

static inline __m256i punct(__m256i v)
{
    const __m256i by_low = _mm256_broadcastsi128_si256(_mm_setr_epi8(BM_PUNCT_BY_LOW));
    const __m256i by_high = _mm256_broadcastsi128_si256(_mm_setr_epi8(BM_PUNCT_BY_HIGH));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0F));
    __m256i both = _mm256_and_si256(_mm256_shuffle_epi8(by_low, v), /* 0 for bytes >= 0x80 */
                                    _mm256_shuffle_epi8(by_high, high));
    return _mm256_cmpgt_epi8(both, _mm256_setzero_si256());
}

static inline uint64_t block_punct(bm_block b)
{
    return block_high((bm_block){punct(b.low), punct(b.high)});
}

static inline __m256i fold(__m256i v, bool lower, bool digits)
{
    if (lower)
        v = _mm256_add_epi8(v, _mm256_and_si256(within(v, 'A', 26), _mm256_set1_epi8(0x20)));
    if (digits)
        v = _mm256_blendv_epi8(v, _mm256_set1_epi8('0'), within(v, '0', 10));
    return v;
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    return (bm_block){fold(b.low, lower, digits), fold(b.high, lower, digits)};
}

/* v * factor mod 2^64 in each lane. */
static inline __m256i multiply(__m256i v, uint64_t factor)
{
    const __m256i low = _mm256_set1_epi64x((int64_t)(factor & 0xFFFFFFFF));
    const __m256i high = _mm256_set1_epi64x((int64_t)(factor >> 32));
    __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(v, high),
                                     _mm256_mul_epu32(_mm256_srli_epi64(v, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(v, low), _mm256_slli_epi64(cross, 32));
}

static inline __m256i rotate(__m256i v, int by)
{
    return _mm256_or_si256(_mm256_slli_epi64(v, by), _mm256_srli_epi64(v, 64 - by));
}

/* Hash windows of 4 to 8 bytes, four at a time. XXH3 reads the first four and the last four bytes
 * of a window. One shuffle of the 16 bytes at p + i moves these bytes of each window into its lane.
 * Returns how many windows were hashed. */
static inline size_t block_hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    if (k < 4 || k > 8 || n < 16)
        return 0;
    char index[32];
    for (size_t i = 0; i < 32; i++)
        index[i] = (char)(i / 8 + (i % 8 < 4 ? k - 4 + i % 4 : i % 4));
    const __m256i order = _mm256_loadu_si256((const void *)index);
    const __m256i secret = _mm256_set1_epi64x((int64_t)UINT64_C(0xC73AB174C5ECD5A2));
    const uint64_t factor = UINT64_C(0x9FB21C651E98DF25);
    const __m256i len = _mm256_set1_epi64x((int64_t)k);
    size_t i = 0;
    for (; i + 16 <= n; i += 4) {
        __m256i text = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(p + i)));
        __m256i h = _mm256_xor_si256(_mm256_shuffle_epi8(text, order), secret);
        h = _mm256_xor_si256(h, _mm256_xor_si256(rotate(h, 49), rotate(h, 24)));
        h = multiply(h, factor);
        h = _mm256_xor_si256(h, _mm256_add_epi64(_mm256_srli_epi64(h, 35), len));
        h = multiply(h, factor);
        h = _mm256_xor_si256(h, _mm256_srli_epi64(h, 28));
        _mm256_storeu_si256((void *)(hashes + i), h);
    }
    return i;
}

/* Multiply 64-bit lanes to 128 bits, and combine the two halves of each product by xor. A product
 * is the sum of four 32-bit products, as in long multiplication. */
static inline __m256i fold_products(__m256i a, __m256i b)
{
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
    __m256i a_high = _mm256_srli_epi64(a, 32), b_high = _mm256_srli_epi64(b, 32);
    __m256i ll = _mm256_mul_epu32(a, b), hl = _mm256_mul_epu32(a_high, b);
    __m256i lh = _mm256_mul_epu32(a, b_high), hh = _mm256_mul_epu32(a_high, b_high);
    __m256i cross = _mm256_add_epi64(_mm256_srli_epi64(ll, 32), _mm256_and_si256(hl, low));
    cross = _mm256_add_epi64(cross, lh);
    __m256i upper = _mm256_add_epi64(_mm256_srli_epi64(hl, 32), _mm256_srli_epi64(cross, 32));
    upper = _mm256_add_epi64(upper, hh);
    __m256i lower = _mm256_blend_epi32(ll, _mm256_slli_epi64(cross, 32), 0xAA);
    return _mm256_xor_si256(upper, lower);
}

static inline __m256i load_two(const char *p, size_t first, size_t second)
{
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(p + first)));
    return _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)(p + second)), 1);
}

/* In lane i: XXH3's mix of the 16 bytes at p + at[i] with two words of the secret. */
static inline __m256i mix_four(const char *p, const size_t *at, const uint64_t *secret)
{
    const __m256i key = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)secret));
    __m256i x = _mm256_xor_si256(load_two(p, at[0], at[2]), key);
    __m256i y = _mm256_xor_si256(load_two(p, at[1], at[3]), key);
    return fold_products(_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y));
}

/* Like begin_slices of shingle_avx512.c, but four slices at a time. A scalar loop fills the
 * lists. */
static inline void begin_slices(const bm_slices *s, size_t first, size_t n, bm_slice_lists *lists)
{
    for (size_t i = first; i < first + n; i++) {
        const size_t len = s->starts[i + s->k] - s->gap - s->starts[i];
        lists->more[lists->n_more] = lists->other[lists->n_other] = (uint32_t)i;
        lists->n_more += len - 33 < 32;
        lists->n_other += len - 17 >= 48;
    }
    for (size_t done = 0; done < n; done += 4) {
        const size_t left = n - done,
                     back = left < 4 ? 4 - left : 0; /* number of lanes that are computed again */
        const size_t i = first + done - back;
        const size_t *begin = s->starts + i, *end = begin + s->k;
        __m256i len = _mm256_sub_epi64(_mm256_loadu_si256((const void *)end),
                                       _mm256_loadu_si256((const void *)begin));
        len = _mm256_sub_epi64(len, _mm256_set1_epi64x((int64_t)s->gap));
        __m256i h = multiply(len, BM_XXH_PRIME64_1);
        h = _mm256_add_epi64(h, mix_four(s->joined, begin, bm_xxh3_secret));
        h = _mm256_add_epi64(h, mix_four(s->joined - s->gap - 16, end, bm_xxh3_secret + 2));
        if (back == 0) {
            _mm256_storeu_si256((void *)(s->hashes + i), h);
            continue;
        }
        __m256i fresh =
            _mm256_cmpgt_epi64(_mm256_set_epi64x(4, 3, 2, 1), _mm256_set1_epi64x((int64_t)back));
        _mm256_maskstore_epi64((void *)(s->hashes + i), fresh, h);
    }
}

static inline void finish_slices(uint64_t *hashes, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i h = _mm256_loadu_si256((const void *)(hashes + i));
        h = multiply(_mm256_xor_si256(h, _mm256_srli_epi64(h, 37)), BM_XXH_PRIME_MX1);
        h = _mm256_xor_si256(h, _mm256_srli_epi64(h, 32));
        _mm256_storeu_si256((void *)(hashes + i), h);
    }
    for (; i < n; i++)
        hashes[i] = bm_xxh3_finish(hashes[i]);
}

static inline size_t block_hash_slices(const bm_slices *s, size_t n)
{
    return hash_slices_in_steps(s, n, 4, begin_slices, finish_slices);
}

static inline __m256i fmix64_four(__m256i k)
{
    k = multiply(_mm256_xor_si256(k, _mm256_srli_epi64(k, 33)), UINT64_C(0xFF51AFD7ED558CCD));
    k = multiply(_mm256_xor_si256(k, _mm256_srli_epi64(k, 33)), UINT64_C(0xC4CEB9FE1A85EC53));
    return _mm256_xor_si256(k, _mm256_srli_epi64(k, 33));
}

/* The sums A and B of eight blocks, one block in each lane: blocks 0 to 3 in [0], blocks 4 to 7 in
 * [1]. */
typedef struct content_lanes {
    __m256i a[2], b[2];
} content_lanes;

static inline __attribute__((always_inline)) void content_row(content_lanes *to,
                                                              const __m256i hashes[2], unsigned r)
{
    const __m256i a = _mm256_set1_epi32((int)bm_content_a[r]); /* only low halves are used */
    const __m256i b = _mm256_set1_epi32((int)bm_content_b[r]);
    for (int i = 0; i < 2; i++) {
        const __m256i folded = _mm256_xor_si256(hashes[i], _mm256_srli_epi64(hashes[i], 32));
        to->a[i] = _mm256_add_epi64(to->a[i], _mm256_mul_epu32(hashes[i], a));
        to->b[i] = _mm256_add_epi64(to->b[i], _mm256_mul_epu32(folded, b));
    }
}

static inline __attribute__((always_inline)) void content_whole_row(content_lanes *to,
                                                                    const uint64_t *row, unsigned r)
{
    const __m256i hashes[2] = {_mm256_loadu_si256((const void *)row),
                               _mm256_loadu_si256((const void *)(row + 4))};
    content_row(to, hashes, r);
}

/* Sets all bits in the first n of eight lanes. */
static inline void content_first(size_t n, __m256i lanes[2])
{
    const __m256i all = _mm256_set1_epi64x((int64_t)n);
    lanes[0] = _mm256_cmpgt_epi64(all, _mm256_set_epi64x(3, 2, 1, 0));
    lanes[1] = _mm256_cmpgt_epi64(all, _mm256_set_epi64x(7, 6, 5, 4));
}

/* Sum the first n hashes of `run`, but at most one stretch. If the stretch is not whole, all bits
 * of live[…] are set in the lanes that have a block. */
static inline void content_stretch(content_lanes *to, const uint64_t *run, size_t n,
                                   __m256i live[2])
{
    unsigned r = 0;
    to->a[0] = to->a[1] = to->b[0] = to->b[1] = _mm256_setzero_si256();
    if (n >= BM_CONTENT_STRETCH) {
#pragma GCC unroll 16
        for (r = 0; r < BM_CONTENT_ROWS; r++)
            content_whole_row(to, run + 8 * (size_t)r, r);
        return;
    }
    content_first(n, live);
    for (; n >= 8; n -= 8, r++)
        content_whole_row(to, run + 8 * (size_t)r, r);
    if (n == 0)
        return;
    __m256i lanes[2], hashes[2];
    content_first(n, lanes);
    for (int i = 0; i < 2; i++)
        hashes[i] = _mm256_maskload_epi64((const void *)(run + 8 * (size_t)r + 4 * i), lanes[i]);
    content_row(to, hashes, r);
}

static inline uint64_t sum_of_four(__m256i v)
{
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_extract_epi64(two, 0) + (uint64_t)_mm_extract_epi64(two, 1);
}

/* Multiples of the constant G (BM_CONTENT_STEP), one in each lane. */
#define BM_CONTENT_STEPS(a, b, c, d)                                                               \
    _mm256_set_epi64x((int64_t)(d * BM_CONTENT_STEP), (int64_t)(c * BM_CONTENT_STEP),              \
                      (int64_t)(b * BM_CONTENT_STEP), (int64_t)(a * BM_CONTENT_STEP))

static void vector_add_content(const uint64_t *run, size_t n, uint64_t at, bm_content_sums *sums)
{
    const __m256i step = _mm256_set1_epi64x((int64_t)(8 * BM_CONTENT_STEP));
    const __m256i first = _mm256_set1_epi64x((int64_t)(at / BM_CONTENT_ROWS * BM_CONTENT_STEP));
    __m256i c = _mm256_setzero_si256(), d = c;
    __m256i live[2] = {_mm256_set1_epi64x(-1), _mm256_set1_epi64x(-1)};
    __m256i j[2] = {/* in each lane: (j + 1) * G, where j is the number of the lane's block */
                    _mm256_add_epi64(first, BM_CONTENT_STEPS(1, 2, 3, 4)),
                    _mm256_add_epi64(first, BM_CONTENT_STEPS(5, 6, 7, 8))};
    for (size_t begin = 0; begin < n; begin += BM_CONTENT_STRETCH) {
        content_lanes block;
        content_stretch(&block, run + begin, n - begin, live);
        for (int i = 0; i < 2; i++) {
            const __m256i v = fmix64_four(_mm256_add_epi64(block.b[i], j[i]));
            const __m256i u = fmix64_four(_mm256_add_epi64(block.a[i], v));
            const __m256i turned = _mm256_shuffle_epi32(u, 0xB1);
            c = _mm256_add_epi64(c, _mm256_and_si256(live[i], u));
            d = _mm256_add_epi64(d, _mm256_and_si256(live[i], _mm256_xor_si256(v, turned)));
            j[i] = _mm256_add_epi64(j[i], step);
        }
    }
    sums->c += sum_of_four(c);
    sums->d += sum_of_four(d);
}

#define BM_ADD_CONTENT vector_add_content
#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_avx2 = BM_SHINGLE_OPS_OF(BM_ISA_AVX2);
