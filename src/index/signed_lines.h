/* SPDX-License-Identifier: Apache-2.0 */
/* signed_lines.h -- reads lines of standard input, and signs each on the calling thread before the
 * next is read.
 *
 * Passing a line to another thread would take as long as signing it. A line that does not fit into
 * the job's memory ends the job with BM_ERR_NOMEM, as a record of a file does. */
#pragma once

#include "sources/line_input.h"
#include "job/job_context.h"
#include "inmem/documents.h"

typedef struct bm_signed_lines {
    bm_job_context *job;  /* borrowed; each line updates the job's counts */
    bm_doc_signer signer; /* has the signed document of the current line */
    bm_doc_recipe recipe;
    bm_record_budget budget;
    bm_backend *backend;
    bm_line_input *in;
    bm_record_fn fn; /* the `fn` and `ctx` of the current call of bm_signed_lines_next */
    void *ctx;
} bm_signed_lines;

/* Begin reading standard input. `words`: compute the whole signature, not only band keys.
 * `callbacks` are borrowed. The struct *out must not be moved in memory. The caller closes *out,
 * also after a failure. */
bm_status bm_signed_lines_open(bm_job_context *job, bool words, const bm_callbacks *callbacks,
                               bm_signed_lines *out, bm_error *err);
void bm_signed_lines_close(bm_signed_lines *lines);
/* Read the next line. If it has a good record, the document is signed and `fn` is called. A bad
 * record is an error, or it is counted and logged. */
bm_status bm_signed_lines_next(bm_signed_lines *lines, bm_record_fn fn, void *ctx, bm_line_got *got,
                               bm_error *err);
