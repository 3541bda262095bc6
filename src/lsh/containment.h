/* containment.h -- does one set hold so much of another? Decided in whole numbers.
 *
 * A set of n hashes is held by another at the share C when the two have at least C n hashes in common. C is a decimal such
 * as .9; the double that stands for it is a little more or less, so that C n in double may miss a whole number. The share is
 * therefore the fraction of whole numbers that the decimal is. */
#ifndef BM_LSH_CONTAINMENT_H
#define BM_LSH_CONTAINMENT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_SHARE_DECIMALS 15u /* a decimal of so many is a double's own */

typedef struct bm_share {
    uint64_t above, below; /* below: a power of ten up to 10^15 */
} bm_share;

/* The fraction that the double stands for. False: it is not more than 0 and at most 1, or has more decimals. */
bool bm_share_of(double share, bm_share *out);
/* The least number of n hashes that is enough: at least 1 of any. */
uint32_t bm_share_least(bm_share share, uint32_t n);
/* The similarity of two sorted distinct sets (verify.h) where one of them, or each, is held by the other; else a negative
 * number, as soon as that is certain. */
double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share);

#endif
