/* SPDX-License-Identifier: Apache-2.0 */
/* The exact parser: verdicts by RFC 8259, positions of errors, repair, paths; and a comparison with
 * simdjson on random and damaged lines. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_exact.h"
#include "tests/unit/json/simdjson_oracle.h"
#include "tests/world/world_random.h"

typedef struct setup {
    bm_str parts[8];
    bm_json_path paths[4];
    size_t n;
    bm_json_exact *exact;
    bm_json_field fields[4];
    const char *broken;
    char *copy; /* copy of the text; fields may point into it */
} setup;

static void finish(setup *s)
{
    bm_json_exact_close(s->exact);
    free(s->copy);
    s->exact = NULL;
    s->copy = NULL;
}

#define SETUP __attribute__((cleanup(finish))) setup

/* Paths are given as "a" or "a.b". */
static void start(setup *s, const char *const *paths, size_t n)
{
    size_t used = 0;
    finish(s);
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < n; i++) {
        s->paths[i].parts = s->parts + used;
        for (const char *p = paths[i]; p != NULL; s->paths[i].n_parts++) {
            const char *dot = strchr(p, '.');
            s->parts[used++] = (bm_str){p, dot ? (size_t)(dot - p) : strlen(p)};
            p = dot ? dot + 1 : NULL;
        }
    }
    s->n = n;
    cr_assert_eq(bm_json_exact_open(s->paths, n, &s->exact, NULL), BM_OK);
}

static bool run_bytes(setup *s, const char *text, size_t len)
{
    free(s->copy);
    char *copy = s->copy = malloc(len); /* exact size: a sanitizer sees a read after it */
    if (len > 0)
        memcpy(copy, text, len);
    cr_assert_eq(bm_json_exact_run(s->exact, (bm_str){copy, len}, s->fields, &s->broken, NULL),
                 BM_OK);
    return s->broken == NULL;
}

static bool accepts(const char *text)
{
    SETUP s = {0};
    start(&s, (const char *const[]){"text"}, 1);
    bool ok = run_bytes(&s, text, strlen(text));
    return ok;
}

Test(json_exact, accepts_what_rfc_8259_allows)
{
    const char *good[] = {
        "{}",
        " \t\r\n{ } ",
        "{\"a\":1}",
        "{\"\":0}",
        "{\"a\":-0}",
        "{\"a\":0.0e-0}",
        "{\"a\":1E400}",
        "{\"a\":-123456789012345678901234567890.5e+7}",
        "{\"a\":[]}",
        "{\"a\":[1,[2,{\"b\":[{}]}],null,true,false]}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83d\\uDE00\"}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":\"\x7f\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"\xff\":1}",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert(accepts(good[i]), "%s", good[i]);
}

Test(json_exact, refuses_what_rfc_8259_forbids_anywhere_in_the_line)
{
    const char *bad[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "tru",
        "{\"a\":tru}",
        "{\"a\":nul",
        "{\"a\":True}",
        "{\"a\":[1,2}}",
        "{\"a\":[1,2}",
        "{\"a\":{]}",
        "{}{}",
        "{\"a\":1}{\"a\":2}",
        "{} x",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":01}",
        "{\"a\":-01}",
        "{\"a\":-}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":+1}",
        "{\"a\":0x1}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\\x41\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\u123\"}",
        "{\"a\":\"\\\"}",
        "{\"a\":\"",
        "{\"a\":\"\\",
        "{\"a\":1}//c",
        "/**/{}",
        "\xEF\xBB\xBF{}",
        "{\"a\":1}\xEF\xBB\xBF",
        "{\"a\":1\f}",
        "{\"a\":\v1}",
        "{\"a\":1\xC2\xA0}",
        "{\"a\":1 \xff}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert(!accepts(bad[i]), "%s", bad[i]);
}

Test(json_exact, refuses_a_nul_outside_and_a_raw_nul_inside_strings)
{
    SETUP s = {0};
    start(&s, (const char *const[]){"a"}, 1);
    cr_assert(!run_bytes(&s, "{}\0", 3));
    cr_assert(!run_bytes(&s, "{\"a\":\"\0\"}", 9));
    cr_assert(!run_bytes(&s, "{\"a\":\"\\\0\"}", 10));
}

Test(json_exact, values_that_are_no_object_are_refused_by_name)
{
    const char *others[] = {"[]", "1", "\"a\"", "null", "true", "[{\"text\":\"a\"}]"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        SETUP s = {0};
        start(&s, (const char *const[]){"text"}, 1);
        cr_assert(!run_bytes(&s, others[i], strlen(others[i])));
        cr_assert(strstr(s.broken, "not a JSON object"), "%s", s.broken);
    }
}

Test(json_exact, reasons_name_the_byte_from_1)
{
    const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"a\" 1}", "broken JSON at byte 6: 1 (a colon"},
        {"{\"a\":tru}", "broken JSON at byte 6: tru (a value"},
        {"{\"a\":[1,2}", "broken JSON at byte 10: } (a comma or ]"},
        {"{}{}", "broken JSON at byte 3: { (nothing more"},
        {"{\"a\":\"x\ty\"}", "broken JSON at byte 8: 0x09 (a control character"},
        {"{\"a\":\"\\q\"}", "broken JSON at byte 7: \\ (an escape"},
        {"{\"a\":1", "broken JSON at byte 7: it ends (brackets are open"},
        {"{\"a\":\"b", "broken JSON at byte 8: it ends (the string is never closed"},
        {"{\"a\":007}", "broken JSON at byte 6: 0 (a number must not begin with 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SETUP s = {0};
        start(&s, (const char *const[]){"a"}, 1);
        cr_assert(!run_bytes(&s, cases[i].text, strlen(cases[i].text)));
        cr_assert_eq(strncmp(s.broken, cases[i].reason, strlen(cases[i].reason)), 0, "%s",
                     s.broken);
    }
}

