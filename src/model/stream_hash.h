/* stream_hash.h -- XXH3 with 128 bits of a stream of bytes: the digest of an input. xxHash is built once for each
 * set of vector instructions; the bits are the same. */
#ifndef BM_MODEL_STREAM_HASH_H
#define BM_MODEL_STREAM_HASH_H

#include <stddef.h>

#include <bandmill/status.h>

#include "base/cpu.h"
#include "model/content_sums.h"

typedef struct bm_stream_hash bm_stream_hash;

/* A hash of nothing yet, by the instructions of `isa`, which is available here (bm_isa_best()). BM_ERR_NOMEM. One thread at a time. */
bm_status bm_stream_hash_open(bm_isa isa, bm_stream_hash **out, bm_error *err);
void bm_stream_hash_begin(bm_stream_hash *hash); /* forget what came before */
void bm_stream_hash_add(bm_stream_hash *hash, const void *data, size_t n);
/* Of all bytes added since it began; more may follow. */
bm_hash128 bm_stream_hash_end(const bm_stream_hash *hash);
void bm_stream_hash_close(bm_stream_hash *hash); /* NULL is fine */

#endif
