/* SPDX-License-Identifier: Apache-2.0 */
/* table_library.h -- the library bandmill_parquet (table_module.h), opened once, and who reads and
 * writes tables. */
#pragma once

#include "input/table_module.h"

/* NULL: there is none, and *why is the reason, until the next call of this thread. Any thread. */
const bm_table_module *bm_table_library_find(const char **why);
/* The same of whoever reads and writes tables: the library, but whoever links the static
 * libbandmill may have another definition of this function, and with it a reader of its own, as the
 * Python package does with pyarrow (python/tools/tables.c). */
const bm_table_module *bm_table_module_find(const char **why);
