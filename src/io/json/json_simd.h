/* json_simd.h -- simdjson behind C functions: the one C++ file of the house (json_simd.cpp).
 *
 * Only what is the same in simdjson 3.0 and later is relied on: what it accepts without doubt is
 * taken, all else is "refused" and goes to the exact parser, which alone decides what is broken. So
 * results do not depend on simdjson's version or on the processor. No C++ exception leaves here. */
#ifndef BM_IO_JSON_JSON_SIMD_H
#define BM_IO_JSON_JSON_SIMD_H

#include <bandmill/types.h>

#include "io/json/json_read.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Zero bytes that must be readable behind a line. */
#define BM_JSON_PADDING 128u

/* Is it valid UTF-8 throughout? As fast as memory allows. */
bool bm_simd_utf8_valid(const char *data, size_t len);

/* The double nearest to the number that is all of `text`, whatever the locale; false: none (too
 * large, or not a number). */
bool bm_simd_double(bm_str text, double *out);

typedef struct bm_simd bm_simd;

/* A dotted path, taken apart. */
typedef struct bm_json_path {
    const bm_str *parts;
    size_t n_parts;
} bm_json_path;

/* NULL: no memory. */
bm_simd *bm_simd_open(void);
void bm_simd_close(bm_simd *simd); /* NULL is fine */

/* Longer texts are refused: simdjson needs about 14 bytes of memory for each. */
#define BM_SIMD_MAX_BYTES ((size_t)256 << 10)

/* Parse a line, behind which 64 bytes can be read, and fill fields[n_paths]; their strings live
 * until the next call. Numbers are printed for `number_path` only. false: refused, fields
 * undefined.
 */
bool bm_simd_line(bm_simd *simd, bm_str text, const bm_json_path *paths, size_t n_paths,
                  size_t number_path, bm_json_field *fields);

#if defined(__cplusplus)
}
#endif
#endif
