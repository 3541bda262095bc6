/* SPDX-License-Identifier: Apache-2.0 */
/* stream_hash_loops.h -- the part of xxHash that depends on the instruction set, for
 * stream_hash*.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef uint64_t bm_hash64_loop(const void *data, size_t n);
bm_hash64_loop bm_hash64_avx2, bm_hash64_avx512;
typedef void bm_stream_hash_add_fn(XXH3_state_t *state, const void *data, size_t n);
bm_stream_hash_add_fn bm_stream_hash_add_avx2, bm_stream_hash_add_avx512;
