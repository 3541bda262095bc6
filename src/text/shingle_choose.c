/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_choose.c -- chooses the loops of an instruction set. If it has none, the scalar loops are
 * chosen.
 *
 * Tests: tests/unit/text/test_shingler.c */
#include "text/shingle_ops.h"

const bm_shingle_ops *bm_shingle_ops_of(bm_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case BM_ISA_AVX2:
        return &bm_shingle_ops_avx2;
    case BM_ISA_AVX512:
        return &bm_shingle_ops_avx512;
#elif defined(__aarch64__)
    case BM_ISA_NEON:
        return &bm_shingle_ops_neon;
#endif
    default:
        return &bm_shingle_ops_scalar;
    }
}
