/* SPDX-License-Identifier: Apache-2.0 */
/* table_library.h -- finds the module that reads and writes tables: the library bandmill_parquet
 * (table_module.h) or a replacement. The library is opened once. */
#pragma once

#include "input/table_module.h"

/* Find the library bandmill_parquet. If it cannot be used, returns NULL and sets *why to the
 * reason, valid until this thread's next call. Any thread. */
const bm_table_module *bm_table_library_find(const char **why);
/* Find the module that reads and writes tables: by default bandmill_parquet. Programs that link the
 * static libbandmill may define this function themselves to supply another reader, as the Python
 * package does with pyarrow (python/tools/tables.c). */
const bm_table_module *bm_table_module_find(const char **why);
