/* out_dir.h -- outputs that appear whole or not at all.
 *
 * A directory: work lies in TARGET.partial beside it, every file is written and synced there, then
 * one rename puts it in place. While a job works there its marker is locked: a second job for the
 * same target gets BM_ERR_LOCKED, and what a killed job left is told from a stranger's directory.
 * With `force` an existing target is replaced only if it holds our manifest.json or report.json and
 * nothing that we do not write. A single file: a temporary file beside it (O_EXCL), synced,
 * renamed. abort (and every failure) removes what was begun.
 *
 * A directory may also outlive its job, to be gone on with: what the job knows of itself lies in
 * files of state beside the outputs, named .bandmill-… (bm_out_dir_state_path), the chief of them
 * the journal, and bm_out_dir_preserve has close leave all of it. A killed job leaves it anyway.
 * bm_out_dir_open_again takes over a work directory that has a journal. No file of state ever
 * reaches the target. */
#ifndef BM_IO_OUTPUT_OUT_DIR_H
#define BM_IO_OUTPUT_OUT_DIR_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_OUT_STATE_PREFIX ".bandmill-" /* of files that are no outputs */
#define BM_OUT_JOURNAL      BM_OUT_STATE_PREFIX "journal"

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
bm_status bm_out_dir_finish(bm_out_dir *dir, bm_error *err);
/* {"name": "hex", …} sorted by name, of all files closed before seal; the directory's own, until
 * close. */
bm_status bm_out_dir_digests(bm_out_dir *dir, const char **json, bm_error *err);
/* What commit begins with, where something is to be done behind it: all is on disk, the target
 * free. */
bm_status bm_out_dir_ready(bm_out_dir *dir, bm_error *err);
bm_status bm_out_dir_commit(bm_out_dir *dir,
                            bm_error *err); /* rename into place; then only close */
/* Without commit: removes the work, or leaves it (bm_out_dir_preserve). Files still open are aborted by
 * their owner, before. NULL is fine. */
void bm_out_dir_close(bm_out_dir *dir);

/* --- a directory that outlives its job --- */

/* Like bm_out_dir_open, but a directory that an earlier job left with a journal is taken over as it
 * is, and locked: *found is true, and it is kept until bm_out_dir_preserve says otherwise. Any other is
 * cleared and begun anew: *found is false. BM_ERR_LOCKED: its job lives. */
bm_status bm_out_dir_open_again(const char *target, bool force, bm_out_dir **out, bool *found,
                                bm_error *err);
/* Do close (without commit) and bm_out_file_abort leave what is there, for bm_out_dir_open_again?
 * After kill -9 it is there in any case. */
void bm_out_dir_preserve(bm_out_dir *dir, bool keep);
/* The path of a file of state: `name` begins with BM_OUT_STATE_PREFIX and has no slash
 * (BM_ERR_INTERNAL). The file is the caller's to open, sync and close; *out too. */
bm_status bm_out_dir_state_path(const bm_out_dir *dir, const char *name, char **out, bm_error *err);
/* Remove all files of state but the marker, the journal first: there is nothing to go on from.
 * Commit does it too. */
bm_status bm_out_dir_drop_state(const bm_out_dir *dir, bm_error *err);
/* After a take-over, before anything is written: remove every file and folder in it but those named
 * in `keep` (with slashes; a folder stays with all it holds) and the files of state. Links are
 * removed, not followed. On failure some are removed. */
bm_status bm_out_dir_clear(bm_out_dir *dir, const char *const *keep, size_t n_keep, bm_error *err);
/* After a take-over: a file that is there, cut to its first `bytes`, to be written on behind them
 * (bm_out_file_bytes begins with `bytes`); digest and sync are of the whole file. Once a name. Each
 * file of the earlier job that is to be an output goes through here, also one that was whole.
 * BM_ERR_FORMAT, and nothing changed: missing, shorter, no regular file. */
bm_status bm_out_dir_file_again(bm_out_dir *dir, const char *name, uint64_t bytes,
                                bm_out_file **out, bm_error *err);

/* A single output file; `force` replaces an existing regular file. */
bm_status bm_out_file_open(const char *target, bool force, bm_out_file **out, bm_error *err);
/* Buffered. `compress`: 0 none, 1 gz, 2 zst; chosen before the first write. */
bm_status bm_out_file_compress(bm_out_file *file, int compression, bm_error *err);
bm_status bm_out_file_write(bm_out_file *file, const void *data, size_t len, bm_error *err);
/* A file of a directory that will be large and is never rewritten: hash it on another thread while
 * it is written, so that sealing need not. Nothing else changes. */
void bm_out_file_digest_early(bm_out_file *file);
/* What was written is with the system: the end of the process does not lose it. Not with
 * compression (BM_ERR_INTERNAL). */
bm_status bm_out_file_flush(bm_out_file *file, bm_error *err);
/* Overwrite bytes written before (not with compression); for the .npy header. */
bm_status bm_out_file_rewrite(bm_out_file *file, uint64_t offset, const void *data, size_t len,
                              bm_error *err);
/* Flush, sync, close; a single file is renamed into place. The handle is gone, whatever the status.
 */
bm_status bm_out_file_close(bm_out_file *file, bm_error *err);
/* Removes what was begun, but for a file of a directory that is kept: of that what was flushed
 * stays. NULL is fine. */
void bm_out_file_abort(bm_out_file *file);
uint64_t bm_out_file_bytes(const bm_out_file *file); /* given to write, before compression */

#endif
