/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_dir.c -- an output directory: complete or not there at all, and replaced only if
 * Bandmill wrote it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/output/whole_output.h"
#include "tests/world/world_calls.h"

Test(out_dir, a_directory_appears_at_commit_and_not_before)
{
    SCRATCH s = scratch_open();
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out/"), BM_OUT_REFUSE);
    cr_expect_str_eq(bm_out_dir_work(dir), scratch_at(&s, "out.partial"));
    add_file(dir, "ids.txt", "a\n");
    add_file(dir, "kept/a/b/c.jsonl", "{}\n");
    cr_expect_not(scratch_has(&s, "out"));
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    add_file(dir, "manifest.json", "{}\n");
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    bm_out_dir_close(dir);
    cr_expect(scratch_holds(&s, "out/ids.txt", "a\n"));
    cr_expect(scratch_holds(&s, "out/kept/a/b/c.jsonl", "{}\n"));
    cr_expect(scratch_holds(&s, "out/manifest.json", "{}\n"));
    cr_expect_eq(scratch_count(&s, "out"), 3u, "no marker of the work is left");
    cr_expect_eq(scratch_count(&s, "."), 1u);
}

Test(out_dir, digests_are_sha256_sorted_by_name_of_what_was_there_at_seal)
{
    SCRATCH s = scratch_open();
    const char *json = NULL;
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    add_file(dir, "removed.tsv", "");
    add_file(dir, "ids.txt", "abc");
    add_file(dir, "kept/\xff\t.txt", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");
    cr_expect_eq(bm_out_dir_digests(dir, &json, NULL), BM_ERR_INTERNAL, "not before seal");
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_expect_eq(bm_out_dir_finish(dir, NULL), BM_ERR_INTERNAL, "once");
    add_file(dir, "report.json", "{}");
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    /* the vectors of FIPS 180-4's examples, and the digest of empty input */
    cr_expect_str_eq(
        json,
        "{\"ids.txt\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\","
        "\"kept/\\\\xff\\\\t.txt\":"
        "\"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1\","
        "\"removed.tsv\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}");
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "."), 0u, "closed without commit: nothing is left");
}

Test(out_dir, more_files_than_are_held_open_are_all_there)
{
    SCRATCH s = scratch_open();
    const char *json = NULL;
    char name[64];
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "kept/%d/%d.txt", i % 7, i);
        add_file(dir, name, name);
    }
    cr_assert_eq(bm_out_dir_finish(dir, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &json, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_commit(dir, NULL), BM_OK);
    size_t n = 0;
    for (const char *c = json; (c = strstr(c, ".txt\":\"")) != NULL; c++)
        n++;
    cr_expect_eq(n, 200u);
    bm_out_dir_close(dir);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "kept/%d/%d.txt", i % 7, i);
        char path[80];
        snprintf(path, sizeof path, "out/%s", name);
        cr_expect(scratch_holds(&s, path, name));
    }
}

Test(out_dir, names_that_would_leave_the_directory_are_refused)
{
    SCRATCH s = scratch_open();
    static const char *const names[] = {
        "",   "/abs", "../x", "a/../x", "a/..",  "a//b", "./a",
        "a/", ".",    "..",   "kept/",  "a/./b", "/",    ".bandmill-work"};
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bm_out_file *file = NULL;
        cr_expect_eq(bm_out_dir_file(dir, names[i], &file, NULL), BM_ERR_INTERNAL, "%s", names[i]);
    }
    cr_expect_eq(scratch_count(&s, "out.partial"), 1u, "the marker only");
    bm_out_dir_close(dir);
}

Test(out_dir, an_existing_target_is_refused_and_left_alone)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out");
    scratch_put_text(&s, "out/theirs", "x");
    cr_expect_eq(write_output(scratch_at(&s, "out"), false, "x", &err), BM_ERR_USAGE);
    scratch_put_text(&s, "file", "mine");
    cr_assert_eq(symlink("out", scratch_at(&s, "link")), 0);
    cr_assert_eq(symlink("nowhere", scratch_at(&s, "dangling")), 0);
    cr_assert_eq(mkfifo(scratch_at(&s, "fifo"), 0600), 0);
    static const char *const names[] = {"file", "link", "link/", "dangling", "fifo"};
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(write_output(scratch_at(&s, names[i]), true, "x", &err), BM_ERR_USAGE, "%s",
                     names[i]);
    cr_expect_eq(write_output("/dev/null", true, "x", &err), BM_ERR_USAGE);
    cr_expect_eq(write_output(scratch_at(&s, "file/out"), false, "x", &err), BM_ERR_IO);
    cr_expect_eq(scratch_count(&s, "."), 5u, "no .partial is left anywhere");
    cr_expect(scratch_holds(&s, "file", "mine"));
}

