/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_merge.c -- merges the words of a document's parts, and makes the buffers of coefficients
 * for devices; see scheme_row.h.
 *
 * Tests: tests/unit/sketch/test_scheme_device.c */
#include "sketch/scheme_row.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words)
{
    const uint32_t *from = part;
    uint32_t *to = words;
    for (uint32_t i = 0; i < params->perms; i++)
        if (from[i] < to[i])
            to[i] = from[i];
}

void bm_words_merge64(const bm_scheme_params *params, const void *part, void *words)
{
    const char *from = part;
    char *to = words;
    for (size_t at = 0; at < params->perms * sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t x, y;
        memcpy(&x, from + at, sizeof x);
        memcpy(&y, to + at, sizeof y);
        if (x < y)
            memcpy(to + at, &x, sizeof x);
    }
}

/* Copy `bytes` bytes of `array` to `offset` in the upload. If `array` is NULL, do nothing. */
static void put(char *upload, size_t offset, const void *array, size_t bytes)
{
    if (array != NULL)
        memcpy(upload + offset, array, bytes);
}

bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err)
{
    const size_t padded_bytes = padded * sizeof *params->a,
                 each = params->perms * sizeof *params->a;
    char *upload = bm_alloc_zero(2, padded_bytes);
    *bytes = 2 * padded_bytes;
    if (upload == NULL)
        return bm_fail_nomem(err, *bytes);
    put(upload, 0, params->a, each);
    put(upload, padded_bytes, params->b, each);
    *out = upload;
    return BM_OK;
}

bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err)
{
    const size_t padded_bytes = padded * sizeof *params->a64,
                 each = params->perms * sizeof *params->a64;
    char *upload = bm_alloc_zero(3, padded_bytes);
    *bytes = (params->c64 != NULL ? 3 : 2) * padded_bytes;
    if (upload == NULL)
        return bm_fail_nomem(err, 3 * padded_bytes);
    put(upload, 0, params->a64, each);
    put(upload, padded_bytes, params->b64, each);
    put(upload, 2 * padded_bytes, params->c64, each);
    *out = upload;
    return BM_OK;
}
