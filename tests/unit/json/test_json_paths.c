/* SPDX-License-Identifier: Apache-2.0 */
/* Paths through arrays: the joined texts, by the rule of docs/inputs.md, and compared with simdjson
 * on random documents. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "json/json_exact.h"
#include "tests/unit/json/simdjson_oracle.h"
#include "tests/world/world_random.h"
#include "tests/world/world_text.h"

static const bm_str m_content[] = {{"messages", 8}, {NULL, 0}, {"content", 7}};
static const bm_str tags[] = {{"tags", 4}, {NULL, 0}};
static const bm_str deep[] = {{"a", 1}, {NULL, 0}, {"b", 1}, {NULL, 0}, {"a", 1}};
static const bm_str square[] = {{"a", 1}, {NULL, 0}, {NULL, 0}};
static const bm_str inner[] = {{"b", 1}, {"a", 1}, {NULL, 0}};
static const bm_str a_b[] = {{"a", 1}, {NULL, 0}, {"b", 1}};
static const bm_str plain[] = {{"a", 1}, {"b", 1}};

#define PATH(parts)                                                                                \
    {                                                                                              \
        parts, sizeof parts / sizeof *parts                                                        \
    }

typedef struct expected {
    const char *text, *path;
    bm_json_kind kind;
    const char *value;
    uint64_t place;
} expected;

static const expected cases[] = {
    {"{\"messages\":[{\"content\":\"a\"},{\"x\":1,\"content\":\"b\"}]}", "messages[].content",
     BM_JSON_STRING, "a\nb", 0},
    {"{\"tags\":[\"one\"]}", "tags[]", BM_JSON_STRING, "one", 0},
    {"{\"tags\":[]}", "tags[]", BM_JSON_STRING, "", 0},
    {"{\"tags\":[\"\",\"x\",\"\"]}", "tags[]", BM_JSON_STRING, "\nx\n", 0},
    {"{\"tags\":[null,\"x\",null]}", "tags[]", BM_JSON_STRING, "\nx\n", 0},
    {"{\"tags\":[\"a\\n\\u00e9\",\"\\u0041\"]}", "tags[]", BM_JSON_STRING, "a\n\xC3\xA9\nA", 0},
    {"{\"a\":[[\"1\",\"2\"],[],[\"3\"]]}", "a[][]", BM_JSON_STRING, "1\n2\n3", 0},
    {"{\"a\":[{\"b\":[{\"a\":\"1\"},{\"a\":\"2\"}]},{\"b\":[]},{\"b\":[{\"a\":\"3\"}]}]}",
     "a[].b[].a", BM_JSON_STRING, "1\n2\n3", 0},
    /* the last of equal keys, at each level, and keys unescaped */
    {"{\"tags\":[\"1\",\"2\"],\"tags\":[\"3\"]}", "tags[]", BM_JSON_STRING, "3", 0},
    {"{\"tags\":[1],\"t\\u0061gs\":[\"3\"]}", "tags[]", BM_JSON_STRING, "3", 0},
    /* elements may be numbers, taken as they are written; members of objects may not */
    {"{\"tags\":[1,-20,18446744073709551615]}", "tags[]", BM_JSON_STRING,
     "1\n-20\n18446744073709551615", 0},
    {"{\"tags\":[0,-0,2.50,1E2,\"x\",null,7]}", "tags[]", BM_JSON_STRING,
     "0\n-0\n2.50\n1E2\nx\n\n7", 0},
    {"{\"a\":[[1,\"2\"],[],[3]]}", "a[][]", BM_JSON_STRING, "1\n2\n3", 0},
    {"{\"tags\":[5],\"tags\":[6,7]}", "tags[]", BM_JSON_STRING, "6\n7", 0},
    {"{\"tags\":[1,true]}", "tags[]", BM_JSON_BOOL, "", 2},
    {"{\"messages\":[{\"content\":1}]}", "messages[].content", BM_JSON_NUMBER, "", 1},
    {"{\"tags\":[\"1\"],\"tags\":5}", "tags[]", BM_JSON_MISSING, "", 0},
    {"{\"messages\":[{\"content\":\"1\"},{\"content\":5,\"content\":\"2\"},{\"content\":\"3\"}]}",
     "messages[].content", BM_JSON_STRING, "1\n2\n3", 0},
    {"{\"messages\":[{\"content\":\"1\"},{\"content\":\"2\",\"content\":5}]}", "messages[].content",
     BM_JSON_NUMBER, "", 2},
    {"{\"a\":[{\"b\":[{\"a\":\"1\"}],\"b\":[{\"a\":\"2\"},{\"a\":\"x\",\"a\":\"3\"}]}]}",
     "a[].b[].a", BM_JSON_STRING, "2\n3", 0},
    /* missing values and values that are no strings, with the number of the element */
    {"{}", "tags[]", BM_JSON_MISSING, "", 0},
    {"{\"tags\":null}", "tags[]", BM_JSON_MISSING, "", 0},
    {"{\"tags\":\"x\"}", "tags[]", BM_JSON_MISSING, "", 0},
    {"{\"tags\":{\"a\":\"x\"}}", "tags[]", BM_JSON_MISSING, "", 0},
    {"{\"messages\":[{\"content\":\"a\"},{}]}", "messages[].content", BM_JSON_MISSING, "", 2},
    {"{\"messages\":[{\"content\":\"a\"},null,{}]}", "messages[].content", BM_JSON_MISSING, "", 2},
    {"{\"messages\":[\"a\"]}", "messages[].content", BM_JSON_MISSING, "", 1},
    {"{\"messages\":[{\"content\":\"a\"},{\"content\":[\"b\"]}]}", "messages[].content",
     BM_JSON_ARRAY, "", 2},
    {"{\"messages\":[{\"content\":true},{\"content\":{}}]}", "messages[].content", BM_JSON_BOOL, "",
     1},
    {"{\"a\":[[\"1\"],\"2\"]}", "a[][]", BM_JSON_MISSING, "", 2},
    {"{\"a\":[{\"b\":[{\"a\":\"1\"},{}]}]}", "a[].b[].a", BM_JSON_MISSING, "", 2},
    {"{\"a\":[{}]}", "a[].b[].a", BM_JSON_MISSING, "", 1},
    /* similar paths do not match */
    {"{\"x\":{\"tags\":[\"no\"]},\"tags\":[\"yes\"],\"y\":[[\"no\"]]}", "tags[]", BM_JSON_STRING,
     "yes", 0},
    {"{\"messages\":[{\"x\":{\"content\":\"no\"},\"content\":\"yes\",\"y\":[{\"content\":\"no\"}]}]"
     "}",
     "messages[].content", BM_JSON_STRING, "yes", 0},
};

