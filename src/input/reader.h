/* reader.h -- from files to batches of whole records.
 *
 * The reader (one thread) reads large blocks, takes compression off, and cuts at record boundaries:
 * a raw batch holds pieces, each a run of whole records of one file. A parser (parser.h) finds the
 * records in it. */
#ifndef BM_IO_INPUT_READER_H
#define BM_IO_INPUT_READER_H

#include <bandmill/status.h>

#include "input/content_place.h"
#include "input/input_set.h"
#include "input/long_gate.h"
#include "input/raw_batch.h"

typedef struct bm_reader bm_reader;

/* A batch ends when it holds batch_bytes (a longer record makes it longer, up to the longest that a document may
 * be and a bit) or `batch_records` records (0: no limit). */
bm_status bm_reader_open(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                         bm_reader **out, bm_error *err);
/* Ask before a record that is longer than a batch is held; borrowed; NULL: any may be. */
void bm_reader_set_gate(bm_reader *reader, const bm_long_gate *gate);
/* Tell the place behind each batch, and whether the bytes before `check` (copied), where it is known,
 * are those that they were. */
bm_status bm_reader_track(bm_reader *reader, const bm_content_place *check, bm_error *err);
/* bm_input_ahead_set_helped, and _help, of its inputs. */
void bm_reader_set_helped(bm_reader *reader);
bool bm_reader_help(bm_reader *reader);
/* *out is taken by the caller (bm_raw_batch_free); NULL at the end. */
bm_status bm_reader_next(bm_reader *reader, bm_raw_batch **out, bm_error *err);
void bm_reader_close(bm_reader *reader); /* NULL is fine */

#endif
