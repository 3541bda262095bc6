/* SPDX-License-Identifier: Apache-2.0 */
/* sign_dir.h -- reads a directory that `sign` wrote.
 *
 * Opening checks that manifest.json is a manifest of bandmill, of kind "signatures". If it has N
 * documents and K permutations, signatures.npy must be <u4 (N, K), or <u8 (N, K) for schemes with
 * 64-bit words, n_shingles.npy <u4 (N), n_bytes.npy <u8 (N), content_hash.npy <u8 (N, 2) and
 * text_hash.npy <u8 (N), and ids.txt must have N lines. Otherwise BM_ERR_FORMAT names the file and
 * the field. Manifests of earlier versions do not list n_bytes.npy, content_hash.npy and
 * text_hash.npy; such directories are read without them.
 *
 * The bytes read are compared with the digests in the manifest (manifest.h): ids.txt and the small
 * arrays when they are opened, signatures.npy while its rows are read in order. Rows are read from
 * the files on request. So that ids can be read from any row on, a table in memory has the offset
 * of every 1,024th line of ids.txt (8 bytes each).
 *
 * Threads: several may read an open directory at once, but only one may call bm_sign_dir_rows. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "output/manifest.h"
#include "model/stream_hash.h"

typedef struct bm_sign_dir bm_sign_dir;

/* Set *is to whether the directory has a manifest.json of bandmill, and so has signatures instead
 * of documents. BM_ERR_FORMAT: there is a signatures.npy, but the manifest is damaged. `memory`:
 * the most memory that the manifest may take (bm_manifest_open). */
bm_status bm_sign_dir_is(const char *path, uint64_t memory, bool *is, bm_error *err);
/* Open a directory, and check it (see above). */
bm_status bm_sign_dir_open(const char *path, uint64_t memory, bm_sign_dir **out, bm_error *err);
/* Open one of several directories. BM_ERR_FORMAT also if its signatures cannot be used together
 * with those of `first`, the directory opened first. NULL: this is the first directory. */
bm_status bm_sign_dir_open_beside(const bm_sign_dir *first, const char *path, uint64_t memory,
                                  bm_sign_dir **out, bm_error *err);
/* Called by jobs that need documents. BM_ERR_USAGE: one of the paths is a directory of signatures;
 * the message names the first of them. */
bm_status bm_sign_dir_refuse(const char *const *paths, size_t n_paths, uint64_t memory,
                             bm_error *err);
void bm_sign_dir_close(bm_sign_dir *dir); /* NULL is fine */

const char *bm_sign_dir_path(const bm_sign_dir *dir);
uint64_t bm_sign_dir_docs(const bm_sign_dir *dir);
uint32_t bm_sign_dir_perms(const bm_sign_dir *dir);
const bm_manifest *bm_sign_dir_manifest(const bm_sign_dir *dir);
const bm_provenance *bm_sign_dir_provenance(const bm_sign_dir *dir);
/* Set *n_short to the number of documents with fewer units than a shingle has, and *n_none to how
 * many of these have no shingles, because of `--short skip`. Such documents do not count as empty,
 * although their rows look like rows of empty documents. */
bm_status bm_sign_dir_short(const bm_sign_dir *dir, uint64_t *n_short, uint64_t *n_none,
                            bm_error *err);
/* The number of unreadable documents (text/shingler.h), or 0 in directories of earlier versions.
 * The rows of such documents also look like rows of empty documents. */
uint64_t bm_sign_dir_unreadable(const bm_sign_dir *dir);

/* Read the signatures first … first+n-1 into `words`. These are n * perms words, with 32 or 64
 * bits as in the scheme (bm_scheme_row_uints). If all rows are read in order from row 0 on, the
 * file is checked: the last call returns BM_ERR_FORMAT if signatures.npy differs from the file that
 * the manifest lists. This is done in each such pass. */
bm_status bm_sign_dir_rows(bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *words,
                           bm_error *err);
/* Read the numbers of distinct shingles. */
bm_status bm_sign_dir_n_shingles(const bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *out,
                                 bm_error *err);
/* Does the directory have n_bytes.npy (_has_bytes), or content_hash.npy (_has_content)? If not,
 * bm_sign_dir_n_bytes, or bm_sign_dir_content, must not be called. */
bool bm_sign_dir_has_bytes(const bm_sign_dir *dir);
bool bm_sign_dir_has_content(const bm_sign_dir *dir);
/* Read the lengths of the texts in bytes. */
bm_status bm_sign_dir_n_bytes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                              bm_error *err);
/* Read the content hashes. */
bm_status bm_sign_dir_content(const bm_sign_dir *dir, uint64_t first, size_t n, bm_hash128 *out,
                              bm_error *err);

/* Read the hashes of the texts before repair. All are BM_TEXT_UNKNOWN (model/ids.h) if the
 * directory is of an older version, or if the inputs were arrays of hashes. */
bm_status bm_sign_dir_text_hashes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                                  bm_error *err);

/* Receives ids. Each id is unescaped and appended to `text`. ends[i] becomes the offset in `text`
 * at which id i ends. */
typedef struct bm_sign_ids {
    bm_buf *text;
    size_t *ends;
} bm_sign_ids;

bm_status bm_sign_dir_ids(const bm_sign_dir *dir, uint64_t first, size_t n, const bm_sign_ids *out,
                          bm_error *err);
