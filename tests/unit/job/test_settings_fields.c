/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings_fields.c -- which fields are set, by their values or by their bits; and the error
 * that names a field which contradicts the recorded settings. */
#include <criterion/criterion.h>

#include <string.h>

#include "model/option_words.h"
#include "job/settings.h"

/* The recorded settings of signatures of JSON Lines, all of them defaults. */
static bm_settings defaults(void)
{
    return (bm_settings){.input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .hash_name = "xxh3"};
}

static void expect_refused(const bm_settings *asked, const bm_settings *are, const char *field)
{
    bm_error err = {0};
    cr_expect_eq(bm_recorded_options_check(asked, are, "sig", &err), BM_ERR_USAGE, "%s", field);
    cr_expect_str_eq(err.field, field);
    cr_expect(strstr(err.message, "the signatures of sig") != NULL, "%s", err.message);
}

static void expect_fine(const bm_settings *asked, const bm_settings *are)
{
    bm_error err = {0};
    cr_expect_eq(bm_recorded_options_check(asked, are, "sig", &err), BM_OK, "%s", err.message);
}

Test(settings_fields, defaults_that_nobody_touched_ask_for_nothing)
{
    const bm_settings asked = defaults();
    static const char *const fields[] = {"body"};
    bm_settings are = defaults();
    expect_fine(&asked, &are);
    are.input.format = BM_FORMAT_CSV;
    are.input.text_fields = fields;
    are.input.n_text_fields = 1;
    are.input.id_field = "key";
    are.input.on_error = BM_ON_ERROR_SKIP;
    are.input.max_doc_bytes = 5;
    are.text = (bm_text_options){.shingle = BM_SHINGLE_BYTE, .shingle_k = 9};
    are.sketch = (bm_sketch_options){.seed = 7, .scheme = BM_SCHEME_OPH};
    are.hash_name = "given";
    expect_fine(&asked, &are);
}

Test(settings_fields, other_values_ask)
{
    const bm_settings are = defaults();
    static const char *const fields[] = {"body"};
    struct {
        const char *field;
        bm_settings asked;
    } rows[] = {
        {"format", defaults()},       {"header", defaults()},       {"on_error", defaults()},
        {"text_fields", defaults()},  {"id_field", defaults()},     {"max_errors", defaults()},
        {"normalize", defaults()},    {"words", defaults()},        {"shingle", defaults()},
        {"short_rule", defaults()},   {"scheme", defaults()},       {"seed", defaults()},
        {"invalid_utf8", defaults()}, {"max_doc_bytes", defaults()}};
    rows[0].asked.input.format = BM_FORMAT_TSV;
    rows[1].asked.input.header = BM_HEADER_NO;
    rows[2].asked.input.on_error = BM_ON_ERROR_SKIP;
    rows[3].asked.input.text_fields = fields;
    rows[3].asked.input.n_text_fields = 1;
    rows[4].asked.input.id_field = "key";
    rows[5].asked.input.max_errors = 3;
    rows[6].asked.text.normalize = 0;
    rows[7].asked.text.words = BM_WORDS_SPACE;
    rows[8].asked.text.shingle_k = 4;
    rows[9].asked.text.short_rule = BM_SHORT_SKIP;
    rows[10].asked.sketch.scheme = BM_SCHEME_OPH;
    rows[11].asked.sketch.seed = 2;
    rows[12].asked.input.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    rows[13].asked.input.max_doc_bytes = 100;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_refused(&rows[i].asked, &are, rows[i].field);
        if (rows[i].asked.input.max_errors == UINT64_MAX) /* signatures do not record it */
            expect_fine(&rows[i].asked, &rows[i].asked);
    }
}

Test(settings_fields, defaults_with_their_bits_ask)
{
    const struct {
        const char *field;
        uint64_t bit;
    } rows[] = {{"duplicate_ids", BM_FIELD_DUPLICATE_IDS},
                {"on_error", BM_FIELD_ON_ERROR},
                {"invalid_utf8", BM_FIELD_INVALID_UTF8},
                {"max_doc_bytes", BM_FIELD_MAX_DOC_BYTES},
                {"normalize", BM_FIELD_NORMALIZE},
                {"words", BM_FIELD_WORDS},
                {"shingle", BM_FIELD_SHINGLE},
                {"short_rule", BM_FIELD_SHORT_RULE},
                {"hash", BM_FIELD_HASH},
                {"scheme", BM_FIELD_SCHEME},
                {"seed", BM_FIELD_SEED}};
    bm_settings are = defaults();
    are.input.duplicate_ids = BM_DUPLICATE_IDS_NUMBER;
    are.input.on_error = BM_ON_ERROR_SKIP;
    are.input.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    are.input.max_doc_bytes = 5;
    are.text = (bm_text_options){.words = BM_WORDS_SPACE,
                                 .shingle = BM_SHINGLE_CHAR,
                                 .shingle_k = 5,
                                 .short_rule = BM_SHORT_SKIP};
    are.sketch = (bm_sketch_options){.seed = 3, .scheme = BM_SCHEME_OPH};
    are.hash_name = "given";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bm_settings same = defaults();
        bm_settings asked = defaults();
        asked.recorded.set_fields = rows[i].bit;
        expect_refused(&asked, &are, rows[i].field);
        expect_fine(&asked, &same);
    }
}
