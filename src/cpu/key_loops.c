/* SPDX-License-Identifier: Apache-2.0 */
/* key_loops.c -- computes powers of the multiplier, and keys by the scalar reference. Instruction
 * sets without 64-bit vector multiplies use the scalar keys. Their scalar multiplier is as fast as
 * 64-bit products that are combined from 32-bit vector multiplies. */
#include "cpu/key_loops.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernels/affine32.h"
#include "sketch/scheme.h"

bm_status bm_key_plan_init(uint32_t bands, uint32_t rows, bm_key_plan *out, bm_error *err)
{
    size_t padded = ((size_t)rows + BM_KEY_LANES - 1) / BM_KEY_LANES * BM_KEY_LANES;
    uint64_t *powers = NULL;
    BM_TRY(bm_new_aligned(&powers, padded, err));
    memset(powers, 0, padded * sizeof *powers);
    uint64_t power = 1;
    for (uint32_t row = rows; row-- > 0;) {
        powers[row] = power;
        power *= BM_BAND_MULTIPLIER;
    }
    *out = (bm_key_plan){.bands = bands, .rows = rows, .powers = powers, .start = power};
    return BM_OK;
}

void bm_key_plan_reset(bm_key_plan *plan)
{
    bm_free(plan->powers);
    memset(plan, 0, sizeof *plan);
}

void bm_band_keys_plain(const bm_key_plan *plan, const uint32_t *words, uint64_t *keys)
{
    bm_band_keys_scalar(words, plan->bands, plan->rows, false, keys);
}
