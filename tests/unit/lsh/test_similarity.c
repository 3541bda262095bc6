/* SPDX-License-Identifier: Apache-2.0 */
/* test_similarity.c -- the share of equal words of two signatures, also of words of 64 bits of
 * which one half is equal. Whole jobs compare sets. */
#include <criterion/criterion.h>

#include "lsh/similarity.h"

static double agreement_of(const uint32_t *x, const uint32_t *y, bm_word_rows rows)
{
    const bm_similarity_rule rule = {.verify = BM_VERIFY_SIGNATURE, .words = rows};
    return bm_similarity(&rule, (bm_compared){x, 0}, (bm_compared){y, 0});
}

Test(similarity, agreement_is_the_share_of_equal_words)
{
    const uint32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8}, y[] = {1, 0, 3, 0, 5, 0, 7, 9};
    const bm_word_rows eight = {8, 4}, four = {8, 8};
    cr_expect_eq(agreement_of(x, y, eight), 0.5);
    cr_expect_eq(agreement_of(x, x, eight), 1.0);
    cr_expect_eq(agreement_of(x + 1, y + 1, (bm_word_rows){1, 4}), 0.0);
    cr_expect_eq(agreement_of(x, y, (bm_word_rows){0, 4}), 0.0);
    cr_expect_eq(agreement_of(x, y, four), 0.0, "no two halves of 64 bits are both equal");
    cr_expect_eq(agreement_of(x, x, four), 1.0);
    bm_similarity_rule rule = {.verify = BM_VERIFY_SIGNATURE, .words = eight, .threshold = .5};
    cr_expect_eq(bm_similarity(&rule, (bm_compared){x, 0}, (bm_compared){y, 0}), 0.5);
    rule.threshold = .51;
    cr_expect_lt(bm_similarity(&rule, (bm_compared){x, 0}, (bm_compared){y, 0}), 0);
}
