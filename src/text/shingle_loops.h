/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_loops.h -- the loops of bm_shingle_ops, written once over a block of 64 bytes.
 *
 * Each file shingle_<isa>.c defines a block for its instruction set, then includes this header. The
 * header defines only static functions. A block is defined by:
 *
 *     bm_block                                  64 bytes
 *     block_load(p), block_store(p, b)          unaligned
 *     block_load_part(p, n)                     n < 64 bytes, the rest is 0x20; reads no further
 *     block_high(b)                             mask of bytes >= 0x80, bit i is byte i
 *     block_may_be_space(b)                     mask of lead bytes C2 and E0 to E3, which begin
 *                                               every White_Space that is not ASCII
 *     block_equal(b, byte), block_lead(b)       masks: equal; not a continuation byte
 *     block_9x(b)                               mask of bytes 90 to 9F
 *     block_control(b)                          mask of bytes below 0x20 except TAB, LF, FF, CR
 *     block_cut(&b, rule)                       mask of ASCII separators; replaces them by 0x20
 *     block_punct(b)                            mask of ASCII bytes of category P
 *     block_fold(b, lower, digits)              A-Z to a-z; 0-9 to 0
 *     block_hash_slices(slices, n)              like hash_slices and hash_windows, but may do only
 *     block_hash_windows(p, n, k, hashes)       the first few of n; return how many they did
 *
 * Word boundaries are bits of a mask; no loop examines single bytes. */
#pragma once

#include "text/shingle_ops.h"
#include "text/slice_steps.h"
#include "text/xxh3_inline.h"

static inline unsigned lowest(uint64_t mask)
{
    return (unsigned)__builtin_ctzll(mask);
}

