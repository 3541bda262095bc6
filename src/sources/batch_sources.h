/* batch_sources.h -- the table of batch sources. To add one: a source_*.c file that fills a
 * bm_batch_source_ops, and a row. */
#ifndef BM_IO_SOURCES_BATCH_SOURCES_H
#define BM_IO_SOURCES_BATCH_SOURCES_H

#include "input/batch_source.h"

/* The source that reads inputs of their format. They stay borrowed until it is closed. Errors of
 * the row; BM_ERR_INTERNAL where none reads this format. */
bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err);
/* Are the documents of inputs of this format texts? AUTO: they are. */
bool bm_format_has_text(bm_format format);

#endif
