/* SPDX-License-Identifier: Apache-2.0 */
/* test_stream_hash.c -- every instruction set gives the result of a single xxHash call, whatever
 * the pieces. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <criterion/criterion.h>
#include <stdint.h>

#include "model/stream_hash.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

enum { N = 300000 };
static unsigned char data[N];

static void expect_of(bm_isa isa, size_t n, size_t piece)
{
    bm_stream_hash *hash = world_open(bm_stream_hash, isa);
    bm_stream_hash_add(hash, "before", 6);
    bm_stream_hash_begin(hash); /* discards all previous input */
    for (size_t at = 0; at < n; at += piece)
        bm_stream_hash_add(hash, data + at, n - at < piece ? n - at : piece);
    const bm_hash128 got = bm_stream_hash_end(hash);
    const XXH128_hash_t expected = XXH3_128bits(data, n);
    cr_expect(got.lo == expected.low64 && got.hi == expected.high64, "%s: %zu bytes by %zu",
              bm_isa_name(isa), n, piece);
    cr_expect_eq(bm_stream_hash_end64(hash), XXH3_64bits(data, n));
    bm_stream_hash_close(hash);
}

Test(stream_hash, is_xxh3_by_every_instruction_set)
{
    static const size_t sizes[] = {0, 1, 3, 16, 17, 128, 129, 240, 241, 1023, 1024, 1025, 4096, N};
    static const size_t pieces[] = {1, 63, 64, 255, 256, 257, 1024, 100000, N};
    world_fill(data, N, 7, NULL);
    for (bm_isa isa = BM_ISA_SCALAR; isa <= BM_ISA_NEON; isa++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && bm_isa_available(isa); i++)
            for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
                expect_of(isa, sizes[i], pieces[j]);
}

Test(stream_hash, goes_on_after_it_was_asked)
{
    world_fill(data, N, 7, NULL);
    bm_stream_hash *hash = world_open(bm_stream_hash, bm_isa_best());
    bm_stream_hash_add(hash, data, 1000);
    bm_hash128 part = bm_stream_hash_end(hash);
    bm_stream_hash_add(hash, data + 1000, N - 1000);
    bm_hash128 whole = bm_stream_hash_end(hash);
    cr_expect_eq(part.lo, XXH3_128bits(data, 1000).low64);
    cr_expect_eq(whole.hi, XXH3_128bits(data, N).high64);
    bm_stream_hash_close(hash);
}
