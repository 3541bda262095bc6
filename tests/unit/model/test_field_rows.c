/* SPDX-License-Identifier: Apache-2.0 */
/* test_field_rows.c -- each row names a field that exists: a value that is set is read back, a
 * default does not count as a value asked for, and rows agree with the public bits and words. */
#include <bandmill/schemes.h>

#include <criterion/criterion.h>

#include <string.h>

#include "model/field_rows.h"
#include "model/option_words.h"

typedef struct settings {
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_pair_settings pairs;
    bm_index_settings index;
    bm_result_settings results;
} settings;

static settings plain(void)
{
    return (settings){.input = BM_INPUT_DEFAULTS,
                      .text = BM_TEXT_DEFAULTS,
                      .sketch = BM_SKETCH_DEFAULTS,
                      .bands = BM_BAND_DEFAULTS};
}

static bm_option_parts parts_of(const settings *s)
{
    return (bm_option_parts){.input = &s->input,
                             .text = &s->text,
                             .sketch = &s->sketch,
                             .bands = &s->bands,
                             .pairs = &s->pairs,
                             .index = &s->index,
                             .results = &s->results};
}

Test(field_rows, defaults_are_not_set)
{
    const settings s = plain();
    const bm_option_parts parts = parts_of(&s);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        cr_assert_not_null(bm_field_rows[i].name, "row %zu", i);
        cr_expect_not(bm_field_is_set(&bm_field_rows[i], &parts, false), "%s",
                      bm_field_rows[i].name);
        cr_expect_not(bm_field_is_set(&bm_field_rows[i], &parts, true), "%s",
                      bm_field_rows[i].name);
    }
}

/* Sets the fields one by one, to show that no two rows overlap. */
Test(field_rows, what_is_set_is_read_back_and_moves_no_other_field)
{
    const settings before = plain();
    const bm_option_parts was = parts_of(&before);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        const bm_field_row *field = &bm_field_rows[i];
        settings s = plain();
        const bm_option_parts parts = parts_of(&s);
        if (field->type == BM_FIELD_TYPE_TEXT || field->type == BM_FIELD_TYPE_TEXTS ||
            field->type == BM_FIELD_TYPE_STOPWORDS || field->type == BM_FIELD_TYPE_REAL ||
            field->type == BM_FIELD_TYPE_SHINGLE || field->type == BM_FIELD_TYPE_AGAINST)
            continue;
        const uint64_t value = bm_field_number(field, &parts) ^ 1;
        bm_field_set(field, &parts, value);
        cr_expect_eq(bm_field_number(field, &parts), value, "%s", field->name);
        for (size_t k = 0; k < BM_N_ROWS; k++)
            cr_expect_eq(bm_field_same(&bm_field_rows[k], &parts, &was), k != i, "%s beside %s",
                         bm_field_rows[k].name, field->name);
    }
}

Test(field_rows, texts_lists_and_pairs_of_values_are_compared_whole)
{
    static const char *const names[] = {"a", "b"}, *const others[] = {"a", "c"};
    settings a = plain(), b = plain();
    const bm_option_parts x = parts_of(&a), y = parts_of(&b);
    a.input.text_fields = names;
    b.input.text_fields = others;
    a.input.n_text_fields = b.input.n_text_fields = 2;
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_TEXT_FIELDS], &x, &y));
    b.input.n_text_fields = a.input.n_text_fields = 1;
    cr_expect(bm_field_same(&bm_field_rows[BM_ROW_TEXT_FIELDS], &x, &y));
    a.input.id_field = "id";
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_ID_FIELD], &x, &y));
    b.input.id_field = (char[]){'i', 'd', '\0'};
    cr_expect(bm_field_same(&bm_field_rows[BM_ROW_ID_FIELD], &x, &y));
    a.text.shingle_k = 6;
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_SHINGLE], &x, &y));
    a.text.shingle_k = b.text.shingle_k;
    a.text.shingle = BM_SHINGLE_CHAR;
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_SHINGLE], &x, &y));
    a.bands.threshold = .7;
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_THRESHOLD], &x, &y));
    a.pairs.against = (const char *const[]){"known"};
    a.pairs.n_against = 1;
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_AGAINST], &x, &y));
    b.pairs.against = (const char *const[]){(char[]){'k', 'n', 'o', 'w', 'n', '\0'}};
    b.pairs.n_against = 1;
    cr_expect(bm_field_same(&bm_field_rows[BM_ROW_AGAINST], &x, &y));
    b.pairs.against_id_field = "qid";
    cr_expect_not(bm_field_same(&bm_field_rows[BM_ROW_AGAINST], &x, &y));
}

Test(field_rows, the_default_of_a_scheme_is_none_that_was_asked_for)
{
    settings s = plain();
    const bm_option_parts parts = parts_of(&s);
    s.sketch.scheme = BM_SCHEME_LEGACY;
    s.text.hash = bm_scheme_hash(BM_SCHEME_LEGACY);
    s.sketch.seed = bm_scheme_seed(BM_SCHEME_LEGACY);
    cr_expect_not(bm_field_is_set(&bm_field_rows[BM_ROW_HASH], &parts, true));
    cr_expect_not(bm_field_is_set(&bm_field_rows[BM_ROW_SEED], &parts, true));
    cr_expect(bm_field_is_set(&bm_field_rows[BM_ROW_HASH], &parts, false));
}

Test(field_rows, each_public_bit_but_that_of_the_format_stands_in_one_row)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        cr_expect_eq(seen & bm_field_rows[i].bit, 0u, "%s", bm_field_rows[i].name);
        seen |= bm_field_rows[i].bit;
    }
    cr_expect_eq(seen | BM_FIELD_FORMAT, 2 * (uint64_t)BM_FIELD_WEIGHTS - 1);
}

Test(field_rows, words_are_those_of_an_option_of_the_same_name)
{
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].type == BM_FIELD_TYPE_WORD) {
            bm_error err = {0};
            cr_expect_eq(bm_option_check(bm_field_rows[i].option, 1000, &err), BM_ERR_USAGE);
            cr_expect_str_eq(err.field, bm_field_rows[i].name);
        }
}
