/* SPDX-License-Identifier: Apache-2.0 */
/* test_numbered_id.c -- ids that are numbered, and ids that only look so. */
#include <criterion/criterion.h>

#include <string.h>

#include "model/ids.h"
#include "tests/world/world_text.h"

Test(numbered_id, is_what_numbering_makes_and_nothing_else)
{
    static const struct {
        const char *id;
        size_t base; /* its length */
        uint32_t number;
    } good[] = {{"a#2", 1, 2},
                {"#2", 0, 2},
                {"a#2#3", 3, 3},
                {"a##10", 2, 10},
                {"a#4294967295", 1, 4294967295u}};
    static const char *const bad[] = {"",
                                      "a",
                                      "a#",
                                      "a#1",
                                      "a#0",
                                      "a#02",
                                      "2",
                                      "a#2x",
                                      "a#-2",
                                      "a# 2",
                                      "a2",
                                      "a#4294967296",
                                      "a#99999999999999999999"};
    bm_str base;
    uint32_t number;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert(bm_numbered_id(world_str(good[i].id), &base, &number), "%s", good[i].id);
        cr_expect_eq(base.len, good[i].base);
        cr_expect_eq(number, good[i].number);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not(bm_numbered_id(world_str(bad[i]), &base, &number), "%s", bad[i]);
}
