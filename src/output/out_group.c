/* out_group.c -- one file after another; backwards on the way back, so that folders that the first one
 * made are empty when it comes to them.
 *
 * Tests: tests/unit/output/test_out_group.c */
#include "output/out_group.h"

#include "base/error.h"

bm_status bm_out_group_take(bm_out_group *group, bm_out_file *file, bm_error *err)
{
    if (group->n == BM_OUT_GROUP_MAX) {
        bm_out_file_abort(file);
        return bm_fail(err, BM_ERR_INTERNAL, "more than %u files in a group", BM_OUT_GROUP_MAX);
    }
    BM_TRY(bm_out_file_ready(file, err));
    group->files[group->n++] = file;
    return BM_OK;
}

bm_status bm_out_group_place(bm_out_group *group, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < group->n; i++)
        BM_TRY_OUT(bm_out_file_place(group->files[i], err));
out:
    if (status != BM_OK)
        bm_out_group_end(group, false);
    return status;
}

void bm_out_group_end(bm_out_group *group, bool stays)
{
    while (group->n > 0) {
        bm_out_file *file = group->files[--group->n];
        if (stays)
            bm_out_file_settle(file);
        else
            bm_out_file_abort(file);
    }
}
