/* scheme_oph.c -- the scalar reference of oph: one hash a shingle, K bins, optimal densification.
 *
 * Like scheme_affine32.c this is the definition that every backend is compared with, written from
 * kernels/oph.h line by line. A signature costs one hash a shingle whatever K is; a document of far
 * fewer shingles than bins pays for that with attempts, about K / (bins met) for each empty bin.
 * All bins depend on K: a shorter signature is not the beginning of a longer one.
 *
 * Threads: pure functions; parameters are read only after draw. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/affine32.h"
#include "kernels/oph.h"
#include "sketch/scheme.h"

#define PADDING 64u /* words, as in affine32 */

_Static_assert(BM_PERMS_MAX <= BM_OPH_KEY_SHIFT, "the keys of donors hold no more bins");

static bm_status oph_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err)
{
    if (options->perms == 0 || options->perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations (1 to %u)", options->perms,
                       BM_PERMS_MAX);
    uint32_t *a = bm_alloc_aligned(PADDING, sizeof *a);
    uint32_t *b = bm_alloc_aligned(PADDING, sizeof *b);
    if (a == NULL || b == NULL) {
        bm_free(a);
        bm_free(b);
        return bm_fail_nomem(err, 2 * PADDING * sizeof *a);
    }
    memset(a, 0, PADDING * sizeof *a);
    memset(b, 0, PADDING * sizeof *b);
    bm_random random;
    bm_random_init(&random, options->seed);
    a[0] = 2 * (bm_random_u32(&random) & UINT32_C(0x7FFFFFFF)) + 1;
    b[0] = bm_random_u32(&random);
    uint64_t mul = bm_random_u64(&random), add = bm_random_u64(&random);
    *out = (bm_scheme_params){.ops = &bm_scheme_oph,
                              .perms = options->perms,
                              .perms_padded = (options->perms + PADDING - 1) / PADDING * PADDING,
                              .seed = options->seed,
                              .a = a,
                              .b = b,
                              .donor_mul = mul,
                              .donor_add = add};
    return BM_OK;
}

/* The bin that the empty `bin` takes its word from; some bin is not empty. */
static uint32_t donor_of(const bm_scheme_params *params, const uint32_t *met, uint32_t bin)
{
    const uint32_t bins = params->perms;
    for (uint32_t attempt = 0; attempt < BM_OPH_PER_BIN * bins; attempt++) {
        uint32_t donor = bm_oph_donor(bin, attempt, bins, params->donor_mul, params->donor_add);
        if (met[donor] != BM_OPH_EMPTY)
            return donor;
    }
    do
        bin = (bin + 1) % bins;
    while (met[bin] == BM_OPH_EMPTY);
    return bin;
}

static void oph_sign(const bm_scheme_params *params, const uint64_t *hashes, size_t n,
                     uint32_t *words)
{
    uint32_t met[BM_PERMS_MAX];
    for (uint32_t bin = 0; bin < params->perms; bin++)
        met[bin] = BM_OPH_EMPTY;
    for (size_t s = 0; s < n; s++) {
        uint32_t h = bm_oph_hash((uint32_t)hashes[s], params->a[0], params->b[0]);
        uint32_t bin = bm_oph_bin(h, params->perms);
        if (h < met[bin])
            met[bin] = h;
    }
    for (uint32_t bin = 0; bin < params->perms; bin++) {
        bool copy = n > 0 && met[bin] == BM_OPH_EMPTY;
        words[bin] = met[copy ? donor_of(params, met, bin) : bin];
    }
}

const bm_scheme_ops bm_scheme_oph = {
    .name = "oph", .scheme = BM_SCHEME_OPH, .word_bytes = 4, .draw = oph_draw, .sign = oph_sign};
