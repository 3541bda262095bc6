/* table_library.h -- the library bandmill_parquet (table_module.h), opened once. */
#ifndef BM_IO_TABLES_TABLE_LIBRARY_H
#define BM_IO_TABLES_TABLE_LIBRARY_H

#include "input/table_module.h"

/* NULL: there is none, and *why says so; until the next call of this thread. Any thread. */
const bm_table_module *bm_table_library_find(const char **why);

#endif
