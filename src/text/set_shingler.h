/* SPDX-License-Identifier: Apache-2.0 */
/* set_shingler.h -- adds documents that are given as hashes of their shingles. */
#pragma once

#include "base/system.h"
#include "model/batches.h"
#include "text/distinct.h"

/* The state of one thread. {0} makes sets instead of bags, with scalar loops, and has no scratch
 * memory yet. */
typedef struct bm_set_shingler {
    bm_distinct distinct;
    bm_isa isa;
    bool bag;         /* each repeat of a hash is an element of its own */
    uint32_t *counts; /* owned: how often each hash of a bag occurs */
    size_t cap_counts;
} bm_set_shingler;

/* Append a document that is given as n hashes. Repeats are dropped or, for a bag, made elements. */
bm_status bm_shingle_set_add(bm_set_shingler *shingler, const uint64_t *hashes, size_t n,
                             bm_shingle_batch *batch, bm_error *err);
void bm_set_shingler_reset(bm_set_shingler *shingler); /* frees the scratch memory */
