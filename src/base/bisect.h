/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.h -- binary search.
 *
 *     bm_bisect b = {0, n};
 *     while (b.low < b.high)
 *         bm_bisect_go(&b, list[bm_middle(&b)] < key);
 *
 * Afterwards b.low is the index of the first element not below the key, or n if there is none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct bm_bisect {
    size_t low, high; /* the answer is one of low … high */
} bm_bisect;

static inline size_t bm_middle(const bm_bisect *b)
{
    return b->low + (b->high - b->low) / 2;
}

/* Halve the range. Set `behind` if the answer is after the middle element. */
static inline void bm_bisect_go(bm_bisect *b, bool behind)
{
    const size_t middle = bm_middle(b);
    if (behind)
        b->low = middle + 1;
    else
        b->high = middle;
}
