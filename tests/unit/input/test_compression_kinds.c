/* SPDX-License-Identifier: Apache-2.0 */
/* test_compression_kinds.c -- the kind of compression by first bytes and by the endings of names,
 * as in docs/inputs.md 2. */
#include <criterion/criterion.h>
#include <string.h>

#include "input/compression_kinds.h"

Test(compression_kinds, the_first_bytes_tell_the_kind)
{
    static const struct {
        const char *bytes;
        size_t len;
        bm_compression kind;
    } cases[] = {{"\x1F\x8B", 2, BM_COMPRESSION_GZ},
                 {"\x1F", 1, BM_COMPRESSION_NONE},
                 {"\x28\xB5\x2F\xFD", 4, BM_COMPRESSION_ZST},
                 {"\x28\xB5\x2F", 3, BM_COMPRESSION_NONE},
                 {"\x50\x2A\x4D\x18", 4, BM_COMPRESSION_ZST},
                 {"\x5F\x2A\x4D\x18", 4, BM_COMPRESSION_ZST},
                 {"\x60\x2A\x4D\x18", 4, BM_COMPRESSION_NONE},
                 {"\x50\x2A\x4D", 3, BM_COMPRESSION_NONE},
                 {"{\"id\"", 5, BM_COMPRESSION_NONE},
                 {"", 0, BM_COMPRESSION_NONE},
                 {"\xFD"
                  "7zXZ\0",
                  6, BM_COMPRESSION_XZ},
                 {"\xFD"
                  "7zXZ",
                  5, BM_COMPRESSION_NONE},
                 {"BZh91AY&SY", 10, BM_COMPRESSION_BZ2},
                 {"BZh9\x17rE8P\x90", 10, BM_COMPRESSION_BZ2},
                 {"BZh01AY&SY", 10, BM_COMPRESSION_NONE},
                 {"BZhello world", 13, BM_COMPRESSION_NONE},
                 {"\x04\x22\x4D\x18", 4, BM_COMPRESSION_LZ4},
                 {"\x04\x22\x4D", 3, BM_COMPRESSION_NONE},
                 /* after skippable frames, the next frame decides */
                 {"\x51\x2A\x4D\x18\2\0\0\0ab\x04\x22\x4D\x18", 14, BM_COMPRESSION_LZ4},
                 {"\x51\x2A\x4D\x18\2\0\0\0ab\x28\xB5\x2F\xFD", 14, BM_COMPRESSION_ZST},
                 {"\x51\x2A\x4D\x18\0\0\0\0\x52\x2A\x4D\x18\0\0\0\0\x04\x22\x4D\x18", 20,
                  BM_COMPRESSION_LZ4},
                 {"\x51\x2A\x4D\x18\xFF\xFF\xFF\xFF\x04\x22\x4D\x18", 12, BM_COMPRESSION_ZST}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(bm_compression_of_bytes(cases[i].bytes, cases[i].len, BM_COMPRESSION_NONE),
                     cases[i].kind, "%zu", i);
}

Test(compression_kinds, skippable_frames_alone_are_what_the_name_promised)
{
    static const bm_compression promised[] = {BM_COMPRESSION_NONE, BM_COMPRESSION_GZ,
                                              BM_COMPRESSION_ZST, BM_COMPRESSION_LZ4};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(bm_compression_of_bytes("\x50\x2A\x4D\x18\0\1\0\0", 8, promised[i]),
                     i == 3 ? BM_COMPRESSION_LZ4 : BM_COMPRESSION_ZST);
}

Test(compression_kinds, the_ending_of_a_name_promises_a_kind_and_is_taken_off)
{
    static const struct {
        const char *name;
        bm_compression kind;
        size_t len;
    } cases[] = {{"a.jsonl.gz", BM_COMPRESSION_GZ, 7}, {"a.zst", BM_COMPRESSION_ZST, 1},
                 {".gz", BM_COMPRESSION_GZ, 0},        {"a.gz.zst", BM_COMPRESSION_ZST, 4},
                 {"a.jsonl", BM_COMPRESSION_NONE, 7},  {"gz", BM_COMPRESSION_NONE, 2},
                 {"a.GZ", BM_COMPRESSION_GZ, 1},       {"", BM_COMPRESSION_NONE, 0},
                 {"a.tsv.xz", BM_COMPRESSION_XZ, 5},   {"a.bz2", BM_COMPRESSION_BZ2, 1},
                 {"a.Lz4", BM_COMPRESSION_LZ4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].name);
        cr_expect_eq(bm_compression_of_name(cases[i].name, &len), cases[i].kind, "%s",
                     cases[i].name);
        cr_expect_eq(len, cases[i].len, "%s", cases[i].name);
    }
}

Test(compression_kinds, each_kind_has_a_name_for_people)
{
    cr_assert_null(bm_compression_name(BM_COMPRESSION_NONE));
    cr_assert_str_eq(bm_compression_name(BM_COMPRESSION_GZ), "gzip");
    cr_assert_str_eq(bm_compression_name(BM_COMPRESSION_ZST), "Zstandard");
    cr_assert_str_eq(bm_compression_name(BM_COMPRESSION_XZ), "xz");
    cr_assert_str_eq(bm_compression_name(BM_COMPRESSION_BZ2), "bzip2");
    cr_assert_str_eq(bm_compression_name(BM_COMPRESSION_LZ4), "LZ4");
    cr_assert_str_eq(bm_compression_ending(BM_COMPRESSION_NONE), "");
    cr_assert_str_eq(bm_compression_ending(BM_COMPRESSION_BZ2), ".bz2");
}
