/* source_records.h -- records of text files: the reader cuts them, parsers parse them. */
#ifndef BM_IO_INPUT_SOURCE_RECORDS_H
#define BM_IO_INPUT_SOURCE_RECORDS_H

#include "input/batch_source.h"

extern const bm_batch_source_ops bm_source_records;

#endif
