/* source_keys.h -- `--format keys`: band keys made elsewhere, an array of NumPy, <u8, of N rows of B
 * keys, a document for each row; its id is the number of the row, from 0. A key of all one bits
 * (BM_NO_BAND_KEY): the document is in no bucket of that band. */
#ifndef BM_IO_SOURCES_SOURCE_KEYS_H
#define BM_IO_SOURCES_SOURCE_KEYS_H

#include "input/batch_source.h"

extern const bm_batch_source_ops bm_source_keys;

#endif