Test(out_dir, force_replaces_an_output_of_ours_whole)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    cr_assert_eq(write_output(scratch_at(&s, "out"), false, "old", &err), BM_OK, "%s", err.message);
    scratch_put_text(&s, "out/pairs.tsv", "only the old one has it");
    scratch_put_text(&s, "out/report.json",
                     "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0\","
                     "\"outputs\":{\"ids.txt\":\"" ZEROS "\",\"pairs.tsv\":\"" ZEROS
                     "\",\"kept/x/a.jsonl\":\"" ZEROS "\"}}");
    cr_assert_eq(write_output(scratch_at(&s, "out"), true, "new", &err), BM_OK, "%s", err.message);
    cr_expect(scratch_holds(&s, "out/ids.txt", "new"));
    cr_expect(scratch_holds(&s, "out/kept/x/a.jsonl", "new"));
    cr_expect_not(scratch_has(&s, "out/pairs.tsv"));
    cr_expect_eq(scratch_count(&s, "."), 1u, "the old one is gone");
}

Test(out_dir, force_refuses_what_holds_anything_that_is_not_ours)
{
    static const char *const foreign[] = {"notes.txt",  ".hidden",       "kept/x/mine.jsonl",
                                          "kept/notes", "Kept",          "kept.bak",
                                          "pairs.tsv",  "manifest.json~"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        SCRATCH s = scratch_open();
        char name[64];
        bm_error err = {0};
        cr_assert_eq(write_output(scratch_at(&s, "out"), false, "old", &err), BM_OK);
        snprintf(name, sizeof name, "out/%s", foreign[i]);
        scratch_put_text(&s, name, "precious");
        cr_expect_eq(write_output(scratch_at(&s, "out"), true, "new", &err), BM_ERR_USAGE, "%s",
                     name);
        cr_expect(strstr(err.message, foreign[i]) != NULL, "%s", err.message);
        cr_expect(scratch_holds(&s, name, "precious"));
        cr_expect(scratch_holds(&s, "out/ids.txt", "old"));
        cr_expect_eq(scratch_count(&s, "."), 1u);
    }
}

Test(out_dir, force_refuses_directories_without_a_report_of_ours)
{
    static const char *const reports[] = {NULL,
                                          "",
                                          "{}",
                                          "{\"tool\":\"other\"}",
                                          "[1]",
                                          "{\"tool\":",
                                          "{\"schema\":2,\"tool\":\"bandmill\"}"};
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        SCRATCH s = scratch_open();
        bm_error err = {0};
        scratch_folder(&s, "out");
        scratch_put_text(&s, "out/ids.txt", "mine");
        if (reports[i] != NULL)
            scratch_put_text(&s, "out/report.json", reports[i]);
        cr_expect_eq(write_output(scratch_at(&s, "out"), true, "new", &err), BM_ERR_USAGE, "%zu",
                     i);
        cr_expect(scratch_holds(&s, "out/ids.txt", "mine"));
        cr_expect_eq(scratch_count(&s, "."), 1u);
    }
}

Test(out_dir, a_link_in_the_old_output_is_refused_and_not_followed)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "precious");
    scratch_put_text(&s, "precious/a", "precious");
    cr_assert_eq(write_output(scratch_at(&s, "out"), false, "old", &err), BM_OK);
    cr_assert_eq(symlink("../../precious", scratch_at(&s, "out/kept/link")), 0);
    cr_expect_eq(write_output(scratch_at(&s, "out"), true, "new", &err), BM_ERR_USAGE);
    cr_expect(scratch_holds(&s, "precious/a", "precious"));
}

Test(out_dir, what_appears_at_the_target_meanwhile_is_not_replaced)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    for (int force = 0; force < 2; force++) {
        bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), bm_out_existing_of(force));
        add_file(dir, "ids.txt", "new");
        scratch_folder(&s, "out");
        scratch_put_text(&s, "out/theirs", "x");
        cr_expect_eq(bm_out_dir_commit(dir, &err), BM_ERR_USAGE);
        bm_out_dir_close(dir);
        cr_expect(scratch_holds(&s, "out/theirs", "x"));
        cr_expect_eq(scratch_count(&s, "."), 1u);
        cr_assert_eq(unlink(scratch_at(&s, "out/theirs")), 0);
        cr_assert_eq(rmdir(scratch_at(&s, "out")), 0);
    }
}

