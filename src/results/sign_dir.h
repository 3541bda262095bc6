/* SPDX-License-Identifier: Apache-2.0 */
/* sign_dir.h -- reading a directory that `sign` wrote.
 *
 * Opening checks that manifest.json is ours and of kind "signatures", and with N its count of
 * documents and K the permutations of its provenance, that signatures.npy is <u4 (N, K), <u8 of
 * schemes with words of 64 bits, n_shingles.npy <u4 (N), n_bytes.npy <u8 (N), content_hash.npy <u8
 * (N, 2), text_hash.npy <u8 (N), and ids.txt has N lines: else BM_ERR_FORMAT names the file and the
 * field. The manifests of earlier versions do not list n_bytes.npy, content_hash.npy and
 * text_hash.npy: such a directory is read without them. The bytes read are compared with the
 * digests in the manifest (manifest.h): ids.txt and the small arrays when they are opened,
 * signatures.npy while its rows are read in order. Rows are read from the files as they are asked
 * for. For the ids, a table holds the place of every 1,024th line (8 bytes each), so that reading
 * can begin at any row.
 *
 * Threads: once open, all but rows may be read by several threads at once. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "output/manifest.h"
#include "model/stream_hash.h"

typedef struct bm_sign_dir bm_sign_dir;

/* Does the directory hold a manifest.json of ours? Then it is signatures, and no documents.
 * BM_ERR_FORMAT: signatures lie beside one that is damaged. `memory`: bytes that the manifest may
 * take (bm_manifest_open). */
bm_status bm_sign_dir_is(const char *path, uint64_t memory, bool *is, bm_error *err);
bm_status bm_sign_dir_open(const char *path, uint64_t memory, bm_sign_dir **out, bm_error *err);
/* The same of several directories, one after another; BM_ERR_FORMAT too if its signatures cannot be
 * used together with the signatures of `first`, the first directory (NULL: this is it). */
bm_status bm_sign_dir_open_beside(const bm_sign_dir *first, const char *path, uint64_t memory,
                                  bm_sign_dir **out, bm_error *err);
/* BM_ERR_USAGE names the first of these that holds signatures, where only documents will do. */
bm_status bm_sign_dir_refuse(const char *const *paths, size_t n_paths, uint64_t memory,
                             bm_error *err);
void bm_sign_dir_close(bm_sign_dir *dir); /* NULL is fine */

const char *bm_sign_dir_path(const bm_sign_dir *dir);
uint64_t bm_sign_dir_docs(const bm_sign_dir *dir);
uint32_t bm_sign_dir_perms(const bm_sign_dir *dir);
const bm_manifest *bm_sign_dir_manifest(const bm_sign_dir *dir);
const bm_provenance *bm_sign_dir_provenance(const bm_sign_dir *dir);
/* *n_short: documents of fewer units than a shingle has; *n_none: how many of these have no
 * shingles, by `--short skip`. They are not empty, though their rows look the same. */
bm_status bm_sign_dir_short(const bm_sign_dir *dir, uint64_t *n_short, uint64_t *n_none,
                            bm_error *err);
/* Documents that are unreadable (text/shingler.h): 0 in what earlier versions wrote. Their rows
 * look as if they were empty, too. */
uint64_t bm_sign_dir_unreadable(const bm_sign_dir *dir);

/* Fills `words` with the signatures first … first+n-1: n * perms words, of 64 bits where the
 * scheme's are (bm_scheme_row_uints). Where all rows are asked for in their order, from row 0 on,
 * the last call is BM_ERR_FORMAT where signatures.npy is not the file that the manifest lists; and
 * so often as they are asked for. */
bm_status bm_sign_dir_rows(bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *words,
                           bm_error *err);
/* Their numbers of distinct shingles. */
bm_status bm_sign_dir_n_shingles(const bm_sign_dir *dir, uint64_t first, size_t n, uint32_t *out,
                                 bm_error *err);
/* Does the directory have these? Else they must not be asked for. */
bool bm_sign_dir_has_bytes(const bm_sign_dir *dir);
bool bm_sign_dir_has_content(const bm_sign_dir *dir);
/* The bytes of their texts. */
bm_status bm_sign_dir_n_bytes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                              bm_error *err);
/* Their content hashes. */
bm_status bm_sign_dir_content(const bm_sign_dir *dir, uint64_t first, size_t n, bm_hash128 *out,
                              bm_error *err);

/* The hashes of their texts before repair; all BM_TEXT_UNKNOWN (model/ids.h) in an older form, and
 * of arrays of hashes. */
bm_status bm_sign_dir_text_hashes(const bm_sign_dir *dir, uint64_t first, size_t n, uint64_t *out,
                                  bm_error *err);

/* Where ids go: appended to `text`, unescaped; ends[i] is filled with the place where id i ends. */
typedef struct bm_sign_ids {
    bm_buf *text;
    size_t *ends;
} bm_sign_ids;

bm_status bm_sign_dir_ids(const bm_sign_dir *dir, uint64_t first, size_t n, const bm_sign_ids *out,
                          bm_error *err);
