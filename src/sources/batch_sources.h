/* SPDX-License-Identifier: Apache-2.0 */
/* batch_sources.h -- the table of batch sources. To add one: define its bm_batch_source_ops, and
 * add a row in batch_sources.c. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/batch_source.h"

/* source_hashes -- documents that are arrays of shingle hashes, made by another program. Each
 * document has a row in the array of offsets, and its id is the number of the row, from 0. */

extern const bm_batch_source_ops bm_source_hashes;

/* source_keys -- `--format keys`: band keys made by another program, in a NumPy array (<u8) of N
 * rows of B keys. Each row is a document, and its id is the number of the row, from 0. If all bits
 * of a key are 1 (BM_NO_BAND_KEY), the document is in no bucket of that band. */

extern const bm_batch_source_ops bm_source_keys;

/* source_mixed -- inputs of several formats. Consecutive files of one format are a part, and the
 * source of that format reads the part. Kept records cannot be copied, and an unfinished job cannot
 * be saved. */

extern const bm_batch_source_ops bm_source_mixed;

/* Open the source that reads the format of the inputs. The source borrows the inputs until it is
 * closed. Fails like the function `open` of the source. BM_ERR_INTERNAL: no source reads this
 * format. */
bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
/* Are documents in this format texts? True for AUTO. */
bool bm_format_has_text(bm_format format);
