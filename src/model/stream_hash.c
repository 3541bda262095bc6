/* SPDX-License-Identifier: Apache-2.0 */
/* stream_hash.c -- has a state of xxHash, and uses the update function for the chosen instruction
 * set.
 *
 * Tests: tests/unit/model/test_stream_hash.c */
#include "model/stream_hash.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/stream_hash_loops.h"

struct bm_stream_hash {
    XXH3_state_t state; /* the first member, because it needs 64-byte alignment */
    bm_stream_hash_add_fn *add;
};

static void add_plain(XXH3_state_t *state, const void *data, size_t n)
{
    XXH3_128bits_update(state, data, n);
}

static uint64_t hash64_plain(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

bm_hash64_fn *bm_hash64_of(bm_isa isa)
{
#if defined(__x86_64__)
    if (isa == BM_ISA_AVX512)
        return bm_hash64_avx512;
    if (isa == BM_ISA_AVX2)
        return bm_hash64_avx2;
#endif
    (void)isa;
    return hash64_plain;
}

static bm_stream_hash_add_fn *add_of(bm_isa isa)
{
#if defined(__x86_64__)
    if (isa == BM_ISA_AVX512)
        return bm_stream_hash_add_avx512;
    if (isa == BM_ISA_AVX2)
        return bm_stream_hash_add_avx2;
#endif
    (void)isa; /* NEON is part of every AArch64, and SSE2 of every x86-64 */
    return add_plain;
}

bm_status bm_stream_hash_open(bm_isa isa, bm_stream_hash **out, bm_error *err)
{
    bm_stream_hash *hash = NULL;
    BM_TRY(bm_new_aligned(&hash, 1, err));
    hash->add = add_of(isa);
    bm_stream_hash_begin(hash);
    *out = hash;
    return BM_OK;
}

void bm_stream_hash_begin(bm_stream_hash *hash)
{
    XXH3_128bits_reset(&hash->state);
}

void bm_stream_hash_add(bm_stream_hash *hash, const void *data, size_t n)
{
    hash->add(&hash->state, data, n);
}

bm_hash128 bm_stream_hash_end(const bm_stream_hash *hash)
{
    const XXH128_hash_t sum = XXH3_128bits_digest(&hash->state);
    return (bm_hash128){.lo = sum.low64, .hi = sum.high64};
}

uint64_t bm_stream_hash_end64(const bm_stream_hash *hash)
{
    return XXH3_64bits_digest(&hash->state); /* both digest sizes use the same state */
}

void bm_stream_hash_close(bm_stream_hash *hash)
{
    bm_free(hash);
}