static void assert_field(const expected *c, const bm_json_field *f)
{
    cr_assert_eq(f->kind, c->kind, "%s: kind %d", c->text, f->kind);
    cr_assert_eq(f->place, c->place, "%s: place %zu", c->text, (size_t)f->place);
    if (c->kind != BM_JSON_STRING)
        return;
    cr_assert_eq(f->value.len, strlen(c->value), "%s: %.*s", c->text, (int)f->value.len,
                 f->value.data);
    cr_assert(f->value.len == 0 || memcmp(f->value.data, c->value, f->value.len) == 0, "%s",
              c->text);
    cr_assert_eq(f->len_bytes, f->value.len, "%s", c->text);
}

Test(json_paths, through_arrays_all_values_are_joined_and_the_first_that_is_no_text_is_told)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = cases[i].path, *broken;
        bm_json_exact *line;
        bm_json_field field;
        cr_assert_eq(bm_json_exact_open_text(&path, 1, &line, NULL), BM_OK);
        const bm_str text = {cases[i].text, strlen(cases[i].text)};
        cr_assert_eq(bm_json_exact_run(line, text, &field, &broken, NULL), BM_OK);
        cr_assert_null(broken);
        assert_field(&cases[i], &field);
        bm_json_exact_close(line);
    }
}

