/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of ours by dotted path, and lines. */
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "tests/unit/input/read_records.h"

static bm_json_doc doc_of(const char *text)
{
    return (bm_json_doc){"a/report.json", {text, strlen(text)}};
}

Test(json_read, a_document_answers_by_dotted_path)
{
    const bm_json_doc doc =
        doc_of("{\"a\":{\"seed\":18446744073709551615,\"s\":\"x\\u0000\\ty\"},\n"
               " \"t\":0.8, \"i\":3, \"neg\":-1, \"huge\":1e999, \"n\":null}\n");
    cr_assert_eq(bm_json_doc_check(&doc, NULL), BM_OK);
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
}

Test(json_read, what_is_no_object_is_no_document)
{
    const char *bad[] = {"", "[]", "{", "{}{}", "nothing"};
    for (size_t i = 0; i < 5; i++) {
        const bm_json_doc doc = doc_of(bad[i]);
        cr_assert_eq(bm_json_doc_check(&doc, NULL), BM_ERR_FORMAT, "%s", bad[i]);
    }
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
