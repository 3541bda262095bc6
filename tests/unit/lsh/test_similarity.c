/* SPDX-License-Identifier: Apache-2.0 */
/* test_similarity.c -- each rule, compared with a count over all elements (or all words) of two
 * sets. */
#include <criterion/criterion.h>
#include <math.h>

#include "lsh/similarity.h"

/* The two sets share 6 hashes; x has 8, y has 10, so the union has 12. */
#define N_X    8
#define N_Y    10
#define COMMON 6

static bm_compared numbers_from(uint64_t first, uint32_t n, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = first + i;
    return (bm_compared){out, n};
}

static double compare(bm_similarity_rule rule)
{
    uint64_t x[N_X], y[N_Y];
    const bm_compared a = numbers_from(0, N_X, x), b = numbers_from(N_X - COMMON, N_Y, y);
    const double similarity = bm_similarity(&rule, a, b), back = bm_similarity(&rule, b, a);
    if (!isnan(similarity))
        cr_assert_eq(similarity, back, "%g and %g", similarity, back);
    return similarity;
}

Test(similarity, exact_is_the_jaccard_of_two_sets_that_reach_the_threshold)
{
    const double jaccard = 6.0 / 12;
    bm_similarity_rule rule = {.verify = BM_VERIFY_EXACT, .measure = BM_MEASURE_JACCARD};
    cr_expect_eq(compare(rule), jaccard, "a threshold of 0 leaves out nothing");
    rule.threshold = jaccard;
    cr_expect_eq(compare(rule), jaccard);
    rule.threshold = nextafter(jaccard, 1);
    cr_expect_lt(compare(rule), 0);
}

Test(similarity, containment_is_of_the_smaller_set)
{
    bm_similarity_rule rule = {
        .verify = BM_VERIFY_EXACT, .measure = BM_MEASURE_CONTAINMENT, .threshold = .75};
    cr_expect_eq(compare(rule), 6.0 / 8);
    rule.threshold = nextafter(.75, 1);
    cr_expect_lt(compare(rule), 0);
}

Test(similarity, contained_has_the_jaccard_where_one_holds_the_share_of_the_other)
{
    bm_similarity_rule rule = {.verify = BM_VERIFY_CONTAINED, .share = {3, 4}, .threshold = 1};
    cr_expect_eq(compare(rule), 6.0 / 12, "the threshold is not asked");
    rule.share = (bm_share){751, 1000};
    cr_expect_lt(compare(rule), 0);
}

Test(similarity, none_looks_at_nothing)
{
    const bm_similarity_rule rule = {.verify = BM_VERIFY_NONE, .threshold = .5};
    cr_expect(isnan(bm_similarity(&rule, (bm_compared){NULL, 3}, (bm_compared){NULL, 4})));
}

Test(similarity, weights_follow_the_hashes)
{
    /* Sum of the smaller weights, elements 1 to 3: 1 + 2 + 1; of the greater weights, elements 1 to
     * 4: 3 + 2 + 4 + 7. */
    const struct {
        uint64_t hashes[3];
        double weights[3];
    } x = {{1, 2, 3}, {1, 2, 4}};
    const struct {
        uint64_t hashes[4];
        double weights[4];
    } y = {{1, 2, 3, 4}, {3, 2, 1, 7}};
    bm_similarity_rule rule = {.verify = BM_VERIFY_EXACT, .weighted = true};
    cr_expect_eq(bm_similarity(&rule, (bm_compared){&x, 3}, (bm_compared){&y, 4}), 4.0 / 16);
    rule.threshold = .25;
    cr_expect_eq(bm_similarity(&rule, (bm_compared){&x, 3}, (bm_compared){&y, 4}), 4.0 / 16);
    rule.threshold = .26;
    cr_expect_lt(bm_similarity(&rule, (bm_compared){&x, 3}, (bm_compared){&y, 4}), 0);
    rule.threshold = 0;
    cr_expect_eq(bm_similarity(&rule, (bm_compared){&x, 0}, (bm_compared){&y, 0}), 0.0);
}

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
