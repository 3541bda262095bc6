/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet and Arrow files are read and written by pyarrow (bandmill/_tables.py); where that is not
 * installed, by the library bandmill-parquet. This stands in for src/input/table_provider.c, which
 * a static library leaves to whoever has one. */
#include "input/table_library.h"

static int bm_py_tables_ready(char *why, size_t cap);
static int bm_py_table_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                            bm_table_words *words);
static int bm_py_table_keep(const bm_table_kept *kept, bm_table_words *words);
static int bm_py_table_write(const bm_table_made *made, bm_table_words *words);

static bm_status bm_py_open(const bm_table_wish *wish, struct ArrowArrayStream *out,
                            bm_table_words *words)
{
    return (bm_status)bm_py_table_open(wish, out, words);
}

static bm_status bm_py_keep(const bm_table_kept *kept, bm_table_words *words)
{
    return (bm_status)bm_py_table_keep(kept, words);
}

static bm_status bm_py_write_table(const bm_table_made *made, bm_table_words *words)
{
    return (bm_status)bm_py_table_write(made, words);
}

__attribute__((visibility("hidden"))) const bm_table_module *bm_table_module_find(const char **why)
{
    static const bm_table_module by_python = {BM_TABLE_MODULE_ABI, "pyarrow", bm_py_open,
                                              bm_py_keep, bm_py_write_table};
    static _Thread_local char lack[256];
    if (bm_py_tables_ready(lack, sizeof lack))
        return &by_python;
    const bm_table_module *module = bm_table_library_find(why);
    if (module == NULL)
        *why = lack;
    return module;
}
