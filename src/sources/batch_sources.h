/* SPDX-License-Identifier: Apache-2.0 */
/* batch_sources.h -- the table of batch sources. To add one: a source_*.c file that fills a
 * bm_batch_source_ops, and a row. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "input/batch_source.h"
#include "input/raw_batch.h"
#include "model/batches.h"

/* hash_input -- `--format hashes`: shingle hashes made elsewhere. Two arrays of NumPy: hashes,
 * <u4 or <u8, and N + 1 offsets, <i8, for N documents.
 *
 * Both files are digested as they are read, once each from their first byte to their last.
 *
 * Opening checks the headers. Reading checks that offsets begin at 0, never fall and end at the
 * number of hashes: else BM_ERR_INPUT names the file and the row. */

typedef struct bm_hash_input bm_hash_input;

/* Some documents that follow each other in the arrays. */
typedef struct bm_hash_block {
    uint64_t first_doc; /* its number, from 0 */
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1, from 0 */
    uint64_t *hashes;  /* offsets[n_docs] */
    size_t cap_offsets, cap_hashes;
} bm_hash_block; /* {0} is empty; it may be used again */

/* A block holds at most so many documents and hashes, but always one document, however many hashes
 * it has. */
typedef struct bm_hash_limits {
    size_t docs, hashes;
    const bm_long_gate *gate; /* asked about a document of more hashes; NULL: any may be held */
} bm_hash_limits;

bm_status bm_hash_input_open(const char *hashes_path, const char *offsets_path, bm_hash_input **out,
                             bm_error *err);
/* Read the next documents into `block`. n_docs is 0 at the end. */
bm_status bm_hash_input_next(bm_hash_input *input, const bm_hash_limits *limits,
                             bm_hash_block *block, bm_error *err);
/* One of the two files, read to its end. */
typedef struct bm_hash_file {
    uint64_t bytes;
    bm_hash128 digest; /* XXH3 128 */
} bm_hash_file;
/* Once bm_hash_input_next has come to the end: fill in the digests of the hashes and the offsets.
 * */
void bm_hash_input_files(const bm_hash_input *input, bm_hash_file files[2]);
void bm_hash_block_reset(bm_hash_block *block); /* frees */
void bm_hash_input_close(bm_hash_input *input); /* NULL is fine */

/* source_hashes -- arrays of shingle hashes made elsewhere (batch_sources.h), a document for each
 * row of the offsets; its id is the number of the row, from 0. */

extern const bm_batch_source_ops bm_source_hashes;

/* source_keys -- `--format keys`: band keys made elsewhere, an array of NumPy, <u8, of N rows of B
 * keys, a document for each row; its id is the number of the row, from 0. A key of all one bits
 * (BM_NO_BAND_KEY): the document is in no bucket of that band. */

extern const bm_batch_source_ops bm_source_keys;

/* The source that reads inputs of their format. They stay borrowed until it is closed. Errors of
 * the row; BM_ERR_INTERNAL where none reads this format. */
bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
/* Are the documents of inputs of this format texts? AUTO: they are. */
bool bm_format_has_text(bm_format format);
