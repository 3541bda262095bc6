/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "output/out_target.h"
#include "tests/world/scratch.h"

/* Checks two outputs in the scratch folder. */
static bm_status apart(scratch *s, const char *first, bool is_dir, const char *second)
{
    char a[512], b[512];
    snprintf(a, sizeof a, "%s/%s", s->root, first);
    snprintf(b, sizeof b, "%s/%s", s->root, second);
    const bm_out_named one_way[] = {{a, is_dir}, {b, false}},
                       other_way[] = {{b, false}, {a, is_dir}};
    bm_error err = {0};
    const bm_status status = bm_out_apart(one_way, 2, &err);
    cr_assert_eq(bm_out_apart(other_way, 2, NULL), status, "%s, %s", first, second);
    cr_assert(status == BM_OK || err.message[0] != '\0');
    return status;
}

Test(out_apart, one_place_by_several_ways_is_one)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "d");
    cr_assert_eq(symlink("d", scratch_at(&s, "alias")), 0);
    static const char *const ways[] = {"d/x",     "./d/x",        "d//x",
                                       "alias/x", "d/../alias/x", "d/new/../x"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        cr_expect_eq(apart(&s, "d/x", false, ways[i]), BM_ERR_USAGE, "%s", ways[i]);
        cr_expect_eq(apart(&s, "d/x", true, ways[i]), BM_ERR_USAGE, "%s", ways[i]);
        cr_expect_eq(apart(&s, "d/y", false, ways[i]), BM_OK, "%s", ways[i]);
    }
    scratch_put_text(&s, "d/x", "");
    cr_assert_eq(link(scratch_at(&s, "d/x"), scratch_at(&s, "hard")), 0);
    cr_expect_eq(apart(&s, "d/x", false, "hard"), BM_ERR_USAGE);
}

Test(out_apart, nothing_lies_in_an_output)
{
    SCRATCH s = scratch_open();
    cr_expect_eq(apart(&s, "out", true, "out/report.json"), BM_ERR_USAGE);
    cr_expect_eq(apart(&s, "out", true, "out.partial"), BM_ERR_USAGE);
    cr_expect_eq(apart(&s, "out", true, "out.partial/x"), BM_ERR_USAGE);
    cr_expect_eq(apart(&s, "out", false, "out/x"), BM_ERR_USAGE);
    cr_expect_eq(apart(&s, "out", false, "out.partial"), BM_OK, "a file has no work directory");
    cr_expect_eq(apart(&s, "out", true, "out.json"), BM_OK);
    cr_expect_eq(apart(&s, "out", true, "out.partials"), BM_OK);
    cr_expect_eq(apart(&s, "deep/out", true, "deep/report.json"), BM_OK);
}

Test(out_apart, temporary_files_lie_elsewhere)
{
    SCRATCH s = scratch_open();
    char target[512], temp[512];
    static const struct {
        const char *temp;
        bm_status status;
    } cases[] = {{"out", BM_ERR_USAGE},         {"out/deep", BM_ERR_USAGE},
                 {"out.partial", BM_ERR_USAGE}, {"out.partial/deep", BM_ERR_USAGE},
                 {"elsewhere", BM_OK},          {".", BM_OK},
                 {"not/there", BM_OK}};
    scratch_folder(&s, "out");
    scratch_folder(&s, "out/deep");
    scratch_folder(&s, "out.partial");
    scratch_folder(&s, "out.partial/deep");
    scratch_folder(&s, "elsewhere");
    snprintf(target, sizeof target, "%s/out", s.root);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(temp, sizeof temp, "%s/%s", s.root, cases[i].temp);
        cr_expect_eq(bm_out_apart_from_temp(target, temp, NULL), cases[i].status, "%s", temp);
    }
}
