/* native_oph.c -- oph on the native CPU: one hash a shingle, the least of each bin, and donors for
 * the bins that stay empty (oph_bins.h).
 *
 * Tests: tests/unit/cpu/test_cpu_backend.c */
#include <string.h>

#include "cpu/native_row.h"

static void oph_mix(const bm_native_choice *choice, const uint64_t *hashes, size_t n, void *block)
{
    choice->loops->oph_hash(choice->params, hashes, n, block);
}

static void oph_fold(const bm_native_choice *choice, const void *block, size_t n, bool begun,
                     void *words)
{
    const bm_scheme_params *params = choice->params;
    if (!begun)
        memset(words, 0xFF, params->perms_padded * sizeof(uint32_t));
    bm_oph_fill(params->perms, block, n, words);
}

static void oph_finish(const bm_native_choice *choice, void *words)
{
    bm_oph_densify(choice->params->plan, &choice->loops->oph, words);
}

const bm_native_ops bm_native_oph = {.scheme = &bm_scheme_oph,
                                     .block_bytes = sizeof(uint32_t),
                                     .mix = oph_mix,
                                     .fold = oph_fold,
                                     .finish = oph_finish};
