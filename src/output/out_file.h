/* out_file.h -- one output file, written from front to back.
 *
 * A single file is written to a temporary file beside its target, synced and renamed. A file of a
 * directory comes from out_dir.h; everything below is the same for it. abort, and every failure of
 * close, removes what was begun.
 *
 * Threads: one at a time for each file, but for bm_out_file_write_at. */
#ifndef BM_IO_OUTPUT_OUT_FILE_H
#define BM_IO_OUTPUT_OUT_FILE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/compress.h"
#include "output/digest.h"
#include "output/out_target.h"

typedef struct bm_out_file bm_out_file;

/* A single file. Folders above it that are missing are made; abort removes them again. */
bm_status bm_out_file_open(const char *target, bm_out_existing existing, bm_out_file **out,
                           bm_error *err);
/* What is written goes to the caller as it comes, behind the buffer (and compression): BM_ERR_PIPE where he takes no more.
 * Nothing is read back or rewritten. */
bm_status bm_out_file_stream(bm_write_fn pass, void *ctx, bm_out_file **out, bm_error *err);
/* To be chosen before the first write (else BM_ERR_INTERNAL). */
bm_status bm_out_file_compress(bm_out_file *file, bm_compression compression, bm_pack_lanes lanes,
                               bm_error *err);
/* Buffered. After a failure every later call fails as well. */
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* What was written so far ends a member of gz, or a frame of zst; of other files, and where it does already, nothing. */
bm_status bm_out_file_end_part(bm_out_file *file, bm_error *err);
/* Write bytes from byte `at` on, where none were written; from any thread, any number of such calls at
 * once. In the end no byte may be missing before others. Other calls come before or after these, and
 * bm_out_file_write before only. Not with compression. */
bm_status bm_out_file_write_at(bm_out_file *file, uint64_t at, const void *data, size_t len,
                               bm_error *err);
/* For a file of a directory that will be large and is never rewritten, but for its first `unsettled`
 * bytes: hash its pieces on other threads while it is written, so that bm_out_dir_finish need not;
 * those of the first bytes are left to it. Before the first write; nothing else changes. */
void bm_out_file_digest_early(bm_out_file *file, uint64_t unsettled);
/* For a file of a directory: when that is finished, and reads the file for its digests, the part is
 * compared, BM_ERR_FORMAT. That part must not be rewritten. */
void bm_out_file_compare(bm_out_file *file, const bm_sealed_part *sealed);
/* Give what was written to the system: the end of the process does not lose it. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_flush(bm_out_file *file, bm_error *err);
/* Read back bytes that were flushed: BM_ERR_FORMAT names the file where it is shorter. Not with
 * compression. */
bm_status bm_out_file_read(const bm_out_file *file, uint64_t offset, void *out, size_t len,
                           bm_error *err);
/* What messages call it. */
const char *bm_out_file_shown(const bm_out_file *file);
/* Overwrite bytes that were written before, such as a header that tells the length. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush and close. A single file is synced and gets its name; a file of a directory is left to the
 * directory. The handle is gone, whatever the status. NULL is fine. */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
/* --- a single file whose name is given later --- */

/* The first part of close: everything is written and on the disk, and only the name is missing. On
 * failure the handle is gone. */
bm_status bm_out_file_ready(bm_out_file *file, bm_error *err);
/* After it: the file gets its name. Settle or abort is to follow, whatever the status; abort takes the
 * name back, and what had it before has it again. */
bm_status bm_out_file_place(bm_out_file *file, bm_error *err);
/* The name stays. The handle is gone. */
void bm_out_file_settle(bm_out_file *file);

/* Removes what was begun, but for a file of a directory that bm_out_dir_preserve speaks of: of that
 * file what was flushed stays. NULL is fine. */
void bm_out_file_abort(bm_out_file *file);
/* Bytes given to bm_out_file_write: before compression, and with those that bm_out_dir_file_again
 * found. */
uint64_t bm_out_file_bytes(const bm_out_file *file);

#endif
