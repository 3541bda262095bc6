/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_check.h -- a check that stops the program, in every build. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Are the bytes the same? With no bytes, the pointer may be NULL. */
static inline bool fuzz_same(const void *a, size_t n_a, const void *b, size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
