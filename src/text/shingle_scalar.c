/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_scalar.c -- the loops of the shingler without vector instructions. A block is eight words
 * of eight bytes. The loops are used on processors that have no file of their own, and as the
 * reference in tests of the other files.
 *
 * A comparison stores its result in the top bit of each byte. A multiplication gathers the eight
 * top bits. Words are little-endian, as in the whole library.
 *
 * Tests: tests/unit/text/test_shingler.c, tests/unit/text/shingle_ops_check.c */
#include <string.h>

#include "text/shingle_ops.h"
#include "text/slice_steps.h"

#define ONES UINT64_C(0x0101010101010101)
#define TOPS UINT64_C(0x8080808080808080)

typedef struct bm_block {
    uint64_t word[8];
} bm_block;

static inline bm_block block_load(const char *p)
{
    bm_block b;
    memcpy(b.word, p, sizeof b.word);
    return b;
}

static inline bm_block block_load_part(const char *p, size_t n)
{
    char bytes[64];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, p, n);
    return block_load(bytes);
}

static inline void block_store(char *p, bm_block b)
{
    memcpy(p, b.word, sizeof b.word);
}

/* Gather the top bits of the eight bytes. Byte 0 becomes the lowest bit. */
static inline uint64_t gather(uint64_t tops)
{
    return (tops >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* Set the top bit of each byte with low <= byte < low + n. low + n must be at most 0x80. */
static inline uint64_t within(uint64_t v, unsigned low, unsigned n)
{
    uint64_t seven = v & ~TOPS;
    uint64_t from = seven + ONES * (0x80 - low), past = seven + ONES * (0x80 - low - n);
    return from & ~past & ~v & TOPS;
}

/* Set the top bit of each byte that is zero. */
static inline uint64_t zero(uint64_t v)
{
    return ~(((v & ~TOPS) + ~TOPS) | v) & TOPS;
}

/* Set all bits of each byte whose top bit is set in `tops`. */
static inline uint64_t whole_bytes(uint64_t tops)
{
    return (tops >> 7) * 0xFF;
}

static inline uint64_t block_high(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather(b.word[i] & TOPS) << 8 * i;
    return mask;
}

static inline uint64_t block_may_be_space(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t group = zero((b.word[i] & ONES * 0xFC) ^ ONES * 0xE0);
        mask |= gather(group | zero(b.word[i] ^ ONES * 0xC2)) << 8 * i;
    }
    return mask;
}

static inline uint64_t block_equal(bm_block b, char byte)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather(zero(b.word[i] ^ ONES * (unsigned char)byte)) << 8 * i;
    return mask;
}

static inline uint64_t block_9x(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather(zero((b.word[i] & ONES * 0xF0) ^ ONES * 0x90)) << 8 * i;
    return mask;
}

static inline uint64_t block_control(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather(within(b.word[i], 0, 0x20) &
                       ~(within(b.word[i], 9, 2) | within(b.word[i], 12, 2)))
                << 8 * i;
    return mask;
}

static inline uint64_t block_lead(bm_block b)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather((~b.word[i] | b.word[i] << 1) & TOPS) << 8 * i;
    return mask;
}

static inline uint64_t block_cut(bm_block *b, bm_join_rule rule)
{
    uint64_t mask = 0;
    if (rule == BM_JOIN_COPY)
        return 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t v = b->word[i], tops;
        if (rule == BM_JOIN_SPACE)
            tops = within(v, ' ', 1) | within(v, 9, 5);
        else
            tops = ~(within(v | ONES * 0x20, 'a', 26) | within(v, '0', 10)) & TOPS;
        if (rule == BM_JOIN_EACH)
            tops &= ~within(v, '_', 1);
        uint64_t bytes = whole_bytes(tops);
        b->word[i] = (v & ~bytes) | (bytes & ONES * ' ');
        mask |= gather(tops) << 8 * i;
    }
    return mask;
}

static inline uint64_t block_punct(bm_block b)
{
    /* The runs of ASCII characters of category P: first byte and length. */
    static const unsigned char runs[][2] = {{'!', 3}, {'%', 6}, {',', 4}, {':', 2}, {'?', 2},
                                            {'[', 3}, {'_', 1}, {'{', 1}, {'}', 1}};
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t tops = 0;
        for (unsigned run = 0; run < sizeof runs / sizeof runs[0]; run++)
            tops |= within(b.word[i], runs[run][0], runs[run][1]);
        mask |= gather(tops) << 8 * i;
    }
    return mask;
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    for (unsigned i = 0; lower && i < 8; i++)
        b.word[i] |= within(b.word[i], 'A', 26) >> 2;
    for (unsigned i = 0; digits && i < 8; i++) {
        uint64_t bytes = whole_bytes(within(b.word[i], '0', 10));
        b.word[i] = (b.word[i] & ~bytes) | (bytes & ONES * '0');
    }
    return b;
}

static inline size_t block_hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    (void)p, (void)n, (void)k, (void)hashes;
    return 0;
}

static inline size_t block_hash_slices(const bm_slices *slices, size_t n)
{
    (void)slices, (void)n;
    return 0;
}

#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_scalar = BM_SHINGLE_OPS_OF(BM_ISA_SCALAR);