static inline uint64_t low_bits(size_t n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

static inline bm_block load_upto(const char *p, size_t left)
{
    return left >= 64 ? block_load(p) : block_load_part(p, left);
}

/* The mask of lead bytes that certainly do not begin a White_Space. Bytes after the block are not
 * examined, so a lead byte near the end may be missing from the mask, even if it begins no
 * White_Space. White_Space beyond ASCII is U+0085 and U+00A0 (C2 85, C2 A0), U+1680 (E1 9A 80),
 * U+2000 to U+200A, U+2028, U+2029, U+202F (E2 80 ..), U+205F (E2 81 9F) and U+3000 (E3 80 80).
 * Dashes and quotation marks (E2 80 9x) and the ellipsis (E2 80 A6) are common, so they are
 * distinguished from White_Space. */
static inline uint64_t block_no_space(bm_block b)
{
    const uint64_t high = block_high(b), is_80 = block_equal(b, (char)0x80);
    const uint64_t after_c2 = high & ~(block_equal(b, (char)0x85) | block_equal(b, (char)0xA0));
    const uint64_t after_e1 = high & ~block_equal(b, (char)0x9A);
    const uint64_t after_e2 = high & ~(is_80 | block_equal(b, (char)0x81));
    const uint64_t third_e2 = block_9x(b) | block_equal(b, (char)0xA6);
    const uint64_t not_80 = high & ~is_80;
    return block_equal(b, (char)0xE0) | (block_equal(b, (char)0xC2) & after_c2 >> 1) |
           (block_equal(b, (char)0xE1) & after_e1 >> 1) |
           (block_equal(b, (char)0xE2) & (after_e2 >> 1 | (is_80 >> 1 & third_e2 >> 2))) |
           (block_equal(b, (char)0xE3) & (not_80 >> 1 | not_80 >> 2));
}

/* The mask of bytes before which `join` must stop. */
static inline uint64_t block_stop(bm_block b, const bm_join_rules *rules)
{
    if (!rules->high_is_plain)
        return block_high(b);
    if (rules->rule == BM_JOIN_COPY)
        return 0;
    const uint64_t stop = block_may_be_space(b);
    return stop == 0 ? 0 : stop & ~block_no_space(b);
}

/* Copy those bytes of `in` whose bits are set in `wanted`, run by run. Each run is loaded from the
 * text again, because loading from a block that was just stored would wait for the store. */
static inline char *copy_runs(const bm_join_rules *rules, const bm_join_rule rule, const char *in,
                              size_t left, uint64_t wanted, char *out)
{
    while (wanted != 0) {
        unsigned from = lowest(wanted);
        uint64_t rest = ~(wanted >> from);
        unsigned n = rest == 0 ? 64 : lowest(rest);
        bm_block b = load_upto(in + from, left - from);
        block_cut(&b, rule);
        block_store(out, block_fold(b, rules->lower, rules->digits));
        out += n;
        wanted &= ~(low_bits(n) << from);
    }
    return out;
}

/* How many bytes of a block `join` may take, if `left` bytes of text begin with this block. Sets
 * *last if the stretch ends after these bytes. If characters compose, the character before a stop
 * is not taken. It may be the last one of the block, so at most 63 bytes of a full block are taken.
 * If the stop is one of the last two bytes, the block has only part of the sequence that begins
 * there. The next block then begins with the stop, and has the whole sequence. */
static inline size_t takeable(uint64_t stop, size_t left, bool composes, bool *last)
{
    size_t n = left < 64 ? left : 64;
    if (stop != 0) {
        n = lowest(stop);
        *last = composes || n < 62 || left <= 64;
        return composes && n > 0 ? n - 1 : n;
    }
    *last = left <= 64;
    return composes && !*last ? n - 1 : n;
}

/* Which bytes of a block are dropped, and the state after the block. */
typedef struct bm_dropped {
    uint64_t mask; /* 1 for each dropped byte */
    /* 1: apart from punctuation, the last byte is a separator. If the block has only punctuation,
     * this is the state before the block. */
    uint64_t after_sep;
} bm_dropped;

/* Which of n bytes are dropped if punctuation is dropped before words are cut. `sep` is the mask of
 * separators, `punct` that of punctuation. A separator is dropped if the byte before it, skipping
 * punctuation, is a separator too. The carry of an addition moves the bit of a separator across a
 * run of punctuation. */
static inline bm_dropped dropped_with_punct(uint64_t sep, uint64_t punct, size_t n,
                                            uint64_t after_sep)
{
    sep &= ~punct;
    uint64_t behind = sep << 1 | after_sep, carried;
    const bool out = __builtin_add_overflow(behind & punct, punct, &carried);
    behind |= carried & ~punct;
    const uint64_t last = n < 64 ? behind >> n & 1 : (sep >> 63 | out);
    return (bm_dropped){.mask = (sep & behind) | punct, .after_sep = last};
}

/* Inlined with constants for `drops_punct` and `each` (rule BM_JOIN_EACH). If they are false, their
 * code disappears. */
static inline __attribute__((always_inline)) size_t join_blocks(const bm_join_rules *rules,
                                                                const bool drops_punct,
                                                                const bool each, const char *in,
                                                                size_t len, bm_joined *joined)
{
    const bm_join_rule rule = rules->rule;
    if ((rule == BM_JOIN_EACH) != each)
        __builtin_unreachable();
    char *out = joined->data + joined->len;
    uint64_t after_sep = joined->after_sep, high = 0, control = 0;
    bool split = joined->split, last = len == 0;
    size_t at = 0;
    while (!last) {
        size_t left = len - at;
        bm_block b = load_upto(in + at, left);
        size_t n = takeable(block_stop(b, rules), left, rules->composes, &last);
        if (n == 0)
            break;
        const uint64_t punct = drops_punct ? block_punct(b) & low_bits(n) : 0;
        if (split && (!drops_punct || punct != low_bits(n))) {
            *out++ = ' ';
            split = false;
            after_sep = 1;
        }
        high |= block_high(b) & low_bits(n);
        control |= block_control(b);
        uint64_t sep = block_cut(&b, rule) & low_bits(n);
        const bm_dropped with = dropped_with_punct(sep, punct, n, after_sep);
        uint64_t drop = drops_punct ? with.mask : sep & (sep << 1 | after_sep);
        if (each)
            drop = punct;
        if (drop == 0) {
            block_store(out, block_fold(b, rules->lower, rules->digits));
            out += n;
        } else {
            out = copy_runs(rules, rule, in + at, left, low_bits(n) & ~drop, out);
        }
        after_sep = drops_punct ? with.after_sep : sep >> (n - 1);
        at += n;
    }
    joined->len = (size_t)(out - joined->data);
    joined->after_sep = after_sep != 0;
    joined->split = split;
    joined->ascii = joined->ascii && high == 0;
    joined->odd = joined->odd || (high | control) != 0;
    return at;
}

static __attribute__((noinline)) size_t
join_without_punct(const bm_join_rules *rules, const char *in, size_t len, bm_joined *joined)
{
    return join_blocks(rules, true, false, in, len, joined);
}

static __attribute__((noinline)) size_t join_each(const bm_join_rules *rules, const char *in,
                                                  size_t len, bm_joined *joined)
{
    return join_blocks(rules, rules->punct, true, in, len, joined);
}

static size_t join(const bm_join_rules *rules, const char *in, size_t len, bm_joined *joined)
{
    if (rules->rule == BM_JOIN_EACH)
        return join_each(rules, in, len, joined);
    return rules->punct ? join_without_punct(rules, in, len, joined)
                        : join_blocks(rules, false, false, in, len, joined);
}

/* Write base + i for each bit i of the mask. Eight numbers are written at a time, so that the
 * branch goes the same way for most blocks. Returns where the numbers end. Up to 7 entries after
 * the end are overwritten too. */
static inline size_t *put_bits(uint64_t mask, size_t base, size_t *starts)
{
    size_t *end = starts + __builtin_popcountll(mask);
    while (mask != 0) {
        for (unsigned i = 0; i < 8; i++) {
            starts[i] = base + lowest(mask | UINT64_C(1) << 63);
            mask &= mask - 1;
        }
        starts += 8;
    }
    return end;
}

static size_t word_starts(const char *joined, size_t begin, size_t end, size_t *starts)
{
    size_t *out = starts;
    for (size_t at = begin; at < end; at += 64) {
        uint64_t mask = block_equal(block_load(joined + at), ' ') & low_bits(end - at);
        out = put_bits(mask, at + 1, out);
    }
    return (size_t)(out - starts);
}

static size_t char_starts(const char *joined, size_t begin, size_t end, size_t *starts)
{
    size_t *out = starts;
    for (size_t at = begin; at < end; at += 64)
        out = put_bits(block_lead(block_load(joined + at)) & low_bits(end - at), at, out);
    return (size_t)(out - starts);
}

/* An instruction set may define its own functions that find starts. */
#if !defined(BM_WORD_STARTS)
#define BM_WORD_STARTS word_starts
#define BM_CHAR_STARTS char_starts
#endif

static void hash_slices(const bm_slices *slices, size_t n)
{
    const bm_slices s = *slices; /* a copy, because stores of hashes may alias *slices */
    size_t done = block_hash_slices(&s, n);
    for (size_t i = done; i < n; i++) {
        size_t begin = s.starts[i];
        s.hashes[i] = bm_xxh3_slice(s.joined + begin, s.starts[i + s.k] - s.gap - begin);
    }
}

static void hash_windows(const char *p, size_t n, size_t k, uint64_t *hashes)
{
    size_t done = block_hash_windows(p, n, k, hashes);
    for (size_t i = done; i < n; i++)
        hashes[i] = bm_xxh3_slice(p + i, k);
}

#if !defined(BM_ADD_CONTENT)
#define BM_ADD_CONTENT bm_content_add
#endif

#define BM_SHINGLE_OPS_OF(set)                                                                     \
    {                                                                                              \
        .isa = set, .join = join, .word_starts = BM_WORD_STARTS, .char_starts = BM_CHAR_STARTS,    \
        .hash_slices = hash_slices, .hash_windows = hash_windows, .add_content = BM_ADD_CONTENT    \
    }
