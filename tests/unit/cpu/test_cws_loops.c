/* SPDX-License-Identifier: Apache-2.0 */
/* Every set of cws loops that this processor can run: values bit by bit against
 * sketch/cws_draws.h, candidates against the exact bound. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "cpu/cws_kept.h"
#include "cpu/sign_loops.h"
#include "base/memory.h"
#include "base/random.h"
#include "sketch/scheme.h"

static const bm_isa all_isas[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
enum { N = BM_CWS_BLOCK, PERMS = 40 };

static uint64_t hashes[N];
static double weights[N];

/* Weights of every magnitude, with subnormal ones and neighbours of powers of two. */
static void make_elements(void)
{
    bm_random random;
    bm_random_init(&random, 2);
    for (size_t i = 0; i < N; i++) {
        hashes[i] = bm_random_u64(&random);
        weights[i] = ldexp(1 + (double)bm_random_u32(&random) * 0x1p-32, (int)(i * 4) - 1074);
    }
    weights[0] = 0x1p-1074;
    weights[1] = DBL_MIN;
    weights[2] = DBL_MIN - 0x1p-1074;
    weights[3] = DBL_MAX;
    weights[4] = 1;
    weights[5] = 1 - 0x1p-53;
    weights[6] = 0x1.6a09e667f3bcdp-1;
    weights[7] = 0x1.6a09e00000000p-1;
}

static bm_cws_block *make_block(const bm_cws_loops *loops, uint32_t n)
{
    bm_cws_block *block = bm_alloc_aligned(1, sizeof *block);
    memset(block, 0xA5, sizeof *block);
    block->n = n;
    for (uint32_t i = 0; i < n; i++)
        bm_cws_mix(hashes[i], block->mixed[i]);
    loops->log_weights(weights, block);
    loops->set_limits(weights, 1, 3, block);
    return block;
}

static bm_scheme_params draw(void)
{
    const bm_sketch_options options = {.perms = PERMS, .seed = 6, .scheme = BM_SCHEME_CWS};
    bm_scheme_params params;
    cr_assert_eq(bm_scheme_draw(&options, &params, NULL), BM_OK);
    return params;
}

static void draws_of(const bm_scheme_params *params, uint32_t perm, size_t i, uint32_t *w)
{
    uint32_t e[BM_CWS_DRAWS];
    bm_cws_mix(hashes[i], e);
    for (uint32_t j = 0; j < BM_CWS_DRAWS; j++)
        w[j] = params->a[perm * BM_CWS_DRAWS + j] * e[j] + params->b[perm * BM_CWS_DRAWS + j];
}

static void expect_weighed(const bm_cws_loops *loops, uint32_t n, const char *isa)
{
    bm_cws_block *block = make_block(loops, n);
    for (size_t i = 0; i < n; i++) {
        const double ln = bm_portable_log(weights[i]);
        cr_assert_arr_eq(&block->ln_weight[i], &ln, sizeof ln, "%s: %a", isa, weights[i]);
        const double limit = block->limit[i] / block->limit[4]; /* weights[4] is 1 */
        if (n > 4 && weights[i] > 1e-30 && weights[i] < 1e15)
            cr_assert_float_eq(limit / weights[i], 1, 1e-6, "%s: %a", isa, weights[i]);
        for (size_t k = 0; k < n; k++)
            if (weights[k] <= weights[i])
                cr_assert_leq(block->limit_byte[k], block->limit_byte[i], "%s: %a, %a", isa,
                              weights[k], weights[i]);
    }
    bm_free(block);
}

Test(cws_loops, logarithms_and_limits_of_a_block_are_those_of_the_definition)
{
    make_elements();
    for (size_t s = 0; s < sizeof all_isas / sizeof all_isas[0]; s++)
        if (bm_isa_available(all_isas[s]))
            for (uint32_t n = 1; n <= N; n += n < 20 ? 1 : 164)
                expect_weighed(bm_sign_loops_find(all_isas[s])->cws, n, bm_isa_name(all_isas[s]));
}

static void expect_values(const bm_cws_loops *loops, const char *isa)
{
    bm_scheme_params params = draw();
    bm_cws_block *block = make_block(loops, N);
    bm_cws_batch *batch = bm_alloc_aligned(1, sizeof *batch);
    memset(batch, 0xA5, sizeof *batch);
    for (uint32_t perm = 0; perm < PERMS; perm++)
        for (size_t n = 1; n <= BM_CWS_BATCH; n += n < 20 ? 1 : 59) {
            for (size_t k = 0; k < n; k++)
                batch->pairs[3 + k] = perm << 16 | (uint32_t)((k * 7 + perm) % N);
            batch->n = 3 + n;
            const double most = n % 2 == 0 ? HUGE_VAL : -1;
            const size_t n_low = loops->values(block, &params, 3, most, batch);
            size_t next = 0;
            for (size_t k = 0; k < n; k++) {
                uint32_t w[BM_CWS_DRAWS];
                const size_t i = (k * 7 + perm) % N;
                draws_of(&params, perm, i, w);
                const double value = bm_cws_value(w, bm_portable_log(weights[i]));
                cr_assert_arr_eq(&batch->value[k], &value, sizeof value, "%s: %zu of %zu", isa, k,
                                 n);
                if (value <= most)
                    cr_assert_eq(batch->low[next++], k, "%s: %zu of %zu", isa, k, n);
            }
            cr_assert_eq(n_low, next);
        }
    bm_free(batch);
    bm_free(block);
    bm_scheme_params_reset(&params);
}

