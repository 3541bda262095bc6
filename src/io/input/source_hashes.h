/* source_hashes.h -- arrays of shingle hashes made elsewhere (hash_input.h). Each row of the offsets
 * is a document; its id is the row's number, from 0. */
#ifndef BM_IO_INPUT_SOURCE_HASHES_H
#define BM_IO_INPUT_SOURCE_HASHES_H

#include "io/input/batch_source.h"

extern const bm_batch_source_ops bm_source_hashes;

#endif
