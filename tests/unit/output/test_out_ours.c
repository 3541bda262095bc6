/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_ours.c -- which files of a work directory Bandmill wrote; others are left alone. */
#include <criterion/criterion.h>
#include <sys/stat.h>

#include "tests/unit/output/whole_output.h"

#define MARKER "bandmill work directory 1\n"

Test(out_ours, what_a_marker_lists_is_cleared_and_so_is_an_empty_directory)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out.partial");
    scratch_put_text(&s, "out.partial/.bandmill-work",
                     MARKER ".bandmill-sets\noutput/kept/a\noutput/a\\tb\noutput/never-made\noutp");
    scratch_put_text(&s, "out.partial/.bandmill-sets", "x");
    scratch_folder(&s, "out.partial/output");
    scratch_folder(&s, "out.partial/output/kept");
    scratch_put_text(&s, "out.partial/output/kept/a", "x");
    scratch_put_text(&s, "out.partial/output/a\tb", "x");
    cr_assert_eq(write_output(scratch_at(&s, "out"), false, "new", &err), BM_OK, "%s", err.message);
    /* killed before the marker was written, or after it was removed */
    scratch_folder(&s, "out2.partial");
    cr_assert_eq(write_output(scratch_at(&s, "out2"), false, "new", &err), BM_OK);
    /* killed before the first line of the marker was complete */
    scratch_folder(&s, "out3.partial");
    scratch_put_text(&s, "out3.partial/.bandmill-work", "bandmill wo");
    cr_assert_eq(write_output(scratch_at(&s, "out3"), false, "new", &err), BM_OK);
    cr_expect_eq(scratch_count(&s, "."), 3u);
    cr_expect_eq(scratch_count(&s, "out"), 3u);
}

/* Makes OUT.partial whose marker lists output/ids.txt and output/kept/a, both present, plus the
 * file `name`. */
static void leave_with(scratch *s, const char *name)
{
    char path[100];
    scratch_folder(s, "out.partial");
    scratch_put_text(s, "out.partial/.bandmill-work", MARKER "output/ids.txt\noutput/kept/a\n");
    scratch_folder(s, "out.partial/output");
    scratch_put_text(s, "out.partial/output/ids.txt", "x");
    scratch_folder(s, "out.partial/output/kept");
    scratch_put_text(s, "out.partial/output/kept/a", "x");
    snprintf(path, sizeof path, "out.partial/%s", name);
    if (path[strlen(path) - 1] == '/')
        cr_assert_eq(mkdir(scratch_at(s, path), 0777), 0);
    else
        scratch_put_text(s, path, "precious");
}

Test(out_ours, what_no_marker_lists_is_named_and_left_alone_with_all_beside_it)
{
    static const char *const names[] = {"thesis.tex",    ".bandmill-mine", "output/pairs.tsv",
                                        "output/kept/b", "kept/",          "output/kept/x/"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int force = 0; force < 2; force++) {
            SCRATCH s = scratch_open();
            bm_error err = {0};
            char path[100];
            leave_with(&s, names[i]);
            snprintf(path, sizeof path, "out.partial/%s", names[i]);
            if (path[strlen(path) - 1] == '/')
                path[strlen(path) - 1] = '\0';
            cr_expect_eq(write_output(scratch_at(&s, "out"), force, "new", &err), BM_ERR_USAGE,
                         "%s: %s", names[i], err.message);
            cr_expect(strstr(err.message, path + strlen("out.partial/")) != NULL, "%s",
                      err.message);
            cr_expect(scratch_has(&s, path));
            cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "x"));
            cr_expect(scratch_holds(&s, "out.partial/output/kept/a", "x"));
        }
}

Test(out_ours, names_alone_prove_nothing)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out.partial"); /* our names, but no marker */
    scratch_put_text(&s, "out.partial/ids.txt", "x");
    cr_expect_eq(write_output(scratch_at(&s, "out"), true, "new", &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "out.partial/ids.txt", "x"));
    scratch_folder(&s, "b.partial"); /* the marker's name, but a different text */
    scratch_put_text(&s, "b.partial/.bandmill-work", "my notes\n");
    cr_expect_eq(write_output(scratch_at(&s, "b"), true, "new", &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "b.partial/.bandmill-work", "my notes\n"));
    scratch_folder(&s, "c.partial"); /* a list with a path that leads outside */
    scratch_put_text(&s, "c.partial/.bandmill-work", MARKER "../precious\n");
    scratch_put_text(&s, "precious", "mine");
    cr_expect_eq(write_output(scratch_at(&s, "c"), true, "new", &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "precious", "mine"));
    scratch_folder(&s, "d.partial"); /* a listed name, and next to it a link */
    scratch_put_text(&s, "d.partial/.bandmill-work", MARKER "output/ids.txt\n");
    cr_assert_eq(symlink("..", scratch_at(&s, "d.partial/output")), 0);
    cr_expect_eq(write_output(scratch_at(&s, "d"), true, "new", &err), BM_ERR_USAGE);
    scratch_folder(&s, "e.partial"); /* a FIFO with the marker's name */
    cr_assert_eq(mkfifo(scratch_at(&s, "e.partial/.bandmill-work"), 0600), 0);
    cr_expect_eq(write_output(scratch_at(&s, "e"), true, "new", &err), BM_ERR_USAGE);
    cr_expect_eq(scratch_count(&s, "."), 6u);
}

Test(out_ours, a_complete_output_where_the_work_would_lie_is_left_alone)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    cr_assert_eq(write_output(scratch_at(&s, "out.partial"), false, "old", &err), BM_OK);
    for (int force = 0; force < 2; force++) {
        cr_expect_eq(write_output(scratch_at(&s, "out"), force, "new", &err), BM_ERR_USAGE);
        cr_expect(strstr(err.message, "complete output") != NULL, "%s", err.message);
    }
    cr_expect(scratch_holds(&s, "out.partial/ids.txt", "old"));
    cr_expect_eq(scratch_count(&s, "out.partial"), 3u);
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(out_ours, a_strangers_partial_is_refused_and_left_alone)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out.partial");
    scratch_put_text(&s, "out.partial/thesis.tex", "x");
    cr_expect_eq(write_output(scratch_at(&s, "out"), false, "new", &err), BM_ERR_USAGE);
    cr_expect(strstr(err.message, "thesis.tex") != NULL, "%s", err.message);
    cr_expect(scratch_holds(&s, "out.partial/thesis.tex", "x"));
    scratch_put_text(&s, "b.partial", "x");
    cr_expect_eq(write_output(scratch_at(&s, "b"), false, "new", &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "b.partial", "x"));
    cr_assert_eq(symlink("out.partial", scratch_at(&s, "c.partial")), 0);
    cr_expect_eq(write_output(scratch_at(&s, "c"), false, "new", &err), BM_ERR_USAGE);
    cr_expect_eq(scratch_count(&s, "."), 3u);
}
