/* intersect.c -- which loop counts the common elements of two sets.
 *
 * Galloping pays from a ratio of sizes of about 32 on, which only low thresholds (or no threshold)
 * let through. Vectors pay from a few elements on. */
#include "lsh/intersect.h"

#include "base/cpu.h"

#define GALLOP_RATIO 32u
#define VECTOR_MIN   8u

bool bm_intersect(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common)
{
    size_t shorter = x.n < y.n ? x.n : y.n, longer = x.n < y.n ? y.n : x.n;
    if (longer / GALLOP_RATIO > shorter)
        return bm_intersect_gallop(x, y, least, common);
#if defined(__x86_64__)
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX512))
        return bm_intersect_avx512(x, y, least, common);
    if (shorter >= VECTOR_MIN && bm_isa_available(BM_ISA_AVX2))
        return bm_intersect_avx2(x, y, least, common);
#endif
    return bm_intersect_merge(x, y, least, common);
}
