/* native_cws.c -- cws on the native CPU: a weighted document at a time.
 *
 * Tests: tests/unit/cpu/test_native_cws.c */
#include "backend/cpu/native_row.h"

static void cws_sign(const bm_native_choice *choice, const uint64_t *hashes, const double *weights,
                     size_t n, uint32_t *words)
{
    choice->params->ops->sign_weighted(choice->params, hashes, weights, n, words);
}

const bm_native_ops bm_native_cws = {.scheme = &bm_scheme_cws, .sign_weighted = cws_sign};
