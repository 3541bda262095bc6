/* SPDX-License-Identifier: Apache-2.0 */
/* json_simd.h -- C interface to simdjson's UTF-8 check and C++'s number parsing. json_simd.cpp is
 * the only C++ source of the library. Any thread. */
#pragma once

#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Are all of these bytes valid UTF-8? Runs about as fast as memory can be read. */
bool bm_simd_utf8_valid(const char *data, size_t len);

/* The double nearest to the number in `text`, whatever the locale. False: `text` is no number, or
 * the number is outside the range of a double. */
bool bm_simd_double(bm_str text, double *out);

#if defined(__cplusplus)
}
#endif
