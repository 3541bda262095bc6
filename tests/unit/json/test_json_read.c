/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON documents written by Bandmill: members by dotted path, and lines. */
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "tests/unit/input/read_records.h"
#include "tests/world/world_text.h"

static const char path[] = "a/report.json";

static bm_json_doc doc_of(const char *text)
{
    bm_json_doc doc;
    cr_assert_eq(bm_json_doc_check(path, world_str(text), NULL), BM_OK);
    cr_assert_eq(bm_json_doc_open(path, world_str(text), &doc, NULL), BM_OK);
    return doc;
}

static void expect_value(const bm_json_doc *doc, const char *field, const char *value)
{
    bm_str got = {0};
    cr_assert_eq(bm_json_doc_find(doc, field, &got), value != NULL, "%s", field);
    if (value != NULL)
        cr_assert(bm_json_scan_is(got, value), "%s: %.*s", field, (int)got.len, got.data);
}

typedef struct wanted {
    uint64_t seed, small;
    double t, i;
    const char *text;
    bm_str word, list;
    bool there, missing;
} wanted;

static bm_status own(void *context, bm_str quoted, const char **out, bm_error *err)
{
    (void)err;
    *out = quoted.len > 4 ? context : NULL;
    return *out != NULL ? BM_OK : BM_ERR_FORMAT;
}

static bm_status name_it(void *context, const bm_json_row *row, bm_str value, const char *expected,
                         bm_error *err)
{
    (void)context;
    return bm_fail(err, BM_ERR_FORMAT, "%s '%.*s' (%s)", row->name, (int)value.len, value.data,
                   expected);
}

static char owned[] = "owned";
static const char numbers[] = "{\"a\":{\"seed\":18446744073709551615,\"s\":\"xyz\"},\n \"t\":0.8,"
                              "\"i\":3, \"neg\":-1, \"huge\":1e999, \"n\":null,\"l\":[1]}\n";

Test(json_read, a_table_of_members_is_read_from_a_document_by_dotted_path)
{
    bm_json_doc doc = doc_of(numbers);
    const bm_json_row rows[] = {
        {"a.seed", BM_MEMBER_UINT, .offset = offsetof(wanted, seed)},
        {"a.s", BM_MEMBER_TEXT, .offset = offsetof(wanted, text)},
        {"a.s", BM_MEMBER_STRING, .offset = offsetof(wanted, word)},
        {"t", BM_MEMBER_DOUBLE, .offset = offsetof(wanted, t)},
        {"i", BM_MEMBER_DOUBLE, .offset = offsetof(wanted, i)},
        {"l", BM_MEMBER_ARRAY, .offset = offsetof(wanted, list)},
        {"i", BM_MEMBER_UINT, .offset = offsetof(wanted, small), .least = 3, .most = 3},
        {"n", BM_MEMBER_UINT, .offset = offsetof(wanted, small), .presence = BM_MEMBER_NULLABLE},
        {"a.none", BM_MEMBER_UINT, .offset = offsetof(wanted, small),
         .presence = BM_MEMBER_OPTIONAL},
        {"a", BM_MEMBER_IS, .offset = offsetof(wanted, there)},
        {"a.n", BM_MEMBER_IS, .offset = offsetof(wanted, missing)}};
    wanted w = {.missing = true};
    const bm_json_reader from = {.doc = &doc, .context = owned, .own = own};
    cr_assert_eq(bm_json_read(&from, rows, sizeof rows / sizeof rows[0], &w, NULL), BM_OK);
    cr_expect_eq(w.seed, UINT64_MAX);
    cr_expect(w.t == 0.8 && w.i == 3.0 && w.small == 3);
    cr_expect(w.text == owned && bm_json_scan_is(w.word, "\"xyz\"") &&
              bm_json_scan_is(w.list, "[1]"));
    cr_expect(w.there && !w.missing);
    bm_json_doc_close(&doc);
}

Test(json_read, a_member_that_is_missing_or_wrong_is_named_with_what_was_expected)
{
    bm_json_doc doc = doc_of(numbers);
    static const struct {
        bm_json_row row;
        const char *message;
    } cases[] = {
        {{"neg", BM_MEMBER_UINT, .offset = 0}, "neg '-1' (expected a whole number)"},
        {{"t", BM_MEMBER_UINT, .offset = 0}, "t '0.8' (expected a whole number)"},
        {{"a.s", BM_MEMBER_UINT, .offset = 0, .expected = "e"},
         "a.s '\"xyz\"' (expected a whole number)"},
        {{"i", BM_MEMBER_UINT, .offset = 0, .least = 4, .expected = "above 3"}, "i '3' (above 3)"},
        {{"i", BM_MEMBER_UINT, .offset = 0, .most = 2}, "i '3' (expected a whole number)"},
        {{"huge", BM_MEMBER_DOUBLE, .offset = 0}, "huge '1e999' (expected a number)"},
        {{"a.s", BM_MEMBER_DOUBLE, .offset = 0}, "a.s '\"xyz\"' (expected a number)"},
        {{"i", BM_MEMBER_STRING, .offset = 0}, "i '3' (expected a string)"},
        {{"i", BM_MEMBER_TEXT, .offset = 0}, "i '3' (expected a string)"},
        {{"a", BM_MEMBER_ARRAY, .offset = 0}, "(expected an array)"},
        {{"n", BM_MEMBER_STRING, .offset = 0, .presence = BM_MEMBER_OPTIONAL},
         "n 'null' (expected a string)"},
        {{"a.none", BM_MEMBER_VALUE, .offset = 0}, "a.none '' (expected a value)"}};
    const bm_json_reader from = {.doc = &doc, .own = own, .bad = name_it};
    const bm_json_reader silent = {.doc = &doc, .own = own};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_str before = {"", 7}, out = before;
        bm_error err = {0};
        cr_expect_eq(bm_json_read(&from, &cases[i].row, 1, &out, &err), BM_ERR_FORMAT);
        cr_expect(strstr(err.message, cases[i].message) != NULL, "%s", err.message);
        cr_expect_eq(bm_json_read(&silent, &cases[i].row, 1, &out, NULL), BM_ERR_FORMAT);
        cr_expect(out.data == before.data && out.len == 7, "%zu: nothing is written", i);
    }
    bm_json_doc_close(&doc);
}

