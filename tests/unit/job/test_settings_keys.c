/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings_keys.c -- band keys made elsewhere: only `pairs` takes them, unverified. Each field
 * without a meaning for them is refused by name, whether it differs from its default or was set
 * explicitly. */
#include <criterion/criterion.h>

#include <string.h>

#include "job/settings.h"
#include "tests/world/world_text.h"

static bm_pairs_options plain(void)
{
    static const char *const paths[] = {"keys.npy"};
    bm_pairs_options o;
    bm_pairs_options_init(&o);
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.input.format = BM_FORMAT_KEYS;
    o.verify = BM_VERIFY_NONE;
    o.write = world_write_nothing;
    return o;
}

static bm_status take(const bm_pairs_options *o, bm_error *err)
{
    bm_settings s;
    bm_status status = bm_settings_of_pairs(o, &s, err);
    return status == BM_OK ? bm_settings_check_keys(&s, err) : status;
}

static void expect_refused(const bm_pairs_options *o, const char *field)
{
    bm_error err = {0};
    cr_expect_eq(take(o, &err), BM_ERR_USAGE, "%s", field);
    cr_expect_str_eq(err.field, field);
}

Test(settings_keys, pairs_without_verification_are_fine)
{
    bm_pairs_options o = plain();
    cr_assert_eq(take(&o, NULL), BM_OK);
    o.input.format = BM_FORMAT_JSONL; /* other formats are not checked */
    o.verify = BM_VERIFY_EXACT;
    o.sketch.perms = 77;
    cr_assert_eq(take(&o, NULL), BM_OK);
}

#define REFUSED(member, value, field)                                                              \
    do {                                                                                           \
        bm_pairs_options o = plain();                                                              \
        o.member = value;                                                                          \
        expect_refused(&o, field);                                                                 \
    } while (0)

Test(settings_keys, what_needs_sets_is_refused)
{
    REFUSED(verify, BM_VERIFY_AUTO, "verify");
    REFUSED(verify, BM_VERIFY_EXACT, "verify");
    REFUSED(verify, BM_VERIFY_SIGNATURE, "verify");
    REFUSED(candidates, BM_CANDIDATES_ALL, "verify"); /* it needs verification */
    REFUSED(candidates, BM_CANDIDATES_LENGTH, "verify");
    bm_pairs_options all = plain();
    all.candidates = BM_CANDIDATES_ALL;
    all.verify = BM_VERIFY_EXACT;
    expect_refused(&all, "candidates");
}

Test(settings_keys, each_field_that_means_nothing_is_refused_by_its_name)
{
    static const char *const fields[] = {"body"};
    bm_pairs_options two = plain();
    two.input.text_fields = fields;
    two.input.n_text_fields = 1;
    expect_refused(&two, "text_fields");
    REFUSED(input.id_field, "id", "id_field");
    REFUSED(input.header, BM_HEADER_NO, "header");
    REFUSED(input.delimiter, ';', "delimiter");
    REFUSED(input.offsets_path, "o.npy", "offsets_path");
    REFUSED(input.duplicate_ids, BM_DUPLICATE_IDS_NUMBER, "duplicate_ids");
    REFUSED(input.on_error, BM_ON_ERROR_SKIP, "on_error");
    REFUSED(input.max_errors, 3, "max_errors");
    REFUSED(input.invalid_utf8, BM_INVALID_UTF8_ERROR, "invalid_utf8");
    REFUSED(input.max_doc_bytes, 77, "max_doc_bytes");
    REFUSED(text.normalize, 0, "normalize");
    REFUSED(text.words, BM_WORDS_SPACE, "words");
    REFUSED(text.hash, BM_TOKEN_SHA1, "hash");
    REFUSED(text.shingle, BM_SHINGLE_CHAR, "shingle");
    REFUSED(text.shingle_k, 6, "shingle");
    REFUSED(text.short_rule, BM_SHORT_SKIP, "short_rule");
    REFUSED(sketch.scheme, BM_SCHEME_OPH, "scheme");
    REFUSED(sketch.seed, 2, "seed");
    REFUSED(sketch.perms, 64, "perms");
    REFUSED(bands.threshold, .5, "threshold");
    REFUSED(bands.recall, .5, "recall");
    REFUSED(identical, BM_IDENTICAL_CHAIN, "identical");
    REFUSED(sample, 5, "sample");
    REFUSED(sources, "dir", "sources");
    bm_pairs_options plan = plain();
    plan.bands.bands = 4;
    plan.bands.rows = 2;
    expect_refused(&plan, "bands");
}

Test(settings_keys, a_default_that_was_asked_for_is_refused_too)
{
    static const struct {
        uint64_t bit;
        const char *field;
    } rows[] = {{BM_FIELD_TEXT_FIELDS, "text_fields"},
                {BM_FIELD_ID_FIELD, "id_field"},
                {BM_FIELD_HEADER, "header"},
                {BM_FIELD_DUPLICATE_IDS, "duplicate_ids"},
                {BM_FIELD_ON_ERROR, "on_error"},
                {BM_FIELD_MAX_ERRORS, "max_errors"},
                {BM_FIELD_INVALID_UTF8, "invalid_utf8"},
                {BM_FIELD_MAX_DOC_BYTES, "max_doc_bytes"},
                {BM_FIELD_NORMALIZE, "normalize"},
                {BM_FIELD_WORDS, "words"},
                {BM_FIELD_SHINGLE, "shingle"},
                {BM_FIELD_SHORT_RULE, "short_rule"},
                {BM_FIELD_HASH, "hash"},
                {BM_FIELD_SCHEME, "scheme"},
                {BM_FIELD_SEED, "seed"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bm_pairs_options o = plain();
        o.set_fields = rows[i].bit | BM_FIELD_FORMAT;
        expect_refused(&o, rows[i].field);
    }
    bm_pairs_options o = plain();
    o.set_fields = BM_FIELD_FORMAT;
    cr_assert_eq(take(&o, NULL), BM_OK);
}

Test(settings_keys, other_jobs_take_no_keys)
{
    static const char *const paths[] = {"keys.npy"};
    bm_settings s;
    bm_error err = {0};
    bm_sign_options sign;
    bm_sign_options_init(&sign);
    sign.input.paths = paths;
    sign.input.n_paths = 1;
    sign.input.format = BM_FORMAT_KEYS;
    sign.output.path = "out";
    cr_assert_eq(bm_settings_of_sign(&sign, &s, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "format");
    bm_dedup_options dedup;
    bm_dedup_options_init(&dedup);
    dedup.input = sign.input;
    dedup.output = sign.output;
    dedup.verify = BM_VERIFY_NONE;
    cr_assert_eq(bm_settings_of_dedup(&dedup, &s, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "format");
}
