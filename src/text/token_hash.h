/* SPDX-License-Identifier: Apache-2.0 */
/* token_hash.h -- the 64-bit hash of a shingle's bytes, which --hash names.
 *
 *     xxh3      XXH3_64bits, seed 0
 *     xxh64     XXH64, seed 0
 *     sha1      the first 8 bytes of the SHA-1, little-endian
 *     murmur3   low half: MurmurHash3_x86_32, seed 0; high half: the high half of XXH3_64bits
 *
 * Under the scheme nemo, murmur3 has a seed. Under lance, xxh64 has a seed, and words are joined by
 * the byte 0x1F (bm_scheme_set_hashing).
 *
 * Schemes of 32 bits use the low half. It is what other programs call the token hash: SHA-1[0:4],
 * MurmurHash3. Sets keep all 64 bits, so that exact similarities are equally exact with every hash.
 * With only 32 bits, most documents of 100,000 shingles would have two different shingles with
 * equal hashes. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* OpenSSL's newer one-shot functions take five times as long as the deprecated ones */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "base/system.h"
#include "text/shingle_ops.h"

typedef struct bm_token_hasher bm_token_hasher;
typedef uint64_t bm_token_hash_fn(const bm_token_hasher *hasher, const char *bytes, size_t len);

#define BM_SHA1_FUNCTIONS(X) X(SHA1_Init) X(SHA1_Update) X(SHA1_Final)
typedef struct bm_sha1_calls {
    BM_SHA1_FUNCTIONS(BM_LIBRARY_MEMBER)
} bm_sha1_calls;

struct bm_token_hasher {
    const bm_shingle_ops *ops; /* the loops for XXH3 */
    bm_token_hash_fn *fn;
    bm_sha1_calls sha1; /* functions of libcrypto, for SHA-1; otherwise empty */
    uint32_t seed;      /* for xxh64 and murmur3: 0, or the scheme's seed */
    char joint;         /* hashed instead of the space between words */
};

/* Open a hasher, which any thread may use. BM_ERR_IO: libcrypto (for SHA-1) cannot be opened. */
bm_status bm_token_hasher_open(const bm_text_options *text, const bm_shingle_ops *ops,
                               bm_token_hasher *out, bm_error *err);
static inline uint64_t bm_token_hash_one(const bm_token_hasher *hasher, const char *bytes,
                                         size_t len)
{
    return hasher->fn(hasher, bytes, len);
}

/* Like hash_slices and hash_windows of shingle_ops.h, but with the hasher's hash. */
void bm_token_hash_slices(const bm_token_hasher *hasher, const bm_slices *slices, size_t n);
void bm_token_hash_windows(const bm_token_hasher *hasher, const bm_slices *windows, size_t n);
