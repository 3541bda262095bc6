/* source_hashes.h -- arrays of shingle hashes made elsewhere (hash_input.h), a document for each
 * row of the offsets; its id is the number of the row, from 0. */
#ifndef BM_IO_SOURCES_SOURCE_HASHES_H
#define BM_IO_SOURCES_SOURCE_HASHES_H

#include "input/batch_source.h"

extern const bm_batch_source_ops bm_source_hashes;

#endif
