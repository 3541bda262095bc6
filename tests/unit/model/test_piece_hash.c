/* SPDX-License-Identifier: Apache-2.0 */
/* test_piece_hash.c -- XXH3 by pieces, compared with Python's xxhash, for bytes that arrive in
 * steps of any size. */
#include <criterion/criterion.h>

#include "model/stream_hash.h"
#include "tests/unit/output/pieces.h"
#include "tests/world/world_calls.h"

static void hash_in_steps(bm_piece_hash *hash, size_t len, size_t step, char hex[BM_HASH128_HEX])
{
    char data[PIECES_MAX];
    fill_pieces(data, sizeof data);
    bm_piece_hash_begin(hash);
    for (size_t at = 0; at < len; at += step)
        bm_piece_hash_add(hash, data + at, len - at < step ? len - at : step);
    bm_hash128_hex(bm_piece_hash_end(hash), hex);
}

Test(piece_hash, equals_that_of_the_list_of_pieces_for_any_steps)
{
    static const size_t steps[] = {1, 7, 63, 64, 65, 200};
    bm_piece_hash *hash = world_open(bm_piece_hash, PIECE);
    for (size_t i = 0; i < N_BY_PIECES; i++)
        for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
            char hex[BM_HASH128_HEX];
            hash_in_steps(hash, by_pieces[i].len, steps[k], hex);
            cr_expect_str_eq(hex, by_pieces[i].xxh3, "%zu bytes by %zu", by_pieces[i].len,
                             steps[k]);
        }
    bm_piece_hash_close(hash);
    bm_piece_hash_close(NULL);
}

/* The expected value is the output of xxh128sum for the same 200 bytes. */
Test(piece_hash, without_pieces_it_is_that_of_the_whole)
{
    char hex[BM_HASH128_HEX];
    bm_piece_hash *hash = world_open(bm_piece_hash, 0);
    hash_in_steps(hash, 200, 9, hex);
    cr_expect_str_eq(hex, "fc856e6538fc9e49293b2bb62ee3d385");
    bm_piece_hash_close(hash);
}

Test(piece_hash, a_digest_has_its_bytes_in_the_order_of_its_digits)
{
    unsigned char bytes[BM_HASH128_LEN];
    bm_hash128_bytes((bm_hash128){.hi = 0x0001020304050607u, .lo = 0x08090a0b0c0d0e0fu}, bytes);
    for (unsigned i = 0; i < BM_HASH128_LEN; i++)
        cr_expect_eq(bytes[i], i);
}