Test(json_exact, nests_1024_levels_and_says_so_beyond)
{
    char text[8192];
    for (size_t depth = 1024; depth <= 1025; depth++) {
        size_t n = 0;
        n += (size_t)sprintf(text, "{\"a\":");
        for (size_t i = 1; i < depth; i++)
            text[n++] = '[';
        for (size_t i = 1; i < depth; i++)
            text[n++] = ']';
        text[n++] = '}';
        SETUP s = {0};
        start(&s, (const char *const[]){"a"}, 1);
        cr_assert_eq(run_bytes(&s, text, n), depth == 1024);
        if (depth > 1024)
            cr_assert(strstr(s.broken, "nested deeper than 1024"));
    }
}

/* The expected string: its bytes, the number of invalid bytes in the source, and the length of its
 * source. */
typedef struct wanted_string {
    const char *bytes;
    size_t len;
    uint64_t n_invalid, len_bytes;
} wanted_string;

static void expect_string(const char *text, const char *path, wanted_string wanted)
{
    SETUP s = {0};
    start(&s, &path, 1);
    cr_assert(run_bytes(&s, text, strlen(text)), "%s: %s", text, s.broken);
    cr_assert_eq(s.fields[0].kind, BM_JSON_STRING, "%s", text);
    cr_assert_eq(s.fields[0].value.len, wanted.len, "%s", text);
    cr_assert_arr_eq(s.fields[0].value.data, wanted.bytes, wanted.len);
    cr_assert_eq(s.fields[0].n_invalid, wanted.n_invalid, "%s", text);
    cr_assert_eq(s.fields[0].len_bytes, wanted.len_bytes, "%s", text);
}

#define FFFD "\xEF\xBF\xBD"

Test(json_exact, escapes_become_characters)
{
    expect_string("{\"t\":\"a\\n\\u00e9\\u20AC\\ud83d\\ude00\\u0000z\"}", "t",
                  (wanted_string){"a\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0z", 13, 0, 13});
    expect_string("{\"t\":\"\\\"\\\\\\/\\b\\f\\r\\t\"}", "t",
                  (wanted_string){"\"\\/\b\f\r\t", 7, 0, 7});
}

Test(json_exact, each_lone_surrogate_and_maximal_invalid_subpart_becomes_one_replacement)
{
    expect_string("{\"t\":\"\\ud800\"}", "t", (wanted_string){FFFD, 3, 1, 3});
    expect_string("{\"t\":\"\\udc00x\"}", "t", (wanted_string){FFFD "x", 4, 1, 4});
    expect_string("{\"t\":\"\\ud800\\ud83d\\ude00\"}", "t",
                  (wanted_string){FFFD "\xF0\x9F\x98\x80", 7, 1, 7});
    expect_string("{\"t\":\"\\ud800\\n\\udc00\"}", "t", (wanted_string){FFFD "\n" FFFD, 7, 2, 7});
    /* Unicode 15, table 3-8: F1 80 80 | E1 80 | C2, then 62 */
    expect_string("{\"t\":\"a\xF1\x80\x80\xE1\x80\xC2"
                  "b\"}",
                  "t", (wanted_string){"a" FFFD FFFD FFFD "b", 11, 3, 8});
    expect_string("{\"t\":\"\xC3\\u00e9\"}", "t", (wanted_string){FFFD "\xC3\xA9", 5, 1, 3});
}

Test(json_exact, last_of_equal_keys_counts_and_keys_compare_unescaped)
{
    expect_string("{\"t\":\"a\",\"t\":\"b\"}", "t", (wanted_string){"b", 1, 0, 1});
    expect_string("{\"t\":\"a\",\"\\u0074\":\"b\"}", "t", (wanted_string){"b", 1, 0, 1});
    expect_string("{\"te\\u0078t\":\"b\"}", "text", (wanted_string){"b", 1, 0, 1});
    expect_string("{\"a\":{\"b\":\"1\"},\"a\":{\"c\":0,\"b\":\"2\"}}", "a.b",
                  (wanted_string){"2", 1, 0, 1});
}