/* A job whose work directory is removed, moved or recreated ends with an error, and leaves alone
 * whatever is there now. */
Test(out_dir, a_work_directory_that_was_taken_away_ends_the_job_and_what_came_after_stays)
{
    for (int anew = 0; anew < 3; anew++) {
        SCRATCH s = scratch_open();
        char command[700];
        bm_out_dir *first = NULL, *second = NULL;
        bm_out_file *file = NULL;
        bm_error err = {0};
        cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &first, NULL), BM_OK);
        add_file(first, "ids.txt", "first");
        snprintf(command, sizeof command,
                 anew == 1 ? "mv '%s/out.partial' '%s/aside'" : "rm -r '%s/out.partial'", s.root,
                 s.root);
        cr_assert_eq(system(command), 0);
        if (anew > 0) {
            cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &second, NULL),
                         BM_OK);
            add_file(second, "ids.txt", "second");
        }
        cr_expect_eq(bm_out_dir_check_claim(first, &err), BM_ERR_IO);
        if (bm_out_dir_file(first, "removed.tsv", &file, NULL) == BM_OK)
            cr_expect_eq(bm_out_file_close(file, NULL), BM_OK);
        cr_expect_eq(bm_out_dir_commit(first, &err), BM_ERR_IO);
        cr_expect(strstr(err.message, "while the job worked there") != NULL, "%s", err.message);
        bm_out_dir_close(first);
        cr_expect_not(scratch_has(&s, "out"));
        cr_expect_eq(scratch_has(&s, "aside/output/ids.txt"), anew == 1, "what was moved stays");
        if (second != NULL) {
            cr_expect(scratch_holds(&s, "out.partial/output/ids.txt", "second"));
            cr_expect_eq(scratch_count(&s, "out.partial/output"), 1u);
            cr_assert_eq(bm_out_dir_commit(second, &err), BM_OK, "%s", err.message);
            bm_out_dir_close(second);
            cr_expect(scratch_holds(&s, "out/ids.txt", "second"));
            cr_expect_eq(scratch_count(&s, "out"), 1u);
        }
    }
}

Test(out_dir, two_jobs_at_one_target_do_not_clear_each_others_work)
{
    SCRATCH s = scratch_open();
    bm_out_dir *first = NULL, *second = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &first, NULL), BM_OK);
    add_file(first, "ids.txt", "first");
    cr_expect_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &second, &err),
                 BM_ERR_LOCKED);
    cr_expect_null(second);
    cr_assert_eq(bm_out_dir_commit(first, NULL), BM_OK);
    bm_out_dir_close(first);
    cr_expect(scratch_holds(&s, "out/ids.txt", "first"));
}

/* --- bm_out_dir_check, bm_out_file_check --- */

Test(out_check, an_output_that_is_in_or_above_an_input_is_refused)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "data");
    scratch_folder(&s, "data/sub");
    scratch_put_text(&s, "data/a.jsonl", "{}");
    scratch_put_text(&s, "data/sub/b.jsonl", "{}");
    cr_assert_eq(symlink("data", scratch_at(&s, "alias")), 0);
    cr_assert_eq(link(scratch_at(&s, "data/a.jsonl"), scratch_at(&s, "hard")), 0);
    static const struct {
        const char *target, *input;
        bool is_dir;
    } cases[] = {{"data", "data", true},
                 {"data/", "data", true},
                 {"data/out", "data", true},
                 {"data/sub/out", "data", true},
                 {"alias/out", "data", true},
                 {"data/out", "alias", true},
                 {"data", "data/a.jsonl", true},
                 {"data", "data/sub/b.jsonl", true},
                 {"data/a.jsonl", "data/a.jsonl", false},
                 {"alias/a.jsonl", "data/a.jsonl", false},
                 {"hard", "data/a.jsonl", false},
                 {"data/x.tsv", "data", false},
                 {"data/../data/new", "data", true},
                 {"data/sub/../new", "data", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_error err = {0};
        const char *inputs[] = {"-", scratch_at(&s, cases[i].input)};
        const char *target = scratch_at(&s, cases[i].target);
        bm_status status = cases[i].is_dir
                               ? bm_out_dir_check(target, BM_OUT_REPLACE, inputs, 2, &err)
                               : bm_out_file_check(target, BM_OUT_REPLACE, inputs, 2, &err);
        cr_expect_eq(status, BM_ERR_USAGE, "%s for %s", cases[i].target, cases[i].input);
        cr_expect(strstr(err.message, "the output ") != NULL, "%s", err.message);
    }
}

