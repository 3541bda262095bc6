/* SPDX-License-Identifier: Apache-2.0 */
/* index_of_documents.h -- documents as an index that has no name: what `query --targets` searches,
 * and what `dedup --against` compares with. */
#pragma once

#include "job/job_context.h"
#include "job/settings.h"
#include "store/store_view.h"

#define BM_INDEX_FEW_BYTES ((uint64_t)256 << 20) /* of input: not worth starting a driver for */

typedef struct bm_unnamed_index {
    bm_store *store;                /* the caller's: bm_store_close */
    bm_store_view *view;            /* the caller's: bm_store_view_close, before it */
    uint32_t perms_used;            /* words of a signature that its documents took */
    char state[BM_INPUT_SET_STATE]; /* which documents they are (input/input_set.h) */
} bm_unnamed_index;

/* Read the documents of `input` as `index build` with the text, sketch, plan and verification of
 * `settings` would, into an index in a file without a name: whatever ends the process, nothing is
 * left of it. `job` is the calling job. While the store is written, the meter of `job` decides
 * whether to stop. Sets are kept, or words where verification is by signature. On failure *out
 * holds nothing. */
bm_status bm_index_of_documents(bm_job_context *job, const bm_settings *settings,
                                const bm_input_options *input, bm_unnamed_index *out,
                                bm_error *err);
