/* native_table.h -- the schemes that the native CPU signs by. */
#ifndef BM_BACKEND_CPU_NATIVE_TABLE_H
#define BM_BACKEND_CPU_NATIVE_TABLE_H

#include "cpu/native_row.h"

/* NULL: it has no loops for this scheme. */
const bm_native_ops *bm_native_find(const bm_scheme_ops *scheme);

#endif
