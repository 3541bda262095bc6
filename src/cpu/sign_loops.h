/* SPDX-License-Identifier: Apache-2.0 */
/* sign_loops.h -- the table of loops of the native backend: a row for each instruction set. */
#pragma once

#include "cpu/sign_loops_row.h"

/* NULL: this build has no loops for `isa`. */
const bm_sign_loops *bm_sign_loops_find(bm_isa isa);
