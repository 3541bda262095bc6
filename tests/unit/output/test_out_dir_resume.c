/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_dir_resume.c -- a work directory that outlives its job: it is taken over completely, and
 * none of its state gets into the output. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/results/left_work.h"

#define REPORT                                                                                     \
    "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0.1.0\",\"outputs\":{}}"

Test(out_dir_resume, a_directory_with_a_journal_is_taken_over_as_it_is)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    bm_out_dir *dir = again(&s, true);
    cr_expect_eq(scratch_count(&s, "out.partial"), 4u);
    cr_expect_eq(scratch_count(&s, "out.partial/output"), 3u);
    cr_expect(scratch_holds(&s, "out.partial/.bandmill-journal", "noted"));
    cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "a\nb\nc\n"));
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "out.partial"), 4u, "kept until it is said otherwise");
    dir = again(&s, true);
    bm_out_dir_preserve(dir, false);
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "."), 0u);
}

Test(out_dir_resume, without_a_journal_it_is_begun_anew)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = again(&s, false); /* nothing to resume */
    cr_expect_eq(scratch_count(&s, "out.partial"), 1u);
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "."), 0u, "a new one is not kept unless it is said so");
    leave(&s, false);
    dir = again(&s, false);
    cr_expect_eq(scratch_count(&s, "out.partial"), 1u, "the marker");
    bm_out_dir_close(dir);
    leave(&s, false);
    scratch_folder(&s, "out.partial/.bandmill-journal"); /* a journal that we did not write */
    bool found = true;
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_ERR_USAGE);
    cr_expect_eq(scratch_count(&s, "out.partial"), 4u);
}

Test(out_dir_resume, to_begin_anew_clears_a_journal_only_where_outputs_are_replaced)
{
    for (int journal = 0; journal < 2; journal++) {
        SCRATCH s = scratch_open();
        bm_out_dir *dir = NULL;
        bm_error err = {0};
        leave(&s, journal);
        if (journal) {
            cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &err),
                         BM_ERR_USAGE);
            cr_expect(strstr(err.message, "saved") != NULL, "%s", err.message);
            cr_expect_eq(scratch_count(&s, "out.partial"), 4u);
            cr_expect_eq(scratch_count(&s, "out.partial/output"), 3u);
        }
        cr_assert_eq(
            bm_out_dir_open(scratch_at(&s, "out"), bm_out_existing_of(journal), &dir, NULL), BM_OK);
        cr_expect_eq(scratch_count(&s, "out.partial"), 1u);
        bm_out_dir_close(dir);
        cr_expect_eq(scratch_count(&s, "."), 0u);
    }
}

Test(out_dir_resume, nothing_is_taken_over_that_holds_what_no_marker_lists)
{
    static const char *const foreign[] = {"thesis.tex", ".bandmill", ".bandmill-x",
                                          "output/pairs.tsv", "output/kept/x/b.jsonl"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        SCRATCH s = scratch_open();
        char name[64];
        bm_out_dir *dir = NULL;
        bool found = true;
        leave(&s, true);
        snprintf(name, sizeof name, "out.partial/%s", foreign[i]);
        scratch_put_text(&s, name, "precious");
        cr_expect_eq(
            bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
            BM_ERR_USAGE);
        cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REPLACE, &dir, NULL),
                     BM_ERR_USAGE);
        cr_expect(found, "unchanged on failure");
        cr_expect_null(dir);
        cr_expect(scratch_holds(&s, name, "precious"));
        cr_expect(scratch_holds(&s, "out.partial/.bandmill-journal", "noted"));
        cr_assert_eq(unlink(scratch_at(&s, name)), 0);
        dir = again(&s, true);
        bm_out_dir_close(dir);
    }
}

Test(out_dir_resume, without_its_marker_or_with_a_file_that_has_two_names_nothing_is_taken_over)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bool found;
    leave(&s, true);
    /* a user's file, which a resumed job would truncate and append to */
    scratch_put_text(&s, "input", "mine");
    cr_assert_eq(unlink(scratch_at(&s, "out.partial/output/ids.txt")), 0);
    cr_assert_eq(link(scratch_at(&s, "input"), scratch_at(&s, "out.partial/output/ids.txt")), 0);
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_ERR_USAGE);
    cr_assert_eq(unlink(scratch_at(&s, "out.partial/output/ids.txt")), 0);
    cr_assert_eq(rename(scratch_at(&s, "out.partial/.bandmill-work"), scratch_at(&s, "marker")), 0);
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, NULL),
                 BM_ERR_USAGE);
    cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REPLACE, &dir, NULL), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "out.partial/.bandmill-journal", "noted"));
    cr_expect(scratch_holds(&s, "input", "mine"));
}