Test(cws_loops, values_are_those_of_the_definition_bit_by_bit)
{
    make_elements();
    for (size_t s = 0; s < sizeof all_isas / sizeof all_isas[0]; s++)
        if (bm_isa_available(all_isas[s]))
            expect_values(bm_sign_loops_find(all_isas[s])->cws, bm_isa_name(all_isas[s]));
}

/* c exp(-r), with the C library's logarithm. */
static double bound_of(const uint32_t *w)
{
    const double q = (w[0] + 0.5) * (w[1] + 0.5) * 0x1p-64;
    return -log((w[2] + 0.5) * (w[3] + 0.5) * 0x1p-64) * q;
}

/* Prepares a scan as native_cws.c does before it asks for candidates. Element i has row N - 1 - i
 * of the bounds. */
static uint8_t *make_scan(const bm_cws_loops *loops, const bm_scheme_params *params,
                          const bm_cws_block *block, bm_cws_scan *scan)
{
    bm_cws_kept *kept = NULL;
    cr_assert_eq(bm_cws_kept_open(params, 0, &kept, NULL), BM_OK);
    uint8_t *bytes = bm_alloc_aligned(N, kept->stride);
    memset(bytes, 0, (size_t)N * kept->stride); /* bytes after the permutations would pass */
    *scan = (bm_cws_scan){.bytes = bytes, .stride = kept->stride};
    for (uint32_t i = 0; i < N; i++) {
        scan->row[i] = N - 1 - i;
        loops->bounds(kept->coefs, kept->stride, kept->n_used, block->mixed[i],
                      bytes + (size_t)(N - 1 - i) * kept->stride);
    }
    bm_cws_kept_close(kept);
    return bytes;
}

static bool is_open(uint32_t perm)
{
    return perm % 7 != 3;
}

/* Marks each candidate in `found`, checks that none comes twice, and returns their number. */
static size_t find(const bm_cws_loops *loops, const bm_cws_block *block, bm_cws_scan *scan,
                   bool (*found)[N], const char *isa)
{
    bm_cws_batch *batch = bm_alloc_aligned(1, sizeof *batch);
    bm_cws_open open = {.n_masks = 1};
    size_t n_found = 0;
    for (uint32_t perm = 0; perm < PERMS; perm++)
        open.masks[0] |= (uint64_t)is_open(perm) << perm;
    batch->n = 5;
    for (bool more = true; more;) {
        more = loops->candidates(block, &open, scan, batch);
        cr_assert(!more || batch->n >= BM_CWS_BATCH, "%s", isa);
        for (size_t k = n_found == 0 ? 5 : 0; k < batch->n; k++) {
            const uint32_t perm = batch->pairs[k] >> 16, i = batch->pairs[k] & 0xFFFF;
            cr_assert(perm < PERMS && is_open(perm) && i < N && !found[perm][i], "%s: %u, %u", isa,
                      perm, i);
            found[perm][i] = true;
            n_found++;
        }
        batch->n = 0;
    }
    bm_free(batch);
    return n_found;
}

/* Every element whose bound is within its limit must be a candidate. In all there may be 1.6 times
 * as many candidates (the first terms of -ln(1-d) let about 1.2 times as many pass, the bytes up to
 * 1.13 times that), plus 2^-11 of all elements, whose bounds are below the least byte. */
static void expect_candidates(const bm_cws_loops *loops, double limit, const char *isa)
{
    static bool found[PERMS][N];
    static double same[N];
    bm_scheme_params params = draw();
    bm_cws_block *block = make_block(loops, N);
    bm_cws_scan *scan = bm_alloc(1, sizeof *scan);
    size_t n_within = 0;
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < N; i++)
        same[i] = limit;
    loops->set_limits(same, 1, 1, block);
    uint8_t *bytes = make_scan(loops, &params, block, scan);
    const size_t n_found = find(loops, block, scan, found, isa);
    for (uint32_t perm = 0; perm < PERMS; perm++)
        for (size_t i = 0; i < N && is_open(perm); i++) {
            uint32_t w[BM_CWS_DRAWS];
            draws_of(&params, perm, i, w);
            const bool within = !(bound_of(w) > limit * (1 - 0x1p-19)); /* limit NAN: all */
            cr_assert(found[perm][i] || !within, "%s: element %zu is lost", isa, i);
            n_within += within;
        }
    cr_expect_leq((double)n_found, 1.6 * (double)n_within + PERMS * N * 0x1p-11, "%s, %g", isa,
                  limit);
    bm_free(bytes);
    bm_free(scan);
    bm_free(block);
    bm_scheme_params_reset(&params);
}

Test(cws_loops, candidates_lack_nothing_that_is_within_its_limit)
{
    static const double limits[] = {0, 1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.9, 3, 40, INFINITY, NAN};
    make_elements();
    for (size_t s = 0; s < sizeof all_isas / sizeof all_isas[0]; s++)
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
            if (bm_isa_available(all_isas[s]))
                expect_candidates(bm_sign_loops_find(all_isas[s])->cws, limits[i],
                                  bm_isa_name(all_isas[s]));
}
