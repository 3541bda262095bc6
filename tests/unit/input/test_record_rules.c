/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_rules.c -- the rules of reading that follow from the options, so that readers need
 * not look at the options again. */
#include <criterion/criterion.h>

#include "input/record_rules.h"

static bm_record_rules rules_of(const bm_input_options *options, bm_format format)
{
    bm_record_rules rules;
    cr_assert_eq(bm_record_rules_init(options, format, &rules, NULL), BM_OK);
    return rules;
}

Test(record_rules, a_document_may_have_any_length_where_none_is_given)
{
    cr_expect_eq(rules_of(&(bm_input_options){0}, BM_FORMAT_JSONL).longest, UINT64_MAX);
    cr_expect_eq(rules_of(&(bm_input_options){.max_doc_bytes = 77}, BM_FORMAT_JSONL).longest, 77);
}

Test(record_rules, invalid_bytes_are_repaired_unless_they_are_an_error)
{
    cr_expect(rules_of(&(bm_input_options){0}, BM_FORMAT_LINES).repairs);
    cr_expect_not(
        rules_of(&(bm_input_options){.invalid_utf8 = BM_INVALID_UTF8_ERROR}, BM_FORMAT_LINES)
            .repairs);
}

Test(record_rules, rows_are_split_as_the_format_has_it_or_as_was_asked)
{
    static const struct {
        bm_format format;
        char asked, splits;
        bool quoted;
    } rows[] = {{BM_FORMAT_TSV, '\0', '\t', false},
                {BM_FORMAT_TSV, '|', '|', false},
                {BM_FORMAT_CSV, '\0', ',', true},
                {BM_FORMAT_CSV, ';', ';', true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bm_input_options options = {.delimiter = rows[i].asked};
        const bm_row_syntax syntax = rules_of(&options, rows[i].format).syntax;
        cr_expect(bm_row_splits_at(syntax, rows[i].splits), "%zu", i);
        cr_expect_not(bm_row_splits_at(syntax, 'x'));
        cr_expect_eq(syntax.quoted, rows[i].quoted, "%zu", i);
    }
}

Test(record_rules, what_is_of_tables_alone_is_refused_elsewhere)
{
    bm_record_rules rules;
    bm_error err = {0};
    cr_expect_eq(
        bm_record_rules_init(&(bm_input_options){.delimiter = ';'}, BM_FORMAT_JSONL, &rules, &err),
        BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "delimiter");
    cr_expect_eq(bm_record_rules_init(&(bm_input_options){.header = BM_HEADER_NO}, BM_FORMAT_LINES,
                                      &rules, &err),
                 BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "header");
}

Test(record_rules, what_splits_rows_cuts_no_character)
{
    bm_record_rules rules;
    bm_error err = {0};
    cr_expect_eq(bm_record_rules_init(&(bm_input_options){.delimiter = (char)0xC3}, BM_FORMAT_CSV,
                                      &rules, &err),
                 BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "delimiter");
}

Test(record_rules, text_and_id_have_names_where_none_were_given)
{
    const bm_record_rules rules = rules_of(&(bm_input_options){0}, BM_FORMAT_JSONL);
    cr_assert_eq(rules.n_text, 1);
    cr_expect_str_eq(rules.text[0], "text");
    cr_expect_str_eq(rules.id, "id");
    cr_expect_not(rules.id_given);
    cr_expect_null(rules_of(&(bm_input_options){.id_field = "none"}, BM_FORMAT_JSONL).id);
}
