/* out_dir.h -- outputs that appear whole or not at all.
 *
 * A directory: work lies in TARGET.partial beside it, every file is written and synced there, then
 * one rename puts it in place. While a job works there its marker is locked: a second job for the
 * same target gets BM_ERR_LOCKED, and what a killed job left is told from a stranger's directory.
 * With `force` an existing target is replaced only if it holds our manifest.json or report.json and
 * nothing that we do not write. A single file: a temporary file beside it (O_EXCL), synced,
 * renamed. abort (and every failure) removes what was begun. */
#ifndef BM_IO_OUT_DIR_H
#define BM_IO_OUT_DIR_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_out_dir bm_out_dir;
typedef struct bm_out_file bm_out_file;

/* Refuses (BM_ERR_USAGE) a target that exists without force, is one of the inputs, or lies inside
 * or above one: inputs are paths of files or directories, compared after resolving links. A foreign
 * or unremovable thing at TARGET.partial: BM_ERR_IO. */
bm_status bm_out_check(const char *target, bool force, bool is_dir, const char *const *inputs,
                       size_t n_inputs, bm_error *err);
/* Also BM_ERR_LOCKED: another job writes this output now. */
bm_status bm_out_dir_open(const char *target, bool force, bm_out_dir **out, bm_error *err);
const char *bm_out_dir_work(const bm_out_dir *dir); /* path of the .partial directory */
/* `name` may have slashes; directories are made. */
bm_status bm_out_dir_file(bm_out_dir *dir, const char *name, bm_out_file **out, bm_error *err);
/* Sync, SHA-256 of each file (for bm_out_dir_digests), no more writing but by bm_out_dir_file
 * again. */
bm_status bm_out_dir_seal(bm_out_dir *dir, bm_error *err);
/* {"name": "hex", …} sorted by name, of all files closed before seal; the directory's own, until
 * close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
bm_status bm_out_dir_commit(bm_out_dir *dir,
                            bm_error *err); /* rename into place; then only close */
/* Without commit: removes the work. Files still open are aborted by their owner, before. NULL is
 * fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* A single output file; `force` replaces an existing regular file. */
bm_status bm_out_file_open(const char *target, bool force, bm_out_file **out, bm_error *err);
/* Buffered. `compress`: 0 none, 1 gz, 2 zst; chosen before the first write. */
bm_status bm_out_file_compress(bm_out_file *file, int compression, bm_error *err);
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* A file of a directory that will be large and is never rewritten: hash it on another thread while
 * it is written, so that sealing need not. Nothing else changes. */
void bm_out_file_digest_early(bm_out_file *file);
/* Overwrite bytes written before (not with compression); for the .npy header. */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush, sync, close; a single file is renamed into place. The handle is gone, whatever the status.
 */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
void bm_out_file_abort(bm_out_file *file); /* removes a single file's temporary; NULL is fine */
uint64_t bm_out_file_bytes(const bm_out_file *file); /* given to write, before compression */

#endif
