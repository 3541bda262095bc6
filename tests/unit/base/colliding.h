/* SPDX-License-Identifier: Apache-2.0 */
/* colliding.h -- keys that meet in one place of a hash table, if its hash is known. Header only.
 *
 * XXH3_64bits of 8 bytes is one to one, so it is gone back from a hash: of the hashes that agree in
 * some bits, those whose 8 bytes are printable make ids (about one of 3,300 such hashes does). Of
 * 17 to 32 bytes it multiplies two words, each of which a constant was added to by XOR: where one
 * product is of 0, eight bytes change nothing, and ids agree in all 64 bits. */
#ifndef BM_TESTS_COLLIDING_H
#define BM_TESTS_COLLIDING_H

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

/* Bytes of XXH3's secret (the xxHash specification), from the offset. */
static inline uint64_t colliding_secret(size_t offset)
{
    static const uint8_t secret[32] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe,
                                       0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
                                       0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
                                       0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f};
    return colliding_word(secret + offset);
}

/* The 8 bytes that have `hash` as their XXH3_64bits. */
static inline void colliding_bytes(uint64_t hash, uint8_t out[8])
{
    static const uint64_t mix = UINT64_C(0x9FB21C651E98DF25);
    const uint64_t back = colliding_inverse(mix);
    uint64_t x = hash ^ hash >> 28 ^ hash >> 56;
    x *= back;
    x ^= (x >> 35) + 8;
    x *= back;
    for (unsigned i = 1; i < 64; i *= 2) /* the step 63 times, for its 64th power is 1 */
        x ^= colliding_turn(x, 49 * i % 64) ^ colliding_turn(x, 24 * i % 64);
    x ^= colliding_secret(8) ^ colliding_secret(16);
    x = colliding_turn(x, 32); /* the first four bytes are its upper half */
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

/* Ids of 8 characters of ASCII, which JSON takes as they are, whose hashes agree in `bits` bits:
 * the leading ones, or the lowest. */
typedef struct colliding_ids {
    unsigned bits; /* at most 32 */
    bool leading;
    uint64_t next; /* of the other bits; 0 at first */
} colliding_ids;

/* Another such id into out, ended by NUL. */
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

/* 32 bytes, which i alone tells apart: all of them have one hash. */
static inline void colliding_id_in_all_bits(uint64_t i, char out[32])
{
    const uint64_t first = colliding_secret(0);
    memset(out, 'x', 32);
    memcpy(out, &first, 8);
    memcpy(out + 8, &i, 8);
}

#endif
