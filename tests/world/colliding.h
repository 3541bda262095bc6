/* SPDX-License-Identifier: Apache-2.0 */
/* colliding.h -- makes keys that collide in a hash table whose hash function is known. Header only.
 *
 * XXH3_64bits of 8 bytes is one-to-one, so it can be inverted: ids are made from hashes that agree
 * in some bits, of which about one in 3,300 has a preimage of 8 printable bytes. For 17 to 32
 * bytes, XXH3_64bits XORs constants into pairs of words and multiplies the two words of each pair.
 * If one of them becomes 0, the other (8 bytes) has no effect; so ids can have the same 64-bit
 * hash. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The inverse of an odd number modulo 2^64. */
static inline uint64_t colliding_inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

static inline uint64_t colliding_turn(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits) % 64;
}

static inline uint64_t colliding_word(const uint8_t *bytes)
{
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--)
        word = word << 8 | bytes[i];
    return word;
}

/* The 8 bytes of XXH3's default secret (see the xxHash specification) at the offset. */
static inline uint64_t colliding_secret(size_t offset)
{
    static const uint8_t secret[32] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe,
                                       0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
                                       0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
                                       0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f};
    return colliding_word(secret + offset);
}

/* The 8 bytes whose XXH3_64bits is `hash`. */
static inline void colliding_bytes(uint64_t hash, uint8_t out[8])
{
    static const uint64_t mix = UINT64_C(0x9FB21C651E98DF25);
    const uint64_t back = colliding_inverse(mix);
    uint64_t x = hash ^ hash >> 28 ^ hash >> 56;
    x *= back;
    x ^= (x >> 35) + 8;
    x *= back;
    for (unsigned i = 1; i < 64; i *= 2) /* 63 steps undo one, as 64 are the identity */
        x ^= colliding_turn(x, 49 * i % 64) ^ colliding_turn(x, 24 * i % 64);
    x ^= colliding_secret(8) ^ colliding_secret(16);
    x = colliding_turn(x, 32); /* the first four bytes are the upper half of x */
    for (int i = 0; i < 8; i++, x >>= 8)
        out[i] = (uint8_t)x;
}

static inline bool colliding_is_text(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
            return false;
    return true;
}

/* Makes ids of 8 ASCII characters that need no escape in JSON. The highest or the lowest `bits`
 * bits of their hashes are equal. */
typedef struct colliding_ids {
    unsigned bits; /* at most 32 */
    bool leading;
    uint64_t next; /* the next value of the other bits; 0 at first */
} colliding_ids;

/* Writes the next id to out, with a terminating NUL. */
static inline void colliding_next_id(colliding_ids *ids, char out[9])
{
    static const uint64_t agreed = UINT64_C(0x5AC3F00D12B4E697);
    uint8_t bytes[8];
    do {
        const uint64_t other = ids->next++;
        colliding_bytes(ids->leading
                            ? (agreed >> (64 - ids->bits)) << (64 - ids->bits) | other
                            : other << ids->bits | (agreed & ((UINT64_C(1) << ids->bits) - 1)),
                        bytes);
    } while (!colliding_is_text(bytes, 8));
    memcpy(out, bytes, 8);
    out[8] = '\0';
}

/* Writes 32 bytes that differ only in i. All such ids have the same hash. */
static inline void colliding_id_in_all_bits(uint64_t i, char out[32])
{
    const uint64_t first = colliding_secret(0);
    memset(out, 'x', 32);
    memcpy(out, &first, 8);
    memcpy(out + 8, &i, 8);
}
