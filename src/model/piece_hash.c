/* SPDX-License-Identifier: Apache-2.0 */
/* piece_hash.c -- keeps a hash of the current piece, and a hash of the digests of all pieces before
 * it. A piece is ended only when a byte follows it. So if a file has only one piece, there is no
 * second hash. */
#include "model/stream_hash.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"

struct bm_piece_hash {
    bm_stream_hash *piece, *list;
    uint64_t piece_bytes; /* UINT64_MAX: the whole file is one piece */
    uint64_t in_piece;    /* bytes of the current piece so far */
    bool has_list;
};

void bm_hash128_hex(bm_hash128 hash, char hex[BM_HASH128_HEX])
{
    snprintf(hex, BM_HASH128_HEX, "%016" PRIx64 "%016" PRIx64, hash.hi, hash.lo);
}

void bm_hash128_bytes(bm_hash128 hash, unsigned char out[BM_HASH128_LEN])
{
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (unsigned char)(hash.hi >> (56 - 8 * i));
        out[8 + i] = (unsigned char)(hash.lo >> (56 - 8 * i));
    }
}

bm_status bm_piece_hash_open(uint64_t piece_bytes, bm_piece_hash **out, bm_error *err)
{
    bm_piece_hash *hash = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&hash, 1, err));
    hash->piece_bytes = piece_bytes != 0 ? piece_bytes : UINT64_MAX;
    BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &hash->piece, err));
    BM_TRY_OUT(bm_stream_hash_open(bm_isa_best(), &hash->list, err));
    bm_piece_hash_begin(hash);
out:
    if (status == BM_OK)
        *out = hash;
    else
        bm_piece_hash_close(hash);
    return status;
}

void bm_piece_hash_close(bm_piece_hash *hash)
{
    if (hash == NULL)
        return;
    bm_stream_hash_close(hash->piece);
    bm_stream_hash_close(hash->list);
    bm_free(hash);
}

void bm_piece_hash_begin(bm_piece_hash *hash)
{
    bm_stream_hash_begin(hash->piece);
    bm_stream_hash_begin(hash->list);
    hash->in_piece = 0;
    hash->has_list = false;
}

static void end_piece(bm_piece_hash *hash)
{
    unsigned char bytes[BM_HASH128_LEN];
    bm_hash128_bytes(bm_stream_hash_end(hash->piece), bytes);
    bm_stream_hash_add(hash->list, bytes, sizeof bytes);
    bm_stream_hash_begin(hash->piece);
    hash->in_piece = 0;
    hash->has_list = true;
}

void bm_piece_hash_add(bm_piece_hash *hash, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        if (hash->in_piece == hash->piece_bytes)
            end_piece(hash);
        const uint64_t left = hash->piece_bytes - hash->in_piece;
        const size_t len = n < left ? n : (size_t)left;
        bm_stream_hash_add(hash->piece, at, len);
        hash->in_piece += len;
        at += len;
        n -= len;
    }
}

bm_hash128 bm_piece_hash_end(bm_piece_hash *hash)
{
    if (!hash->has_list)
        return bm_stream_hash_end(hash->piece);
    end_piece(hash);
    return bm_stream_hash_end(hash->list);
}
