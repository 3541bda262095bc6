/* shingle_avx512.c -- the loops of the shingler with AVX-512 F, BW, DQ, VL: a block is one
 * register, a mask is one compare. */
#include <immintrin.h>

#include "text/shingle_ops.h"

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

static inline uint64_t block_lead(bm_block b)
{
    return _mm512_cmpgt_epi8_mask(b, _mm512_set1_epi8((char)0xBF));
}

/* low <= byte < low + n */
static inline uint64_t within(bm_block b, char low, char n)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(b, _mm512_set1_epi8(low)), _mm512_set1_epi8(n));
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
    *b = _mm512_mask_mov_epi8(*b, sep, blank);
    return sep;
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    if (lower)
        b = _mm512_mask_add_epi8(b, within(b, 'A', 26), b, _mm512_set1_epi8(0x20));
    if (digits)
        b = _mm512_mask_mov_epi8(b, within(b, '0', 10), _mm512_set1_epi8('0'));
    return b;
}

/* Windows of 4 to 8 bytes, eight at a time. XXH3 reads their first and last four bytes; one shuffle
 * of the 16 bytes at p puts both into each lane. Returns how many were done. */
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

#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_avx512 = BM_SHINGLE_OPS_OF(BM_ISA_AVX512);
