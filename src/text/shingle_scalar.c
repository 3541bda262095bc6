/* shingle_scalar.c -- the loops of the shingler without vector instructions: the block is 64 bytes
 * of memory, the masks come from a table of byte kinds. For processors without a file of their own,
 * and to test the others against. */
#include <string.h>

#include "text/shingle_ops.h"

typedef struct bm_block {
    unsigned char byte[64];
} bm_block;

static inline bm_block block_load(const char *p)
{
    bm_block b;
    memcpy(b.byte, p, sizeof b.byte);
    return b;
}

static inline bm_block block_load_part(const char *p, size_t n)
{
    bm_block b;
    memset(b.byte, ' ', sizeof b.byte);
    memcpy(b.byte, p, n);
    return b;
}

static inline void block_store(char *p, bm_block b)
{
    memcpy(p, b.byte, sizeof b.byte);
}

static inline uint64_t block_high(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, b.byte + 8 * i, sizeof word);
        word &= UINT64_C(0x8080808080808080);
        mask |= (word * UINT64_C(0x0002040810204081) >> 56) << 8 * i;
    }
    return mask;
}

static inline uint64_t block_may_be_space(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)(b.byte[i] == 0xC2 || (b.byte[i] & 0xFC) == 0xE0) << i;
    return mask;
}

static inline uint64_t block_equal(bm_block b, char byte)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)(b.byte[i] == (unsigned char)byte) << i;
    return mask;
}

static inline uint64_t block_lead(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)((b.byte[i] & 0xC0) != 0x80) << i;
    return mask;
}

static inline bool is_space(unsigned char c)
{
    return c == ' ' || (unsigned char)(c - 9) < 5;
}

static inline bool is_alnum(unsigned char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26 || (unsigned char)(c - '0') < 10;
}

static inline uint64_t block_cut(bm_block *b, bm_join_rule rule)
{
    uint64_t mask = 0;
    if (rule == BM_JOIN_COPY)
        return 0;
    for (unsigned i = 0; i < 64; i++) {
        bool sep = rule == BM_JOIN_SPACE ? is_space(b->byte[i]) : !is_alnum(b->byte[i]);
        mask |= (uint64_t)sep << i;
        b->byte[i] = sep ? ' ' : b->byte[i];
    }
    return mask;
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    for (unsigned i = 0; lower && i < 64; i++)
        b.byte[i] |= (unsigned char)(b.byte[i] - 'A') < 26 ? 0x20 : 0;
    for (unsigned i = 0; digits && i < 64; i++)
        b.byte[i] = (unsigned char)(b.byte[i] - '0') < 10 ? '0' : b.byte[i];
    return b;
}

static inline size_t block_hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    (void)p, (void)n, (void)k, (void)hashes;
    return 0;
}

#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_scalar = BM_SHINGLE_OPS_OF(BM_ISA_SCALAR);

const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case BM_ISA_AVX2:
        return &bm_shingle_ops_avx2;
    case BM_ISA_AVX512:
        return &bm_shingle_ops_avx512;
#elif defined(__aarch64__)
    case BM_ISA_NEON:
        return &bm_shingle_ops_neon;
#endif
    default:
        return &bm_shingle_ops_scalar;
    }
}
