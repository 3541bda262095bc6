/* SPDX-License-Identifier: Apache-2.0 */
/* json_simd.h -- C functions for simdjson's check of UTF-8 and for C++'s reading of numbers.
 * json_simd.cpp is the only C++ source of the library. Any thread. */
#pragma once

#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Is all of it valid UTF-8? About as fast as memory can be read. */
bool bm_simd_utf8_valid(const char *data, size_t len);

/* The double nearest to the number that `text` spells, whatever the locale. False: it is no number,
 * or too large for a double. */
bool bm_simd_double(bm_str text, double *out);

#if defined(__cplusplus)
}
#endif
