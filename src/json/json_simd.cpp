/* SPDX-License-Identifier: Apache-2.0 */
/* json_simd.cpp -- calls simdjson and the C++ library on behalf of C.
 *
 * Tests: tests/unit/json/test_json_read.c, tests/unit/json/test_json_exact.c */
#include "json/json_simd.h"

#include <charconv>
#include <simdjson.h>

extern "C" bool bm_simd_utf8_valid(const char *data, size_t len)
{
    return simdjson::validate_utf8(data, len);
}

extern "C" bool bm_simd_double(bm_str text, double *out)
{
    const char *end = text.data + text.len;
    auto result = std::from_chars(text.data, end, *out);
    return result.ec == std::errc() && result.ptr == end;
}
