/* SPDX-License-Identifier: Apache-2.0 */
/* stream_hash_avx2.c -- xxHash, compiled with the instruction set flags of this file.
 *
 * Tests: tests/unit/model/test_stream_hash.c */
#include "model/stream_hash_loops.h"

void bm_stream_hash_add_avx2(XXH3_state_t *state, const void *data, size_t n)
{
    XXH3_128bits_update(state, data, n);
}

uint64_t bm_hash64_avx2(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}
