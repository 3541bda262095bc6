/* intersect.c -- counting common elements of two sorted arrays without a branch on their order.
 *
 * Which of two hashes is smaller is a coin toss, so a merge that branches on it pays a
 * misprediction at every other step. Here each step advances by the results of two comparisons. A
 * step takes at most one element from each array, so that min(left in x, left in y) steps need no
 * bounds check; between such runs it is asked whether the rest can still reach `least`.
 *
 * Galloping: for each element of the shorter array, step 1, 2, 4 … ahead in the longer, then
 * bisect: n_short * log(n_long / n_short) instead of n_short + n_long. It pays from a ratio of
 * about 32 on, which only low thresholds (or no threshold) let through. */
#include "lsh/intersect.h"

#include "base/cpu.h"

#define RUN          32u /* steps between two looks at the bound */
#define GALLOP_RATIO 32u
#define VECTOR_MIN   8u

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool bm_intersect_merge(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                        size_t *common)
{
    size_t i = 0, j = 0, found = 0;
    for (;;) {
        size_t left = least_of(n_x - i, n_y - j);
        if (found + left < least)
            return false;
        if (left == 0)
            break;
        for (size_t steps = least_of(left, RUN); steps > 0; steps--) {
            uint64_t a = x[i], b = y[j];
            found += a == b;
            i += a <= b;
            j += b <= a;
        }
    }
    *common = found;
    return true;
}

/* The first position in y[from … n-1] whose element is not below `value`, n if there is none. */
static size_t gallop_to(const uint64_t *y, size_t from, size_t n, uint64_t value)
{
    size_t step = 1, low = from; /* everything before low is below value */
    while (step <= n - low && y[low + step - 1] < value) {
        low += step;
        step *= 2;
    }
    size_t high = step <= n - low ? low + step - 1 : n; /* at high and after: not below */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (y[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool bm_intersect_gallop(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                         size_t *common)
{
    if (n_x > n_y)
        return bm_intersect_gallop(y, n_y, x, n_x, least, common);
    size_t j = 0, found = 0;
    for (size_t i = 0; i < n_x; i++) {
        if (found + least_of(n_x - i, n_y - j) < least)
            return false;
        j = gallop_to(y, j, n_y, x[i]);
        if (j == n_y)
            break;
        found += y[j] == x[i];
    }
    *common = found;
    return found >= least;
}

bool bm_intersect(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                  size_t *common)
{
    size_t shorter = least_of(n_x, n_y), longer = n_x < n_y ? n_y : n_x;
    if (longer / GALLOP_RATIO > shorter)
        return bm_intersect_gallop(x, n_x, y, n_y, least, common);
#if defined(__x86_64__)
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX512))
        return bm_intersect_avx512(x, n_x, y, n_y, least, common);
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX2))
        return bm_intersect_avx2(x, n_x, y, n_y, least, common);
#endif
    return bm_intersect_merge(x, n_x, y, n_y, least, common);
}
