/* SPDX-License-Identifier: Apache-2.0 */
/* How well the signatures estimate, on pairs of sets of known Jaccard similarity.
 *
 * Each trial draws two new sets: |A| = |B| = 100 with exactly `common` members in both, so J =
 * common / (200 - common) exactly. The seed of the coefficients changes every 100 trials, the
 * members every trial. Under ideal min-wise hashing the agreement of k words is binomial(k, J)/k,
 * which gives the bounds: bias under .002, root mean square error within 5 % of sqrt(J(1-J)/k), and
 * the number of candidates of b bands of r rows inside the 99 % interval of binomial(trials,
 * 1-(1-J^r)^b). Seeds are fixed, so a result never varies. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "set_pairs.h"

enum { SET = 100, TRIALS_A_SEED = 100, SEEDS = 80, TRIALS = SEEDS * TRIALS_A_SEED };

typedef struct outcome {
    double bias, rmse;
    unsigned candidates[N_PLANS];
} outcome;

/* The members of a set: random, or badly mixed on purpose. */
typedef enum members { RANDOM_MEMBERS, CONSECUTIVE_MEMBERS } members;

/* Two sets that share `common` members, one after the other in `hashes`. */
static const bm_similarity_rule agreement = {.verify = BM_VERIFY_SIGNATURE, .words = {PERMS, 4}};

static void draw_pair(bm_random *random, members kind, size_t common, uint64_t *hashes)
{
    uint64_t first = bm_random_u32(random);
    uint64_t pool[2 * SET];
    for (size_t i = 0; i < 2 * SET - common; i++)
        pool[i] = kind == CONSECUTIVE_MEMBERS ? first + i : bm_random_u64(random);
    memcpy(hashes, pool, SET * sizeof *hashes);
    memcpy(hashes + SET, pool, common * sizeof *hashes);
    memcpy(hashes + SET + common, pool + SET, (SET - common) * sizeof *hashes);
}

static outcome run(members kind, size_t common)
{
    static uint64_t hashes[TRIALS_A_SEED * 2 * SET], offsets[2 * TRIALS_A_SEED + 1];
    static uint32_t words[2 * TRIALS_A_SEED * PERMS];
    for (size_t i = 0; i <= 2 * TRIALS_A_SEED; i++)
        offsets[i] = i * SET;
    bm_random random;
    bm_random_init(&random, 12345 + (uint32_t)common);
    double similarity = similarity_of(SET, common), sum = 0, squares = 0;
    outcome out = {0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        for (size_t t = 0; t < TRIALS_A_SEED; t++)
            draw_pair(&random, kind, common, hashes + t * 2 * SET);
        sign_trial(
            BM_SCHEME_AFFINE32, seed,
            &(bm_sign_task){
                .offsets = offsets, .hashes = hashes, .n_docs = 2 * TRIALS_A_SEED, .words = words});
        for (size_t t = 0; t < TRIALS_A_SEED; t++) {
            const uint32_t *pair = words + t * 2 * PERMS;
            double error =
                bm_similarity(&agreement, (bm_compared){pair, 0}, (bm_compared){pair + PERMS, 0}) -
                similarity;
            sum += error;
            squares += error * error;
            for (size_t p = 0; p < N_PLANS; p++)
                out.candidates[p] += is_candidate(pair, plans[p]);
        }
    }
    out.bias = sum / TRIALS;
    out.rmse = sqrt(squares / TRIALS);
    return out;
}

/* P(X <= k) for a binomial(n, p) variable X, from log p and log(1 - p), since p may be so close to
 * 0 or 1 that 1 - p is inexact. */
static double binomial_cdf(unsigned k, unsigned n, double log_p, double log_q)
{
    double sum = 0;
    for (unsigned i = 0; i <= k; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log_p +
                   (n - i) * log_q);
    return sum;
}

static void expect_ideal(members kind, size_t common)
{
    double similarity = similarity_of(SET, common);
    outcome got = run(kind, common);
    double ideal = sqrt(similarity * (1 - similarity) / PERMS);
    cr_expect_lt(fabs(got.bias), .002, "J = %.3f: bias %.5f", similarity, got.bias);
    cr_expect_lt(fabs(got.rmse / ideal - 1), .05, "J = %.3f: error %.5f, ideal %.5f", similarity,
                 got.rmse, ideal);
    for (size_t p = 0; p < N_PLANS; p++) {
        double log_q = plans[p].bands * log1p(-pow(similarity, plans[p].rows));
        double expected = -expm1(log_q), log_p = log(expected);
        unsigned n = got.candidates[p];
        double at_most = binomial_cdf(n, TRIALS, log_p, log_q);
        /* as few misses as observed */
        double at_least = binomial_cdf(TRIALS - n, TRIALS, log_q, log_p);
        cr_expect(at_most > .005 && at_least > .005,
                  "J = %.3f, %u x %u: %u of %d candidates, %.1f expected", similarity,
                  plans[p].bands, plans[p].rows, n, TRIALS, expected * TRIALS);
    }
}

Test(estimator, random_members_are_estimated_without_bias_and_with_the_ideal_error)
{
    static const size_t common[] = {34, 67, 82, 89, 95}; /* J .20 .50 .69 .80 .90 */
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        expect_ideal(RANDOM_MEMBERS, common[i]);
}

/* The premix exists for these: a linear family alone is off by .03 on consecutive integers. */
Test(estimator, consecutive_members_are_estimated_as_well_as_random_ones)
{
    static const size_t common[] = {34, 67, 89};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        expect_ideal(CONSECUTIVE_MEMBERS, common[i]);
}

Test(estimator, sets_without_a_common_member_agree_by_chance_of_equal_words_only)
{
    outcome got = run(RANDOM_MEMBERS, 0);
    cr_expect_lt(got.rmse, 1e-3);
    for (size_t p = 0; p < N_PLANS; p++)
        cr_expect_eq(got.candidates[p], 0);
}

Test(estimator, equal_sets_agree_in_every_word_and_are_always_candidates)
{
    outcome got = run(RANDOM_MEMBERS, SET);
    cr_expect_eq(got.rmse, 0.0);
    for (size_t p = 0; p < N_PLANS; p++)
        cr_expect_eq(got.candidates[p], (unsigned)TRIALS);
}
