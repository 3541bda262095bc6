/* band_curve.c -- the shape of P(s) = 1 - (1 - s^r)^b: how steep it is, and where most.
 *
 * P'(s) = b r s^(r-1) (1 - s^r)^(b-1), and P''(s) = 0 where (r - 1)(1 - s^r) = (b - 1) r s^r, which is
 * s^r = (r - 1) / (b r - 1) = (1 - 1/r) / (b - 1/r). The logarithm of P' is a sum, so nothing in it
 * under- or overflows before P' itself does.
 *
 * The inverse of P is s^r = 1 - (1 - p)^(1/b) = -expm1(log1p(-p) / b), which keeps its digits for small p
 * and for many bands.
 *
 * Pure functions; any thread. Tests: tests/unit/lsh/test_band_curve.c */
#include <bandmill/tune.h>

#include <math.h>

double bm_band_slope(uint32_t bands, uint32_t rows, double similarity)
{
    const double b = bands, r = rows, s = similarity;
    if (isnan(s) || bands == 0 || rows == 0 || s < 0 || s > 1)
        return isnan(s) ? s : 0;
    if (s <= 0)
        return rows == 1 ? b : 0;
    const double agree = pow(s, r);
    if (agree >= 1)
        return bands == 1 ? r : 0;
    return exp(log(b) + log(r) + (r - 1) * log(s) + (b - 1) * log1p(-agree));
}

double bm_band_steepest(uint32_t bands, uint32_t rows)
{
    const double b = bands, r = rows;
    if (bands == 0 || rows <= 1)
        return 0;
    return bands == 1 ? 1 : pow((r - 1) / (b * r - 1), 1 / r);
}

double bm_band_steepest_about(uint32_t bands, uint32_t rows)
{
    return bands == 0 || rows == 0 ? 0 : pow(bands, -1.0 / rows);
}

double bm_band_similarity(uint32_t bands, uint32_t rows, double probability)
{
    if (bands == 0 || rows == 0 || !(probability >= 0 && probability <= 1))
        return NAN;
    return pow(-expm1(log1p(-probability) / bands), 1.0 / rows);
}