static bm_json_kind kind_of(const char *text, const char *path)
{
    SETUP s = {0};
    start(&s, &path, 1);
    cr_assert(run_bytes(&s, text, strlen(text)), "%s: %s", text, s.broken);
    return s.fields[0].kind;
}

Test(json_exact, paths_reach_into_objects_only)
{
    cr_assert_eq(kind_of("{\"a\":{\"b\":{\"c\":1}}}", "a.b.c"), BM_JSON_NUMBER);
    cr_assert_eq(kind_of("{\"a\":{\"b\":{\"c\":1}}}", "a.b"), BM_JSON_OBJECT);
    cr_assert_eq(kind_of("{\"a\":[{\"b\":1}]}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"a.b\":1}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"x\":{\"b\":1},\"a\":{}}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"a\":{\"b\":1},\"x\":{\"b\":\"\"}}", "a.b"), BM_JSON_NUMBER);
    cr_assert_eq(kind_of("{\"a\":{\"x\":{\"b\":1}}}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"b\":{\"a\":1}}", "a"), BM_JSON_MISSING);
    /* the last of equal keys counts, and here it has no such member */
    cr_assert_eq(kind_of("{\"a\":{\"b\":1},\"a\":5}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"a\":{\"b\":1},\"a\":{}}", "a.b"), BM_JSON_MISSING);
    cr_assert_eq(kind_of("{\"a\":1,\"a\":null}", "a"), BM_JSON_NULL);
    cr_assert_eq(kind_of("{\"a\":{\"a\":true}}", "a.a"), BM_JSON_BOOL);
    cr_assert_eq(kind_of("{\"\":{\"\":[]}}", "."), BM_JSON_ARRAY);
}

Test(json_exact, a_number_keeps_its_source_text)
{
    const char *numbers[] = {"-0", "1.0", "1E2", "0", "123456789012345678901234567890", "-1e-7"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"id\": %s }", numbers[i]);
        SETUP s = {0};
        start(&s, (const char *const[]){"id"}, 1);
        cr_assert(run_bytes(&s, text, strlen(text)));
        cr_assert_eq(s.fields[0].value.len, strlen(numbers[i]));
        cr_assert_arr_eq(s.fields[0].value.data, numbers[i], strlen(numbers[i]));
    }
}

Test(json_exact, several_paths_may_name_the_same_value)
{
    SETUP s = {0};
    start(&s, (const char *const[]){"t", "t", "u"}, 3);
    const char *text = "{\"u\":\"x\\ty\",\"t\":\"a\\nb\"}";
    cr_assert(run_bytes(&s, text, strlen(text)));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(s.fields[i].value.len, 3);
        cr_assert_arr_eq(s.fields[i].value.data, "a\nb", 3);
    }
    cr_assert_arr_eq(s.fields[2].value.data, "x\ty", 3);
}

/* --- compared with simdjson --- */

static void random_value(char *out, size_t *n, int depth);

static void random_string(char *out, size_t *n)
{
    static const char *bits[] = {"a",
                                 "text",
                                 "id",
                                 "\\n",
                                 "\\\"",
                                 "\\u0041",
                                 "\\ud83d\\ude00",
                                 "\\udc00",
                                 "\\ud800",
                                 "\xC3\xA9",
                                 "\xED\x95\x9C",
                                 "\xED\xA0\x80",
                                 "\xFF",
                                 " ",
                                 "longer than eight bytes",
                                 "\\/",
                                 "\xF0\x9F\x98\x80"};
    out[(*n)++] = '"';
    for (uint32_t k = world_pick(4); k > 0; k--) {
        const char *bit =
            bits[world_pick(8) ? world_pick(6) : world_pick(sizeof bits / sizeof *bits)];
        memcpy(out + *n, bit, strlen(bit));
        *n += strlen(bit);
    }
    out[(*n)++] = '"';
}

static void random_object(char *out, size_t *n, int depth)
{
    static const char *keys[] = {"\"text\"", "\"id\"", "\"a\"", "\"te\\u0078t\"", "\"\"", "\"b\""};
    out[(*n)++] = '{';
    for (uint32_t k = world_pick(4), i = 0; i < k; i++) {
        if (i > 0)
            out[(*n)++] = ',';
        const char *key = keys[world_pick(6)];
        *n += (size_t)sprintf(out + *n, "%s%s", key, world_pick(4) ? ":" : " : ");
        random_value(out, n, depth + 1);
    }
    out[(*n)++] = '}';
}

