/* hash_input.h -- `--format hashes`: shingle hashes made elsewhere, `.npy` <u4 or <u8 with `.npy`
 * <i8 offsets (N+1).
 *
 * Opening checks headers, lengths, and (as it reads) that offsets begin at 0, never fall and end at
 * the number of hashes: else BM_ERR_INPUT that names the file and the row. */
#ifndef BM_IO_INPUT_HASH_INPUT_H
#define BM_IO_INPUT_HASH_INPUT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_hash_input bm_hash_input;

bm_status bm_hash_input_open(const char *hashes_path, const char *offsets_path, bm_hash_input **out,
                             bm_error *err);
/* The next documents: about max_hashes hashes but at least one document, at most max_docs. offsets
 * (n+1, from 0) and hashes are the input's own, valid until the next call. *n_docs 0 at the end. */
bm_status bm_hash_input_next(bm_hash_input *input, size_t max_docs, size_t max_hashes,
                             const uint64_t **offsets, const uint64_t **hashes, size_t *n_docs,
                             bm_error *err);
void bm_hash_input_close(bm_hash_input *input); /* NULL is fine */

#endif