Test(out_check, an_input_where_the_work_would_lie_is_refused)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "out.partial");
    scratch_put_text(&s, "out.partial/ids.txt", "an input by an unlucky name");
    const char *inputs[] = {scratch_at(&s, "out.partial/ids.txt")};
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "out"), BM_OUT_REFUSE, inputs, 1, NULL),
                 BM_ERR_USAGE);
    inputs[0] = scratch_at(&s, "out.partial");
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "out"), BM_OUT_REFUSE, inputs, 1, NULL),
                 BM_ERR_USAGE);
}

Test(out_check, neighbours_and_prefixes_of_names_are_fine)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "data");
    scratch_put_text(&s, "data/a.jsonl", "{}");
    const char *inputs[] = {"-", scratch_at(&s, "data/a.jsonl"), scratch_at(&s, "missing")};
    bm_error err = {0};
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "data2"), BM_OUT_REFUSE, inputs, 3, &err), BM_OK,
                 "%s", err.message);
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "dat"), BM_OUT_REFUSE, inputs, 3, NULL), BM_OK);
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "data/out"), BM_OUT_REFUSE, inputs, 3, NULL),
                 BM_OK);
    cr_expect_eq(bm_out_file_check(scratch_at(&s, "data/a.tsv"), BM_OUT_REFUSE, inputs, 3, NULL),
                 BM_OK);
    cr_expect_eq(scratch_count(&s, "."), 1u, "nothing was made");
}

Test(out_check, an_existing_output_is_refused_before_any_work)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out");
    scratch_put_text(&s, "out/theirs", "x");
    scratch_put_text(&s, "f", "x");
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "out"), BM_OUT_REFUSE, NULL, 0, &err),
                 BM_ERR_USAGE);
    cr_expect(strstr(err.message, "`force`") != NULL);
    cr_expect_eq(bm_out_file_check(scratch_at(&s, "f"), BM_OUT_REFUSE, NULL, 0, &err),
                 BM_ERR_USAGE);
    cr_expect_eq(bm_out_file_check(scratch_at(&s, "f"), BM_OUT_REPLACE, NULL, 0, &err),
                 BM_ERR_USAGE, "it is none of ours");
    scratch_put_text(&s, "f", "id_a\tid_b\tjaccard\n");
    cr_expect_eq(bm_out_file_check(scratch_at(&s, "f"), BM_OUT_REPLACE, NULL, 0, &err), BM_OK);
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "f/out"), BM_OUT_REFUSE, NULL, 0, &err),
                 BM_ERR_IO);
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "no/such/out"), BM_OUT_REFUSE, NULL, 0, &err),
                 BM_OK, "its folders are made later");
    cr_expect_not(scratch_has(&s, "no"));
}

/* --- missing parent folders, and an empty folder as the target --- */

Test(out_places, folders_above_the_target_are_made)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    cr_expect_eq(write_output(scratch_at(&s, "a/b/../c/out"), false, "x", &err), BM_OK, "%s",
                 err.message);
    cr_expect(scratch_holds(&s, "a/c/out/ids.txt", "x"));
    cr_expect_eq(scratch_count(&s, "a/c"), 1u);
    cr_expect_eq(scratch_count(&s, "a/b"), 0u, "made on the way, as mkdir -p does");
}

Test(out_places, folders_that_were_made_go_again_with_the_output_but_no_others)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "mine");
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "mine/a/b/out"), BM_OUT_REFUSE);
    cr_expect(scratch_has(&s, "mine/a/b/out.partial"));
    bm_out_dir_close(dir);
    cr_expect_eq(scratch_count(&s, "mine"), 0u);

    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "mine/a/b/out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    scratch_put_text(&s, "mine/a/theirs", "x"); /* another process has put a file into the folder */
    bm_out_dir_close(dir);
    cr_expect(scratch_holds(&s, "mine/a/theirs", "x"));
    cr_expect_not(scratch_has(&s, "mine/a/b"));

    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "mine/x/out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    cr_assert_eq(rename(scratch_at(&s, "mine/x"), scratch_at(&s, "mine/y")), 0);
    scratch_folder(&s, "mine/x"); /* another folder with the name of ours */
    bm_out_dir_close(dir);
    cr_expect(scratch_has(&s, "mine/x"));
}

