/* SPDX-License-Identifier: Apache-2.0 */
/* group_labels.h -- the group and similarity of each document that a `dedup` directory lists in a
 * group, by id; read from groups.jsonl and removed.tsv. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "results/result_dir.h"
#include "model/ids.h"
#include "job/settings.h"

typedef struct bm_group_label {
    uint64_t group;      /* 0: in no group */
    uint64_t size;       /* documents of that group */
    uint32_t millionths; /* similarity to the kept document; or unknown */
    bool kept;
} bm_group_label;

typedef struct bm_group_labels {
    const bm_settings *settings; /* borrowed; holds the memory limit */
    bm_id_set ids;               /* ids of all members */
    bm_group_label *labels;      /* one per id */
    size_t cap, n_met;
    uint64_t n_groups;
    uint64_t bytes; /* memory that ids and labels take */
} bm_group_labels;  /* {0} is empty, except for `settings` */

/* Read both files of the directory that the open report belongs to. BM_ERR_FORMAT: the message
 * names file and line, or a file that does not match its digest in the report. BM_ERR_NOMEM: the
 * message names a sufficient `memory`. */
bm_status bm_group_labels_load(const bm_manifest *manifest, bm_group_labels *out, bm_error *err);
void bm_group_labels_reset(bm_group_labels *labels); /* frees */
/* The label of a document. A document in no group counts as kept. Call this once per document. */
bm_group_label bm_group_labels_find(bm_group_labels *labels, bm_str id);
/* Was every member looked up? */
bool bm_group_labels_done(const bm_group_labels *labels);
