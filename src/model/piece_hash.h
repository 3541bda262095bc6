/* piece_hash.h -- XXH3 with 128 bits of a file by its pieces, which is what reports list:
 *
 *     a file of up to BM_FILE_PIECE_BYTES    of its bytes
 *     a longer one                      of its pieces' digests one after another, 16 bytes each,
 *                                       as their hexadecimal digits say them
 *
 * So pieces may be hashed by several threads. The last piece may be shorter; an empty file is one
 * empty piece. One thread at a time for each hash. */
#ifndef BM_MODEL_PIECE_HASH_H
#define BM_MODEL_PIECE_HASH_H

#include "model/stream_hash.h"

#define BM_FILE_PIECE_BYTES ((uint64_t)64 << 20)
#define BM_HASH128_LEN      16u
#define BM_HASH128_HEX      33u /* 32 digits and a NUL */

/* A digest as xxh128sum writes it, in lower case; and its bytes in the order of these digits. */
void bm_hash128_hex(bm_hash128 hash, char hex[BM_HASH128_HEX]);
void bm_hash128_bytes(bm_hash128 hash, unsigned char out[BM_HASH128_LEN]);

typedef struct bm_piece_hash bm_piece_hash;

/* Pieces of `piece_bytes`; 0: of the whole, as versions before the pieces did. BM_ERR_NOMEM. */
bm_status bm_piece_hash_open(uint64_t piece_bytes, bm_piece_hash **out, bm_error *err);
void bm_piece_hash_begin(bm_piece_hash *hash); /* forget what came before */
void bm_piece_hash_add(bm_piece_hash *hash, const void *data, size_t n);
/* Of all bytes added since it began. Only begin and close may follow. */
bm_hash128 bm_piece_hash_end(bm_piece_hash *hash);
void bm_piece_hash_close(bm_piece_hash *hash); /* NULL is fine */

#endif
