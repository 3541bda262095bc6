/* verify.c -- how many hashes two sorted sets share, and whether that is enough.
 *
 * The similarity of a pair is the double (double)common / (double)(n_x + n_y - common), and a pair
 * is an edge when that double is >= the threshold. Rounded division is monotone, so that for given
 * sizes there is a least `common` which is enough: it is estimated as t(n_x+n_y)/(1+t) and then
 * moved until the very expression above agrees. From there on everything is a comparison of
 * integers: the merge stops when the hashes found plus all that could still be found are fewer than
 * that, and no pair is lost to rounding.
 *
 * The merge is bm_intersect of intersect.h; where one set is far longer than the other, each hash
 * of the shorter is looked up in the longer by galloping instead.
 *
 * Pure functions; any thread. */
#include "lsh/verify.h"

#include "lsh/intersect.h"

size_t bm_hashes_distinct(uint64_t *hashes, size_t n)
{
    size_t left = n != 0;
    for (size_t i = 1; i < n; i++) {
        hashes[left] = hashes[i];
        left += hashes[i] != hashes[left - 1];
    }
    return left;
}

size_t bm_hashes_common(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y)
{
    size_t common = 0;
    bm_intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, 0, &common);
    return common;
}

double bm_jaccard(size_t common, size_t n_x, size_t n_y)
{
    size_t all = n_x + n_y - common;
    return all == 0 ? 0 : (double)common / (double)all;
}

/* c = J (n_x + n_y) / (1 + J), with a relative error of a few 2^-53: less than a half for any sets of fewer than 2^50 hashes. */
size_t bm_jaccard_common(double jaccard, size_t n_x, size_t n_y)
{
    return (size_t)(jaccard * ((double)n_x + (double)n_y) / (1 + jaccard) + 0.5);
}

size_t bm_jaccard_least_common(size_t n_x, size_t n_y, double threshold)
{
    size_t most = n_x < n_y ? n_x : n_y;
    if (!(bm_jaccard(most, n_x, n_y) >= threshold))
        return SIZE_MAX;
    if (threshold <= 0)
        return 0;
    double estimate = threshold * ((double)n_x + (double)n_y) / (1 + threshold);
    size_t common = estimate >= (double)most ? most : (size_t)estimate;
    while (common > 0 && bm_jaccard(common - 1, n_x, n_y) >= threshold)
        common--;
    while (bm_jaccard(common, n_x, n_y) < threshold)
        common++;
    return common;
}

double bm_jaccard_at_least(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y,
                           double threshold)
{
    size_t least = bm_jaccard_least_common(n_x, n_y, threshold);
    size_t common = 0;
    if (least == SIZE_MAX ||
        !bm_intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common))
        return -1;
    return bm_jaccard(common, n_x, n_y);
}

double bm_containment(size_t common, size_t n_x, size_t n_y)
{
    const size_t least = n_x < n_y ? n_x : n_y;
    return least == 0 ? 0 : (double)common / (double)least;
}

size_t bm_least_share(size_t n, double threshold)
{
    double estimate = threshold * (double)n;
    size_t share = estimate >= (double)n ? n : (size_t)estimate;
    while (share > 0 && (double)(share - 1) / (double)n >= threshold)
        share--;
    while (share < n && (double)share / (double)n < threshold)
        share++;
    return share;
}

double bm_similarity_at_least(bm_measure measure, const uint64_t *x, size_t n_x, const uint64_t *y,
                              size_t n_y, double threshold)
{
    size_t common = 0;
    if (measure == BM_MEASURE_JACCARD)
        return bm_jaccard_at_least(x, n_x, y, n_y, threshold);
    const size_t least = bm_least_share(n_x < n_y ? n_x : n_y, threshold);
    return bm_intersect((bm_sorted_set){x, n_x}, (bm_sorted_set){y, n_y}, least, &common)
               ? bm_containment(common, n_x, n_y)
               : -1;
}
