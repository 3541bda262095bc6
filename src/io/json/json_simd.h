/* json_simd.h -- simdjson behind C functions. json_simd.cpp is the only C++ source of the library.
 *
 * Relied on is only what is the same in simdjson 1.0 and later: what it accepts without doubt is
 * taken; everything else is "refused" and goes to the exact parser, which alone decides what is
 * broken. So results depend neither on simdjson's version nor on the processor. No C++ exception
 * leaves these functions. */
#ifndef BM_IO_JSON_JSON_SIMD_H
#define BM_IO_JSON_JSON_SIMD_H

#include <bandmill/types.h>

#include "io/json/json_field.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Zero bytes that must be readable behind a line. */
#define BM_JSON_PADDING 128u

/* Is all of it valid UTF-8? About as fast as memory can be read. */
bool bm_simd_utf8_valid(const char *data, size_t len);

/* The double nearest to the number that `text` spells, whatever the locale. False: it is no number,
 * or too large for a double. */
bool bm_simd_double(bm_str text, double *out);

typedef struct bm_simd bm_simd;

/* NULL: no memory. */
bm_simd *bm_simd_open(void);
void bm_simd_close(bm_simd *simd); /* NULL is fine */

/* Longer texts are refused: simdjson needs about 14 bytes of memory for each byte of text. */
#define BM_SIMD_MAX_BYTES ((size_t)256 << 10)

/* Parse a line, behind which BM_JSON_PADDING bytes can be read, and fill fields[paths->n]; their
 * strings live until the next call. False: refused, and the fields are undefined. */
bool bm_simd_line(bm_simd *simd, bm_str text, const bm_json_paths *paths, bm_json_field *fields);

#if defined(__cplusplus)
}
#endif
#endif
