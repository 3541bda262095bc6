/* intersect.h -- the loop under verify.c: count what two sorted distinct arrays share, or stop
 * early. */
#ifndef BM_LSH_INTERSECT_H
#define BM_LSH_INTERSECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* true and *common = |x and y| where that is at least `least`; else false, and *common says
 * nothing. Chooses the fastest way for these sizes and this processor; the answer does not depend
 * on it. */
bool bm_intersect(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                  size_t *common);

/* The ways, for tests and benchmarks. */
bool bm_intersect_merge(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                        size_t *common);
bool bm_intersect_gallop(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                         size_t *common);
#if defined(__x86_64__)
bool bm_intersect_avx2(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                       size_t *common); /* only where bm_isa_available(BM_ISA_AVX2) */
bool bm_intersect_avx512(const uint64_t *x, size_t n_x, const uint64_t *y, size_t n_y, size_t least,
                         size_t *common); /* only where bm_isa_available(BM_ISA_AVX512) */
#endif

#endif
