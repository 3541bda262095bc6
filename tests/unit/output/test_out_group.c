/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "output/out_file.h"
#include "tests/world/scratch.h"

/* recognised as an output of ours, so it may be replaced */
#define OURS "id_a\tid_b\tjaccard\nearlier\trow\t1.000000\n"

static bm_status add(bm_out_group *group, const char *target, bm_out_existing existing,
                     const char *text)
{
    bm_out_file *file = NULL;
    bm_status status = bm_out_file_open(target, existing, &file, NULL);
    if (status != BM_OK)
        return status;
    cr_assert_eq(bm_out_file_write(file, text, strlen(text), NULL), BM_OK);
    return bm_out_group_add(group, file, NULL);
}

Test(out_group, files_get_their_names_together)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    cr_assert_eq(add(&group, scratch_at(&s, "new/a"), BM_OUT_REFUSE, "first"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "new/b"), BM_OUT_REFUSE, "second"), BM_OK);
    cr_expect_not(scratch_has(&s, "new/a"));
    cr_expect_eq(scratch_count(&s, "new"), 2u, "two that have no names yet");
    cr_assert_eq(bm_out_group_place(&group, NULL), BM_OK);
    bm_out_group_end(&group, true);
    cr_expect(scratch_holds(&s, "new/a", "first"));
    cr_expect(scratch_holds(&s, "new/b", "second"));
    cr_expect_eq(scratch_count(&s, "new"), 2u);
}

Test(out_group, without_place_nothing_is_left_nor_the_folders_above)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    cr_assert_eq(add(&group, scratch_at(&s, "new/a"), BM_OUT_REFUSE, "first"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "new/deep/b"), BM_OUT_REFUSE, "second"), BM_OK);
    bm_out_group_end(&group, false);
    cr_expect_eq(scratch_count(&s, "."), 0u);
    bm_out_group_end(&group, false); /* ending an empty group */
}

Test(out_group, where_one_cannot_have_its_name_none_has)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    bm_error err = {0};
    scratch_put_text(&s, "old", OURS);
    cr_assert_eq(add(&group, scratch_at(&s, "a"), BM_OUT_REFUSE, "first"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "old"), BM_OUT_REPLACE, "second"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "c"), BM_OUT_REFUSE, "third"), BM_OK);
    scratch_put_text(&s, "c", "theirs");
    cr_expect_eq(bm_out_group_place(&group, &err), BM_ERR_USAGE);
    cr_expect_not_null(strstr(err.file, "/c"));
    cr_expect_not(scratch_has(&s, "a"));
    cr_expect(scratch_holds(&s, "old", OURS));
    cr_expect(scratch_holds(&s, "c", "theirs"));
    cr_expect_eq(scratch_count(&s, "."), 2u);
}

Test(out_group, after_place_all_can_be_as_before)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    scratch_put_text(&s, "old", OURS);
    scratch_put_text(&s, "void", "");
    cr_assert_eq(add(&group, scratch_at(&s, "new/a"), BM_OUT_REPLACE, "first"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "old"), BM_OUT_REPLACE, "second"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "void"), BM_OUT_REPLACE, "third"), BM_OK);
    cr_assert_eq(bm_out_group_place(&group, NULL), BM_OK);
    cr_expect(scratch_holds(&s, "old", "second"));
    bm_out_group_end(&group, false);
    cr_expect(scratch_holds(&s, "old", OURS));
    cr_expect(scratch_holds(&s, "void", ""));
    cr_expect_eq(scratch_count(&s, "."), 2u);
}

Test(out_group, what_somebody_else_put_there_meanwhile_is_not_taken_back)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    scratch_put_text(&s, "old", OURS);
    cr_assert_eq(add(&group, scratch_at(&s, "a"), BM_OUT_REFUSE, "first"), BM_OK);
    cr_assert_eq(add(&group, scratch_at(&s, "old"), BM_OUT_REPLACE, "second"), BM_OK);
    cr_assert_eq(bm_out_group_place(&group, NULL), BM_OK);
    scratch_put_text(&s, "theirs", "theirs");
    cr_assert_eq(rename(scratch_at(&s, "theirs"), scratch_at(&s, "a")), 0);
    scratch_put_text(&s, "theirs", "theirs");
    cr_assert_eq(rename(scratch_at(&s, "theirs"), scratch_at(&s, "old")), 0);
    bm_out_group_end(&group, false);
    cr_expect(scratch_holds(&s, "a", "theirs"));
    cr_expect(scratch_holds(&s, "old", "theirs"));
    cr_expect_eq(scratch_count(&s, "."), 3u, "and the one that was replaced lies beside them");
}

Test(out_group, it_has_room_for_so_many)
{
    SCRATCH s = scratch_open();
    bm_out_group group = {0};
    char name[8];
    for (unsigned i = 0; i <= BM_OUT_GROUP_MAX; i++) {
        snprintf(name, sizeof name, "%u", i);
        cr_expect_eq(add(&group, scratch_at(&s, name), BM_OUT_REFUSE, "x"),
                     i < BM_OUT_GROUP_MAX ? BM_OK : BM_ERR_INTERNAL);
    }
    bm_out_group_end(&group, false);
    cr_expect_eq(scratch_count(&s, "."), 0u);
}
