/* containment.c -- an estimate in double, moved until the whole numbers agree.
 *
 * Of two sets it is the smaller that is held, if either is: it needs fewer hashes in common than the larger one.
 *
 * Pure functions; any thread. */
#include "lsh/containment.h"

#include <math.h>

#include "lsh/intersect.h"
#include "lsh/verify.h"

__extension__ typedef unsigned __int128 wide;

bool bm_share_of(double share, bm_share *out)
{
    if (!(share > 0 && share <= 1))
        return false;
    uint64_t below = 1;
    for (unsigned decimals = 0; decimals <= BM_SHARE_DECIMALS; decimals++, below *= 10) {
        /* Both are below 2^53, so the quotient is the double that is nearest to the decimal. */
        const double above = nearbyint(share * (double)below), nearest = above / (double)below;
        if (above >= 1 && nearest >= share && nearest <= share) {
            *out = (bm_share){(uint64_t)above, below};
            return true;
        }
    }
    return false;
}

static bool is_enough(bm_share share, uint64_t common, uint32_t n)
{
    return (wide)common * share.below >= (wide)share.above * n;
}

uint32_t bm_share_least(bm_share share, uint32_t n)
{
    if (share.above == share.below)
        return n;
    uint64_t least = (uint64_t)((double)share.above / (double)share.below * (double)n);
    while (least > 0 && is_enough(share, least - 1, n))
        least--;
    while (!is_enough(share, least, n))
        least++;
    return (uint32_t)least;
}

double bm_jaccard_held(const uint64_t *x, uint32_t n_x, const uint64_t *y, uint32_t n_y,
                       bm_share share)
{
    size_t common = 0;
    const uint32_t least = bm_share_least(share, n_x < n_y ? n_x : n_y);
    if (!bm_intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common))
        return -1;
    return bm_jaccard(common, n_x, n_y);
}
