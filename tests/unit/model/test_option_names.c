/* SPDX-License-Identifier: Apache-2.0 */
/* Words of option values, compared with the lists of docs/cli.md, repeated here by hand. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <bandmill/exchange.h>
#include <bandmill/index.h>

#include "model/option_words.h"

typedef struct list {
    bm_option option;
    const char *field;
    unsigned first; /* the first value that has a name */
    const char *words[16];
} list;

static const list lists[] = {
    {BM_OPTION_FORMAT,
     "format",
     BM_FORMAT_AUTO,
     {"auto", "jsonl", "tsv", "csv", "lines", "files", "hashes", "json", "arrow", "keys", "parquet",
      "signatures", "wet", "mixed"}},
    {BM_OPTION_HEADER, "header", BM_HEADER_YES, {"yes", "no"}},
    {BM_OPTION_DUPLICATE_IDS,
     "duplicate_ids",
     BM_DUPLICATE_IDS_ERROR,
     {"error", "number", "skip", "replace"}},
    {BM_OPTION_ON_ERROR, "on_error", BM_ON_ERROR_FAIL, {"fail", "skip"}},
    {BM_OPTION_INVALID_UTF8, "invalid_utf8", BM_INVALID_UTF8_REPLACE, {"replace", "error"}},
    {BM_OPTION_NORMALIZE,
     "normalize",
     0,
     {"nfc", "nfkc", "lower", "strip-accents", "digits", "punct", "invisible"}},
    {BM_OPTION_WORDS, "words", BM_WORDS_ALNUM, {"alnum", "space", "text-dedup"}},
    {BM_OPTION_SHINGLE, "shingle", BM_SHINGLE_WORD, {"word", "char", "byte", "stopword"}},
    {BM_OPTION_SHORT, "short_rule", BM_SHORT_WHOLE, {"whole", "skip"}},
    {BM_OPTION_SCHEME,
     "scheme",
     BM_SCHEME_AFFINE32,
     {"affine32", "oph", "cws", "legacy", "text-dedup", "nemo", "lance", "affine64", "datatrove"}},
    {BM_OPTION_CANDIDATES, "candidates", BM_CANDIDATES_LSH, {"lsh", "all", "length"}},
    {BM_OPTION_VERIFY,
     "verify",
     BM_VERIFY_AUTO,
     {"auto", "exact", "signature", "none", "contained"}},
    {BM_OPTION_IDENTICAL, "identical", BM_IDENTICAL_ALL, {"all", "chain"}},
    {BM_OPTION_CLUSTER, "cluster", BM_CLUSTER_COMPONENTS, {"components", "star"}},
    {BM_OPTION_KEEP, "keep", BM_KEEP_FIRST, {"first", "last", "longest", "shortest", "none"}},
    {BM_OPTION_KEPT, "kept", BM_RECORDS_SAME, {"same", "none", "gz", "zst", "no"}},
    {BM_OPTION_OFFLOAD, "text_offload", BM_OFFLOAD_AUTO, {"auto", "off", "trial", "on"}},
    {BM_OPTION_STORE, "store", BM_INDEX_SETS, {"sets", "signatures"}},
    {BM_OPTION_WEIGHTS, "weights", BM_WEIGHTS_NONE, {"none", "tfidf"}},
    {BM_OPTION_HASH, "hash", BM_TOKEN_XXH3, {"xxh3", "xxh64", "sha1", "murmur3"}},
    {BM_OPTION_EXCHANGE,
     "to",
     BM_EXCHANGE_LEANMINHASH,
     {"leanminhash", "datatrove", "nemo", "text-dedup", "milvus", "lance", "npy", "tsv", "arrow",
      "parquet"}},
    {BM_OPTION_EXPORT_WHAT, "what", BM_EXPORT_SIGNATURES, {"signatures", "bands"}},
    {BM_OPTION_MEASURE, "measure", BM_MEASURE_JACCARD, {"jaccard", "containment"}},
    {BM_OPTION_REMOVED, "removed", BM_RECORDS_SAME, {"same", "none", "gz", "zst", "no"}},
    {BM_OPTION_UNIT, "unit", BM_UNIT_LINE, {"line", "paragraph", "span"}},
};
#define N_LISTS (sizeof lists / sizeof lists[0])

static size_t n_words(const list *l)
{
    size_t n = 0;
    while (l->words[n] != NULL)
        n++;
    return n;
}

