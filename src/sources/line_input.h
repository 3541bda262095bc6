/* SPDX-License-Identifier: Apache-2.0 */
/* line_input.h -- records that come a line at a time, each to be answered before the next is waited
 * for.
 *
 * Where a reader (reader.h) takes in large blocks and looks at the first bytes before anything
 * else, this one asks for no byte more than the line at hand needs: its other end may wait for an
 * answer. The lines come from one uncompressed stream, in a format that is settled before anything
 * is read: jsonl (also for AUTO), lines, or tsv with numbers as fields. A long line is held as far
 * as a gate lets it. One thread. */
#pragma once

#include <bandmill/types.h>

#include "input/record.h"
#include "input/raw_batch.h"

typedef struct bm_line_input bm_line_input;

/* Standard input, whatever the paths of the options say. `gate` is asked before more of a line than
 * a MiB is held; NULL: any may be. All are borrowed until close. BM_ERR_USAGE: another format;
 * fields that need a header. */
bm_status bm_line_input_open(const bm_input_options *options, const bm_callbacks *callbacks,
                             const bm_long_gate *gate, bm_line_input **out, bm_error *err);
void bm_line_input_close(bm_line_input *in); /* NULL is fine */

typedef enum bm_line_got {
    BM_LINE_RECORD, /* fn was called with it, good or bad */
    BM_LINE_BLANK,  /* a line that is no record */
    BM_LINE_END     /* there are no more */
} bm_line_got;

/* Wait for a line. BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED, what fn returned, or the gate. */
bm_status bm_line_input_next(bm_line_input *in, bm_record_fn fn, void *ctx, bm_line_got *got,
                             bm_error *err);
