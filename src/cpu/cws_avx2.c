/* SPDX-License-Identifier: Apache-2.0 */
/* cws_avx2.c -- the loops of cws with AVX2: 4 doubles, or 8 floats, a register.
 *
 * Tests: tests/unit/cpu/test_cws_loops.c, tests/unit/cpu/test_native_cws.c */
#include <immintrin.h>

#define LANES 4
#include "cpu/cws_few_lanes.h"

static inline uint32_t half_at_most(const uint8_t *bytes, __m256i limit)
{
    const __m256i x = _mm256_loadu_si256((const __m256i *)bytes);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, limit), x));
}

static inline uint64_t at_most(const uint8_t *bytes, uint8_t limit)
{
    const __m256i all = _mm256_set1_epi8((char)limit);
    return half_at_most(bytes, all) | (uint64_t)half_at_most(bytes + 32, all) << 32;
}

static inline void put_eight(uint64_t bytes, uint32_t first, uint32_t more, uint32_t *out)
{
    const __m256i words = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
    const __m256i one =
        _mm256_add_epi32(_mm256_slli_epi32(words, 16), _mm256_set1_epi32((int)first));
    const __m256i all = _mm256_add_epi32(one, _mm256_set1_epi32((int)more));
    _mm256_storeu_si256((__m256i *)out, all);
}

const bm_cws_loops bm_cws_loops_avx2 = {.bounds = bounds,
                                        .log_weights = log_weights,
                                        .set_limits = set_limits,
                                        .candidates = candidates,
                                        .values = values};
