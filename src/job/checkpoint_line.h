/* checkpoint_line.h -- the lines of the journal that say how far a job has come.
 *
 *     documents  rows, skipped, complete, bytes and records of .bandmill-documents, the same of sets
 *     arrays     sums of the rows of signatures.npy, content_hash.npy, band_keys.npy, which belong to
 *                the documents of the next line; two numbers each
 *     place      input, bytes of its content, their XXH3: behind the last of these documents
 *     broken     an input was broken behind the place
 *     matched    bytes and records of .bandmill-matches
 *
 * Fields are parted by tabs; a later line stands for all it says again. */
#ifndef BM_CHECKPOINT_CHECKPOINT_LINE_H
#define BM_CHECKPOINT_CHECKPOINT_LINE_H

#include "job/checkpoint_state.h"

#define BM_CHECKPOINT_LINE_BYTES 256u /* with its NUL */

void bm_checkpoint_line_of_documents(const bm_checkpoint_saved *saved,
                                     char out[BM_CHECKPOINT_LINE_BYTES]);
void bm_checkpoint_line_of_arrays(const bm_checkpoint_saved *saved,
                                  char out[BM_CHECKPOINT_LINE_BYTES]);
void bm_checkpoint_line_of_place(const bm_checkpoint_saved *saved,
                                 char out[BM_CHECKPOINT_LINE_BYTES]);
void bm_checkpoint_line_of_match(const bm_checkpoint_saved *saved,
                                 char out[BM_CHECKPOINT_LINE_BYTES]);
/* Is it one of these? Then `saved` holds what it says, too. */
bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved);

#endif
