/* run_spread.c -- bands made, and how unlike each other they are.
 *
 * With z_ik half of what the pairs of the drawn document i have in band k, the estimate of Z in band k is
 * D/n sum_i z_ik. The estimates of two bands differ by what the bands do and by what the sample does; the
 * latter has the variance D^2 (1 - n/D)/n times that of z_ik - mean over k, and is taken off.
 *
 * Sums are whole numbers, added atomically, so threads change nothing.
 *
 * Tests: tests/unit/tune/test_run_spread.c, tests/reference/test_forecast.py */
#include "pipeline/tune/run_spread.h"

#include "base/cpu.h"
#include "base/error.h"

#define UNIT 1073741824.0 /* of q: 2^30 */

uint64_t bm_run_spread_bytes(uint64_t n)
{
    return n * BM_SPREAD_BANDS * 3 * sizeof(uint64_t) + bm_overlap_index_bytes(n * BM_SPREAD_BANDS);
}

void bm_run_spread_keys(const bm_run_spread *spread, const uint64_t *hashes, size_t n,
                        bm_spread_scratch *scratch)
{
    for (size_t at = 0; at < n; at += BM_SIGN_BLOCK) {
        const size_t more = n - at < BM_SIGN_BLOCK ? n - at : BM_SIGN_BLOCK;
        spread->loops->premix(hashes + at, more, scratch->block);
        spread->loops->minima(&spread->params, scratch->block, more, at > 0, scratch->words);
    }
    bm_band_keys_scalar(scratch->words, spread->n_made, spread->rows, n == 0, scratch->keys);
}

static bm_status index_keys(bm_run_spread *spread, const bm_hash_sets *drawn, uint64_t *keys,
                            bm_error *err)
{
    const uint64_t **sets = bm_alloc(drawn->n, sizeof *sets);
    uint32_t *sizes = bm_alloc(drawn->n, sizeof *sizes);
    bm_spread_scratch scratch;
    bm_status status = sets != NULL && sizes != NULL
                           ? BM_OK
                           : bm_fail_nomem(err, drawn->n * (sizeof *sets + sizeof *sizes));
    for (size_t i = 0; status == BM_OK && i < drawn->n; i++) {
        uint64_t *own = keys + i * spread->n_made;
        bm_run_spread_keys(spread, drawn->sets[i], drawn->sizes[i], &scratch);
        for (uint32_t k = 0; k < spread->n_made; k++)
            own[k] = scratch.keys[k];
        sets[i] = own;
        sizes[i] = spread->n_made;
    }
    if (status == BM_OK)
        status =
            bm_overlap_index_build(&(bm_hash_sets){sets, sizes, drawn->n}, &spread->index, err);
    bm_free(sets);
    bm_free(sizes);
    return status;
}

bm_status bm_run_spread_open(bm_run_spread *spread, const bm_spread_job *job,
                             const bm_hash_sets *drawn, bm_error *err)
{
    const bm_band_plan *plan = job->plan;
    const uint32_t fit = BM_SPREAD_WORDS / plan->rows;
    *spread = (bm_run_spread){.bands = plan->bands, .rows = plan->rows, .n = drawn->n};
    if (fit < 2 || drawn->n == 0)
        return BM_OK;
    spread->n_made = fit < BM_SPREAD_BANDS ? fit : BM_SPREAD_BANDS;
    const size_t n = drawn->n * spread->n_made;
    const bm_sketch_options made = {.perms = spread->n_made * plan->rows, .seed = job->seed};
    uint64_t *keys = bm_alloc(n, sizeof *keys);
    spread->agree = bm_alloc_zero(n, sizeof *spread->agree);
    spread->agree_similar = bm_alloc_zero(n, sizeof *spread->agree_similar);
    bm_isa isa;
    bm_status status = bm_isa_choose(job->cpu, &isa, err);
    if (status == BM_OK)
        status = bm_scheme_draw(&made, &spread->params, err);
    if (status == BM_OK && (spread->loops = bm_sign_loops_find(isa)) == NULL)
        status = bm_fail_field(err, "cpu", "this build has no loops for %s", bm_isa_name(isa));
    if (status == BM_OK && (keys == NULL || spread->agree == NULL || spread->agree_similar == NULL))
        status = bm_fail_nomem(err, 3 * n * sizeof *keys);
    if (status == BM_OK)
        status = index_keys(spread, drawn, keys, err);
    bm_free(keys);
    if (status != BM_OK)
        bm_run_spread_close(spread);
    return status;
}

void bm_run_spread_close(bm_run_spread *spread)
{
    bm_scheme_params_reset(&spread->params);
    bm_overlap_index_reset(&spread->index);
    bm_free(spread->agree);
    bm_free(spread->agree_similar);
    *spread = (bm_run_spread){0};
}

void bm_run_spread_add(bm_run_spread *spread, size_t place, uint32_t band, double q, bool similar)
{
    const size_t at = place * spread->n_made + band;
    const uint64_t units = (uint64_t)(q * UNIT);
    __atomic_fetch_add(&spread->agree[at], units, __ATOMIC_RELAXED);
    if (similar)
        __atomic_fetch_add(&spread->agree_similar[at], units, __ATOMIC_RELAXED);
}

/* --- the variance --- */

static double half_of(const uint64_t *agree, size_t at)
{
    return (double)agree[at] / UNIT / 2;
}

/* Sum over bands of the variance over documents of z_ik - mean over k. */
static double sample_part(const bm_run_spread *spread, const uint64_t *agree)
{
    const double m = spread->n_made, n = (double)spread->n;
    double sums[BM_SPREAD_BANDS] = {0}, squares = 0;
    for (size_t i = 0; i < spread->n; i++) {
        double mean = 0;
        for (uint32_t k = 0; k < spread->n_made; k++)
            mean += half_of(agree, i * spread->n_made + k) / m;
        for (uint32_t k = 0; k < spread->n_made; k++) {
            const double d = half_of(agree, i * spread->n_made + k) - mean;
            sums[k] += d;
            squares += d * d;
        }
    }
    for (uint32_t k = 0; k < spread->n_made; k++)
        squares -= sums[k] * sums[k] / n;
    return squares / (n - 1);
}

double bm_run_spread_variance(const bm_run_spread *spread, uint64_t n_docs, bool similar)
{
    const uint64_t *agree = similar ? spread->agree_similar : spread->agree;
    const double d = (double)n_docs, n = (double)spread->n, m = spread->n_made;
    double z[BM_SPREAD_BANDS] = {0}, mean = 0, squares = 0;
    if (spread->n_made < 2)
        return 0;
    for (size_t i = 0; i < spread->n; i++)
        for (uint32_t k = 0; k < spread->n_made; k++)
            z[k] += half_of(agree, i * spread->n_made + k) * d / n;
    for (uint32_t k = 0; k < spread->n_made; k++)
        mean += z[k] / m;
    for (uint32_t k = 0; k < spread->n_made; k++)
        squares += (z[k] - mean) * (z[k] - mean);
    if (spread->n < 2 || spread->n == n_docs)
        return squares / (m - 1);
    return (squares - d * d * (1 - n / d) / n * sample_part(spread, agree)) / (m - 1);
}
