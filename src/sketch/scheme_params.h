/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_params.h -- memory for the coefficients that a scheme draws; used by the implementations
 * of the schemes (bm_scheme_ops), and by code that frees the coefficients. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "sketch/scheme_row.h"

#define BM_SCHEME_PADDING 64u /* words: whole registers for every instruction set and kernel */

/* Allocate n coefficients each for a and b, all 0, and set perms, seed and ops. BM_ERR_USAGE: perms
 * is not 1 … BM_PERMS_MAX. */
bm_status bm_scheme_params_init(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                uint32_t n, bm_scheme_params *out, bm_error *err);
/* Like bm_scheme_params_init, for 64-bit coefficients: a, b and, with `third`, c. */
bm_status bm_scheme_params_init64(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                  bool third, bm_scheme_params *out, bm_error *err);
/* Parameters for only the n words from `first` on, of a scheme with `prefix`; for the reference,
 * without a plan. Borrows the coefficients of `params`. */
bm_scheme_params bm_scheme_params_some(const bm_scheme_params *params, uint32_t first, uint32_t n);
void bm_scheme_params_reset(bm_scheme_params *params); /* {0} is fine */
/* Fail with BM_ERR_USAGE unless perms is 1 … BM_PERMS_MAX. */
bm_status bm_scheme_check_perms(uint32_t perms, bm_error *err);
