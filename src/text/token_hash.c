/* token_hash.c -- a row a hash. XXH3 and XXH64 are those of the xxHash library; SHA-1 (RFC 3174) and
 * MurmurHash3_x86_32 (its author's public description) stand here, plainly: they are for signatures
 * that others can compare with theirs, and nothing secret hangs on them.
 *
 * Tests: tests/unit/text/test_token_hash.c, tests/reference/test_hashes.py */
#include "text/token_hash.h"

#include <string.h>

#include "text/xxh3_inline.h"

/* --- XXH3, XXH64 --- */

static uint64_t hash_xxh3(const char *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

static uint64_t hash_xxh64(const char *bytes, size_t len)
{
    return XXH64(bytes, len, 0);
}

/* --- SHA-1 --- */

static inline uint32_t turn_left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static inline uint32_t load_big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha1_block(uint32_t state[5], const unsigned char *block)
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned t = 0; t < 16; t++)
        w[t] = load_big(block + 4 * t);
    for (unsigned t = 16; t < 80; t++)
        w[t] = turn_left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (unsigned t = 0; t < 80; t++) {
        uint32_t mixed, constant;
        if (t < 20) {
            mixed = (b & c) | (~b & d);
            constant = 0x5A827999;
        } else if (t < 40) {
            mixed = b ^ c ^ d;
            constant = 0x6ED9EBA1;
        } else if (t < 60) {
            mixed = (b & c) | (b & d) | (c & d);
            constant = 0x8F1BBCDC;
        } else {
            mixed = b ^ c ^ d;
            constant = 0xCA62C1D6;
        }
        const uint32_t next = turn_left(a, 5) + mixed + e + w[t] + constant;
        e = d;
        d = c;
        c = turn_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* The first two words of the digest are its first 8 bytes, each word with its highest byte first. */
static uint64_t hash_sha1(const char *bytes, size_t len)
{
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    unsigned char tail[128] = {0};
    const size_t whole = len / 64 * 64, left = len - whole, end = left < 56 ? 64 : 128;
    for (size_t at = 0; at < whole; at += 64)
        sha1_block(state, (const unsigned char *)bytes + at);
    memcpy(tail, bytes + whole, left);
    tail[left] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        tail[end - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += 64)
        sha1_block(state, tail + at);
    return (uint64_t)__builtin_bswap32(state[1]) << 32 | __builtin_bswap32(state[0]);
}

/* --- MurmurHash3 --- */

static inline uint32_t murmur_word(uint32_t k)
{
    return turn_left(k * 0xCC9E2D51, 15) * 0x1B873593;
}

static uint32_t murmur3_x86_32(const char *bytes, size_t len)
{
    uint32_t h = 0, k;
    size_t at = 0;
    for (; at + 4 <= len; at += 4) {
        memcpy(&k, bytes + at, 4);
        h = turn_left(h ^ murmur_word(k), 13) * 5 + 0xE6546B64;
    }
    k = 0;
    for (size_t i = len; i > at; i--)
        k = k << 8 | (unsigned char)bytes[i - 1];
    h ^= murmur_word(k) ^ (uint32_t)len;
    h = (h ^ h >> 16) * 0x85EBCA6B;
    h = (h ^ h >> 13) * 0xC2B2AE35;
    return h ^ h >> 16;
}

static uint64_t hash_murmur3(const char *bytes, size_t len)
{
    return (hash_xxh3(bytes, len) & UINT64_C(0xFFFFFFFF00000000)) | murmur3_x86_32(bytes, len);
}

/* --- the table --- */

static bm_token_hash_fn *const rows[] = {[BM_TOKEN_XXH3] = hash_xxh3,
                                         [BM_TOKEN_XXH64] = hash_xxh64,
                                         [BM_TOKEN_SHA1] = hash_sha1,
                                         [BM_TOKEN_MURMUR3] = hash_murmur3};

bm_token_hash_fn *bm_token_hash_of(bm_token_hash hash)
{
    return rows[hash];
}

void bm_token_hash_slices(const bm_token_hasher *hasher, const bm_slices *slices, size_t n)
{
    if (hasher->fn == hash_xxh3) {
        hasher->ops->hash_slices(slices, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t begin = slices->starts[i];
        slices->hashes[i] =
            hasher->fn(slices->joined + begin, slices->starts[i + slices->k] - slices->gap - begin);
    }
}

void bm_token_hash_windows(const bm_token_hasher *hasher, const bm_slices *windows, size_t n)
{
    if (hasher->fn == hash_xxh3) {
        hasher->ops->hash_windows(windows->joined, n, windows->k, windows->hashes);
        return;
    }
    for (size_t i = 0; i < n; i++)
        windows->hashes[i] = hasher->fn(windows->joined + i, windows->k);
}
