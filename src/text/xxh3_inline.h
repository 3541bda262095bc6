/* SPDX-License-Identifier: Apache-2.0 */
/* xxh3_inline.h -- XXH3 (seed 0) inlined into the loops that hash millions of short slices.
 *
 * Nearly all shingles of words have 17 to 64 bytes. These lengths are hashed here, by code that is
 * small enough to be inlined into a loop, and needs only general registers. It takes 0.8 to 0.9 of
 * the time of the library's inline code. The library hashes all other lengths. (Computing always
 * all four mixes and masking two of them avoids the branch at length 32, but took 1.05 to 1.1 of
 * the time.) The formula and the secret are from the xxHash specification (doc/xxhash_spec.md,
 * "XXH3"). A test compares every length with the library. */
#pragma once

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

#define BM_XXH_PRIME64_1 UINT64_C(0x9E3779B185EBCA87)
#define BM_XXH_PRIME_MX1 UINT64_C(0x165667919E3779F9)

/* The first 64 bytes of the default secret, as words. */
static const uint64_t bm_xxh3_secret[8] = {
    UINT64_C(0xBE4BA423396CFEB8), UINT64_C(0x1CAD21F72C81017C), UINT64_C(0xDB979083E96DD4DE),
    UINT64_C(0x1F67B3B7A4A44072), UINT64_C(0x78E5C0CC4EE679CB), UINT64_C(0x2172FFCC7DD05A82),
    UINT64_C(0x8E2443F7744608B8), UINT64_C(0x4C263A81E69035E0)};

/* Mix 16 bytes with two words of the secret: the xor of both halves of a 128-bit product. */
static inline uint64_t bm_xxh3_mix16(const char *p, const uint64_t *secret)
{
    uint64_t a = bm_load64(p) ^ secret[0], b = bm_load64(p + 8) ^ secret[1];
    /* Keep both values in general registers. Compilers would put them into one vector and take them
     * apart again, which costs more than it saves. */
    __asm__("" : "+r"(a), "+r"(b));
    bm_uint128 product = (bm_uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t bm_xxh3_finish(uint64_t hash)
{
    hash ^= hash >> 37;
    hash *= BM_XXH_PRIME_MX1;
    return hash ^ hash >> 32;
}

/* The hash for 17 <= len <= 64. It has two mixes, or four if len > 32. */
static inline uint64_t bm_xxh3_17to64(const char *p, size_t len)
{
    const uint64_t *secret = bm_xxh3_secret;
    /* Keep the secret in memory, because there are not enough registers for 8 constants. */
    __asm__("" : "+r"(secret));
    uint64_t hash = len * BM_XXH_PRIME64_1;
    hash += bm_xxh3_mix16(p, secret) + bm_xxh3_mix16(p + len - 16, secret + 2);
    if (len > 32)
        hash += bm_xxh3_mix16(p + 16, secret + 4) + bm_xxh3_mix16(p + len - 32, secret + 6);
    return bm_xxh3_finish(hash);
}

/* The hash for any length. Out of line, because inlining would take registers from the surrounding
 * loops. */
static __attribute__((noinline)) uint64_t bm_xxh3_any(const char *p, size_t len)
{
    return XXH3_64bits(p, len);
}

static inline uint64_t bm_xxh3_slice(const char *p, size_t len)
{
    if (len - 17 <= 64 - 17)
        return bm_xxh3_17to64(p, len);
    return bm_xxh3_any(p, len);
}