static void random_value(char *out, size_t *n, int depth)
{
    static const char *scalars[] = {"0",
                                    "-0",
                                    "17",
                                    "-5",
                                    "1.5",
                                    "1e400",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "-9223372036854775808",
                                    "true",
                                    "false",
                                    "null",
                                    "01",
                                    "1e-400",
                                    "0.0"};
    uint32_t what = world_pick(depth > 5 ? 6 : 10);
    if (what < 3) {
        random_string(out, n);
    } else if (what < 6) {
        *n +=
            (size_t)sprintf(out + *n, "%s", scalars[world_pick(sizeof scalars / sizeof *scalars)]);
    } else if (what < 8) {
        random_object(out, n, depth);
    } else {
        out[(*n)++] = '[';
        for (uint32_t k = world_pick(3), i = 0; i < k; i++) {
            if (i > 0)
                out[(*n)++] = ',';
            random_value(out, n, depth + 1);
        }
        out[(*n)++] = ']';
    }
}

Test(json_exact, agrees_with_simdjson_wherever_that_accepts_a_line)
{
    static char text[1 << 20];
    const char *paths[] = {"text", "a.b", "id"};
    SETUP s = {0};
    start(&s, paths, 3);
    json_oracle *oracle = json_oracle_open();
    cr_assert(oracle);
    size_t n_taken = 0, n_refused_good = 0, n_broken = 0;
    for (int round = 0; round < 200000; round++) {
        size_t n = 0;
        random_object(text, &n, 0);
        static const char damage[] = "\"\\{}[]:,0e-.t \x01\xFF\x80"
                                     "1";
        for (uint32_t k = world_pick(3) ? 0 : 1 + world_pick(2); k > 0 && n > 1; k--)
            if (world_pick(2))
                text[world_pick((uint32_t)n)] = damage[world_pick(sizeof damage - 1)];
            else
                n -= world_pick((uint32_t)n) / (1 + world_pick(8));
        bm_str line = {text, n};
        bm_json_field fast[3];
        bool taken = json_oracle_line(oracle, line, s.paths, 3, 2, fast);
        cr_assert_eq(bm_json_exact_run(s.exact, line, s.fields, &s.broken, NULL), BM_OK);
        n_taken += taken;
        n_refused_good += !taken && s.broken == NULL;
        n_broken += s.broken != NULL;
        if (!taken)
            continue;
        cr_assert(s.broken == NULL, "%.*s: %s", (int)n, text, s.broken);
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(fast[i].kind, s.fields[i].kind, "%.*s", (int)n, text);
            if (fast[i].kind != BM_JSON_STRING && !(fast[i].kind == BM_JSON_NUMBER && i == 2))
                continue;
            cr_assert_eq(fast[i].value.len, s.fields[i].value.len, "%.*s", (int)n, text);
            cr_assert_arr_eq(fast[i].value.data, s.fields[i].value.data, fast[i].value.len);
            cr_assert_eq(fast[i].n_invalid, s.fields[i].n_invalid);
        }
    }
    /* the generator reaches all three outcomes */
    cr_assert_gt(n_taken, 50000);
    cr_assert_gt(n_refused_good, 5000);
    cr_assert_gt(n_broken, 10000);
    json_oracle_close(oracle);
}

/* Strings of a short text are unescaped while they are read, those of a long text afterwards. */
Test(json_exact, a_long_text_gives_what_a_short_one_gives)
{
    enum { LONG = 300 << 10 };
    static const char *const strings[] = {"plain",
                                          "a\\nb\\u00e9\\ud83d\\ude00",
                                          "\xC3\xA9 \xFF \\ud800 \\udc00 x",
                                          "",
                                          "thirty-two bytes and a few more, then \\\" and \\\\",
                                          "\\ud83d\\u0041",
                                          "1234567\\n",
                                          "0123456789abcdef0123456789abcde\\t\xE2\x82"};
    char *wide = malloc(LONG + 1);
    SETUP s = {0}, w = {0};
    start(&s, (const char *const[]){"t"}, 1);
    start(&w, (const char *const[]){"t"}, 1);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        char text[200];
        const size_t n = (size_t)sprintf(text, "{\"x\":[\"y\\n\"],\"t\":\"%s\"}", strings[i]);
        memset(wide, ' ', LONG);
        memcpy(wide, text, n);
        cr_assert(run_bytes(&s, text, n));
        cr_assert(run_bytes(&w, wide, LONG));
        const bm_json_field *a = &s.fields[0], *b = &w.fields[0];
        cr_assert_eq(a->value.len, b->value.len, "%s", text);
        cr_assert(a->value.len == 0 || memcmp(a->value.data, b->value.data, a->value.len) == 0);
        cr_assert_eq(a->n_invalid, b->n_invalid, "%s", text);
        cr_assert_eq(a->len_bytes, b->len_bytes, "%s", text);
    }
    free(wide);
}
