/* sign_dir.h -- reading a directory that `sign` wrote.
 *
 * Opening checks that manifest.json is ours and of kind "signatures", that signatures.npy is <u4
 * (N, K) with K its provenance's perms, that n_shingles.npy is <u4 (N) and ids.txt has N lines, and
 * that N is the manifest's count of documents: else BM_ERR_FORMAT that names the file and the
 * field. SHA-256 digests are checked only on request (bm_manifest_check), since that reads all of
 * it. Rows are read by pread in blocks; a sparse table of places (8 bytes for each 1,024 rows)
 * gives access to ids from any row.
 *
 * Threads: after open, rows, n_shingles and ids may be read by several threads at once. */
#ifndef BM_IO_ARRAYS_SIGN_DIR_H
#define BM_IO_ARRAYS_SIGN_DIR_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "io/output/manifest.h"

typedef struct bm_sign_dir bm_sign_dir;

/* A directory that holds a manifest.json of ours: signatures rather than documents (cli.md 1). */
bool bm_sign_dir_is(const char *path);
bm_status bm_sign_dir_open(const char *path, bm_sign_dir **out, bm_error *err);
void bm_sign_dir_close(bm_sign_dir *dir); /* NULL is fine */

const char *bm_sign_dir_path(const bm_sign_dir *dir);
uint64_t bm_sign_dir_docs(const bm_sign_dir *dir);
uint32_t bm_sign_dir_perms(const bm_sign_dir *dir);
const bm_manifest *bm_sign_dir_manifest(const bm_sign_dir *dir);
const bm_provenance *bm_sign_dir_provenance(const bm_sign_dir *dir);
/* May the two be used together? False: *field names what differs. */
bool bm_sign_dir_same_provenance(const bm_sign_dir *a, const bm_sign_dir *b, const char **field);

/* Rows first … first+n-1: n * perms words, filled. */
bm_status bm_sign_dir_rows(const bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *words,
                           bm_error *err);
bm_status bm_sign_dir_n_shingles(const bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *out,
                                 bm_error *err);
/* Ids, unescaped, appended to `text`; ends[i] (filled, n) is where id i ends in it. */
bm_status bm_sign_dir_ids(const bm_sign_dir *dir, uint64_t first, size_t n, bm_buf *text,
                          size_t *ends, bm_error *err);

#endif
