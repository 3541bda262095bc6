/* band_plan.c -- choosing bands and rows for a threshold and a recall (docs/pairing.md).
 *
 * Two documents of similarity s agree in one band of r rows with probability s^r, and in at least
 * one of b bands with P = 1 - (1 - s^r)^b. P is computed as -expm1(b * log1p(-s^r)), which keeps
 * its digits where s^r is 1e-17 and 1 - s^r would round to 1.
 *
 * For given rows the least number of bands follows from a quotient of logarithms; the quotient is
 * then corrected by P itself, so that "reaches the recall" has one meaning everywhere. More rows
 * never need fewer bands, hence the least K that has any plan is that of one row.
 *
 * Pure functions; any thread. */
#include "lsh/band_plan.h"

#include <math.h>

#include "base/error.h"

/* Beyond this many bands nobody is helped by the exact number. */
#define BANDS_MANY 1e15

double bm_band_probability(uint32_t bands, uint32_t rows, double similarity)
{
    if (isnan(similarity))
        return similarity;
    if (bands == 0 || similarity <= 0)
        return bands != 0 && rows == 0 ? 1 : 0;
    double agree = similarity >= 1 ? 1 : pow(similarity, rows);
    return -expm1(bands * log1p(-agree));
}

double bm_band_least(uint32_t rows, double threshold, double recall)
{
    double agree = pow(threshold, rows);
    if (agree == 0)
        return INFINITY;
    double bands = agree >= 1 ? 1 : ceil(log1p(-recall) / log1p(-agree));
    if (bands > UINT32_MAX - 1.0)
        return bands;
    uint32_t b = bands < 1 ? 1 : (uint32_t)bands;
    while (b > 1 && bm_band_probability(b - 1, rows, threshold) >= recall)
        b--;
    while (bm_band_probability(b, rows, threshold) < recall)
        b++;
    return b;
}

static bm_status check(double threshold, double recall, uint32_t perms, bm_error *err)
{
    if (!(threshold > 0 && threshold <= 1))
        return bm_fail(err, BM_ERR_USAGE, "threshold %g is out of range (above 0, at most 1)",
                       threshold);
    if (!(recall > 0 && recall < 1))
        return bm_fail(err, BM_ERR_USAGE, "recall %g is out of range (above 0, below 1)", recall);
    if (perms == 0 || perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations are out of range (1 to %u)", perms,
                       BM_PERMS_MAX);
    return BM_OK;
}

static bm_status no_plan(double threshold, double recall, uint32_t perms, bm_error *err)
{
    double least = bm_band_least(1, threshold, recall);
    const char *limit = least > BM_PERMS_MAX ? ", more than a signature may have" : "";
    return bm_fail(err, BM_ERR_USAGE,
                   "%u permutations cannot reach recall %g at threshold %g (at least %.*g are "
                   "needed%s)",
                   perms, recall, threshold, least > BANDS_MANY ? 3 : 16, least, limit);
}

bm_status bm_band_plan_choose(double threshold, double recall, uint32_t perms, bm_band_plan *out,
                              bm_error *err)
{
    bm_band_plan plan = {.perms = perms, .threshold = threshold, .recall = recall};
    BM_TRY(check(threshold, recall, perms, err));
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the plan given");
    for (plan.rows = perms; plan.rows > 0; plan.rows--) {
        double bands = bm_band_least(plan.rows, threshold, recall);
        if (bands > perms / plan.rows)
            continue;
        plan.bands = (uint32_t)bands;
        return bm_band_plan_fixed(&plan, out, err);
    }
    return no_plan(threshold, recall, perms, err);
}

bm_status bm_band_plan_fixed(const bm_band_plan *wanted, bm_band_plan *out, bm_error *err)
{
    uint32_t bands = wanted->bands, rows = wanted->rows, perms = wanted->perms;
    BM_TRY(check(wanted->threshold, wanted->recall, perms, err));
    if (bands == 0 || rows == 0)
        return bm_fail(err, BM_ERR_USAGE, "%u bands of %u rows (at least 1 of each)", bands, rows);
    if ((uint64_t)bands * rows > perms)
        return bm_fail(err, BM_ERR_USAGE,
                       "%u bands of %u rows need %llu permutations (there are %u)", bands, rows,
                       (unsigned long long)bands * rows, perms);
    double predicted = bm_band_probability(bands, rows, wanted->threshold);
    *out = *wanted;
    out->predicted_recall = predicted;
    return BM_OK;
}
