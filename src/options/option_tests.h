/* SPDX-License-Identifier: Apache-2.0 */
/* option_tests.h -- a yes-or-no question about options for each row TEST of rows.def, such as bool
 * bm_input_skips_bad_records(const bm_input_options *): is a bad record left out? */
#pragma once

#include <bandmill/types.h>

#define TEST(part, name, condition)                                                                \
    static inline bool bm_##part##_##name(const bm_##part##_options *o)                            \
    {                                                                                              \
        return condition;                                                                          \
    }
#include "options/rows.def"
