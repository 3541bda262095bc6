/* test_piece.c -- a head comes back as it was put, and a sealed piece has no byte that could be another. */
#include "store/bytes/piece.h"

#include <criterion/criterion.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

Test(piece, a_head_comes_back)
{
    const bm_piece_head head = {.kind = BM_PIECE_STATE,
                                .n = 0x01020304,
                                .first = UINT64_C(0x1112131415161718),
                                .last = UINT64_C(0x2122232425262728)};
    uint8_t piece[BM_PIECE_HEAD_BYTES + 10] = {0};
    bm_piece_head back;
    bm_piece_begin(piece, &head);
    memcpy(piece + BM_PIECE_HEAD_BYTES, "0123456789", 10);
    bm_piece_seal(piece, sizeof piece);
    cr_assert(bm_piece_head_of(piece, sizeof piece, BM_PIECE_STATE, &back));
    cr_assert(back.kind == head.kind && back.n == head.n && back.first == head.first &&
              back.last == head.last);
    cr_assert_not(bm_piece_head_of(piece, sizeof piece, BM_PIECE_NOTE, &back));
    cr_assert_not(bm_piece_head_of(piece, BM_PIECE_HEAD_BYTES - 1, BM_PIECE_STATE, &back));
    static const uint8_t little_endian[] = {4, 0, 0, 0, 4, 3, 2, 1};
    cr_assert_eq(memcmp(piece, little_endian, 8), 0);
    cr_assert_eq(piece[16], 0x18);
    cr_assert_eq(piece[31], 0x21);
}

Test(piece, its_sum_is_that_of_the_piece_without_it)
{
    uint8_t piece[5000];
    for (size_t size = BM_PIECE_HEAD_BYTES; size <= sizeof piece; size += 71) {
        const bm_piece_head head = {.kind = BM_PIECE_NOTE, .n = (uint32_t)size};
        uint64_t sum;
        for (size_t i = 0; i < size; i++)
            piece[i] = (uint8_t)(i * 37);
        bm_piece_begin(piece, &head);
        bm_piece_seal(piece, size);
        memcpy(&sum, piece + 8, sizeof sum); /* of a little-endian machine */
        memset(piece + 8, 0, 8);
        cr_assert_eq(sum, XXH3_64bits(piece, size));
    }
}

Test(piece, every_changed_byte_is_found)
{
    uint8_t piece[BM_PIECE_HEAD_BYTES + 300] = {0};
    for (size_t i = BM_PIECE_HEAD_BYTES; i < sizeof piece; i++)
        piece[i] = (uint8_t)(i * 7);
    bm_piece_begin(piece, &(bm_piece_head){.kind = BM_PIECE_REMOVED});
    bm_piece_seal(piece, sizeof piece);
    cr_assert(bm_piece_check(piece, sizeof piece, BM_PIECE_REMOVED));
    cr_assert_not(bm_piece_check(piece, sizeof piece, BM_PIECE_STATE));
    for (size_t i = 0; i < sizeof piece; i++)
        for (unsigned mask = 1; mask < 256; mask++) {
            piece[i] = (uint8_t)(piece[i] ^ mask);
            cr_assert_not(bm_piece_check(piece, sizeof piece, BM_PIECE_REMOVED));
            piece[i] = (uint8_t)(piece[i] ^ mask);
        }
    for (size_t size = 0; size < sizeof piece; size++)
        cr_assert_not(bm_piece_check(piece, size, BM_PIECE_REMOVED));
}
