/* SPDX-License-Identifier: Apache-2.0 */
/* test_id_kind.c -- the type of ids, and the number after the largest id. */
#include "model/ids.h"
#include "tests/world/world_text.h"

#include <criterion/criterion.h>
#include <string.h>

Test(id_kind, has_a_word_that_names_it)
{
    cr_assert_null(bm_id_kind_word(BM_IDS_UNTYPED));
    for (bm_id_kind kind = BM_IDS_TEXT; kind <= BM_IDS_ROWS; kind++)
        cr_assert_eq(bm_id_kind_of(bm_id_kind_word(kind)), kind);
    cr_assert_eq(bm_id_kind_of("int"), BM_IDS_UNTYPED);
    cr_assert_eq(bm_id_kind_of(NULL), BM_IDS_UNTYPED);
}

Test(id_kind, an_integer_is_written_in_one_way_only)
{
    const struct {
        const char *id;
        bool int64, uint64;
    } cases[] = {{"0", true, true},
                 {"7", true, true},
                 {"9223372036854775807", true, true},
                 {"9223372036854775808", false, true},
                 {"18446744073709551615", false, true},
                 {"18446744073709551616", false, false},
                 {"99999999999999999999", false, false},
                 {"184467440737095516150", false, false},
                 {"-1", true, false},
                 {"-9223372036854775808", true, false},
                 {"-9223372036854775809", false, false},
                 {"-0", false, false},
                 {"-", false, false},
                 {"", false, false},
                 {"+1", false, false},
                 {"01", false, false},
                 {"1 ", false, false},
                 {"1e3", false, false},
                 {"a", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bm_str id = world_str(cases[i].id);
        cr_expect_eq(bm_id_is_of(id, BM_IDS_INT64), cases[i].int64, "%s", cases[i].id);
        cr_expect_eq(bm_id_is_of(id, BM_IDS_UINT64), cases[i].uint64, "%s", cases[i].id);
        cr_expect(bm_id_is_of(id, BM_IDS_TEXT) && bm_id_is_of(id, BM_IDS_UNTYPED));
    }
}

Test(id_kind, the_next_number_is_greater_than_every_id_that_is_one)
{
    uint64_t next = 0, unknown = BM_NEXT_ID_UNKNOWN;
    const struct {
        const char *id;
        uint64_t next;
    } cases[] = {{"a.jsonl:9", 0},
                 {"-3", 0},
                 {"007", 0},
                 {"0", 1},
                 {"4", 5},
                 {"2", 5},
                 {"4", 5},
                 {"9223372036854775807", 5},
                 {"12#2", 5},
                 {"99", 100},
                 {"9223372036854775806", INT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_next_id_pass(&next, world_str(cases[i].id));
        cr_expect_eq(next, cases[i].next, "%s", cases[i].id);
    }
    bm_next_id_pass(&unknown, world_str("5"));
    cr_expect_eq(unknown, BM_NEXT_ID_UNKNOWN);
}
