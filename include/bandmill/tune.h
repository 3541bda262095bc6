/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h -- helps to choose bands and rows: computes the plans that reach a goal, and their
 * S-curves.
 *
 * With b bands of r rows, two documents of Jaccard similarity s share a band, and so become
 * candidates, with probability P(s) = 1 - (1 - s^r)^b (bm_band_probability in sketch.h). A goal is
 * a recall R at a threshold T: P(T) >= R. It may also have a ceiling at some S < T: P(S) <= C. A
 * ceiling limits the comparisons of dissimilar pairs. */
#ifndef BANDMILL_TUNE_H
#define BANDMILL_TUNE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- the shape of a curve --- */

/* Return P'(s) = b r s^(r-1) (1 - s^r)^(b-1). It is 0 without bands or rows, and outside of 0 …
 * 1. */
BM_API double bm_band_slope(uint32_t bands, uint32_t rows, double similarity);
/* Return the similarity at which P is steepest: ((1 - 1/r) / (b - 1/r))^(1/r). It is 0 with one
 * row, and 1 with one band of several rows. */
BM_API double bm_band_steepest(uint32_t bands, uint32_t rows);
/* Return the usual approximation of bm_band_steepest: (1/b)^(1/r). There s^r is 1/b, and P is 1 -
 * (1 - 1/b)^b, about 0.63. */
BM_API double bm_band_steepest_about(uint32_t bands, uint32_t rows);
/* Return the similarity at which P is `probability`: (1 - (1 - p)^(1/b))^(1/r). This is the inverse
 * of bm_band_probability. NAN: `bands` or `rows` is 0, or `probability` is not in 0 … 1. */
BM_API double bm_band_similarity(uint32_t bands, uint32_t rows, double probability);

/* --- plans --- */

/* The greatest K of this header, which only computes plans. (A signature has at most BM_PERMS_MAX
 * values.) */
#define BM_TUNE_PERMS_MAX 65536u

typedef struct bm_tune_options {
    size_t struct_size;
    bm_band_options bands; /* threshold and recall; or bands and rows for only this plan, whatever
                            * its recall and the ceiling are */
    double ceiling_similarity, ceiling_probability; /* both 0: no ceiling */
    uint32_t perms; /* K, up to BM_TUNE_PERMS_MAX: a plan may use bands * rows <= K values. 0: bands
                     * * rows if both are given, else 128 */
    uint32_t seed;  /* seed of the sample */
    /* Documents for a forecast. If there are neither paths nor files_from, there is no forecast,
     * and `texts` and `sample` are ignored. Standard input can be read only if there is at most one
     * entry of `texts`. Directories of signatures are BM_ERR_USAGE. */
    bm_input_options input;
    const bm_text_options
        *texts; /* ways to cut documents; each gets a forecast. n_texts 0: the default way */
    size_t n_texts;
    uint64_t sample; /* number of documents that are compared with all others, at least 2; 0:
                        2,000 */
    const char *svg; /* file for a picture; NULL: none */
    bool force;      /* replace a picture that an earlier call wrote */
    bm_device_options device; /* only `cpu` is used */
    bm_resource_options resources;
    bm_callbacks callbacks;
} bm_tune_options;

/* The library owns this struct. Read it through the pointer, because later versions may add fields
 * at the end. */
typedef struct bm_tune_plan {
    uint32_t bands, rows;
    uint32_t used, unused; /* how many values of a signature are used, b r, and how many are not, K
                              - b r */
    double recall;         /* P at the threshold */
    double at_ceiling;     /* P at the ceiling's similarity; NAN: there is no ceiling */
    double steepest, steepest_about, slope; /* slope: at the steepest point */
} bm_tune_plan;

#define BM_TUNE_LADDER 20u /* P at 0.05, 0.10 … 1 */
/* Bins of a hundredth of similarity. A bin includes its lower end. The last bin also includes 1. */
#define BM_TUNE_BINS 100u

/* Five levels, 0 to 4, and the threshold of level l: .9, .8, .7, .6, .5. */
#define BM_TUNE_LEVELS 5u
static inline double bm_tune_level(uint32_t level)
{
    return (9.0 - level) / 10;
}

/* --- forecasts --- */

/* The documents, cut by one entry of `texts`. Banding compares distinct documents: documents that
 * have shingles, but of identical documents only the first. A pair is two distinct documents.
 *
 * How values are estimated. n of the D distinct documents are drawn; every set of n is equally
 * likely. Each drawn document is compared exactly with all others. Let y_i be half the sum over the
 * pairs of document i: the sum of 1 for a number of pairs, the sum of P(s) for candidates. The
 * estimate for the corpus is t = D/n sum y_i. Its standard error is the root of D^2 (1 - n/D)
 * s^2/n, with s^2 the variance of the drawn y_i (Cochran, Sampling Techniques, 1977, theorems 2.2
 * and 2.4). Documents are drawn, not pairs, so pairs that share a document need not be independent.
 * The squared error is increased by the contribution of a pair that is seen once: (1 - n/D)
 * (D/2n)^2 times the square of the greatest value that one pair can have. If D is at most `sample`,
 * everything is exact and the errors are 0.
 *
 * The library owns this struct. Read it through the pointer, because later versions may add fields
 * at the end. */
