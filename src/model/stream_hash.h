/* SPDX-License-Identifier: Apache-2.0 */
/* stream_hash.h -- computes the 128-bit XXH3 of a stream of bytes, which is the digest of an input.
 * xxHash is built once for each vector instruction set, and all builds give the same results. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <bandmill/status.h>

#include "base/system.h"

/* content_sums -- defines, in scalar code, the hash of a sequence of shingles, and computes it for
 * documents whose hashes are added in parts. kernels/content_hash.h has the formula and its proof.
 * The content hash of a document, by which identical documents are recognized, is made from this
 * hash. */

#define BM_CONTENT_PART 128u /* hashes of a block; the same number as BM_CONTENT_STRETCH */

typedef struct bm_hash128 {
    uint64_t lo, hi;
} bm_hash128;

/* The content hash of a document that has no shingles because it is unreadable (text/shingler.h),
 * or because it has fewer units than a shingle (BM_SHORT_SKIP). Any other document without shingles
 * has {0, 0}. */
#define BM_CONTENT_UNREADABLE ((bm_hash128){0, 1})
#define BM_CONTENT_SHORT      ((bm_hash128){0, 2})

static inline bool bm_content_is_unreadable(bm_hash128 content)
{
    return content.lo == BM_CONTENT_UNREADABLE.lo && content.hi == BM_CONTENT_UNREADABLE.hi;
}

static inline bool bm_content_is_short(bm_hash128 content)
{
    return content.lo == BM_CONTENT_SHORT.lo && content.hi == BM_CONTENT_SHORT.hi;
}

/* The sums C and D of the formula, over the blocks so far. If parts of a document are summed
 * separately, their sums may be added. */
typedef struct bm_content_sums {
    uint64_t c, d;
} bm_content_sums;

/* Add the blocks that have the n hashes at positions at … at+n-1. `at` is a multiple of
 * BM_CONTENT_PART, and so is n, except for the last hashes of a document. bm_content_add is the
 * definition. All other functions of this type give the same result. */
typedef void bm_content_add_fn(const uint64_t *run, size_t n, uint64_t at, bm_content_sums *sums);
bm_content_add_fn bm_content_add;

/* The hash of the sequence of a document's n shingles. */
bm_hash128 bm_content_end(const bm_content_sums *sums, uint64_t n);

/* The state of hashing a document whose hashes are added in parts of any size. {0}: no hash was
 * added yet. */
typedef struct bm_content_parts {
    bm_content_sums sums;
    uint64_t n;
    uint64_t pending[BM_CONTENT_PART]; /* the last n % BM_CONTENT_PART hashes */
} bm_content_parts;

void bm_content_parts_begin(bm_content_parts *parts);
void bm_content_parts_add(bm_content_parts *parts, bm_content_add_fn *add, const uint64_t *run,
                          size_t n);
bm_hash128 bm_content_parts_end(bm_content_parts *parts, bm_content_add_fn *add);

/* The content hash of a document that has shingles. It is the hash of the sequence of its shingles,
 * with a second hash of another kind XORed into the upper half. Anyone who knows the formula can,
 * within a second, make two sequences with the same hash, but not two texts that also agree in
 * XXH3. The second hash is 64-bit XXH3
 *
 *     bytes, characters, words    of the joined text (text/shingle_ops.h): documents with the same
 *                                 shingles in the same order have the same joined text
 *     stop words, given hashes    of the sequence of 64-bit hashes, with repeats
 *
 * XORing needs no memory, and is no weaker than storing 64 more bits. Two documents collide if the
 * lower halves of their sequence hashes agree, and the XOR of the upper halves equals the XOR of
 * the second hashes. By accident this happens with probability 2^-128. A deliberate collision needs
 * about 2^32 texts with the same sequence hash until two agree in XXH3, whether the two hashes are
 * stored separately or XORed. */
static inline bm_hash128 bm_content_with_second(bm_hash128 sequence, uint64_t second)
{
    return (bm_hash128){.lo = sequence.lo, .hi = sequence.hi ^ second};
}

/* XXH3_64bits of n bytes. bm_hash64_of returns the function for `isa`, which must be available. */
typedef uint64_t bm_hash64_fn(const void *data, size_t n);
bm_hash64_fn *bm_hash64_of(bm_isa isa);

typedef struct bm_stream_hash bm_stream_hash;

/* Open an empty hash that uses the instructions of `isa`, which must be available (bm_isa_best()).
 * BM_ERR_NOMEM. One thread at a time. */
bm_status bm_stream_hash_open(bm_isa isa, bm_stream_hash **out, bm_error *err);
void bm_stream_hash_begin(bm_stream_hash *hash); /* forget all bytes that were added */
void bm_stream_hash_add(bm_stream_hash *hash, const void *data, size_t n);
/* The hash of all bytes added since begin. More bytes may follow. */
bm_hash128 bm_stream_hash_end(const bm_stream_hash *hash);
/* 64-bit XXH3 of the same bytes. */
uint64_t bm_stream_hash_end64(const bm_stream_hash *hash);
void bm_stream_hash_close(bm_stream_hash *hash); /* NULL is fine */

/* piece_hash -- 128-bit XXH3 of a file by pieces, as reports list it:
 *
 *     a file of up to BM_FILE_PIECE_BYTES    the hash of its bytes
 *     a longer one                           the hash of its pieces' digests, in file order; each
 *                                            is 16 bytes, most significant first
 *
 * The last piece may be shorter. An empty file has one empty piece. Because of the pieces, a file
 * can be hashed by several threads, but one bm_piece_hash is used by one thread at a time. */

#define BM_FILE_PIECE_BYTES ((uint64_t)64 << 20)
#define BM_HASH128_LEN      16u
#define BM_HASH128_HEX      33u /* 32 digits and a NUL */

/* Write a digest as lower-case hexadecimal digits, like xxh128sum, or as bytes in the order of
 * these digits. */
void bm_hash128_hex(bm_hash128 hash, char hex[BM_HASH128_HEX]);
void bm_hash128_bytes(bm_hash128 hash, unsigned char out[BM_HASH128_LEN]);

typedef struct bm_piece_hash bm_piece_hash;

/* Open a hash by pieces of `piece_bytes`. 0: the file is hashed as a whole, as in versions before
 * there were pieces. BM_ERR_NOMEM. */
bm_status bm_piece_hash_open(uint64_t piece_bytes, bm_piece_hash **out, bm_error *err);
void bm_piece_hash_begin(bm_piece_hash *hash); /* forget all bytes that were added */
void bm_piece_hash_add(bm_piece_hash *hash, const void *data, size_t n);
/* The hash of all bytes added since begin. Only begin and close may follow. */
bm_hash128 bm_piece_hash_end(bm_piece_hash *hash);
void bm_piece_hash_close(bm_piece_hash *hash); /* NULL is fine */
