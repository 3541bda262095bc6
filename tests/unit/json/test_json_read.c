/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of ours by dotted path, and lines. */
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "tests/unit/input/read_records.h"

static const char path[] = "a/report.json";

static bm_str str_of(const char *text)
{
    return (bm_str){text, strlen(text)};
}

static bm_json_doc doc_of(const char *text)
{
    bm_json_doc doc;
    cr_assert_eq(bm_json_doc_check(path, str_of(text), NULL), BM_OK);
    cr_assert_eq(bm_json_doc_open(path, str_of(text), &doc, NULL), BM_OK);
    return doc;
}

static void expect_value(const bm_json_doc *doc, const char *field, const char *value)
{
    bm_str got = {0};
    cr_assert_eq(bm_json_doc_find(doc, field, &got), value != NULL, "%s", field);
    if (value != NULL)
        cr_assert(bm_json_scan_is(got, value), "%s: %.*s", field, (int)got.len, got.data);
}

Test(json_read, a_document_answers_by_dotted_path)
{
    bm_json_doc doc = doc_of("{\"a\":{\"seed\":18446744073709551615,\"s\":\"x\\u0000\\ty\"},\n"
                             " \"t\":0.8, \"i\":3, \"neg\":-1, \"huge\":1e999, \"n\":null}\n");
    uint64_t u;
    double d;
    bm_buf s = {0};
    cr_assert_eq(bm_json_doc_uint(&doc, "a.seed", &u, NULL), BM_OK);
    cr_assert_eq(u, UINT64_MAX);
    cr_assert_eq(bm_json_doc_string(&doc, "a.s", &s, NULL), BM_OK);
    cr_assert_eq(s.len, 4);
    cr_assert_arr_eq(s.data, "x\0\ty", 4);
    cr_assert_eq(bm_json_doc_double(&doc, "t", &d, NULL), BM_OK);
    cr_assert_eq(d, 0.8);
    cr_assert_eq(bm_json_doc_double(&doc, "i", &d, NULL), BM_OK);
    cr_assert_eq(d, 3.0);
    bm_error err = {0};
    cr_assert_eq(bm_json_doc_uint(&doc, "neg", &u, &err), BM_ERR_FORMAT);
    cr_assert_eq(bm_json_doc_uint(&doc, "t", &u, &err), BM_ERR_FORMAT);
    cr_assert_eq(bm_json_doc_uint(&doc, "a.s", &u, &err), BM_ERR_FORMAT);
    cr_assert_eq(bm_json_doc_double(&doc, "huge", &d, &err), BM_ERR_FORMAT);
    err = (bm_error){0};
    cr_assert_eq(bm_json_doc_string(&doc, "missing.one", &s, &err), BM_ERR_FORMAT);
    cr_assert(strstr(err.file, "report.json"));
    cr_assert(strstr(err.message, "missing.one"));
    bm_buf_reset(&s);
    bm_json_doc_close(&doc);
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

/* As outputs of many files are. */
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
        cr_assert_eq(bm_json_doc_check(path, str_of(bad[i]), NULL), BM_ERR_FORMAT, "%s", bad[i]);
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
        cr_assert_eq(
            bm_json_exact_run(line, (bm_str){texts[i], strlen(texts[i])}, fields, &broken, NULL),
            BM_OK);
        cr_assert(broken == NULL);
        cr_assert_eq(fields[0].value.len, 3);
        cr_assert_arr_eq(fields[0].value.data, "a\nb", 3);
        cr_assert_eq(fields[1].kind, BM_JSON_NUMBER);
        cr_assert_eq(fields[1].value.len, 2);
        cr_assert_arr_eq(fields[1].value.data, "42", 2);
    }
    bm_json_exact_close(line);
}
