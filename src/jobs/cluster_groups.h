/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_groups.h -- labels of documents to groups, and a group to a row of groups.jsonl. */
#pragma once

#include "model/ids.h"
#include "job/rows.h"

typedef struct bm_cluster_groups {
    size_t n;
    size_t *begins;    /* n + 1 places in `members` */
    uint32_t *members; /* by group, in order of their first members; ascending in each */
    uint32_t *kept;    /* n */
    uint64_t n_members, largest;
} bm_cluster_groups; /* {0} is empty */
