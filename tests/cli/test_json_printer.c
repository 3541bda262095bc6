/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_printer.c -- JSON reports as outlines for people, and messages that are safe for a
 * terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cli/json_printer.h"

/* Borrows `text`, which is freed at the next call. */
static char *borrowed(char *text)
{
    static char *before;
    free(before);
    return before = text;
}

/* The text that `print` writes to `out` (or `err`), valid until the next call. */
static char *json_of(const char *json)
{
    char *text = NULL;
    size_t len;
    cli_console console = {.out = open_memstream(&text, &len)};
    cli_print_json(&console, json);
    fclose(console.out);
    return borrowed(text);
}

Test(json_printer, indents_objects_and_joins_lists)
{
    cr_assert_str_eq(json_of("{\n \"kind\": \"x\",\"n\":12, \"empty\":{}, \"none\":[],\n"
                             "\"counts\":{\"a\":1,\"b\":null},\"words\":[\"p\",\"q\"],"
                             "\"in\":[{\"file\":\"a\",\"bytes\":1},{\"file\":\"b\"}]}\n"),
                     "kind: x\nn: 12\nempty:\nnone: \ncounts:\n  a: 1\n  b: null\nwords: p, q\n"
                     "in:\n  - file: a, bytes: 1\n  - file: b\n");
}

Test(json_printer, keeps_escapes_but_those_of_quotes_and_backslashes)
{
    cr_assert_str_eq(json_of("{\"a\\\"b\":\"\\\\x\\u001b\\n,]}\"}"), "a\"b: \\x\\u001b\\n,]}\n");
}

Test(json_printer, cuts_long_lists_and_says_so)
{
    char *text =
        json_of("{\"n\":[1,2,3,4,5,6,7,8,9,10,11,12],\"o\":[{},{},{},{},{},{},{},{},{},{},{}]}");
    cr_assert_not_null(strstr(text, "10, and 2 more"));
    cr_assert_not_null(strstr(text, "... and 1 more"));
    cr_assert_null(strstr(text, "11"));
}

Test(json_printer, ends_early_on_what_is_not_json)
{
    const char *const broken[] = {"",
                                  "{",
                                  "{\"a",
                                  "{\"a\"",
                                  "{\"a\":",
                                  "{\"a\":[",
                                  "{\"a\":[{\"b\":1",
                                  "{\"a\":1",
                                  "{\"a\":1]",
                                  "{a:1}",
                                  "[1,",
                                  "\"",
                                  "{\"a\":}",
                                  "[[[[[[[[[[[[[[[[[[[[[[[[[["};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        (void)json_of(broken[i]); /* must return without reading past the text: sanitizers watch */
}

static char *error_line(bool json, const char *file, uint64_t line, const char *message)
{
    char *text = NULL;
    size_t len;
    cli_console console = {.err = open_memstream(&text, &len), .json = json};
    bm_error err = {.status = BM_ERR_INPUT, .line = line};
    snprintf(err.file, sizeof err.file, "%s", file);
    snprintf(err.message, sizeof err.message, "%s", message);
    cli_report_error(&console, &err, 3);
    fclose(console.err);
    return borrowed(text);
}

Test(console, an_error_is_one_line_without_control_characters)
{
    cr_assert_str_eq(error_line(false, "a\nb.jsonl", 7, "bad \033[31m and \302\233 and \303\244"),
                     "bandmill: a\\x0ab.jsonl:7: bad \\x1b[31m and \\xc2\\x9b and \303\244\n");
    cr_assert_str_eq(error_line(false, "", 0, ""), "bandmill: bad input\n");
}

Test(console, an_error_in_json_is_valid_whatever_the_bytes)
{
    cr_assert_str_eq(error_line(true, "a\"\\\n\377\355\240\200.x", 7, "m\001"),
                     "{\"error\":{\"exit\":3,\"status\":\"input\",\"file\":"
                     "\"a\\\"\\\\\\u000a\\ufffd\\ufffd\\ufffd\\ufffd.x\","
                     "\"line\":7,\"message\":\"m\\u0001\"}}\n");
    cr_assert_str_eq(error_line(true, "", 0, "m"),
                     "{\"error\":{\"exit\":3,\"status\":\"input\",\"file\":null,\"line\":null,"
                     "\"message\":\"m\"}}\n");
}
