/* SPDX-License-Identifier: Apache-2.0 */
/* index_of_documents.h -- an unnamed index made from documents: `query --targets` searches it, and
 * `dedup --against` compares with it. */
#pragma once

#include "job/job_context.h"
#include "job/settings.h"
#include "store/store_view.h"

#define BM_INDEX_FEW_BYTES ((uint64_t)256 << 20) /* with less, no device starts */

typedef struct bm_unnamed_index {
    bm_store *store;                /* close with bm_store_close */
    bm_store_view *view;            /* close first, with bm_store_view_close */
    uint32_t perms_used;            /* words of a signature that were computed for its documents */
    char state[BM_INPUT_SET_STATE]; /* identifies the documents (input/input_set.h) */
} bm_unnamed_index;

/* Read the documents of `input` as `index build` would with the text, sketch, plan and verification
 * of `settings`, into an index in an unnamed file, which disappears however the process ends. `job`
 * is the calling job; its meter decides whether to stop while the store is written. The index keeps
 * sets, or signatures if verification is by signature. On failure *out is empty. */
bm_status bm_index_of_documents(bm_job_context *job, const bm_settings *settings,
                                const bm_input_options *input, bm_unnamed_index *out,
                                bm_error *err);
