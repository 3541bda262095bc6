/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h -- pseudo-random numbers that are the same in every run. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/world/world_order.h"
#include "tests/world/world_random.h"

/* n distinct numbers in ascending order, none above `most`; the caller frees them. */
static inline uint64_t *numbers_sorted(size_t n, uint64_t most, uint64_t seed)
{
    uint64_t *list = malloc((n + 1) * sizeof *list);
    size_t kept = 0;
    for (uint64_t i = seed; kept < n;) {
        const size_t before = kept;
        for (; kept < n; i++)
            list[kept++] =
                most == UINT64_MAX ? world_random_at(i) : world_random_at(i) % (most + 1);
        qsort(list, n, sizeof *list, world_ascending);
        kept = n > 0;
        for (size_t j = 1; j < n; j++)
            if (list[j] != list[kept - 1])
                list[kept++] = list[j];
        (void)before;
    }
    return list;
}
