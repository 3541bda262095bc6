/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h -- how often a test repeats what it claims. Header only. With BANDMILL_TEST_SIZE=small,
 * as builds with sanitizers have it, less often: such a build looks for bad accesses on each path,
 * and many rounds of one path are of the release build. */
#ifndef BM_TESTS_SIZED_H
#define BM_TESTS_SIZED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool sized_small(void)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    return size != NULL && strcmp(size, "small") == 0;
}

/* Of two numbers of rounds, or of two steps, that for the size of tests. */
static inline size_t sized(size_t normal, size_t small)
{
    return sized_small() ? small : normal;
}

#endif
