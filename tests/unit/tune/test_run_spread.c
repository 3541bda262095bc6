/* test_run_spread.c -- Var(Z) against what it is by calculation: of pairs that are independent, and of documents
 * that one shingle makes agree together; of all documents and of a sample. Each is a mean over seeds, with the
 * error that such a mean has. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "pipeline/tune/run_spread.h"

enum { MOST = 4, SEEDS = 40 };

typedef struct corpus {
    uint64_t (*hashes)[MOST];
    uint32_t size;
    size_t n;
} corpus;

static uint64_t hash_of(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    i = (i ^ i >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return i ^ i >> 27;
}

/* Draw one of `step` documents: `rows`. */
static size_t draw(const corpus *c, uint32_t seed, size_t step, size_t *rows)
{
    bm_random random;
    const size_t n = c->n / step;
    bm_random_init(&random, seed);
    for (size_t i = 0; i < c->n; i++)
        rows[i] = i;
    for (size_t i = 0; i < n; i++) {
        const size_t k = (size_t)bm_random_range(&random, i, c->n), was = rows[i];
        rows[i] = rows[k];
        rows[k] = was;
    }
    return n;
}

/* Var(Z) with q = 1: one of `step` documents is drawn, and each of these is compared with all. */
static double variance_of(const corpus *c, const bm_band_plan *plan, uint32_t seed, size_t step)
{
    size_t *rows = malloc(c->n * sizeof *rows);
    const size_t n = draw(c, seed, step, rows);
    const uint64_t **sets = malloc(n * sizeof *sets);
    uint32_t *sizes = malloc(n * sizeof *sizes);
    bm_run_spread spread;
    bm_spread_scratch scratch;
    for (size_t i = 0; i < n; i++) {
        sets[i] = c->hashes[rows[i]];
        sizes[i] = c->size;
    }
    cr_assert_eq(bm_run_spread_open(&spread, &(bm_spread_job){plan, seed, NULL},
                                    &(bm_hash_sets){sets, sizes, n}, NULL),
                 BM_OK);
    for (size_t j = 0; j < c->n; j++) {
        bm_run_spread_keys(&spread, c->hashes[j], c->size, &scratch);
        for (uint32_t k = 0; k < spread.n_made; k++) {
            size_t n_agree;
            const uint32_t *agree = bm_overlap_sets(&spread.index, scratch.keys[k], &n_agree);
            for (size_t i = 0; i < n_agree; i++)
                if (rows[agree[i]] != j)
                    bm_run_spread_add(&spread, agree[i], k, 1, agree[i] % 2 == 0);
        }
    }
    const double variance = bm_run_spread_variance(&spread, c->n, false);
    bm_run_spread_close(&spread);
    free(sets);
    free(sizes);
    free(rows);
    return variance;
}

static void expect_mean(const corpus *c, const bm_band_plan *plan, size_t step, double wanted)
{
    double sum = 0, squares = 0;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        const double v = variance_of(c, plan, seed, step);
        sum += v;
        squares += v * v;
    }
    const double mean = sum / SEEDS;
    const double error = sqrt((squares / SEEDS - mean * mean) / (SEEDS - 1));
    cr_expect(fabs(mean - wanted) < 3.3 * error, "%u x %u, step %zu: %g, error %g, not %g",
              plan->bands, plan->rows, step, mean, error, wanted);
    cr_expect_lt(error, wanted / 4, "%g of %g says nothing", error, wanted);
}

/* 300 pairs of documents with 3 of 5 words in common, and nothing else: each agrees in a band with p = .6^r. */
static corpus pairs_apart(void)
{
    corpus c = {calloc(600, sizeof *c.hashes), 4, 600};
    for (size_t i = 0; i < c.n; i++)
        for (uint32_t k = 0; k < 4; k++)
            c.hashes[i][k] = hash_of(k < 3 ? i / 2 * 3 + k : 100000 + i);
    return c;
}

Test(run_spread, of_independent_pairs_is_the_sum_of_theirs)
{
    const corpus c = pairs_apart();
    for (uint32_t rows = 1; rows <= 3; rows++) {
        const bm_band_plan plan = {.bands = 10, .rows = rows};
        const double p = pow(.6, rows);
        expect_mean(&c, &plan, 1, 300 * p * (1 - p));
    }
    free(c.hashes);
}

/* Documents {c, x_i}: with h(c) = t among numbers from 0 to 1, each has c as its least with 1 - t, and all those
 * agree. With M of D: Z = M (M - 1) / 2, whose moments given t are D (D - 1) (1 - t)^2 / 2 and so on; over t. */
static double of_one_common(double d)
{
    /* E[Z] = d(d-1)/2 * 1/3; E[Z^2] = (d4/5 + 4 d3/4 + 2 d2/3) / 4, with falling factorials d2, d3, d4 */
    const double d2 = d * (d - 1), d3 = d2 * (d - 2), d4 = d3 * (d - 3);
    const double mean = d2 / 6, square = (d4 / 5 + d3 + 2 * d2 / 3) / 4;
    return square - mean * mean;
}

Test(run_spread, of_documents_that_share_one_word_is_what_they_do_together)
{
    corpus c = {calloc(200, sizeof *c.hashes), 2, 200};
    for (size_t i = 0; i < c.n; i++) {
        c.hashes[i][0] = hash_of(7);
        c.hashes[i][1] = hash_of(1000 + i);
    }
    const bm_band_plan plan = {.bands = 10, .rows = 1};
    expect_mean(&c, &plan, 1, of_one_common(200));
    expect_mean(&c, &plan, 4, of_one_common(200)); /* 50 drawn documents say as much */
    free(c.hashes);
}

Test(run_spread, of_a_sample_has_what_the_sample_does_taken_off)
{
    const corpus c = pairs_apart();
    const bm_band_plan plan = {.bands = 10, .rows = 1};
    expect_mean(&c, &plan, 4,
                300 * .6 * .4); /* what the sample adds is one and a half times as much */
    free(c.hashes);
}

Test(run_spread, of_rows_too_many_to_make_two_bands_of_is_not_known)
{
    const uint64_t hash = 7, *sets[] = {&hash, &hash};
    const uint32_t sizes[] = {1, 1};
    bm_run_spread spread;
    const bm_band_plan plan = {.bands = 2, .rows = BM_SPREAD_WORDS / 2 + 1};
    cr_assert_eq(bm_run_spread_open(&spread, &(bm_spread_job){&plan, 1, NULL},
                                    &(bm_hash_sets){sets, sizes, 2}, NULL),
                 BM_OK);
    cr_expect_eq(spread.n_made, 0);
    cr_expect_eq(bm_run_spread_variance(&spread, 2, false), 0);
    bm_run_spread_close(&spread);
}
