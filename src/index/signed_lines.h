/* SPDX-License-Identifier: Apache-2.0 */
/* signed_lines.h -- lines of standard input, each read and signed on the calling thread before the
 * next.
 *
 * Waking another thread would take as long as a document does. A line that does not fit into the
 * job's memory ends the job with BM_ERR_NOMEM, like such a record in a file. */
#pragma once

#include "sources/line_input.h"
#include "job/job_context.h"
#include "inmem/documents.h"

typedef struct bm_signed_lines {
    bm_job_context *job;  /* borrowed; its counts are updated */
    bm_doc_signer signer; /* has the document of the current line */
    bm_doc_recipe recipe;
    bm_record_budget budget;
    bm_backend *backend;
    bm_line_input *in;
    bm_record_fn fn; /* callback of the current call */
    void *ctx;
} bm_signed_lines;

/* `words`: compute the whole signature, not only band keys. `callbacks` are borrowed. `out` must
 * not move. Close it, also after a failure. */
bm_status bm_signed_lines_open(bm_job_context *job, bool words, const bm_callbacks *callbacks,
                               bm_signed_lines *out, bm_error *err);
void bm_signed_lines_close(bm_signed_lines *lines);
/* Read the next line. `fn` is called for a signed document; a bad record is an error, or is counted
 * and logged. */
bm_status bm_signed_lines_next(bm_signed_lines *lines, bm_record_fn fn, void *ctx, bm_line_got *got,
                               bm_error *err);
