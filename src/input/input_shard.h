/* SPDX-License-Identifier: Apache-2.0 */
/* input_shard.h -- one of N contiguous shares of the inputs, for N machines.
 *
 *     file 0          file 1 (gz)       file 2
 *     |---------------|-----------------|--------------------|    stored bytes, file after file;
 *             ^                  ^                 ^              N ranges of equal length
 *             '- cut after       '- not cut        '- cut
 *                the record
 *
 * A record of a plain file of lines, TSV or CSV belongs to the range that has its first byte. A row
 * group of Parquet belongs to the range that has its middle, where row r of R is taken to be at
 * byte size * r / R of the file. Any other file (compressed, a JSON array, Arrow IPC, a document)
 * belongs as a whole to the range that has its middle. So the bytes to examine depend only on N and
 * on the names, sizes and (Parquet) row counts of the files. The concatenated shares have each
 * record once, in input order.
 *
 * The bytes of a file before the share's first record are read, but not parsed. They have to be
 * read because their lines and records are counted, and because in CSV their quotes decide where
 * records begin. */
#pragma once

#include <bandmill/status.h>

#include "input/input_source.h"

struct bm_input_set;

/* Reduce the set to the files of a share, which may be none. BM_ERR_USAGE: standard input, a pipe,
 * or arrays of hashes. BM_ERR_IO: a file cannot be read up to the end of its share; BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_input_set_shard(struct bm_input_set *set, uint32_t index, uint32_t of, bm_error *err);
/* The share that the set was cut to; `of` 0: the set was not cut. */
const bm_input_shard *bm_input_set_shard_of(const struct bm_input_set *set);
