/* table_provider.h -- who reads and writes tables: the library, but whoever links the static
 * libbandmill may have another definition of this function, and with it a reader of its own, as the
 * Python package does with pyarrow (python/tools/tables.c). */
#pragma once

#include "input/table_module.h"

/* NULL: there is none, and *why says so; until the next call of this thread. Any thread. */
const bm_table_module *bm_table_module_find(const char **why);
