/* SPDX-License-Identifier: Apache-2.0 */
/* low_halves.c -- counts distinct hashes and low halves, and makes the error message.
 *
 * Tests: tests/unit/model/test_low_halves.c, tests/cli/situations/low-halves.txt */
#include "model/low_halves.h"

#include <inttypes.h>
#include <math.h>

#include <bandmill/option_names.h>

#include "base/error.h"
#include "kernels/affine32.h"

#define REGISTERS (1u << BM_LOW_HALVES_BITS)

/* Count a value. Its register stores 1 + the greatest number of leading zeros so far. */
static inline void count(uint8_t *registers, uint64_t value)
{
    /* without the addition, fmix64 would leave 0 unchanged, and 0 would set the highest rank */
    const uint64_t mixed = bm_fmix64(value + UINT64_C(0x9E3779B97F4A7C15));
    const uint64_t rest = mixed << BM_LOW_HALVES_BITS | UINT64_C(1) << (BM_LOW_HALVES_BITS - 1);
    const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *at = &registers[mixed >> (64 - BM_LOW_HALVES_BITS)];
    *at = rank > *at ? rank : *at;
}

void bm_low_halves_begin(bm_low_halves *seen, const char *of, bm_scheme scheme)
{
    *seen = (bm_low_halves){.of = of, .scheme = scheme, .next_check = BM_LOW_HALVES_FIRST};
}

static void count_document(bm_low_halves *seen, const uint64_t *hashes, uint64_t n)
{
    const uint64_t left =
        seen->n_hashes < BM_LOW_HALVES_ALL ? BM_LOW_HALVES_ALL - seen->n_hashes : 0;
    const uint64_t n_counted = seen->n_docs % BM_LOW_HALVES_EVERY == 0 || n < left ? n : left;
    for (uint64_t i = 0; i < n_counted; i++) {
        count(seen->whole, hashes[i]);
        count(seen->low, (uint32_t)hashes[i]);
    }
    seen->n_hashes += n;
    seen->n_docs++;
}

bm_status bm_low_halves_add(bm_low_halves *seen, const uint64_t *offsets, const uint64_t *hashes,
                            size_t n_docs, bm_error *err)
{
    for (size_t i = 0; i < n_docs; i++) {
        if (offsets[i + 1] > offsets[i]) /* if there are no hashes, `hashes` may be NULL */
            count_document(seen, hashes + offsets[i], offsets[i + 1] - offsets[i]);
        else
            seen->n_docs++;
        if (seen->n_hashes < seen->next_check)
            continue;
        while (seen->next_check <= seen->n_hashes)
            seen->next_check *= 2;
        BM_TRY(bm_low_halves_check(seen, err));
    }
    return BM_OK;
}

static double estimate(const uint8_t *registers)
{
    const double m = REGISTERS;
    uint32_t with[64] = {0}; /* number of registers with each rank */
    double sum = 0;
    for (size_t i = 0; i < REGISTERS; i++)
        with[registers[i]]++;
    for (int rank = 0; rank < 64; rank++)
        sum += ldexp(with[rank], -rank);
    const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return raw <= 2.5 * m && with[0] > 0 ? m * log(m / (double)with[0]) : raw;
}

bm_status bm_low_halves_check(const bm_low_halves *seen, bm_error *err)
{
    const double all = ldexp(1, 32), whole = estimate(seen->whole), low = estimate(seen->low);
    /* expected number of distinct low halves if all `whole` hashes are random */
    const double expected = -all * expm1(-whole / all);
    if (low >= expected * 7 / 8)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_INPUT, seen->of, 0,
                      "about %.0f distinct hashes have only about %.0f distinct low halves, and "
                      "scheme %s signs only these (mix the hashes first, for example by fmix64, or "
                      "choose a `scheme` of 64 bits: affine64, datatrove or lance)",
                      whole, low, bm_option_name(BM_OPTION_SCHEME, seen->scheme));
}