Test(json_paths, what_is_repaired_is_counted_over_all_values)
{
    const char *path = "tags[]", *broken;
    bm_json_exact *line;
    bm_json_field field;
    char padded[300] = "{\"tags\":[\"\xFF\",\"a\\ud800\",\"\xC3\xA9\"]}";
    cr_assert_eq(bm_json_exact_open_text(&path, 1, &line, NULL), BM_OK);
    cr_assert_eq(bm_json_exact_run(line, world_str(padded), &field, &broken, NULL), BM_OK);
    cr_assert_eq(field.n_invalid, 2);
    cr_assert_eq(field.len_bytes, 1 + 1 + 4 + 1 + 2); /* as read, with the newlines between */
    cr_assert_eq(field.value.len, 11);
    cr_assert_arr_eq(field.value.data, "\xEF\xBF\xBD\na\xEF\xBF\xBD\n\xC3\xA9", 11);
    bm_json_exact_close(line);
}

/* --- compared with simdjson on random documents --- */

static void random_value(char *out, int depth)
{
    static const char *const scalars[] = {"\"x\"", "\"y\\n\"", "\"\"", "null", "7", "true"};
    static const char *const keys[] = {"a", "b", "\\u0061", "c"};
    uint32_t what = world_pick(depth > 6 ? 4 : 12);
    if (depth > 0 && what < 4) {
        strcat(out, scalars[world_pick(12) < 9 ? world_pick(3) : world_pick(6)]);
        return;
    }
    const bool object = depth == 0 || what < 8;
    strcat(out, object ? "{" : "[");
    for (uint32_t i = 0, n = world_pick(4); i < n; i++) {
        strcat(out, i > 0 ? "," : "");
        if (object)
            sprintf(out + strlen(out), "\"%s\":", keys[world_pick(world_pick(3) ? 2 : 4)]);
        random_value(out, depth + 1);
    }
    strcat(out, object ? "}" : "]");
}

Test(json_paths, agree_with_simdjson)
{
    static const bm_json_path paths[] = {PATH(deep),  PATH(square),    PATH(inner), PATH(a_b),
                                         PATH(plain), PATH(m_content), PATH(tags)};
    enum { N = sizeof paths / sizeof *paths };
    static char text[1 << 16];
    bm_json_exact *exact;
    bm_json_field slow[N], fast[N];
    const char *broken;
    size_t n_joined = 0, n_wrong = 0;
    json_oracle *oracle = json_oracle_open();
    cr_assert(oracle != NULL && bm_json_exact_open(paths, N, &exact, NULL) == BM_OK);
    for (int round = 0; round < 100000; round++) {
        text[0] = '\0';
        random_value(text, 0);
        const bm_str line = {text, strlen(text)};
        cr_assert(json_oracle_line(oracle, line, paths, N, SIZE_MAX, fast));
        cr_assert_eq(bm_json_exact_run(exact, line, slow, &broken, NULL), BM_OK);
        cr_assert_null(broken);
        for (int i = 0; i < N; i++) {
            cr_assert_eq(fast[i].kind, slow[i].kind, "%s: path %d: %d, %d", text, i, fast[i].kind,
                         slow[i].kind);
            cr_assert_eq(fast[i].place, slow[i].place, "%s: path %d", text, i);
            n_wrong += fast[i].place > 1;
            if (fast[i].kind != BM_JSON_STRING)
                continue;
            cr_assert_eq(fast[i].value.len, slow[i].value.len, "%s: path %d", text, i);
            cr_assert_eq(fast[i].len_bytes, slow[i].len_bytes, "%s: path %d", text, i);
            cr_assert(memcmp(fast[i].value.data, slow[i].value.data, fast[i].value.len) == 0,
                      "%s: path %d", text, i);
            n_joined += memchr(fast[i].value.data, '\n', fast[i].value.len) != NULL;
        }
    }
    cr_assert_gt(n_joined, 1000); /* the generator reaches both outcomes */
    cr_assert_gt(n_wrong, 1000);
    bm_json_exact_close(exact);
    json_oracle_close(oracle);
}
