/* SPDX-License-Identifier: Apache-2.0 */
/* index_of_documents.h -- an unnamed index made from documents: `query --targets` searches it, and
 * `dedup --against` compares with it. */
#pragma once

#include "job/job_context.h"
#include "job/settings.h"
#include "store/store_view.h"

/* With fewer bytes of input, the device `auto` is the CPU. */
#define BM_INDEX_FEW_BYTES ((uint64_t)256 << 20)

typedef struct bm_unnamed_index {
    bm_store *store;     /* close with bm_store_close */
    bm_store_view *view; /* close first, with bm_store_view_close */
    uint32_t perms_used; /* number of words that were computed for each signature; 0: all */
    char state[BM_INPUT_SET_STATE]; /* identifies the documents (input/input_set.h) */
} bm_unnamed_index;

/* Make an index of the documents of `input` in an unnamed file, which disappears however the
 * process ends. The text, sketch, plan and verification of `settings` apply, as in `index build`.
 * The index keeps sets, or signatures if verification is by signature. `job` is the calling job,
 * whose meter can stop the work while the store is written. On failure *out becomes {0}. */
bm_status bm_index_of_documents(bm_job_context *job, const bm_settings *settings,
                                const bm_input_options *input, bm_unnamed_index *out,
                                bm_error *err);