typedef struct bm_tune_sample {
    char shingle[32];           /* "word:5" */
    uint64_t documents;         /* documents that were read */
    uint64_t empty;             /* documents without shingles */
    uint64_t identical;         /* documents that are identical to an earlier one */
    uint64_t identical_pairs;   /* pairs of identical documents; exact, because they need no
                                   bands */
    uint64_t distinct, sampled; /* distinct: D; sampled: n */
    double similar_pairs, similar_pairs_error; /* pairs at or above the threshold */
    /* The range of candidates in nine of ten runs with the chosen plan, if each run has
     * permutations of its own. The range comes from 99 runs on the drawn documents, without the two
     * least and the two greatest results. If not all documents were drawn, it includes the error of
     * the forecast. NAN: not known, because the plan has more than BM_PERMS_MAX values, or because
     * the drawn documents have no candidates. */
    double candidates_low, candidates_high;
    /* BM_TUNE_BINS entries each: the exact numbers of pairs within the sample; the estimates for
     * the corpus, and their errors */
    const uint64_t *sample_pairs;
    const double *pairs, *pairs_error;
    /* For each level: the number of documents that have an earlier document at or above the
     * threshold of the level. Copies are included. If dedup keeps the first document of each group,
     * it removes these documents, and also documents that only a later document joins to an earlier
     * one. The numbers are estimated in the same way, with y_i 1 or 0. */
    double removed[BM_TUNE_LEVELS], removed_error[BM_TUNE_LEVELS];
} bm_tune_sample;

/* The mean results of `pairs` with a plan, over all seeds. A single run differs from this mean by
 * chance, because of its permutations; bm_tune_sample has the range. The standard errors do not
 * include this difference. The library owns this struct. Read it through the pointer, because later
 * versions may add fields at the end. */
typedef struct bm_tune_forecast {
    double candidates, candidates_error;         /* pairs that share a band, all of which are
                                                    compared */
    double verified_pairs, verified_pairs_error; /* candidates at or above the threshold */
    double missed_pairs, missed_pairs_error;     /* pairs at or above the threshold without a common
                                                  * band */
} bm_tune_forecast;

/* Plain memory, so a forked child may read and free its copy. */
typedef struct bm_tune_result bm_tune_result;

BM_API void bm_tune_options_init_sized(bm_tune_options *options, size_t struct_size);
static inline void bm_tune_options_init(bm_tune_options *options)
{
    bm_tune_options_init_sized(options, sizeof *options);
}

/* Find all plans that fit, the cheapest first. If verification is exact, the cost of signing is
 * proportional to b r, the number of values that a plan uses. Of plans that use equally many
 * values, the plan with fewer bands is cheaper, because each band costs a search for candidates.
 *
 * One plan is chosen. With a ceiling, it is the cheapest plan. Without a ceiling, it is the plan
 * that dedup and pairs choose (bm_band_plan_choose), which has the most rows. The cheapest plan
 * would then make nearly every pair a candidate.
 *
 * BM_NOT_FOUND: no plan fits. The message names the least K that has one. BM_ERR_USAGE: the error
 * names the field. With documents also BM_ERR_INPUT, BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_FORMAT,
 * BM_ERR_CANCELLED. The picture is written as a whole, or not at all. On BM_OK the caller frees
 * *out with bm_tune_result_free. */
BM_API bm_status bm_tune(const bm_tune_options *options, bm_tune_result **out, bm_error *err);
/* If the result is NULL, the functions below return 0 or NULL. */
BM_API size_t bm_tune_result_count(const bm_tune_result *result);
/* Return plan number `index`, valid until free. NULL: there are no more plans. */
BM_API const bm_tune_plan *bm_tune_result_plan(const bm_tune_result *result, size_t index);
BM_API size_t bm_tune_result_chosen(const bm_tune_result *result); /* index of the chosen plan */
/* One sample for each entry of bm_tune_options.texts; none if no documents were given. */
BM_API size_t bm_tune_result_n_samples(const bm_tune_result *result);
BM_API const bm_tune_sample *bm_tune_result_sample(const bm_tune_result *result, size_t sample);
BM_API const bm_tune_forecast *bm_tune_result_forecast(const bm_tune_result *result, size_t sample,
                                                       size_t plan);
/* Return the result as tables of tab-separated rows, or as one JSON object and a newline
 * (docs/formats.md). Both texts are valid until free. */
BM_API const char *bm_tune_result_table(const bm_tune_result *result);
BM_API const char *bm_tune_result_json(const bm_tune_result *result);
BM_API void bm_tune_result_free(bm_tune_result *result); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
