/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h -- how many rounds a test runs. Header only. With BANDMILL_TEST_SIZE=small, which builds
 * with sanitizers set, it runs fewer: those builds look for bad accesses on each path, while the
 * release build runs each path many times. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool sized_small(void)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    return size != NULL && strcmp(size, "small") == 0;
}

/* One of two numbers of rounds, or of two step widths, chosen by BANDMILL_TEST_SIZE. */
static inline size_t sized(size_t normal, size_t small)
{
    return sized_small() ? small : normal;
}
