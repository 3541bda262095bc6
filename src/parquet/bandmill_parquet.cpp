// bandmill_parquet.cpp -- the library that table_module.h speaks of, over Arrow C++: Parquet and Arrow's IPC
// files as streams of arrays (module_read.cpp), and the rows of them that stay as files of the same kind
// (module_keep.cpp); new files of ours (module_write.cpp). No exception leaves it.

#include <arrow/util/config.h>

#include "module_common.h"
#include "module_write.h"

extern "C" const bm_table_module *bm_table_module_get(void)
{
    static const bm_table_module module = {BM_TABLE_MODULE_ABI, "Arrow " ARROW_VERSION_STRING,
                                           bandmill_tables::module_open,
                                           bandmill_tables::module_keep, bandmill_table_write};
    return &module;
}
