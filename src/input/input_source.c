/* SPDX-License-Identifier: Apache-2.0 */
/* input_source.c -- frees the members that a source owns.
 *
 * Tests: tests/unit/input/test_input_shard.c */
#include "input/input_source.h"

#include "base/memory.h"

void bm_source_reset(bm_source *source)
{
    bm_free(source->address);
    bm_free((char *)source->path);
    bm_free(source->unreadable);
    bm_free_all(source->copy, source->columns);
    bm_free(source->cut.first_row);
}
