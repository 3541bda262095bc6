/* SPDX-License-Identifier: Apache-2.0 */
/* table_library.c -- see the header.
 *
 * Tests: tests/unit/input/test_tables.c, tests/reference/test_tables.py */
#include "input/table_library.h"

#include "base/system.h"

#define FUNCTIONS(X) X(bm_table_module_get)
typedef struct calls {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} calls;
static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

const bm_table_module *bm_table_library_find(const char **why)
{
    calls library;
    bm_library_lack lack;
    if (!bm_shared_library_find(BM_TABLE_MODULE_FILE, names, &library, &lack)) {
        *why = lack.library != NULL ? lack.library : "it is another library";
        return NULL;
    }
    const bm_table_module *module = library.bm_table_module_get();
    *why = "it is of another version of bandmill";
    return module->abi == BM_TABLE_MODULE_ABI ? module : NULL;
}
