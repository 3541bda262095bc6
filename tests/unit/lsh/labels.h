/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h -- builds the labels of a band from the first document of each document's bucket. */
#pragma once

#include <stdlib.h>

#include "lsh/candidates.h"

static inline bm_band_labels labels_of(const uint32_t *first, size_t n)
{
    bm_band_labels labels = {.shares = calloc(n / 64 + 1, sizeof *labels.shares),
                             .n_before = calloc(n / 64 + 1, sizeof *labels.n_before),
                             .firsts = malloc((n + 1) * sizeof *labels.firsts)};
    uint32_t n_shared = 0;
    for (size_t i = 0; i < n; i++) {
        if (first[i] == i)
            continue;
        labels.shares[i / 64] |= UINT64_C(1) << i % 64;
        labels.shares[first[i] / 64] |= UINT64_C(1) << first[i] % 64;
    }
    for (size_t i = 0; i < n; i++) {
        if (i % 64 == 0)
            labels.n_before[i / 64] = n_shared;
        if ((labels.shares[i / 64] >> i % 64 & 1) != 0)
            labels.firsts[n_shared++] = first[i];
    }
    return labels;
}
