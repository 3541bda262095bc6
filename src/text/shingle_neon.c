/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_neon.c -- the loops of the shingler with NEON (part of every AArch64). A block is four
 * registers. NEON has no movemask. To make a 64-bit mask, each byte is reduced to one bit, and the
 * bytes of the four registers are added pairwise three times.
 *
 * Tests: tests/unit/text/shingle_ops_check.c */
#include <arm_neon.h>

#include "text/shingle_ops.h"
#include "text/slice_steps.h"

typedef uint8x16x4_t bm_block;

static inline bm_block block_load(const char *p)
{
    return vld1q_u8_x4((const uint8_t *)p);
}

static inline bm_block block_load_part(const char *p, size_t n)
{
    char bytes[64];
    __builtin_memset(bytes, ' ', sizeof bytes);
    __builtin_memcpy(bytes, p, n);
    return block_load(bytes);
}

static inline void block_store(char *p, bm_block b)
{
    vst1q_u8_x4((uint8_t *)p, b);
}

/* The mask of the bytes whose bits are all set. The other bytes must be 0. */
static inline uint64_t mask_of(bm_block all)
{
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t low = vpaddq_u8(vandq_u8(all.val[0], bit), vandq_u8(all.val[1], bit));
    uint8x16_t high = vpaddq_u8(vandq_u8(all.val[2], bit), vandq_u8(all.val[3], bit));
    uint8x16_t sum = vpaddq_u8(low, high);
    sum = vpaddq_u8(sum, sum);
    return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

static inline uint64_t block_high(bm_block b)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vcgeq_u8(b.val[i], vdupq_n_u8(0x80));
    return mask_of(b);
}

static inline uint64_t block_may_be_space(bm_block b)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vorrq_u8(vceqq_u8(vandq_u8(b.val[i], vdupq_n_u8(0xFC)), vdupq_n_u8(0xE0)),
                            vceqq_u8(b.val[i], vdupq_n_u8(0xC2)));
    return mask_of(b);
}

static inline uint64_t block_equal(bm_block b, char byte)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vceqq_u8(b.val[i], vdupq_n_u8((uint8_t)byte));
    return mask_of(b);
}

static inline uint64_t block_9x(bm_block b)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vceqq_u8(vandq_u8(b.val[i], vdupq_n_u8(0xF0)), vdupq_n_u8(0x90));
    return mask_of(b);
}

static inline uint64_t block_lead(bm_block b)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vcgtq_s8(vreinterpretq_s8_u8(b.val[i]), vdupq_n_s8((int8_t)0xBF));
    return mask_of(b);
}

/* Sets all bits of the bytes with low <= byte < low + n. */
static inline uint8x16_t within(uint8x16_t v, uint8_t low, uint8_t n)
{
    return vcltq_u8(vsubq_u8(v, vdupq_n_u8(low)), vdupq_n_u8(n));
}

static inline uint64_t block_control(bm_block b)
{
    for (int i = 0; i < 4; i++)
        b.val[i] = vbicq_u8(vcltq_u8(b.val[i], vdupq_n_u8(0x20)),
                            vorrq_u8(within(b.val[i], 9, 2), within(b.val[i], 12, 2)));
    return mask_of(b);
}

static inline uint64_t block_cut(bm_block *b, bm_join_rule rule)
{
    const uint8x16_t blank = vdupq_n_u8(' ');
    bm_block sep;
    if (rule == BM_JOIN_COPY)
        return 0;
    for (int i = 0; i < 4; i++) {
        uint8x16_t v = b->val[i];
        if (rule == BM_JOIN_SPACE)
            sep.val[i] = vorrq_u8(vceqq_u8(v, blank), within(v, 9, 5));
        else
            sep.val[i] =
                vmvnq_u8(vorrq_u8(within(vorrq_u8(v, blank), 'a', 26), within(v, '0', 10)));
        if (rule == BM_JOIN_EACH)
            sep.val[i] = vbicq_u8(sep.val[i], vceqq_u8(v, vdupq_n_u8('_')));
        b->val[i] = vbslq_u8(sep.val[i], blank, v);
    }
    return mask_of(sep);
}

static inline uint64_t block_punct(bm_block b)
{
    const uint8x16_t by_low = {BM_PUNCT_BY_LOW}, by_high = {BM_PUNCT_BY_HIGH};
    for (int i = 0; i < 4; i++)
        b.val[i] = vtstq_u8(vqtbl1q_u8(by_low, vandq_u8(b.val[i], vdupq_n_u8(0x0F))),
                            vqtbl1q_u8(by_high, vshrq_n_u8(b.val[i], 4)));
    return mask_of(b);
}

static inline bm_block block_fold(bm_block b, bool lower, bool digits)
{
    for (int i = 0; lower && i < 4; i++)
        b.val[i] = vaddq_u8(b.val[i], vandq_u8(within(b.val[i], 'A', 26), vdupq_n_u8(0x20)));
    for (int i = 0; digits && i < 4; i++)
        b.val[i] = vbslq_u8(within(b.val[i], '0', 10), vdupq_n_u8('0'), b.val[i]);
    return b;
}

static inline size_t block_hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    (void)p, (void)n, (void)k, (void)hashes;
    return 0; /* NEON has no 64-bit multiplication, so the scalar loop is as fast */
}

static inline size_t block_hash_slices(const bm_slices *slices, size_t n)
{
    (void)slices, (void)n;
    return 0;
}

#include "text/shingle_loops.h"

const bm_shingle_ops bm_shingle_ops_neon = BM_SHINGLE_OPS_OF(BM_ISA_NEON);
