/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep_key.c -- the keys of a sorted list of values compare in the order of the list, for
 * `max` and for `min`. */
#include <criterion/criterion.h>

#include <string.h>

#include "input/keep_key.c"
#include "tests/world/world_text.h"

/* N: a number read from JSON as a double; E: a number exact to its last digit; S: a string; -: no
 * value; =: a type without an order. Values of the same rank are equal. */
static const struct {
    char kind;
    const char *text;
    int rank;
} values[] = {
    {'N', "-1e999", 0},
    {'N', "-1e300", 1},
    {'E', "-12345678901234567890.12", 2},
    {'E', "-12345678901234567890.1", 3},
    {'E', "-12345678901234567890.10", 3},
    {'N', "-9223372036854775808", 4},
    {'N', "-9007199254740993", 5},
    {'N', "-9007199254740992", 6},
    {'N', "-9007199254740992.0", 6},
    {'N', "-9007199254740993.0", 6},
    {'E', "-9007199254740991.5", 7},
    {'E', "-0.11", 8},
    {'E', "-0.105", 9},
    {'E', "-0.1", 10},
    {'N', "-1e-400", 11},
    {'N', "-0", 11},
    {'N', "-0.0", 11},
    {'N', "0", 11},
    {'E', "0.00", 11},
    {'N', "1e-400", 11},
    {'E', "0.0999999999999999999", 12},
    {'E', "0.1", 13},
    {'N', "0.1", 14}, /* the nearest double is a little more */
    {'N', "1", 15},
    {'N', "1.0", 15},
    {'N', "10e-1", 15},
    {'E', "1.000", 15},
    {'E', "1.0001", 16},
    {'N', "9007199254740992", 17},
    {'N', "9007199254740993.0", 17},
    {'E', "9007199254740992.5", 18},
    {'N', "9007199254740993", 19},
    {'N', "9007199254740994", 20},
    {'N', "9007199254740994.0", 20},
    {'N', "18446744073709551615", 21},
    {'N', "18446744073709551616", 22},
    {'N', "18446744073709551617", 22},
    {'N', "1.8446744073709552e19", 22},
    {'E', "18446744073709551616.01", 23},
    {'N', "1e999", 24},
    {'S', "", 25},
    {'S', "1", 26},
    {'S', "A", 27},
    {'S', "a", 28},
    {'S', "ab", 29},
    {'S', "b", 30},
    {'=', "", 31},
    {'-', "", 31},
};

#define N_VALUES (sizeof values / sizeof values[0])

static bm_buf key_of_length(const bm_keep_rules *rules, size_t i, uint64_t text_bytes)
{
    const bm_str text = {values[i].text, strlen(values[i].text)};
    const char kind = values[i].kind;
    bm_value value = {.text = text, .number = text};
    value.kind = kind == 'N'   ? BM_VALUE_NUMBER
                 : kind == 'E' ? BM_VALUE_EXACT
                 : kind == 'S' ? BM_VALUE_STRING
                 : kind == '=' ? BM_VALUE_OTHER
                               : BM_VALUE_MISSING;
    bm_buf out = {0};
    const bm_keep_facts facts = {.values = &value, .text_bytes = text_bytes};
    cr_assert_eq(keep_key_add(rules, &facts, &out, NULL), BM_OK);
    return out;
}

static bm_buf key_of(const bm_keep_rules *rules, size_t i)
{
    return key_of_length(rules, i, 7);
}

static int order_of(bm_str x, bm_str y)
{
    const size_t n = x.len < y.len ? x.len : y.len;
    const int order = memcmp(x.data, y.data, n);
    return order != 0 ? (order > 0) - (order < 0) : (x.len > y.len) - (x.len < y.len);
}

static void check_all(const char *list, bool greatest)
{
    bm_keep_rules rules;
    bm_buf keys[N_VALUES];
    cr_assert_eq(bm_keep_rules_parse(list, &rules, NULL), BM_OK);
    for (size_t i = 0; i < N_VALUES; i++)
        keys[i] = key_of(&rules, i);
    for (size_t i = 0; i < N_VALUES; i++)
        for (size_t j = 0; j < N_VALUES; j++) {
            int expected = (values[i].rank > values[j].rank) - (values[i].rank < values[j].rank);
            const bool numbers = values[i].rank <= 24 && values[j].rank <= 24;
            const bool strings = values[i].rank >= 25 && values[i].rank <= 30 &&
                                 values[j].rank >= 25 && values[j].rank <= 30;
            if (greatest && (numbers || strings)) /* classes keep their order */
                expected = -expected;
            cr_expect_eq(order_of((bm_str){keys[i].data, keys[i].len - 1},
                                  (bm_str){keys[j].data, keys[j].len - 1}),
                         expected, "%s: %c%s and %c%s", list, values[i].kind, values[i].text,
                         values[j].kind, values[j].text);
        }
    for (size_t i = 0; i < N_VALUES; i++) {
        cr_expect_eq(keys[i].data[keys[i].len - 1], values[i].kind == '-'   ? BM_KEEP_SEEN_MISSING
                                                    : values[i].kind == '=' ? BM_KEEP_SEEN_OTHER
                                                                            : BM_KEEP_SEEN);
        bm_buf_reset(&keys[i]);
    }
    bm_keep_rules_reset(&rules);
}

