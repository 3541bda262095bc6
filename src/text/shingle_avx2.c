/* shingle_avx2.c -- the loops of the shingler with AVX2 and BMI2: a block is two registers.
 * Unsigned compares are a saturating subtraction and a compare with zero. */
#include <immintrin.h>

#include "text/shingle_ops.h"

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

static inline uint64_t block_lead(bm_block b)
{
    const __m256i last = _mm256_set1_epi8((char)0xBF);
    return block_high((bm_block){_mm256_cmpgt_epi8(b.low, last), _mm256_cmpgt_epi8(b.high, last)});
}

/* All ones in the bytes with low <= byte < low + n. */
static inline __m256i within(__m256i v, char low, char n)
{
    __m256i above = _mm256_sub_epi8(v, _mm256_set1_epi8(low));
    return _mm256_cmpeq_epi8(_mm256_subs_epu8(above, _mm256_set1_epi8((char)(n - 1))),
                             _mm256_setzero_si256());
}

static inline __m256i separators(__m256i v, bm_join_rule rule)
{
    const __m256i blank = _mm256_set1_epi8(' ');
    if (rule == BM_JOIN_SPACE)
        return _mm256_or_si256(_mm256_cmpeq_epi8(v, blank), within(v, 9, 5));
    __m256i alnum = _mm256_or_si256(within(_mm256_or_si256(v, blank), 'a', 26), within(v, '0', 10));
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

/* Windows of 4 to 8 bytes, four at a time. XXH3 reads their first and last four bytes; one shuffle
 * of the 16 bytes at p puts both into each lane. Returns how many were done. */
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

#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_avx2 = BM_SHINGLE_OPS_OF(BM_ISA_AVX2);
