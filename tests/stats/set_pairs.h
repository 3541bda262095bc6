/* SPDX-License-Identifier: Apache-2.0 */
/* set_pairs.h -- shared by the tests of both schemes: pairs of signatures of known similarity, and
 * whether they become candidates under the tested plans. Header only. */
#pragma once

#include <criterion/criterion.h>

#include "cpu/cpu_backend.h"
#include "lsh/similarity.h"
#include "sketch/scheme.h"

enum { PERMS = 128 };

typedef struct plan {
    uint32_t bands, rows;
} plan;

static const plan plans[] = {{20, 5}, {16, 8}, {42, 3}};
#define N_PLANS (sizeof plans / sizeof plans[0])

/* The similarity of two sets of `set` members each that share `common`. */
static inline double similarity_of(size_t set, size_t common)
{
    return (double)common / (double)(2 * set - common);
}

/* Do the signatures at `pair` and `pair + PERMS` have an equal key in any band? */
static inline bool is_candidate(const uint32_t *pair, plan p)
{
    uint64_t x[64], y[64];
    bm_band_keys_scalar(pair, p.bands, p.rows, false, x);
    bm_band_keys_scalar(pair + PERMS, p.bands, p.rows, false, y);
    for (uint32_t b = 0; b < p.bands; b++)
        if (x[b] == y[b])
            return true;
    return false;
}

/* Signs the documents of the task with PERMS words each, by the native backend, with the
 * coefficients of trial `trial`. */
static inline void sign_trial(bm_scheme scheme, uint32_t trial, bm_sign_task *task)
{
    const bm_backend_cfg cfg = {
        .sketch = {.perms = PERMS, .seed = trial * 977 + 1, .scheme = scheme}};
    bm_backend *backend = NULL;
    cr_assert_eq(bm_backend_cpu.open(&cfg, &backend, NULL), BM_OK);
    cr_assert_eq(bm_backend_cpu.submit(backend, task, NULL), BM_OK);
    bm_backend_cpu.close(backend);
}
