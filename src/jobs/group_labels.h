/* SPDX-License-Identifier: Apache-2.0 */
/* group_labels.h -- reads a directory that `dedup` wrote (groups.jsonl, removed.tsv), and returns
 * the group and the similarity of a document by its id. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "results/result_dir.h"
#include "model/ids.h"
#include "job/settings.h"

typedef struct bm_group_label {
    uint64_t group;      /* number of the group; 0: the document is in no group */
    uint64_t size;       /* number of documents in the group */
    uint32_t millionths; /* similarity to the kept document, or BM_JACCARD_UNKNOWN */
    bool kept;
} bm_group_label;

typedef struct bm_group_labels {
    const bm_settings *settings; /* borrowed; has the memory limit */
    bm_id_set ids;               /* ids of all members of groups */
    bm_group_label *labels;      /* one for each id */
    size_t cap, n_met;
    uint64_t n_groups;
    uint64_t bytes; /* memory of ids and labels */
} bm_group_labels;  /* {0} is empty, except for `settings` */

/* Read groups.jsonl and removed.tsv of a directory. `manifest`: the open report of the directory.
 * BM_ERR_FORMAT: the message names file and line, or a file that does not match its digest in the
 * report. BM_ERR_NOMEM: the message names a sufficient `memory`. */
bm_status bm_group_labels_load(const bm_manifest *manifest, bm_group_labels *out, bm_error *err);
void bm_group_labels_reset(bm_group_labels *labels); /* frees */
/* The label of a document. A document in no group counts as kept. Call this once for each
 * document. */
bm_group_label bm_group_labels_find(bm_group_labels *labels, bm_str id);
/* Was every member of a group looked up? */
bool bm_group_labels_done(const bm_group_labels *labels);
