/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_params.h -- the memory of what a scheme draws; for the rows of schemes, and for those who
 * free it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "sketch/scheme_row.h"

#define BM_SCHEME_PADDING 64u /* words; whole registers for every instruction set and kernel */

/* Allocate n coefficients a and b each, all 0; perms, seed and row set. BM_ERR_USAGE: a number of
 * permutations that no signature can have. */
bm_status bm_scheme_params_init(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                uint32_t n, bm_scheme_params *out, bm_error *err);
/* The same of coefficients of 64 bits: a, b and, with `third`, c. */
bm_status bm_scheme_params_init64(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                  bool third, bm_scheme_params *out, bm_error *err);
/* The n words from `first` on alone, of a scheme with `prefix`: for the reference, without a plan.
 * Borrows the coefficients of `params`. */
bm_scheme_params bm_scheme_params_some(const bm_scheme_params *params, uint32_t first, uint32_t n);
void bm_scheme_params_reset(bm_scheme_params *params); /* {0} is fine */
/* BM_ERR_USAGE unless perms is 1 … BM_PERMS_MAX. */
bm_status bm_scheme_check_perms(uint32_t perms, bm_error *err);
