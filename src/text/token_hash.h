/* token_hash.h -- the 64-bit hash of a shingle's bytes, by name (--hash).
 *
 *     xxh3      XXH3_64bits, seed 0
 *     xxh64     XXH64, seed 0
 *     sha1      the first 8 bytes of the SHA-1, little-endian
 *     murmur3   low half: MurmurHash3_x86_32, seed 0; high half: that of XXH3_64bits
 *
 * Schemes of 32 bits take the low half, which is so what others call the token hash: SHA-1[0:4],
 * MurmurHash3. Sets keep all 64 bits, so that exact similarities are as exact under each: 32 bits
 * alone would make different shingles equal in any document of some 10,000. */
#ifndef BM_TEXT_TOKEN_HASH_H
#define BM_TEXT_TOKEN_HASH_H

#include <bandmill/types.h>

#include "text/shingle_ops.h"

typedef uint64_t bm_token_hash_fn(const char *bytes, size_t len);

/* The function of a hash that exists. */
bm_token_hash_fn *bm_token_hash_of(bm_token_hash hash);

typedef struct bm_token_hasher {
    const bm_shingle_ops *ops; /* whose loops are for XXH3 */
    bm_token_hash_fn *fn;
} bm_token_hasher;

/* As hash_slices and hash_windows of shingle_ops.h, by any hash. */
void bm_token_hash_slices(const bm_token_hasher *hasher, const bm_slices *slices, size_t n);
void bm_token_hash_windows(const bm_token_hasher *hasher, const bm_slices *windows, size_t n);

#endif
