/* SPDX-License-Identifier: Apache-2.0 */
/* signed.h -- signs a table like bm_job_sign, but without files: the signatures stay in memory.
 *
 * Example
 *
 *     bm_sign_options options;
 *     bm_sign_options_init(&options);
 *     options.input.stream = &table;
 *     bm_signed *made = NULL;
 *     bm_error err = {0};
 *     if (bm_sign_table(&options, &made, &err) == BM_OK) {
 *         const bm_signed_arrays *arrays = bm_signed_data(made);
 *         for (uint64_t row = 0; row < arrays->n_docs; row++)
 *             printf("%08x\n", arrays->signatures[row * arrays->perms]);
 *     } else {
 *         fprintf(stderr, "%s\n", err.message);
 *     }
 *     bm_signed_free(made);
 *
 * All threads read texts without copying them, and write values directly into the arrays below.
 * Besides the arrays, and the ids if the table has some, a call needs a few MiB of memory.
 *
 * The arrays have the same bytes as the files of bm_job_sign, and the errors are the same.
 *
 * Threads: several calls may run at once. Any number of threads may read the arrays. Only one
 * thread at a time may call functions that take a bm_signed without const. A bm_signed is plain
 * memory, so a forked child may read the arrays and free its copy. */
#ifndef BANDMILL_SIGNED_H
#define BANDMILL_SIGNED_H

#include <bandmill/job.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct bm_signed bm_signed;

/* Row i is document i of the table. The library owns this struct until free. Read it through the
 * pointer, because later versions may add fields at the end. */
typedef struct bm_signed_arrays {
    uint64_t n_docs;
    uint32_t perms, bands; /* values per document, keys per document; bands 0: no keys */
    /* n_docs * perms values. If value_bytes is 4 they are in `signatures`, if it is 8 in
     * `signatures64`; the other array is NULL. If a document has no shingles, all bits of its
     * values are 1 */
    const uint32_t *signatures;
    const uint64_t *signatures64;
    const uint64_t *keys;       /* n_docs * bands */
    const uint32_t *n_shingles; /* n_docs numbers of distinct shingles or, of a bag, of all
                                   shingles */
    const uint64_t *n_bytes;    /* n_docs numbers of bytes of the text */
    const uint64_t *content;    /* n_docs * 2, like content_hash.npy */
    uint32_t value_bytes;       /* bytes of a value: 4 or 8 (schemes.h) */
    const uint64_t *text_hash;  /* n_docs, like text_hash.npy */
} bm_signed_arrays;

/* Sign the table of `options`. `output` and `resume` must not be set. With `band_keys`, also make
 * keys by `bands` and `rows`. Everything that the options point to, except the stream, is borrowed
 * until bm_signed_free.
 *
 * BM_ERR_UNSUPPORTED: only a job can do this (paths instead of a table, a device that is not the
 * native CPU, bad records that are to be skipped, weights). The table is then untouched. Other
 * errors are those of bm_job_sign. */
BM_API bm_status bm_sign_table(const bm_sign_options *options, bm_signed **out, bm_error *err);
BM_API const bm_signed_arrays *bm_signed_data(const bm_signed *made);
/* Return the report: manifest.json without the digests of files. Valid until free. */
BM_API const char *bm_signed_json(const bm_signed *made);
/* Set *ids to the text of ids.txt, one line for each document. The caller frees it with
 * bm_string_free. */
BM_API bm_status bm_signed_ids(bm_signed *made, char **ids, bm_error *err);
/* Write the directory that bm_job_sign would have written to output->path, and make its summary. */
BM_API bm_status bm_signed_save(bm_signed *made, const bm_output_options *output, bm_summary **out,
                                bm_error *err);
BM_API void bm_signed_free(bm_signed *made); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
