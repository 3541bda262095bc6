/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of scheme and hash match the tables that the schemes' own authors publish
 * (docs/schemes.md). */
#include <bandmill/option_names.h>

#include <criterion/criterion.h>

#include "model/scheme_facts.h"

static const struct {
    bm_scheme scheme;
    const char *hashes; /* the first is the scheme's default */
    uint32_t seed;
} rows[] = {{BM_SCHEME_AFFINE32, "xxh3, xxh64, sha1, murmur3", 1},
            {BM_SCHEME_OPH, "xxh3", 1},
            {BM_SCHEME_CWS, "xxh3", 1},
            {BM_SCHEME_LEGACY, "sha1", 1},
            {BM_SCHEME_TEXT_DEDUP, "xxh3, sha1", 42},
            {BM_SCHEME_NEMO, "murmur3", 42},
            {BM_SCHEME_LANCE, "xxh64", 42},
            {BM_SCHEME_AFFINE64, "sha1", 1},
            {BM_SCHEME_DATATROVE, "xxh64", 1}};

Test(scheme_facts, each_scheme_goes_with_the_hashes_of_its_authors_alone)
{
    const char *begin = "it goes with ";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[BM_SCHEME_HASHES];
        bm_scheme_hash_words(rows[i].scheme, words);
        cr_assert_eq(strncmp(words, begin, strlen(begin)), 0);
        cr_expect_str_eq(words + strlen(begin), rows[i].hashes);
        const char *first = bm_option_name(BM_OPTION_HASH, bm_scheme_hash(rows[i].scheme));
        cr_expect_eq(strncmp(rows[i].hashes, first, strlen(first)), 0);
        cr_expect_eq(bm_scheme_seed(rows[i].scheme), rows[i].seed);
        const bool wide =
            rows[i].scheme == BM_SCHEME_AFFINE64 || rows[i].scheme == BM_SCHEME_DATATROVE;
        cr_expect_eq(bm_scheme_value_bytes(rows[i].scheme), wide ? 8 : 4);
    }
    cr_expect_null(bm_option_name(BM_OPTION_SCHEME, sizeof rows / sizeof rows[0]), "all rows");
}

/* From the formulas of docs/schemes.md: the largest word of oph is 2^32 - 2, datatrove's words are
 * modulo 2^61 - 1, and lance's have 16 bits. */
Test(scheme_facts, some_words_are_of_no_document)
{
    cr_expect_eq(bm_scheme_greatest_word(BM_SCHEME_OPH), 0xFFFFFFFE);
    cr_expect_eq(bm_scheme_greatest_word(BM_SCHEME_DATATROVE), 2305843009213693950);
    cr_expect_eq(bm_scheme_greatest_word(BM_SCHEME_LANCE), 65535);
    cr_expect_eq(bm_scheme_greatest_word(BM_SCHEME_AFFINE32), UINT64_MAX);
}

Test(scheme_facts, what_is_no_scheme_takes_no_hash)
{
    cr_expect_not(bm_scheme_accepts_hash((bm_scheme)4000, BM_TOKEN_XXH3));
    cr_expect_eq(bm_scheme_hash((bm_scheme)4000), BM_TOKEN_XXH3);
    cr_expect_eq(bm_scheme_seed((bm_scheme)4000), 1);
    cr_expect_eq(bm_scheme_value_bytes((bm_scheme)4000), 4);
}
