/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a top-level array: where each begins and ends, scanned at once and byte by byte; and
 * errors that break the array. */
#include "input/record_formats.c"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "input/record_format.h"
#include "tests/world/world_random.h"

typedef struct places {
    size_t begin[64], end[64], n;
    const char *broken; /* the error; NULL: none */
    size_t at;
} places;

/* Scans `text` in pieces of `step` bytes, as a reader that continues where it stopped. */
static places scan_all(const char *text, size_t len, size_t step)
{
    places out = {0};
    bm_scan scan = {0};
    size_t pos = 0, seen = 0;
    while (seen < len) {
        seen = seen + step < len ? seen + step : len;
        size_t end;
        while ((end = element_end(&scan, text, pos, seen)) != BM_SCAN_MORE) {
            cr_assert_lt(out.n, 64);
            out.begin[out.n] = scan.begin;
            out.end[out.n++] = pos = end;
        }
        if (scan.broken != NULL) {
            out.broken = scan.broken;
            out.at = scan.at;
            return out;
        }
        pos = seen;
    }
    out.broken = bm_elements_unclosed(&scan);
    out.at = len;
    return out;
}

Test(split_json, elements_begin_and_end_where_they_were_put_whatever_the_pieces)
{
    static const char *const elements[] = {
        "{}",
        "{\"a\":\"x\"}",
        "{\"a\":[1,{\"b\":\"]}\"}],\"c\":\"\\\"}\"}",
        "[[],[[{}]]]",
        "1",
        "-0.5e+7",
        "null",
        "\"a]\"",
        "\"\\\\\"",
        "{\"long\":\"0123456789 0123456789\\\\\"}",
        "tru",
        "{\"a\" 1,,}",
        "{\"a\":\"\n[\"}",
    };
    static const char *const spaces[] = {"", " ", "\n", "\r\n\t", "  \n  "};
    uint64_t x = 5;
    for (int round = 0; round < 200; round++) {
        char text[4096] = "";
        places expected = {0};
        strcat(text, spaces[round % 5]);
        strcat(text, "[");
        for (size_t n = (size_t)round % 12; expected.n < n;) {
            if (expected.n > 0)
                strcat(text, ",");
            strcat(text, spaces[world_below(&x, 5)]);
            expected.begin[expected.n] = strlen(text);
            strcat(text, elements[world_below(&x, sizeof elements / sizeof *elements)]);
            expected.end[expected.n++] = strlen(text);
            strcat(text, spaces[world_below(&x, 5)]);
        }
        strcat(text, "]");
        strcat(text, spaces[(x >> 4) % 5]);
        size_t len = strlen(text);
        for (size_t step = 1; step <= len; step += 1 + step / 4) {
            places found = scan_all(text, len, step);
            cr_assert_null(found.broken, "%s: %s", text, found.broken);
            cr_assert_eq(found.n, expected.n, "%s", text);
            for (size_t i = 0; i < found.n; i++)
                cr_assert(found.begin[i] == expected.begin[i] && found.end[i] == expected.end[i],
                          "%s: element %zu", text, i);
        }
    }
}

Test(split_json, what_breaks_the_array_is_said_at_its_place_after_the_elements_before)
{
    static const struct {
        const char *text, *why;
        size_t n, at;
    } cases[] = {
        {"{}", "an array was expected", 0, 0},
        {" x", "an array was expected", 0, 1},
        {"", "an array was expected", 0, 0},
        {"[", "before the array is closed", 0, 1},
        {"[1,", "before the array is closed", 1, 3},
        {"[{}", "before the array is closed", 1, 3},
        {"[,]", "an element was expected", 0, 1},
        {"[1,]", "an element was expected", 1, 3},
        {"[1,,2]", "an element was expected", 1, 3},
        {"[}", "an element was expected", 0, 1},
        {"[{} {}]", "a comma or ] was expected", 1, 4},
        {"[{}{}]", "a comma or ] was expected", 1, 3},
        {"[1}", "a comma or ] was expected", 1, 2},
        {"[\"a\"\"b\"]", "a comma or ] was expected", 1, 4},
        {"[]]", "nothing more was expected", 0, 2},
        {"[{}] {}", "nothing more was expected", 1, 5},
        {"[{},[1}]", "} where a [ is open", 1, 6},
        {"[{\"a\":1]", "] where a { is open", 0, 7},
        {"[{\"a\":\"x}]", "within the element", 0, 10},
        {"[[[]", "within the element", 0, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step <= strlen(cases[i].text) + 1; step++) {
            places found = scan_all(cases[i].text, strlen(cases[i].text), step);
            cr_assert_not_null(found.broken, "%s", cases[i].text);
            cr_assert_not_null(strstr(found.broken, cases[i].why), "%s: %s", cases[i].text,
                               found.broken);
            cr_assert_eq(found.n, cases[i].n, "%s", cases[i].text);
            cr_assert_eq(found.at, cases[i].at, "%s: %zu", cases[i].text, found.at);
        }
}

Test(split_json, brackets_deeper_than_any_record_are_counted)
{
    const size_t deep = BM_JSON_DEPTH_MAX + 500;
    char *text = malloc(2 * deep + 3);
    text[0] = '[';
    memset(text + 1, '[', deep);
    memset(text + 1 + deep, ']', deep);
    text[2 * deep + 1] = ']';
    places found = scan_all(text, 2 * deep + 2, 7);
    cr_assert_null(found.broken);
    cr_assert(found.n == 1 && found.begin[0] == 1 && found.end[0] == 2 * deep + 1);
    free(text);
}
