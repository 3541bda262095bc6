/* SPDX-License-Identifier: Apache-2.0 */
/* world_npy.h -- the header of a NumPy array, for tests that make one. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORLD_NPY_BYTES 128u

/* `n_cols` 0: one dimension. */
static inline void world_npy_header(const char *type, uint64_t n_rows, uint64_t n_cols,
                                    char out[WORLD_NPY_BYTES])
{
    char text[WORLD_NPY_BYTES - 10], cols[32] = "";
    if (n_cols != 0)
        snprintf(cols, sizeof cols, " %" PRIu64, n_cols);
    const int len = snprintf(text, sizeof text,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",%s), }",
                             type, n_rows, cols);
    memset(out, ' ', WORLD_NPY_BYTES);
    memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10); /* version 1.0, 118 bytes of text */
    memcpy(out + 10, text, (size_t)len);
    out[WORLD_NPY_BYTES - 1] = '\n';
}
