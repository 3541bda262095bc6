/* input_copy.c -- see the header. The copy is opened again by the name that the system has for a descriptor.
 *
 * Tests: tests/unit/input/test_input_copy.c, tests/cli/cases/tables_stdin.sh */
#include "input/input_copy.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_bytes.h"
#include "input/input_set_state.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define PLACE_BYTES 40u

/* From the first byte to the last; what is read is copied on the way. */
static bm_status copy_all(bm_input_set *set, size_t index, char *block, bm_error *err)
{
    bm_input_bytes *bytes = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_bytes_open(set, &bytes, err));
    BM_TRY_OUT(bm_input_bytes_begin(bytes, index, err));
    for (size_t got = 1; got > 0;)
        BM_TRY_OUT(bm_input_bytes_read(bytes, block, BLOCK_BYTES, &got, err));
out:
    bm_input_bytes_close(bytes);
    return status;
}

static bm_status find_spool_dir(bm_input_set *set, bm_error *err)
{
    const char *dir = set->room.temp_dir != NULL ? set->room.temp_dir : "/tmp";
    if (set->spool_dir == NULL && (set->spool_dir = bm_strdup(dir)) == NULL)
        return bm_fail_nomem(err, strlen(dir));
    return BM_OK;
}

bm_status bm_input_copy(bm_input_set *set, size_t index, bm_error *err)
{
    bm_held *held = bm_input_set_held(set, index);
    bm_source *source = bm_input_set_source(set, index);
    if (held == NULL || source->copy != NULL)
        return BM_OK;
    char *block = bm_alloc(BLOCK_BYTES, 1), *place = bm_alloc(PLACE_BYTES, 1);
    bm_status status = BM_OK;
    BM_TRY_OUT(block != NULL && place != NULL ? find_spool_dir(set, err)
                                              : bm_fail_nomem(err, BLOCK_BYTES));
    status = copy_all(set, index, block, err);
out:
    bm_free(block);
    if (status != BM_OK) {
        bm_free(place);
        return status;
    }
    snprintf(place, PLACE_BYTES, "/proc/self/fd/%d", held->spool_fd);
    source->copy = place;
    return BM_OK;
}