Test(out_places, two_jobs_in_one_new_folder_do_not_take_it_from_each_other)
{
    SCRATCH s = scratch_open();
    bm_out_dir *first = NULL, *second = NULL;
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "new/a"), BM_OUT_REFUSE, &first, NULL), BM_OK);
    cr_assert_eq(bm_out_dir_open(scratch_at(&s, "new/b"), BM_OUT_REFUSE, &second, NULL), BM_OK);
    bm_out_dir_close(first); /* it created the folder, and then fails */
    add_file(second, "ids.txt", "b");
    cr_assert_eq(bm_out_dir_finish(second, NULL), BM_OK);
    cr_expect_eq(bm_out_dir_commit(second, NULL), BM_OK);
    bm_out_dir_close(second);
    cr_expect(scratch_holds(&s, "new/b/ids.txt", "b"));
    cr_expect_eq(scratch_count(&s, "new"), 1u);
}

Test(out_places, an_empty_directory_counts_as_nothing)
{
    for (int force = 0; force < 2; force++) {
        SCRATCH s = scratch_open();
        bm_error err = {0};
        scratch_folder(&s, "out");
        cr_expect_eq(
            bm_out_dir_check(scratch_at(&s, "out"), bm_out_existing_of(force), NULL, 0, &err),
            BM_OK, "%s", err.message);
        cr_expect_eq(write_output(scratch_at(&s, "out/"), force, "x", &err), BM_OK, "%s",
                     err.message);
        cr_expect(scratch_holds(&s, "out/ids.txt", "x"));
        cr_expect_eq(scratch_count(&s, "."), 1u);
    }
}

Test(out_places, a_directory_that_fills_meanwhile_and_a_link_to_an_empty_one_stay)
{
    SCRATCH s = scratch_open();
    bm_error err = {0};
    scratch_folder(&s, "out");
    bm_out_dir *dir = world_open(bm_out_dir, scratch_at(&s, "out"), BM_OUT_REFUSE);
    scratch_put_text(&s, "out/theirs", "x");
    cr_expect_eq(bm_out_dir_commit(dir, &err), BM_ERR_USAGE);
    bm_out_dir_close(dir);
    cr_expect(scratch_holds(&s, "out/theirs", "x"));
    scratch_folder(&s, "empty");
    cr_assert_eq(symlink("empty", scratch_at(&s, "link")), 0);
    cr_expect_eq(write_output(scratch_at(&s, "link"), true, "x", &err), BM_ERR_USAGE);
    const char *inputs[] = {scratch_at(&s, "empty")};
    cr_expect_eq(bm_out_dir_check(scratch_at(&s, "empty"), BM_OUT_REFUSE, inputs, 1, &err),
                 BM_ERR_USAGE, "an input");
    cr_expect_eq(scratch_count(&s, "empty"), 0u);
    cr_expect_eq(scratch_count(&s, "."), 3u);
}

Test(out_places, an_output_that_would_lie_in_an_input_is_refused_whatever_is_still_missing)
{
    SCRATCH s = scratch_open();
    scratch_folder(&s, "data");
    scratch_put_text(&s, "data/a.jsonl", "{}");
    cr_assert_eq(symlink("data", scratch_at(&s, "alias")), 0);
    static const char *const inside[] = {"data/new/out", "alias/x/y/out", "data/new/../out",
                                         "no/such/../../data/out"};
    static const char *const beside[] = {"data/../new/out", "new/data/out", "alias.d/out",
                                         "data/x/../../out"};
    const char *inputs[] = {scratch_at(&s, "data")};
    for (size_t i = 0; i < 4; i++) {
        bm_error err = {0};
        cr_expect_eq(bm_out_dir_check(scratch_at(&s, inside[i]), BM_OUT_REFUSE, inputs, 1, &err),
                     BM_ERR_USAGE, "%s", inside[i]);
        cr_expect(strstr(err.message, "lies in the input") != NULL, "%s", err.message);
        cr_expect_eq(bm_out_dir_check(scratch_at(&s, beside[i]), BM_OUT_REFUSE, inputs, 1, &err),
                     BM_OK, "%s: %s", beside[i], err.message);
    }
    cr_expect_eq(scratch_count(&s, "."), 2u, "nothing was made");
}
