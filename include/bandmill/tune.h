/* tune.h -- bands and rows chosen with open eyes: the plans that a wish allows, and their S-curves.
 *
 * Two documents of Jaccard similarity s share a band, and so become candidates, with probability
 * P(s) = 1 - (1 - s^r)^b under b bands of r rows (bm_band_probability in sketch.h). A wish is a recall
 * R at a threshold T, P(T) >= R, and perhaps a ceiling, P(S) <= P at some S below: how many dissimilar
 * pairs may be compared in vain. */
#ifndef BANDMILL_TUNE_H
#define BANDMILL_TUNE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- the shape of a curve --- */

/* P'(s) = b r s^(r-1) (1 - s^r)^(b-1). */
BM_API double bm_band_slope(uint32_t bands, uint32_t rows, double similarity);
/* Where P is steepest: ((1 - 1/r) / (b - 1/r))^(1/r); 0 with one row, 1 with one band of several. */
BM_API double bm_band_steepest(uint32_t bands, uint32_t rows);
/* What is often given for it, (1/b)^(1/r), where s^r = 1/b and P is 1 - (1 - 1/b)^b, about 0.63. */
BM_API double bm_band_steepest_about(uint32_t bands, uint32_t rows);

/* --- plans --- */

typedef struct bm_tune_options {
    size_t struct_size;
    bm_band_options bands; /* threshold and recall; or bands and rows: this plan alone, whatever its
                              recall and what the ceiling says */
    double ceiling_similarity, ceiling_probability; /* both 0: no ceiling */
    uint32_t perms; /* K, bands * rows at most; 0: bands * rows where both are given, else 128 */
    bm_callbacks callbacks;
} bm_tune_options;

/* The library's own: read by pointer, later versions may add fields behind. */
typedef struct bm_tune_plan {
    uint32_t bands, rows;
    uint32_t words, unused; /* b r words of a signature are used, K - b r are not */
    double recall;          /* P at the threshold */
    double at_ceiling;      /* P at the ceiling's similarity; NAN: there is no ceiling */
    double steepest, steepest_about, slope; /* slope: at the steepest point */
} bm_tune_plan;

#define BM_TUNE_LADDER 20u /* P at 0.05, 0.10 … 1 */

typedef struct bm_tune_result bm_tune_result;

BM_API void bm_tune_options_init_sized(bm_tune_options *options, size_t struct_size);
static inline void bm_tune_options_init(bm_tune_options *options)
{
    bm_tune_options_init_sized(options, sizeof *options);
}

/* All plans of the wish, cheapest first: by the words of a signature that they use, b r, which is what
 * signing under exact verification costs; of plans that use as many, those of fewer bands, which is what
 * looking for candidates costs. One of them is chosen: where there is a ceiling, the cheapest; else the
 * one that dedup and pairs choose (bm_band_plan_choose), which has the most rows, since without a ceiling
 * the cheapest plan makes nearly every pair a candidate.
 *
 * BM_NOT_FOUND: no plan fits, and the message names the least K that has one. BM_ERR_USAGE names the
 * field. On BM_OK *out is the caller's, freed with bm_tune_result_free. */
BM_API bm_status bm_tune(const bm_tune_options *options, bm_tune_result **out, bm_error *err);
/* Of NULL: 0 or NULL. */
BM_API size_t bm_tune_result_count(const bm_tune_result *result);
/* NULL: there are no more. Valid until free. */
BM_API const bm_tune_plan *bm_tune_result_plan(const bm_tune_result *result, size_t index);
BM_API size_t bm_tune_result_chosen(const bm_tune_result *result); /* index */
/* Tables of tab-separated rows, and one JSON object and a newline (docs/formats.md); until free. */
BM_API const char *bm_tune_result_table(const bm_tune_result *result);
BM_API const char *bm_tune_result_json(const bm_tune_result *result);
BM_API void bm_tune_result_free(bm_tune_result *result); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
