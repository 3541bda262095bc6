/* SPDX-License-Identifier: Apache-2.0 */
/* portable_log.h -- the natural logarithm, the same bits on every machine.
 *
 * It uses only additions, subtractions, multiplications and divisions of doubles, in one fixed
 * order; IEEE 754 defines the result of each operation. There is no table, no call of a library's
 * `log`, and no fused multiply-add. A version for vectors does the same operations in the same
 * order, so its results have the same bits. A compiler must not contract a*b + c into one rounding
 * (-ffp-contract=off, CMakeLists.txt; gcc knows no pragma for it), nor compute as if doubles were
 * real numbers (-ffast-math is refused below). Subnormal numbers are decomposed by integer
 * operations, so that a process that flushes them to zero gets the same bits too. The rounding mode
 * must be to nearest, which is the default of a process.
 *
 * How: x = 2^k m with sqrt(1/2) <= m < sqrt(2), about; then with s = (m-1)/(m+1), |s| <= .1716,
 *
 *     ln m = 2 artanh(s) = 2s + s z (2/3 + 2/5 z + 2/7 z^2 + … + 2/19 z^8 + …),  z = s^2 <= .02944
 *
 * and ln x = k ln 2 + ln m, where ln 2 is the sum of a 32-bit number and a 53-bit number; the
 * product of k and the 32-bit number is exact.
 *
 * The error, with e = 2^-53, the largest relative error of one rounding:
 * - m-1 is exact (Sterbenz); m+1 and the division are rounded: s, and so 2s, is off by 2e.
 * - The cut-off rest of the series is at most 2/21 s z^10 / (1-z); relative to 2s at most .22e.
 * - s z P(z) is at most .0101 of 2s. Its relative error is below 12e: s z has 8e (2e from s, 5e
 *   from z, 1e), P has 2.5e (1e from 2/3, 1e from the last addition, the rest from earlier terms,
 *   which are a 50th of P), the product 1e. That is .13e of 2s. Rounding the sum adds 1e. So ln m
 *   is off by less than 3.4e.
 * - If k = 0, ln x = ln m. Else |ln x| >= .3465 and |ln m| <= .3466, and the absolute errors are:
 *   1.18e of ln m, .35e of its sum with k times the low part, a negligible 2^-22 e of that product,
 *   none of the exact product with the high part; the last sum adds 1e of its result. Relative to
 *   ln x: (1.18 + .35) / .3465 e + e < 5.5e.
 * So |error| < 5.5 * 2^-53 |ln x| for every x, and ln 1 = 0. */
#pragma once

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "signatures of weighted documents need IEEE 754 doubles (no -ffast-math, no x87)"
#endif

#define BM_LOG_TERMS     9
#define BM_LOG_LN2_HIGH  0x1.62e42feep-1              /* 32 bits */
#define BM_LOG_LN2_LOW   0x1.a39ef35793c76p-33        /* ln 2 - BM_LOG_LN2_HIGH */
#define BM_LOG_SQRT_HALF UINT64_C(0x3FE6A09E00000000) /* bits of a double just below sqrt(1/2) */

/* The coefficients of z^8 … z^0. */
static const double bm_log_series[BM_LOG_TERMS] = {2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                                                   2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

/* Is x finite and more than 0? The test uses the bits of x, so that the result is the same if
 * subnormal numbers are flushed to zero. */
static inline int bm_is_positive_finite(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits - 1 < (UINT64_C(0x7FF) << 52) - 1;
}

/* ln x of a finite x > 0. */
static inline double bm_portable_log(double x)
{
    uint64_t bits;
    int64_t k = 0;
    memcpy(&bits, &x, sizeof bits);
    if (bits < UINT64_C(1) << 52) { /* a subnormal number, bits * 2^-1074 */
        const double whole = (double)bits;
        memcpy(&bits, &whole, sizeof bits);
        k = -1074;
    }
    const uint64_t above = bits - BM_LOG_SQRT_HALF;
    k += (int64_t)above >> 52;
    bits = (above & ((UINT64_C(1) << 52) - 1)) + BM_LOG_SQRT_HALF;
    double m;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = bm_log_series[0];
    for (int i = 1; i < BM_LOG_TERMS; i++)
        p = p * z + bm_log_series[i];
    const double ln_m = (s + s) + (s * z) * p;
    return (double)k * BM_LOG_LN2_HIGH + (ln_m + (double)k * BM_LOG_LN2_LOW);
}
