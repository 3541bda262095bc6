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

/* labels[i] is the document of i's group that is kept (its own label); groups of one are left out.
 */
bm_status bm_cluster_groups_make(const uint32_t *labels, size_t n_docs, bm_cluster_groups *out,
                                 bm_error *err);
void bm_cluster_groups_reset(bm_cluster_groups *groups);
/* `numbers`: of each document, its number in the set of ids; NULL: the same number. `keeps`: is one
 * member of a group kept? */
bm_status bm_cluster_groups_row(const bm_cluster_groups *groups, const bm_id_set *ids,
                                const uint32_t *numbers, size_t group, bool keeps, bm_rows *rows,
                                bm_error *err);
