/* SPDX-License-Identifier: Apache-2.0 */
/* intersect_loops.h -- the loops from which verify.c chooses. All return the same as `intersect` in
 * verify.c, and differ only in speed. Tests and benchmarks call them too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bm_sorted_set {
    const uint64_t *hashes; /* borrowed; ascending, distinct */
    size_t n;
} bm_sorted_set;

/* intersect_scalar.c */
bool bm_intersect_merge(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);
bool bm_intersect_gallop(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);
#if defined(__x86_64__)
/* intersect_avx2.c; call this only if bm_isa_available(BM_ISA_AVX2) */
bool bm_intersect_avx2(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);
/* intersect_avx512.c; call this only if bm_isa_available(BM_ISA_AVX512) */
bool bm_intersect_avx512(bm_sorted_set x, bm_sorted_set y, size_t least, size_t *common);
#endif