Test(keep_key, numbers_strings_and_others_come_in_their_order)
{
    check_all("min:x", false);
}

Test(keep_key, the_greatest_number_and_string_come_first_and_others_last)
{
    check_all("max:x", true);
}

Test(keep_key, strings_with_nul_bytes_come_in_the_order_of_their_bytes)
{
    static const bm_str texts[] = {{"a", 1}, {"a\0", 2}, {"a\0\0", 3}, {"a\0\1", 3}, {"a\1", 2}};
    bm_keep_rules rules;
    bm_buf last = {0};
    cr_assert_eq(bm_keep_rules_parse("min:x", &rules, NULL), BM_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const bm_value value = {.kind = BM_VALUE_STRING, .text = texts[i]};
        bm_buf key = {0};
        cr_assert_eq(keep_key_add(&rules, &(bm_keep_facts){.values = &value}, &key, NULL), BM_OK);
        if (i > 0)
            cr_expect_lt(
                order_of((bm_str){last.data, last.len - 1}, (bm_str){key.data, key.len - 1}), 0,
                "text %zu", i);
        bm_buf_reset(&last);
        last = key;
    }
    bm_buf_reset(&last);
    bm_keep_rules_reset(&rules);
}

/* A part of a record has the key of a record of its length, whatever stands before the length. */
Test(keep_key, the_length_can_be_that_of_a_part)
{
    static const char *const lists[] = {"longest,max:x", "max:x,shortest", "min:x,longest,max:x",
                                        "order:x=a|1,max:x,min:x,longest,shortest"};
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        bm_keep_rules rules;
        cr_assert_eq(bm_keep_rules_parse(lists[k], &rules, NULL), BM_OK);
        for (size_t i = 0; i < N_VALUES; i++) {
            bm_buf key = key_of_length(&rules, i, 7), wanted = key_of_length(&rules, i, 300);
            bm_keep_key_set_length(&rules, key.data, key.len, 300);
            cr_expect_eq(order_of((bm_str){key.data, key.len}, (bm_str){wanted.data, wanted.len}),
                         0, "%s: %c%s", lists[k], values[i].kind, values[i].text);
            bm_buf_reset(&key);
            bm_buf_reset(&wanted);
        }
        bm_keep_rules_reset(&rules);
    }
}

/* The value that divides documents is the last part of the key. */
Test(keep_key, within_follows_the_other_rules)
{
    bm_keep_rules rules;
    cr_assert_eq(bm_keep_rules_parse("max:x,longest,min:x", &rules, NULL), BM_OK);
    cr_assert_eq(bm_keep_rules_add_within(&rules, "x", NULL), BM_OK);
    cr_expect(bm_keep_rules_divide(&rules));
    cr_expect(bm_keep_rules_rank(&rules));
    cr_expect_eq(rules.n_fields, 1);
    for (size_t i = 0; i < N_VALUES; i++) {
        bm_buf key = key_of(&rules, i);
        bm_keep_key_parts parts;
        cr_assert(bm_keep_key_split(&rules, (bm_str){key.data, key.len}, &parts));
        const size_t at = bm_keep_key_part(&rules, parts.compared, 3);
        const bool none = values[i].kind == '-' || values[i].kind == '=';
        const char *const text = none ? "" : values[i].text;
        cr_expect_eq(
            order_of((bm_str){parts.compared.data + at, parts.compared.len - at}, world_str(text)),
            0, "%c%s", values[i].kind, values[i].text);
        bm_buf_reset(&key);
    }
    bm_keep_rules_reset(&rules);
}

Test(keep_key, is_a_number_where_json_has_one)
{
    static const char *const numbers[] = {"0", "-0", "12", "1.5", "1e9", "1E+9", "-1.25e-3"};
    static const char *const others[] = {"",    "-",  "01", "+1",  "1.",  ".5",  "1e",
                                         "1e+", " 1", "1 ", "nan", "0x1", "--1", "1.e5"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        cr_expect(bm_value_is_number(world_str(numbers[i])), "%s", numbers[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect_not(bm_value_is_number(world_str(others[i])), "%s", others[i]);
}
