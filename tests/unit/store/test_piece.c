/* SPDX-License-Identifier: Apache-2.0 */
/* test_piece.c -- a header is read back as written, and any changed byte of a sealed piece is
 * detected. */
#include "store/piece.h"

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
    cr_assert_not(bm_piece_head_of(piece, sizeof piece, BM_PIECE_REMOVED, &back));
    cr_assert_not(bm_piece_head_of(piece, BM_PIECE_HEAD_BYTES - 1, BM_PIECE_STATE, &back));
    static const uint8_t little_endian[] = {'S', 0, 0, 0, 4, 3, 2, 1};
    cr_assert_eq(memcmp(piece, little_endian, 8), 0);
    cr_assert_eq(piece[16], 0x18);
    cr_assert_eq(piece[31], 0x21);
}

Test(piece, its_sum_is_that_of_the_piece_without_it)
{
    uint8_t piece[5000];
    for (size_t size = BM_PIECE_HEAD_BYTES; size <= sizeof piece; size += 71) {
        const bm_piece_head head = {.kind = BM_PIECE_REMOVED, .n = (uint32_t)size};
        uint64_t sum;
        for (size_t i = 0; i < size; i++)
            piece[i] = (uint8_t)(i * 37);
        bm_piece_begin(piece, &head);
        bm_piece_seal(piece, size);
        memcpy(&sum, piece + 8, sizeof sum); /* in the order of a little-endian machine */
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

Test(piece, keys_come_back_and_their_bytes_are_in_their_order)
{
    const bm_piece_key keys[] = {{.kind = BM_PIECE_DOCUMENTS, .run = 1, .number = 0},
                                 {.kind = BM_PIECE_DOCUMENTS, .run = 256, .number = 7},
                                 {BM_PIECE_POSTINGS, 2, 0, UINT64_MAX, 3},
                                 {BM_PIECE_POSTINGS, 2, 1, 5, UINT32_MAX},
                                 {BM_PIECE_POSTINGS, 2, 1, 256, 0},
                                 {BM_PIECE_POSTINGS, 2, 1, 256, 1},
                                 {.kind = BM_PIECE_REMOVED},
                                 {.kind = BM_PIECE_STATE}};
    enum { N = sizeof keys / sizeof keys[0] };
    char bytes[N][BM_PIECE_KEY_BYTES];
    for (size_t i = 0; i < N; i++) {
        bm_piece_key back;
        const bm_str written = bm_piece_key_write(&keys[i], bytes[i]);
        cr_assert_eq(written.len, BM_PIECE_KEY_BYTES);
        cr_assert(bm_piece_key_read(written, &back));
        cr_assert_eq(bm_piece_key_order(&back, &keys[i]), 0);
        cr_assert_not(bm_piece_key_read((bm_str){bytes[i], written.len - 1}, &back));
        for (size_t k = 0; k < i; k++) {
            cr_assert_lt(memcmp(bytes[k], bytes[i], BM_PIECE_KEY_BYTES), 0);
            cr_assert(bm_piece_key_order(&keys[k], &keys[i]) < 0 &&
                      bm_piece_key_order(&keys[i], &keys[k]) > 0);
        }
    }
    bytes[0][0] = 'N';
    cr_assert_not(bm_piece_key_read((bm_str){bytes[0], BM_PIECE_KEY_BYTES}, &(bm_piece_key){0}));
}
