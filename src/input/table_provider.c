/* SPDX-License-Identifier: Apache-2.0 */
/* table_provider.c -- bm_table_module_find (table_library.h). The function is alone in its file, so
 * that the linker leaves it out if a program has another definition.
 *
 * Tests: tests/unit/input/test_tables.c */
#include "input/table_library.h"

const bm_table_module *bm_table_module_find(const char **why)
{
    return bm_table_library_find(why);
}
