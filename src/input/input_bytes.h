/* SPDX-License-Identifier: Apache-2.0 */
/* input_bytes.h -- reads, digests and decompresses the inputs, one source after another.
 *
 * The digest (XXH3, 128 bits) covers the bytes as stored. If a source is read a second time and its
 * digest or length differs from the first time, the read fails, because the file changed during the
 * job. */
#pragma once

#include "input/input_set.h"

typedef struct bm_input_bytes bm_input_bytes;

bm_status bm_input_bytes_open(bm_input_set *set, bm_input_bytes **out, bm_error *err);
void bm_input_bytes_close(bm_input_bytes *bytes); /* NULL is fine */
/* From now on, read independently of the thread that reads the set. The set is not changed,
 * `callbacks` (borrowed) replace the set's, and windows have at most 2^window_log bytes. */
void bm_input_bytes_set_apart(bm_input_bytes *bytes, const bm_callbacks *callbacks,
                              unsigned window_log);
/* After bm_input_bytes_set_apart: record in the set the digest and the length of the source that
 * was read to its end. */
void bm_input_bytes_accept(const bm_input_bytes *bytes);

/* Begin a source. BM_ERR_IO: the source cannot be opened, or it can be read only once and was read
 * before. BM_ERR_INPUT: the source was found to be unreadable when the inputs were opened, or its
 * unpacked bytes have a format that is not read. */
bm_status bm_input_bytes_begin(bm_input_bytes *bytes, size_t source, bm_error *err);
/* Read 1 … cap bytes. *got 0: the source has ended. The source's digest and bytes_read are then
 * set, and its file is closed. */
bm_status bm_input_bytes_read(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                              bm_error *err);
/* Used after begin instead of bm_input_bytes_read: read a compressed source as it is stored, from
 * its first byte. BM_ERR_UNSUPPORTED: the first bytes are gone, because begin had to read more than
 * it can keep. */
bm_status bm_input_bytes_read_packed(bm_input_bytes *bytes, char *out, size_t cap, size_t *got,
                                     bm_error *err);
/* The file of the source, which other threads may read too until the source ends or another begins.
 * NULL: the source is compressed, or not a file. */
const bm_stored_file *bm_input_bytes_file(const bm_input_bytes *bytes);
/* The offset of the next byte to read in bm_input_bytes_file. */
uint64_t bm_input_bytes_place(const bm_input_bytes *bytes);
/* The caller has itself read the next n bytes of an uncompressed source, `data`, instead of calling
 * bm_input_bytes_read. The next read continues after them. */
void bm_input_bytes_pass(bm_input_bytes *bytes, const char *data, size_t n);
/* Record the digest of a plain source of n bytes that the caller has itself read to the end.
 * BM_ERR_INPUT: the source has changed since an earlier reading. */
bm_status bm_input_bytes_pass_source(bm_input_bytes *bytes, size_t source, bm_hash128 digest,
                                     uint64_t n, bm_error *err);
/* Did the file itself cause the last failure of begin or read? It did if it could not be opened or
 * read, if its compression is damaged, or if its format is refused. All bytes before such a failure
 * were delivered, and the next source may be begun. */
bool bm_input_bytes_is_broken(const bm_input_bytes *bytes);
/* Read the rest of a broken file as stored, as far as it can be read, to get its digest. Fails if
 * the file has changed. */
bm_status bm_input_bytes_pass_over(bm_input_bytes *bytes, bm_error *err);
/* Stored bytes read so far, of all sources together. */
uint64_t bm_input_bytes_stored(const bm_input_bytes *bytes);
/* Stored bytes read of the current source. */
uint64_t bm_input_bytes_in_source(const bm_input_bytes *bytes);

/* input_copy -- copies tables from standard input or a pipe. Readers of tables seek, so they need
 * the whole table in a file. The copy is an unlinked file, which disappears however the job
 * ends. */

/* Copy source `index`, unless it is a regular file or was copied already. Afterwards
 * bm_source_place is the path of the copy, and the digest and the size are known. BM_ERR_IO names
 * the directory that cannot hold the copy (bm_input_resources.temp_dir); BM_ERR_CANCELLED,
 * BM_ERR_NOMEM. Called only by the thread that reads the set. */
bm_status bm_input_copy(bm_input_set *set, size_t index, bm_error *err);