Test(json_read, members_of_an_object_are_read_in_one_walk_and_the_last_of_equal_ones_counts)
{
    const bm_json_row rows[] = {{"i", BM_MEMBER_UINT, .offset = offsetof(wanted, seed)},
                                {"s", BM_MEMBER_STRING, .offset = offsetof(wanted, word)}};
    const bm_json_reader from = {.object =
                                     world_str("{\"i\":1,\"s\":\"a\",\"x\":{\"i\":9},\"i\":2}")};
    wanted w = {0};
    cr_assert_eq(bm_json_read(&from, rows, 2, &w, NULL), BM_OK);
    cr_expect(w.seed == 2 && bm_json_scan_is(w.word, "\"a\""));
}

Test(json_read, members_are_found_three_objects_deep_and_the_last_of_equal_ones)
{
    bm_json_doc doc =
        doc_of(" {\"a\":{\"b\":1,\"c\":{\"d\":[2,{\"e\":3}],\"f\":{\"g\":4}}},\"b\":5,"
               "\"a\":{\"b\":6,\"x\":{},\"c\":{\"d\":7,\"f\":{\"g\":8}}},\"\":9}");
    expect_value(&doc, "a.b", "6");
    expect_value(&doc, "b", "5");
    expect_value(&doc, "a.c.d", "7");
    expect_value(&doc, "a.c.f", "{\"g\":8}");
    expect_value(&doc, "a.c.f.g", NULL);
    expect_value(&doc, "a.x", "{}");
    expect_value(&doc, "a.x.b", NULL);
    expect_value(&doc, "b.b", NULL);
    expect_value(&doc, "c", NULL);
    expect_value(&doc, "a.", NULL);
    expect_value(&doc, "", "9");
    bm_json_doc_close(&doc);
}

/* Outputs of jobs over many files have such lists. */
Test(json_read, a_list_of_more_members_than_ours_have_costs_no_table)
{
    bm_buf text = {0};
    cr_assert_eq(bm_buf_add_text(&text, "{\"list\":{\"0\":0", NULL), BM_OK);
    for (unsigned i = 1; i <= BM_JSON_LIST; i++)
        cr_assert_eq(bm_buf_add_format(&text, NULL, ",\"%u\":%u", i, i), BM_OK);
    cr_assert_eq(bm_buf_add_text(&text, "},\"plan\":{\"bands\":18}}", NULL), BM_OK);
    cr_assert_eq(bm_buf_end(&text, NULL), BM_OK);
    bm_json_doc doc = doc_of(text.data);
    bm_str list;
    cr_assert_eq(doc.n_members, 3);
    expect_value(&doc, "plan.bands", "18");
    expect_value(&doc, "list.7", NULL);
    cr_assert(bm_json_doc_find(&doc, "list", &list));
    cr_assert_eq(list.data[list.len - 1], '}');
    bm_json_doc_close(&doc);
    bm_buf_reset(&text);
}

Test(json_read, what_is_no_object_is_no_document)
{
    const char *bad[] = {"", "[]", "{", "{}{}", "nothing"};
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(bm_json_doc_check(path, world_str(bad[i]), NULL), BM_ERR_FORMAT, "%s", bad[i]);
}

Test(json_read, an_invalid_byte_in_another_field_changes_nothing)
{
    const char *paths[] = {"text", "id"};
    bm_json_exact *line;
    cr_assert_eq(bm_json_exact_open_text(paths, 2, &line, NULL), BM_OK);
    static const char *const texts[] = {"{\"text\":\"a\\nb\",\"id\":42,\"x\":\"y\"}",
                                        "{\"text\":\"a\\nb\",\"id\":42,\"x\":\"\xFF\"}"};
    for (int i = 0; i < 2; i++) {
        bm_json_field fields[2];
        const char *broken;
        cr_assert_eq(bm_json_exact_run(line, world_str(texts[i]), fields, &broken, NULL), BM_OK);
        cr_assert(broken == NULL);
        cr_assert_eq(fields[0].value.len, 3);
        cr_assert_arr_eq(fields[0].value.data, "a\nb", 3);
        cr_assert_eq(fields[1].kind, BM_JSON_NUMBER);
        cr_assert_eq(fields[1].value.len, 2);
        cr_assert_arr_eq(fields[1].value.data, "42", 2);
    }
    bm_json_exact_close(line);
}
