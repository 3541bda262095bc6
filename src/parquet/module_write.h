/* module_write.h -- for the table of the module: see table_module.h. */
#ifndef BANDMILL_PARQUET_MODULE_WRITE_H
#define BANDMILL_PARQUET_MODULE_WRITE_H

#include "io/tables/table_module.h"

bm_status bandmill_table_write(const bm_table_made *made, bm_table_words *words);

#endif
