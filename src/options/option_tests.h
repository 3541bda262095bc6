/* SPDX-License-Identifier: Apache-2.0 */
/* option_tests.h -- for each row TEST of rows.def, a function that answers a yes-or-no question
 * about options. For instance, bm_input_skips_bad_records(const bm_input_options *) returns whether
 * a bad record is left out. */
#pragma once

#include <bandmill/types.h>

#define TEST(part, name, condition)                                                                \
    static inline bool bm_##part##_##name(const bm_##part##_options *o)                            \
    {                                                                                              \
        return condition;                                                                          \
    }
#include "options/rows.def"
