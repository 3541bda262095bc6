/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_params.h -- allocates and frees the coefficients that a scheme draws. The implementations
 * of schemes (bm_scheme_ops) allocate them. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "sketch/scheme_row.h"

/* in words; enough for whole registers of every instruction set and kernel */
#define BM_SCHEME_PADDING 64u

/* Allocate n coefficients a and n coefficients b, all 0, and set perms, seed and ops. BM_ERR_USAGE:
 * perms is not from 1 to BM_PERMS_MAX. */
bm_status bm_scheme_params_init(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                uint32_t n, bm_scheme_params *out, bm_error *err);
/* Like bm_scheme_params_init, for 64-bit coefficients a and b and, if `third`, c. */
bm_status bm_scheme_params_init64(const bm_scheme_ops *ops, const bm_sketch_options *options,
                                  bool third, bm_scheme_params *out, bm_error *err);
/* Parameters for only the n words from `first` on, for the reference. The scheme must have
 * `prefix`. They have no plan, and borrow the coefficients of `params`. */
bm_scheme_params bm_scheme_params_some(const bm_scheme_params *params, uint32_t first, uint32_t n);
void bm_scheme_params_reset(bm_scheme_params *params); /* may be {0} */
/* Check a number of words. BM_ERR_USAGE: perms is not from 1 to BM_PERMS_MAX. */
bm_status bm_scheme_check_perms(uint32_t perms, bm_error *err);
