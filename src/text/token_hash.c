/* SPDX-License-Identifier: Apache-2.0 */
/* token_hash.c -- one function per hash. XXH3 and XXH64 come from the xxHash library, SHA-1 from
 * libcrypto; MurmurHash3_x86_32 is implemented here from its author's public description. These
 * hashes make signatures comparable with those of other programs. Nothing secret depends on them.
 *
 * Tests: tests/unit/text/test_token_hash.c, tests/reference/test_hashes.py */
#include "text/token_hash.h"

#include <string.h>

#include "model/scheme_facts.h"
#include "text/xxh3_inline.h"

/* --- XXH3, XXH64 --- */

static uint64_t hash_xxh3(const bm_token_hasher *hasher, const char *bytes, size_t len)
{
    (void)hasher;
    return XXH3_64bits(bytes, len);
}

static uint64_t hash_xxh64(const bm_token_hasher *hasher, const char *bytes, size_t len)
{
    return XXH64(bytes, len, hasher->seed);
}

/* Hash joined words, with hasher->joint instead of each space. */
static uint64_t hash_joined(const bm_token_hasher *hasher, const char *bytes, size_t len)
{
    XXH64_state_t state;
    XXH64_reset(&state, hasher->seed);
    for (const char *end = bytes + len;; bytes++) {
        const char *space = memchr(bytes, ' ', (size_t)(end - bytes));
        const char *stop = space != NULL ? space : end;
        XXH64_update(&state, bytes, (size_t)(stop - bytes));
        if (space == NULL)
            return XXH64_digest(&state);
        XXH64_update(&state, &hasher->joint, 1);
        bytes = space;
    }
}

/* --- SHA-1 --- */

static const char *const sha1_names[] = {BM_SHA1_FUNCTIONS(BM_LIBRARY_NAME) NULL};

static uint64_t hash_sha1(const bm_token_hasher *hasher, const char *bytes, size_t len)
{
    SHA_CTX ctx;
    unsigned char digest[SHA_DIGEST_LENGTH];
    uint64_t low = 0;
    hasher->sha1.SHA1_Init(&ctx);
    hasher->sha1.SHA1_Update(&ctx, bytes, len);
    hasher->sha1.SHA1_Final(digest, &ctx);
    for (unsigned i = 8; i > 0; i--)
        low = low << 8 | digest[i - 1];
    return low;
}

/* --- MurmurHash3 --- */

static inline uint32_t turn_left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static inline uint32_t murmur_word(uint32_t k)
{
    return turn_left(k * 0xCC9E2D51, 15) * 0x1B873593;
}

static uint32_t murmur3_x86_32(const char *bytes, size_t len, uint32_t seed)
{
    uint32_t h = seed, k;
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

static uint64_t hash_murmur3(const bm_token_hasher *hasher, const char *bytes, size_t len)
{
    return (XXH3_64bits(bytes, len) & UINT64_C(0xFFFFFFFF00000000)) |
           murmur3_x86_32(bytes, len, hasher->seed);
}

/* --- the table --- */

static bm_token_hash_fn *const rows[] = {[BM_TOKEN_XXH3] = hash_xxh3,
                                         [BM_TOKEN_XXH64] = hash_xxh64,
                                         [BM_TOKEN_SHA1] = hash_sha1,
                                         [BM_TOKEN_MURMUR3] = hash_murmur3};

bm_status bm_token_hasher_open(const bm_text_options *text, const bm_shingle_ops *ops,
                               bm_token_hasher *out, bm_error *err)
{
    *out = (bm_token_hasher){.ops = ops,
                             .fn = rows[text->hash],
                             .seed = bm_hashing_seed(text),
                             .joint = bm_hashing_joint(text)};
    if (out->joint != ' ' && bm_shingle_is_of_words(text->shingle))
        out->fn = hash_joined;
    return text->hash == BM_TOKEN_SHA1
               ? bm_shared_library_open(BM_SONAME_CRYPTO, sha1_names, &out->sha1, err)
               : BM_OK;
}

void bm_token_hash_slices(const bm_token_hasher *hasher, const bm_slices *slices, size_t n)
{
    if (hasher->fn == hash_xxh3) {
        hasher->ops->hash_slices(slices, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t begin = slices->starts[i];
        slices->hashes[i] = bm_token_hash_one(hasher, slices->joined + begin,
                                              slices->starts[i + slices->k] - slices->gap - begin);
    }
}

void bm_token_hash_windows(const bm_token_hasher *hasher, const bm_slices *windows, size_t n)
{
    if (hasher->fn == hash_xxh3) {
        hasher->ops->hash_windows(windows->joined, n, windows->k, windows->hashes);
        return;
    }
    for (size_t i = 0; i < n; i++)
        windows->hashes[i] = bm_token_hash_one(hasher, windows->joined + i, windows->k);
}