Test(option_names, every_word_is_its_value_and_every_value_its_word)
{
    cr_assert_eq(N_LISTS, (size_t)BM_N_OPTIONS, "a list for each option");
    for (size_t i = 0; i < N_LISTS; i++) {
        const list *l = &lists[i];
        cr_assert_eq((size_t)l->option, i);
        bm_error err = {0};
        cr_expect_eq(bm_option_check(l->option, 1000, &err), BM_ERR_USAGE);
        cr_expect_str_eq(err.field, l->field);
        for (unsigned w = 0; w < n_words(l); w++) {
            unsigned value = 99;
            cr_expect_str_eq(bm_option_name(l->option, l->first + w), l->words[w]);
            cr_expect(bm_option_value(l->option, l->words[w], strlen(l->words[w]), &value));
            cr_expect_eq(value, l->first + w, "%s %s", l->field, l->words[w]);
        }
    }
}

Test(option_names, there_are_no_more_values_and_no_other_words)
{
    for (size_t i = 0; i < N_LISTS; i++) {
        const list *l = &lists[i];
        const unsigned end = l->first + (unsigned)n_words(l);
        const unsigned wrong[] = {end, end + 1, 4000, (unsigned)-1};
        for (size_t k = 0; k < 4; k++) {
            bm_error err = {0};
            cr_expect_null(bm_option_name(l->option, wrong[k]), "%s %u", l->field, wrong[k]);
            cr_expect_str_eq(bm_option_name_or(l->option, wrong[k], "other"), "other");
            cr_expect_null(bm_option_name_or(l->option, wrong[k], NULL));
            cr_expect_eq(bm_option_check(l->option, wrong[k], &err), BM_ERR_USAGE);
            cr_expect_str_eq(err.field, l->field);
        }
        for (unsigned value = 0; value < end; value++) {
            cr_expect_eq(bm_option_check(l->option, value, NULL), BM_OK);
            cr_expect_eq(bm_option_name(l->option, value) == NULL, value < l->first);
        }
        unsigned value = 99;
        const char *word = l->words[0];
        char longer[32];
        snprintf(longer, sizeof longer, "%sx", word);
        cr_expect_not(bm_option_value(l->option, longer, strlen(longer), &value));
        cr_expect_not(bm_option_value(l->option, word, strlen(word) - 1, &value));
        cr_expect_not(bm_option_value(l->option, "", 0, &value));
        cr_expect_eq(value, 99);
    }
}

Test(option_names, there_are_no_options_beyond_the_list)
{
    static const unsigned wrong[] = {BM_N_OPTIONS, BM_N_OPTIONS + 1, 4000, (unsigned)-1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned value = 99;
        cr_expect_null(bm_option_name((bm_option)wrong[i], 0));
        cr_expect_not(bm_option_value((bm_option)wrong[i], "auto", 4, &value));
        cr_expect_eq(value, 99);
    }
}

Test(option_names, steps_of_normalisation_are_listed_in_their_order_and_read_back)
{
    static const struct {
        uint32_t bits;
        const char *words;
    } cases[] = {{0, "none"},
                 {BM_NORM_LOWER, "lower"},
                 {BM_NORM_NFKC | BM_NORM_DIGITS, "nfkc,digits"},
                 {BM_NORM_NFC | BM_NORM_LOWER | BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS,
                  "nfc,lower,strip-accents,digits"},
                 {BM_NORM_LOWER | BM_NORM_PUNCT, "lower,punct"},
                 {BM_NORM_INVISIBLE | BM_NORM_LOWER | BM_NORM_NFC, "invisible,nfc,lower"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[64];
        uint32_t bits = 99;
        bm_normalize_words(cases[i].bits, out, sizeof out);
        cr_expect_str_eq(out, cases[i].words);
        cr_expect(bm_normalize_value(cases[i].words, &bits));
        cr_expect_eq(bits, cases[i].bits);
    }
    uint32_t bits;
    cr_expect(bm_normalize_value("digits,lower", &bits));
    cr_expect_eq(bits, (uint32_t)(BM_NORM_DIGITS | BM_NORM_LOWER), "in any order");
    static const char *const wrong[] = {"", "lower,", ",lower", "lower,,nfc", "upper", "none,nfc"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_not(bm_normalize_value(wrong[i], &bits), "'%s'", wrong[i]);
}

Test(option_names, words_that_do_not_fit_are_cut_short)
{
    char out[9];
    memset(out, 'x', sizeof out);
    bm_normalize_words(BM_NORM_NFC | BM_NORM_LOWER | BM_NORM_DIGITS, out, 8);
    cr_expect_str_eq(out, "nfc,low");
    cr_expect_eq(out[8], 'x');
    const bm_text_options text = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 1024};
    char whole[32];
    bm_shingle_words(&text, whole, sizeof whole);
    cr_expect_str_eq(whole, "char:1024");
    bm_shingle_words(&text, out, 5);
    cr_expect_str_eq(out, "char");
}
