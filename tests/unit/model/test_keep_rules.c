/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep_rules.c -- lists of rules that are parsed, and lists that are refused. */
#include <criterion/criterion.h>

#include <string.h>

#include "model/keep_rules.h"

static bool is(bm_str text, const char *expected)
{
    return text.len == strlen(expected) && memcmp(text.data, expected, text.len) == 0;
}

Test(keep_rules, a_list_is_taken_apart_at_commas_and_bars_without_a_backslash)
{
    bm_keep_rules rules;
    cr_assert_eq(bm_keep_rules_parse("max:a.b,order:lang=en\\,us|de\\|at|x\\y,min:a.b,sources:p|q",
                                     &rules, NULL),
                 BM_OK);
    cr_assert_eq(rules.n, 4);
    cr_assert_eq(rules.n_fields, 2);
    cr_expect_eq(rules.n_by_field, 3);
    cr_expect_str_eq(rules.fields[0], "a.b");
    cr_expect_str_eq(rules.fields[1], "lang");
    cr_expect_eq(rules.rules[0].kind, BM_KEEP_RULE_MAX);
    cr_expect_eq(rules.rules[2].field, 0);
    const bm_keep_rule *order = &rules.rules[1];
    cr_assert_eq(order->n_values, 3);
    cr_expect(is(order->values[0], "en,us"));
    cr_expect(is(order->values[1], "de|at"));
    cr_expect(is(order->values[2], "x\\y"));
    cr_expect_str_eq(order->words, "order:lang=en\\,us|de\\|at|x\\y");
    cr_expect_eq(bm_keep_rule_place(order, (bm_str){"de|at", 5}), 1);
    cr_expect_eq(bm_keep_rule_place(order, (bm_str){"de", 2}), 3);
    cr_expect(bm_keep_rules_have(&rules, BM_KEEP_RULE_SOURCES));
    cr_expect_not(bm_keep_rules_have(&rules, BM_KEEP_RULE_LONGEST));
    bm_keep_rules_reset(&rules);
}

Test(keep_rules, nothing_behind_first_or_last_decides)
{
    bm_keep_rules rules;
    cr_assert_eq(bm_keep_rules_parse("longest,last,max:x,first", &rules, NULL), BM_OK);
    cr_expect_eq(rules.n, 1);
    cr_expect_eq(rules.n_by_field, 0);
    cr_expect(rules.last);
    bm_keep_rules_reset(&rules);
    cr_assert_eq(bm_keep_rules_parse("first,last", &rules, NULL), BM_OK);
    cr_expect(rules.n == 0 && !rules.last && !rules.none);
    bm_keep_rules_reset(&rules);
    cr_assert_eq(bm_keep_rules_parse("none", &rules, NULL), BM_OK);
    cr_expect(rules.n == 0 && rules.none);
    bm_keep_rules_reset(&rules);
}

Test(keep_rules, what_is_no_list_is_refused)
{
    static const char *const lists[] = {
        "",          "best",     "max",        "max:",   "min:",      "order:a",      "order:a=",
        "order:=a",  "sources:", "longest,",   ",first", "none,last", "longest,none", "first,none",
        "none,none", "Longest",  "max:a,,last"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        bm_keep_rules rules;
        bm_error err = {0};
        cr_expect_eq(bm_keep_rules_parse(lists[i], &rules, &err), BM_ERR_USAGE, "%s", lists[i]);
        cr_expect_str_eq(err.field, "keep");
        cr_expect(rules.n == 0 && rules.rules == NULL && rules.fields == NULL);
    }
}
