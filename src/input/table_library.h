/* SPDX-License-Identifier: Apache-2.0 */
/* table_library.h -- finds the module that reads and writes tables: the library bandmill_parquet
 * (table_module.h), opened once, or a replacement. */
#pragma once

#include "input/table_module.h"

/* Find the library bandmill_parquet. NULL: it cannot be used, and *why is the reason, valid until
 * this thread's next call. Any thread. */
const bm_table_module *bm_table_library_find(const char **why);
/* Find the module that reads and writes tables: by default bandmill_parquet. Programs that link the
 * static libbandmill may define this function themselves to supply another reader, as the Python
 * package does with pyarrow (python/tools/tables.c). */
const bm_table_module *bm_table_module_find(const char **why);
