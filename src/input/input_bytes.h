/* SPDX-License-Identifier: Apache-2.0 */
/* input_bytes.h -- the bytes of the inputs, one source after another: read, digested, decompressed.
 *
 * The digest (XXH3, 128 bits) is of the bytes as stored. When a source is read a second time and
 * its digest or length differs from the first time, the read fails: its file changed under the job.
 */
#pragma once

#include "input/input_set.h"

typedef struct bm_input_bytes bm_input_bytes;

bm_status bm_input_bytes_open(bm_input_set *set, bm_input_bytes **out, bm_error *err);
void bm_input_bytes_close(bm_input_bytes *bytes); /* NULL is fine */
/* From the first begin on: read beside whoever reads the set. The set is only looked at, these
 * callbacks are asked from now on (borrowed), and windows have 2^window_log bytes at most. */
void bm_input_bytes_set_apart(bm_input_bytes *bytes, const bm_callbacks *callbacks,
                              unsigned window_log);
/* Tell the set the digest and the length of the source that was read apart, to its end. */
void bm_input_bytes_accept(const bm_input_bytes *bytes);

/* Go to a source. BM_ERR_IO: it cannot be opened, or can be read only once and was. */
bm_status bm_input_bytes_begin(bm_input_bytes *bytes, size_t source, bm_error *err);
/* Read 1 … cap bytes; *got 0 at the end, when the source's digest and bytes_read are set and its
 * file is closed. */
bm_status bm_input_bytes_read(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                              bm_error *err);
/* After begin, in place of read: a compressed source as it is stored, from its first byte on.
 * BM_ERR_UNSUPPORTED: begin had to read too much of it. */
bm_status bm_input_bytes_read_packed(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                                     bm_error *err);
/* The file of the source, by which others may read it too until it ends or is left (NULL: it is no
 * file, or compressed), and the place of its next byte. */
const bm_stored_file *bm_input_bytes_file(const bm_input_bytes *bytes);
uint64_t bm_input_bytes_place(const bm_input_bytes *bytes);
/* In place of read, which goes on after them: these bytes, which come next in a source that is not
 * compressed, were read so. */
void bm_input_bytes_pass(bm_input_bytes *bytes, const char *data, size_t n);
/* Another, plain source of n bytes was read to its end, beside this one; its digest comes too. */
bm_status bm_input_bytes_pass_source(bm_input_bytes *bytes, size_t source, bm_hash128 digest,
                                     uint64_t n, bm_error *err);
/* Did the file itself cause the last failure of begin or read: it cannot be opened or read, its
 * compression is damaged, it holds a format that is not read? Then the bytes before the failure
 * were given, and the next source may be begun. */
bool bm_input_bytes_is_broken(const bm_input_bytes *bytes);
/* Read the rest of a broken file as stored, as far as it can be read, so that its digest is known.
 * Fails if the file has changed. */
bm_status bm_input_bytes_pass_over(bm_input_bytes *bytes, bm_error *err);
/* Bytes as stored: of all sources so far, of this one. */
uint64_t bm_input_bytes_stored(const bm_input_bytes *bytes);
uint64_t bm_input_bytes_in_source(const bm_input_bytes *bytes);

/* input_copy -- tables on standard input or a pipe. Whoever reads a table goes to and fro in it, so
 * all of one is copied to a file without a name first: it is gone however the job ends. */

/* Copy source `index`, unless it is a regular file or was copied: bm_source_place leads to the copy
 * then, and its digest and size are known. BM_ERR_IO names the directory that cannot hold it
 * (bm_input_resources.temp_dir); BM_ERR_CANCELLED, BM_ERR_NOMEM. By whoever reads the set. */
bm_status bm_input_copy(bm_input_set *set, size_t index, bm_error *err);
