/* table_library.h -- the library bandmill_parquet (table_module.h), opened once. */
#pragma once

#include "input/table_module.h"

/* NULL: there is none, and *why says so; until the next call of this thread. Any thread. */
const bm_table_module *bm_table_library_find(const char **why);
