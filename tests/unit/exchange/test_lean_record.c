/* SPDX-License-Identifier: Apache-2.0 */
/* src/exchange/export.c: heads as datasketch writes them. */
#include "exchange/export.c"

#include "exchange/exporter.h"

#include <criterion/criterion.h>
#include <string.h>

/* The five tokens of datasketch's own tests, seed 42, k = 8, in its format before 2.0. */
Test(lean_record, a_legacy_head_is_that_of_the_known_answer)
{
    static const unsigned char known[] = {0x2a, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0x93, 0xcf};
    char head[BM_LEAN_HEAD_MOST];
    bm_lean_head read;
    const bm_lean_head legacy = {.scheme = "legacy", .seed = 42, .perms = 8};
    cr_assert_eq(lean_head_write(&legacy, head), 12);
    cr_expect_arr_eq(head, known, 12);
    cr_assert_eq(bm_lean_head_read((const char *)known, sizeof known, &read), 12);
    cr_expect_str_eq(read.scheme, "legacy");
    cr_expect_eq(read.seed, 42);
    cr_expect_eq(read.perms, 8);
    cr_expect_eq(read.word_bytes, 4);
}

/* The head has int32 -k and a code byte: struct.pack("<qiB", 1, -4, 2) in Python. */
Test(lean_record, heads_of_affine_schemes_have_the_negative_number_and_a_code)
{
    static const struct {
        const char *scheme;
        unsigned char code;
        uint32_t word_bytes;
    } rows[] = {{"affine32", 1, 4}, {"affine64", 2, 8}};
    for (size_t i = 0; i < 2; i++) {
        const unsigned char known[] = {1, 0,    0,    0,    0,    0,           0,
                                       0, 0xfc, 0xff, 0xff, 0xff, rows[i].code};
        const bm_lean_head wanted = {.scheme = rows[i].scheme, .seed = 1, .perms = 4};
        char head[BM_LEAN_HEAD_MOST];
        bm_lean_head read;
        cr_assert_eq(lean_head_write(&wanted, head), 13);
        cr_expect_arr_eq(head, known, 13);
        cr_assert_eq(bm_lean_head_read(head, 13, &read), 13);
        cr_expect_str_eq(read.scheme, rows[i].scheme);
        cr_expect_eq(read.seed, 1);
        cr_expect_eq(read.perms, 4);
        cr_expect_eq(read.word_bytes, rows[i].word_bytes);
    }
}

Test(lean_record, what_is_no_head_is_told)
{
    char head[BM_LEAN_HEAD_MOST] = {0};
    bm_lean_head read;
    for (size_t len = 0; len < 12; len++)
        cr_expect_eq(bm_lean_head_read(head, len, &read), 0);
    cr_expect_eq(bm_lean_head_read(head, 12, &read), 12); /* no words */
    cr_expect_eq(read.perms, 0);
    memset(head + 8, 0xff, 4);
    cr_expect_eq(bm_lean_head_read(head, 12, &read), 0); /* no room for the code */
    for (int code = 0; code < 256; code++) {
        head[12] = (char)code;
        cr_expect_eq(bm_lean_head_read(head, 13, &read), 13);
        cr_expect_eq(read.scheme != NULL, code == 1 || code == 2, "%d", code);
    }
    memcpy(head + 8, "\0\0\0\x80", 4); /* -2^31: its negation does not fit into int32 */
    head[12] = 1;
    cr_expect_eq(bm_lean_head_read(head, 13, &read), 13);
    cr_expect_eq(read.perms, INT64_C(1) << 31);
}

Test(lean_record, other_schemes_have_no_records)
{
    uint32_t word_bytes = 0;
    cr_expect(lean_word_bytes("affine64", &word_bytes) && word_bytes == 8);
    cr_expect(!lean_word_bytes("oph", &word_bytes));
    cr_expect(!lean_word_bytes("cws", &word_bytes));
}
