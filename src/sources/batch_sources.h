/* SPDX-License-Identifier: Apache-2.0 */
/* batch_sources.h -- the table of batch sources. To add one: define its bm_batch_source_ops, and
 * add a row in batch_sources.c. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/batch_source.h"
#include "input/raw_batch.h"
#include "model/batches.h"

/* hash_input -- `--format hashes`: shingle hashes made elsewhere. Two NumPy arrays: hashes (<u4 or
 * <u8), and N + 1 offsets (<i8) for N documents.
 *
 * Both files are digested as they are read, from their first byte to their last.
 *
 * Opening checks the headers. Reading checks that offsets begin at 0, never decrease, and end at
 * the number of hashes; if not, BM_ERR_INPUT names the file and the row. */

typedef struct bm_hash_input bm_hash_input;

/* Consecutive documents of the arrays. */
typedef struct bm_hash_block {
    uint64_t first_doc; /* number of the first document, from 0 */
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1, beginning with 0 */
    uint64_t *hashes;  /* offsets[n_docs] of them */
    size_t cap_offsets, cap_hashes;
} bm_hash_block; /* {0} is empty; can be reused */

/* The most documents and hashes in a block, which however always holds at least one document, even
 * with more hashes. */
typedef struct bm_hash_limits {
    size_t docs, hashes;
    const bm_long_gate *gate; /* called for a document with more hashes; NULL: any is allowed */
} bm_hash_limits;

bm_status bm_hash_input_open(const char *hashes_path, const char *offsets_path, bm_hash_input **out,
                             bm_error *err);
/* Read the next documents into `block`. n_docs is 0 at the end. */
bm_status bm_hash_input_next(bm_hash_input *input, const bm_hash_limits *limits,
                             bm_hash_block *block, bm_error *err);
/* One of the two files, after it was read to its end. */
typedef struct bm_hash_file {
    uint64_t bytes;
    bm_hash128 digest; /* XXH3 128 */
} bm_hash_file;
/* Fill in the digests of the hashes and of the offsets. Call when bm_hash_input_next has reached
 * the end. */
void bm_hash_input_files(const bm_hash_input *input, bm_hash_file files[2]);
void bm_hash_block_reset(bm_hash_block *block); /* frees */
void bm_hash_input_close(bm_hash_input *input); /* NULL is fine */

/* source_hashes -- arrays of shingle hashes made elsewhere, as documents: one per row of the
 * offsets; the id is the number of the row, from 0. */

extern const bm_batch_source_ops bm_source_hashes;

/* source_keys -- `--format keys`: band keys made elsewhere, a NumPy array (<u8) of N rows of B
 * keys. Each row is a document; the id is the number of the row, from 0. A key of all one bits
 * (BM_NO_BAND_KEY): the document is in no bucket of that band. */

extern const bm_batch_source_ops bm_source_keys;

/* source_mixed -- inputs of several formats: consecutive files of one format are a part, which the
 * source of that format reads. Kept records cannot be copied, and a job cannot be saved as it goes.
 */

extern const bm_batch_source_ops bm_source_mixed;

/* Open the source that reads the inputs' format. The source borrows the inputs until it is closed.
 * Fails like the `open` of its row; BM_ERR_INTERNAL: no source reads this format. */
bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
/* Are documents in this format texts? For AUTO true. */
bool bm_format_has_text(bm_format format);