Test(out_dir_resume, clear_leaves_what_is_named_the_state_and_what_is_not_listed)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    scratch_folder(&s, "precious");
    scratch_put_text(&s, "precious/a", "mine");
    bm_out_dir *dir = again(&s, true);
    add_text(dir, "kept/x/a.json", "a prefix of what is kept");
    add_text(dir, "kept/.bandmill-x", "no state: it lies below");
    cr_assert_eq(symlink("../../../precious", scratch_at(&s, NEW "/kept/link")), 0);
    const char *keep[] = {"ids.txt", "kept/x/a.jsonl", "missing"};
    cr_assert_eq(bm_out_dir_clear(dir, keep, 3, NULL), BM_OK);
    cr_expect_eq(scratch_count(&s, "out.partial"), 4u);
    cr_expect(scratch_holds(&s, "out.partial/.bandmill-journal", "noted"));
    cr_expect(scratch_holds(&s, "out.partial/.bandmill-sets", "sets"));
    cr_expect(scratch_has(&s, "out.partial/.bandmill-work"));
    cr_expect(scratch_holds(&s, NEW "/ids.txt", "a\nb\nc\n"));
    cr_expect(scratch_holds(&s, NEW "/kept/x/a.jsonl", "{}\n"));
    cr_expect_eq(scratch_count(&s, NEW "/kept"), 2u,
                 "the folder that stays, and a stranger's link");
    cr_expect_eq(scratch_count(&s, NEW "/kept/x"), 1u);
    cr_expect(scratch_holds(&s, "precious/a", "mine"), "links are not followed");
    cr_assert_eq(unlink(scratch_at(&s, NEW "/kept/link")), 0);
    keep[0] = "kept"; /* a whole folder */
    cr_assert_eq(bm_out_dir_clear(dir, keep, 1, NULL), BM_OK);
    cr_expect(scratch_holds(&s, NEW "/kept/x/a.jsonl", "{}\n"));
    cr_expect_not(scratch_has(&s, NEW "/ids.txt"));
    cr_assert_eq(bm_out_dir_clear(dir, NULL, 0, NULL), BM_OK);
    cr_expect_eq(scratch_count(&s, "out.partial"), 3u);
    bm_out_dir_close(dir);
}

Test(out_dir_resume, state_has_names_that_no_output_can_have)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = NULL;
    bm_out_file *file = NULL;
    char *path = NULL;
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    static const char *const state[] = {".bandmill-journal", ".bandmill-", ".bandmill-x/y"};
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(bm_out_dir_file(dir, state[i], &file, NULL), BM_ERR_INTERNAL, "%s", state[i]);
    static const char *const none[] = {
        "journal", "", ".bandmill", ".bandmill-x/y", ".bandmill-../x", ".bandmill-work"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        cr_expect_eq(bm_out_dir_state_path(dir, none[i], &path, NULL), BM_ERR_INTERNAL, "%s",
                     none[i]);
    cr_expect_null(path);
    cr_assert_eq(bm_out_dir_state_path(dir, BM_OUT_JOURNAL, &path, NULL), BM_OK);
    cr_expect_str_eq(path, scratch_at(&s, "out.partial/.bandmill-journal"));
    free(path);
    /* in a subfolder the name is an ordinary output */
    add_text(dir, "kept/.bandmill-x", "an input by that name");
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    cr_expect(scratch_has(&s, "out/kept/.bandmill-x"));
}

Test(out_dir_resume, commit_removes_all_state_and_nothing_it_points_to)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "precious", "mine");
    leave(&s, true);
    bm_out_dir *dir = again(&s, true);
    cr_assert_eq(bm_out_dir_clear(dir, NULL, 0, NULL), BM_OK);
    cr_expect_eq(scratch_count(&s, "out.partial"), 3u);
    cr_assert_eq(symlink("../precious", scratch_at(&s, "out.partial/.bandmill-link")), 0);
    add_text(dir, "ids.txt", "new");
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "out"), 1u);
    cr_expect(scratch_holds(&s, "out/ids.txt", "new"));
    cr_expect_eq(scratch_count(&s, "out.partial"), 1u, "a stranger's link stays where it was");
    cr_expect(scratch_holds(&s, "precious", "mine"));
}

Test(out_dir_resume, force_does_not_replace_a_directory_that_holds_state)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    bm_out_dir *dir = NULL;
    scratch_folder(&s, "out");
    scratch_put_text(&s, "out/report.json", REPORT);
    scratch_put_text(&s, "out/.bandmill-journal", "noted");
    cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REPLACE, &dir, &err), BM_ERR_USAGE);
    cr_expect_not_null(strstr(err.message, ".bandmill-journal"));
    cr_expect(scratch_holds(&s, "out/.bandmill-journal", "noted"));
    cr_assert_eq(unlink(scratch_at(&s, "out/.bandmill-journal")), 0);
    cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REPLACE, &dir, &err), BM_OK, "%s",
                 err.message);
    bm_out_dir_close(dir);
}

/* --- other processes --- */

/* Opens OUT in a child that lives until it is killed; its status comes through a pipe. */
static pid_t job_in_child(const char *target, bm_status *status)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        bm_out_dir *dir = NULL;
        bool found;
        bm_status answer = bm_out_dir_open_again(target, BM_OUT_REFUSE, &dir, &found, NULL);
        if (write(ends[1], &answer, sizeof answer) != (ssize_t)sizeof answer)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    cr_assert_eq(read(ends[0], status, sizeof *status), (ssize_t)sizeof *status);
    close(ends[0]);
    return child;
}

Test(out_dir_resume, a_living_jobs_directory_is_locked_and_a_killed_ones_is_taken_over)
{
    SCRATCH s = scratch_open();
    leave(&s, true);
    bm_status status;
    pid_t child = job_in_child(scratch_at(&s, "out"), &status);
    cr_assert_eq(status, BM_OK);
    bm_out_dir *dir = NULL;
    bm_error err = {0};
    bool found;
    cr_expect_eq(bm_out_dir_open_again(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &found, &err),
                 BM_ERR_LOCKED);
    cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, &err), BM_ERR_LOCKED);
    cr_expect_null(dir);
    cr_expect_eq(scratch_count(&s, "out.partial"), 4u);
    cr_assert_eq(kill(child, SIGKILL), 0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    dir = again(&s, true);
    child = job_in_child(scratch_at(&s, "out"), &status);
    cr_expect_eq(status, BM_ERR_LOCKED, "it is ours now");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    bm_out_dir_close(dir);
}
