/* SPDX-License-Identifier: Apache-2.0 */
/* line_input.h -- reads records for a client that sends a line and waits for the answer before it
 * sends the next.
 *
 * A record reader (input/reader.c) reads large blocks, and first examines the beginning of an
 * input. A line input never waits for bytes after the current line, because the client may be
 * waiting for an answer. The lines come from one uncompressed stream, in a format that is known
 * beforehand: jsonl (also for AUTO), lines, or tsv with numbers as fields. A gate decides how much
 * of a long line may be kept in memory. One thread. */
#pragma once

#include <bandmill/types.h>

#include "input/record.h"
#include "input/raw_batch.h"

typedef struct bm_line_input bm_line_input;

/* Reads standard input, whatever the paths in the options. `gate` is called before more than 1 MiB
 * of a line is kept in memory; NULL: any number of bytes may be kept. All pointers are borrowed
 * until close. BM_ERR_USAGE: the format is not read here, or a field needs a header. */
bm_status bm_line_input_open(const bm_input_options *options, const bm_callbacks *callbacks,
                             const bm_long_gate *gate, bm_line_input **out, bm_error *err);
void bm_line_input_close(bm_line_input *in); /* NULL is fine */

typedef enum bm_line_got {
    BM_LINE_RECORD, /* fn was called with a record, good or bad */
    BM_LINE_BLANK,  /* the line is blank, so it is no record */
    BM_LINE_END     /* the stream has ended */
} bm_line_got;

/* Wait for a line. Returns BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED, or the status of `fn` or of
 * the gate. */
bm_status bm_line_input_next(bm_line_input *in, bm_record_fn fn, void *ctx, bm_line_got *got,
                             bm_error *err);
