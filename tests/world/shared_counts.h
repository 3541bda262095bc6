/* SPDX-License-Identifier: Apache-2.0 */
/* shared_counts.h -- for every two of several sets, the number of values that both have. Header
 * only. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

typedef struct shared_holder {
    uint64_t value;
    size_t set;
} shared_holder;

static inline int shared_order(const void *x, const void *y)
{
    const shared_holder *a = x, *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->set < b->set ? -1 : a->set > b->set;
}

/* For n sets without repeats: the count for sets a < b is at [a * n + b]. The caller frees it. */
static inline uint16_t *shared_counts(const uint64_t *const *sets, const uint32_t *sizes, size_t n)
{
    size_t n_all = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        n_all += sizes[i];
    shared_holder *all = malloc((n_all + 1) * sizeof *all);
    uint16_t *counts = calloc(n * n + 1, sizeof *counts);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < sizes[i]; k++)
            all[at++] = (shared_holder){sets[i][k], i};
    qsort(all, n_all, sizeof *all, shared_order);
    for (size_t i = 0; i < n_all; i++)
        for (size_t k = i + 1; k < n_all && all[k].value == all[i].value; k++)
            counts[all[i].set * n + all[k].set]++;
    free(all);
    return counts;
}
