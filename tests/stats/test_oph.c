/* SPDX-License-Identifier: Apache-2.0 */
/* How well oph estimates, on pairs of sets of known Jaccard similarity: |A| = |B| = SET with
 * `common` members in both, for 100 seeds, with new members for every pair.
 *
 * Two claims. First, for sets of at least 10 K shingles the root mean square error is at most 1.1
 * times sqrt(J(1-J)/K), the error of K independent permutations. Second, the share of pairs that
 * become candidates of b bands of r rows, averaged over the seeds, lies within 3 standard errors of
 * 1 - (1 - J^r)^b; the standard error is that of the shares of the seeds. Densification by rotation
 * would fail the second claim: it copies a word to its neighbours, which lie in the same band. So
 * the second claim is also tested for sets of 2 K shingles, in which one bin in seven is empty.
 * Seeds are fixed, so a result never varies. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "set_pairs.h"

#include "tests/world/world_random.h"

enum { SEEDS = 100, PAIRS = 40, SET_MAX = 10 * PERMS };

typedef struct outcome {
    double bias, rmse;
    /* mean and standard error of the candidates' share over the seeds */
    double mean[N_PLANS], error[N_PLANS];
} outcome;

static const bm_similarity_rule agreement = {.verify = BM_VERIFY_SIGNATURE, .words = {PERMS, 4}};

static void draw_pairs(uint64_t *state, size_t set, size_t common, uint64_t *hashes)
{
    for (size_t t = 0; t < PAIRS; t++, hashes += 2 * set) {
        for (size_t i = 0; i < set; i++)
            hashes[i] = world_random(state);
        memcpy(hashes + set, hashes, common * sizeof *hashes);
        for (size_t i = common; i < set; i++)
            hashes[set + i] = world_random(state);
    }
}

static outcome run(size_t set, size_t common)
{
    static uint64_t hashes[PAIRS * 2 * SET_MAX], offsets[2 * PAIRS + 1];
    static uint32_t words[2 * PAIRS * PERMS];
    for (size_t i = 0; i <= 2 * PAIRS; i++)
        offsets[i] = i * set;
    uint64_t state = 4242 + common;
    double similarity = similarity_of(set, common), sum = 0, squares = 0;
    outcome out = {0};
    double square_shares[N_PLANS] = {0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        draw_pairs(&state, set, common, hashes);
        sign_trial(BM_SCHEME_OPH, seed,
                   &(bm_sign_task){
                       .offsets = offsets, .hashes = hashes, .n_docs = 2 * PAIRS, .words = words});
        double shares[N_PLANS] = {0};
        for (size_t t = 0; t < PAIRS; t++) {
            const uint32_t *pair = words + t * 2 * PERMS;
            double error =
                bm_similarity(&agreement, (bm_compared){pair, 0}, (bm_compared){pair + PERMS, 0}) -
                similarity;
            sum += error;
            squares += error * error;
            for (size_t p = 0; p < N_PLANS; p++)
                shares[p] += is_candidate(pair, plans[p]);
        }
        for (size_t p = 0; p < N_PLANS; p++) {
            out.mean[p] += shares[p] / PAIRS;
            square_shares[p] += shares[p] / PAIRS * shares[p] / PAIRS;
        }
    }
    out.bias = sum / (SEEDS * PAIRS);
    out.rmse = sqrt(squares / (SEEDS * PAIRS));
    for (size_t p = 0; p < N_PLANS; p++) {
        out.mean[p] /= SEEDS;
        double variance = square_shares[p] / SEEDS - out.mean[p] * out.mean[p];
        out.error[p] = sqrt(fmax(variance, 0) / (SEEDS - 1));
    }
    return out;
}

/* If all seeds happen to have the same share, the standard error is that of the binomial
 * distribution. */
static void expect_s_curve(const outcome *got, double similarity, size_t set)
{
    for (size_t p = 0; p < N_PLANS; p++) {
        double expected = -expm1(plans[p].bands * log1p(-pow(similarity, plans[p].rows)));
        double ideal = sqrt(expected * (1 - expected) / (SEEDS * PAIRS));
        double error = fmax(got->error[p], ideal);
        cr_expect_leq(fabs(got->mean[p] - expected), 3 * error,
                      "%zu shingles, J = %.3f, %u x %u: P = %.4f, S-curve %.4f, error %.4f", set,
                      similarity, plans[p].bands, plans[p].rows, got->mean[p], expected, error);
    }
}

Test(oph, sets_of_ten_times_k_are_estimated_almost_ideally_and_follow_the_s_curve)
{
    static const size_t common[] = {427, 731, 853, 960, 1054, 1138, 1213}; /* J .2 .4 … .9 */
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        double similarity = similarity_of(SET_MAX, common[i]);
        outcome got = run(SET_MAX, common[i]);
        double ideal = sqrt(similarity * (1 - similarity) / PERMS);
        cr_expect_leq(got.rmse, 1.1 * ideal, "J = %.3f: error %.5f, ideal %.5f", similarity,
                      got.rmse, ideal);
        cr_expect_geq(got.rmse, .8 * ideal, "J = %.3f: error %.5f is too good", similarity,
                      got.rmse);
        cr_expect_lt(fabs(got.bias), 4 * ideal / sqrt(SEEDS * PAIRS), "J = %.3f: bias %.5f",
                     similarity, got.bias);
        expect_s_curve(&got, similarity, SET_MAX);
    }
}

Test(oph, sets_of_twice_k_whose_bins_are_partly_empty_are_estimated_without_bias)
{
    enum { SET = 2 * PERMS };
    static const size_t common[] = {85, 171, 192, 228}; /* J .2 .5 .6 .8 */
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        double similarity = similarity_of(SET, common[i]);
        outcome got = run(SET, common[i]);
        double ideal = sqrt(similarity * (1 - similarity) / PERMS);
        cr_expect_lt(fabs(got.bias), 4 * 1.2 * ideal / sqrt(SEEDS * PAIRS), "J = %.3f: bias %.5f",
                     similarity, got.bias);
        cr_expect_leq(got.rmse, 1.2 * ideal, "J = %.3f: error %.5f, ideal %.5f", similarity,
                      got.rmse, ideal);
        expect_s_curve(&got, similarity, SET);
    }
}

Test(oph, equal_sets_agree_in_every_word_and_strangers_in_none)
{
    outcome same = run(100, 100), none = run(100, 0);
    cr_expect_eq(same.rmse, 0.0);
    cr_expect_lt(none.rmse, 1e-3);
    for (size_t p = 0; p < N_PLANS; p++) {
        cr_expect_eq(none.mean[p], 0.0);
        cr_expect_float_eq(same.mean[p], 1.0, 1e-9);
    }
}
