/* SPDX-License-Identifier: Apache-2.0 */
/* option_tests.h -- what code asks of options, a row TEST of rows.def each. Is a bad record left
 * out, are repeated ids numbered? bool bm_input_NAME(const bm_input_options *); and of text. */
#pragma once

#include <bandmill/types.h>

#define TEST(part, name, condition)                                                                \
    static inline bool bm_##part##_##name(const bm_##part##_options *o)                            \
    {                                                                                              \
        return condition;                                                                          \
    }
#include "options/rows.def"
