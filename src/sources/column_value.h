/* column_value.h -- cells of any type that has an order, as the values of fields that `keep` looks at. */
#ifndef BM_IO_SOURCES_COLUMN_VALUE_H
#define BM_IO_SOURCES_COLUMN_VALUE_H

#include "input/keep_key.h"
#include "sources/column.h"

bm_value_form bm_value_form_of(const struct ArrowSchema *schema);
/* The value in a row, by the column's form; `texts` (emptied) has its bytes where they do not stand in the column. */
bm_status bm_column_value(const bm_column *column, size_t row, bm_buf *texts, bm_value *out,
                          bm_error *err);

#endif
