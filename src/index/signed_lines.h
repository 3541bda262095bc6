/* SPDX-License-Identifier: Apache-2.0 */
/* signed_lines.h -- lines of standard input, each signed on this thread before the next is waited
 * for.
 *
 * To wake another thread costs as much as a document takes. A line that does not fit into the job's
 * memory ends the job, as such a record of a file does (BM_ERR_NOMEM). */
#pragma once

#include "sources/line_input.h"
#include "job/job_context.h"
#include "inmem/documents.h"

typedef struct bm_signed_lines {
    bm_job_context *job;  /* borrowed; its counts are kept */
    bm_doc_signer signer; /* has the document of the line at hand */
    bm_doc_recipe recipe;
    bm_record_budget budget;
    bm_backend *backend;
    bm_line_input *in;
    bm_record_fn fn; /* of the call that is under way */
    void *ctx;
} bm_signed_lines;

/* `words`: all words of a signature are wanted, not only keys. `callbacks` are borrowed. `out`
 * stays where it is; closed in either case. */
bm_status bm_signed_lines_open(bm_job_context *job, bool words, const bm_callbacks *callbacks,
                               bm_signed_lines *out, bm_error *err);
void bm_signed_lines_close(bm_signed_lines *lines);
/* Read the next line: `fn` is called for a document that was signed; a bad record is refused, or
 * counted and logged. */
bm_status bm_signed_lines_next(bm_signed_lines *lines, bm_record_fn fn, void *ctx, bm_line_got *got,
                               bm_error *err);
