/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h -- pseudo-random numbers that are the same in every run. */
#ifndef TEST_STORE_BYTES_NUMBERS_H
#define TEST_STORE_BYTES_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/world/world_random.h"

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t number_of(uint64_t i)
{
    return world_split_at(i);
}

static inline int numbers_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* n distinct numbers in ascending order, none above `most`; the caller frees them. */
static inline uint64_t *numbers_sorted(size_t n, uint64_t most, uint64_t seed)
{
    uint64_t *list = malloc((n + 1) * sizeof *list);
    size_t kept = 0;
    for (uint64_t i = seed; kept < n;) {
        const size_t before = kept;
        for (; kept < n; i++)
            list[kept++] = most == UINT64_MAX ? number_of(i) : number_of(i) % (most + 1);
        qsort(list, n, sizeof *list, numbers_order);
        kept = n > 0;
        for (size_t j = 1; j < n; j++)
            if (list[j] != list[kept - 1])
                list[kept++] = list[j];
        (void)before;
    }
    return list;
}

#endif
