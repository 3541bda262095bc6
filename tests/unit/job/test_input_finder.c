/* SPDX-License-Identifier: Apache-2.0 */
/* test_input_finder.c -- the places where an input is searched, their order, and the message if it
 * is in none of them. The manifest is in a/sig; the current directory is here/. */
#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "job/job_context.h"
#include "tests/world/scratch.h"

#define EMPTY "99aa06d3014798d86001c324468d497f" /* XXH3-128 of no bytes */
#define ABC   "06b05ab6733a618578af5f94892f3950" /* XXH3-128 of "abc" */

typedef struct world {
    scratch s;
    bm_manifest_input input;
    bm_input_places places;
    bm_error err;
} world;

static void begin(world *w, const char *name)
{
    memset(w, 0, sizeof *w);
    w->s = scratch_open();
    cr_assert_eq(chdir(w->s.root), 0);
    scratch_folder(&w->s, "a");
    scratch_folder(&w->s, "a/sig");
    scratch_folder(&w->s, "here");
    scratch_folder(&w->s, "other");
    cr_assert_eq(chdir("here"), 0);
    w->input = (bm_manifest_input){.file = name, .bytes = 3, .xxh3_128 = ABC};
    w->places = (bm_input_places){.manifest = "../a/sig/manifest.json", .sources = "../other"};
}

static void expect_at(world *w, const char *expected)
{
    char *path = NULL;
    cr_assert_eq(bm_input_find(&w->input, &w->places, &path, &w->err), BM_OK, "%s", w->err.message);
    cr_expect_str_eq(path, expected);
    bm_free(path);
}

static void expect_nowhere(world *w, bm_status expected, const char *file)
{
    char *path = NULL;
    cr_expect_eq(bm_input_find(&w->input, &w->places, &path, &w->err), expected);
    cr_expect_str_eq(w->err.file, file);
    cr_expect_null(path);
}

Test(input_finder, looks_here_then_beside_the_manifest_then_below_the_sources)
{
    static const struct {
        const char *put, *found;
    } rows[] = {{"other/x.txt", "../other/x.txt"},
                {"other/deep/x.txt", "../other/deep/x.txt"},
                {"a/deep/x.txt", "../a/deep/x.txt"},
                {"a/sig/deep/x.txt", "../a/sig/deep/x.txt"},
                {"here/deep/x.txt", "deep/x.txt"}};
    world w;
    begin(&w, "deep/x.txt");
    expect_nowhere(&w, BM_ERR_IO, "deep/x.txt");
    scratch_folder(&w.s, "other/deep");
    scratch_folder(&w.s, "a/deep");
    scratch_folder(&w.s, "a/sig/deep");
    scratch_folder(&w.s, "here/deep");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) { /* each precedes those above */
        scratch_put_text(&w.s, rows[i].put, "abc");
        expect_at(&w, rows[i].found);
    }
    w.places.sources = NULL;
    expect_at(&w, "deep/x.txt");
    scratch_close(&w.s);
}

Test(input_finder, where_a_job_found_it_comes_second)
{
    world w;
    begin(&w, "x.txt");
    scratch_put_text(&w.s, "other/x.txt", "abc");
    scratch_put_text(&w.s, "a/y.txt", "abc");
    w.input.found = "../a/y.txt";
    expect_at(&w, "../a/y.txt");
    scratch_put_text(&w.s, "here/x.txt", "abc");
    expect_at(&w, "x.txt");
    scratch_close(&w.s);
}

Test(input_finder, the_path_from_the_manifests_directory_comes_last)
{
    world w;
    begin(&w, "x.txt");
    w.input.here = "../../other/deep/x.txt";
    scratch_folder(&w.s, "other/deep");
    scratch_put_text(&w.s, "other/deep/x.txt", "abc");
    expect_at(&w, "../a/sig/../../other/deep/x.txt");
    scratch_put_text(&w.s, "here/x.txt", "xyz"); /* other bytes of the same size */
    expect_at(&w, "../a/sig/../../other/deep/x.txt");
    scratch_put_text(&w.s, "here/x.txt", "abc");
    expect_at(&w, "x.txt");
    scratch_close(&w.s);
}

Test(input_finder, absolute_names_and_names_that_lead_up)
{
    world w;
    begin(&w, "/nowhere/at/all/x.txt");
    expect_nowhere(&w, BM_ERR_IO, "/nowhere/at/all/x.txt");
    scratch_folder(&w.s, "other/all");
    scratch_put_text(&w.s, "other/all/x.txt", "abc");
    expect_at(&w, "../other/all/x.txt");
    scratch_put_text(&w.s, "y.txt", "abc");
    w.input.file = "../../y.txt"; /* below the sources it would be ../other/../../y.txt */
    w.places.manifest = "manifest.json";
    expect_nowhere(&w, BM_ERR_IO, "../../y.txt");
    scratch_put_text(&w.s, "other/y.txt", "abc");
    expect_at(&w, "../other/y.txt");
    scratch_close(&w.s);
}

Test(input_finder, size_and_bytes_tell_files_of_one_name_apart)
{
    world w;
    begin(&w, "x.txt");
    scratch_put_text(&w.s, "here/x.txt", "abcd");
    expect_nowhere(&w, BM_ERR_FORMAT, "x.txt");
    cr_expect(strstr(w.err.message, "4 bytes, had 3") != NULL, "%s", w.err.message);
    scratch_put_text(&w.s, "a/x.txt", "xyz"); /* right size, other bytes: found by the reader */
    expect_at(&w, "../a/x.txt");
    scratch_put_text(&w.s, "other/x.txt", "abc");
    expect_at(&w, "../other/x.txt");
    cr_assert_eq(unlink(scratch_at(&w.s, "a/x.txt")), 0);
    cr_assert_eq(link(scratch_at(&w.s, "other/x.txt"), scratch_at(&w.s, "a/x.txt")), 0);
    expect_at(&w, "../a/x.txt"); /* one file at two places */
    scratch_close(&w.s);
}

Test(input_finder, what_is_no_file)
{
    world w;
    begin(&w, "-");
    expect_nowhere(&w, BM_ERR_FORMAT, "../a/sig/manifest.json");
    w.input.file = "sig";
    w.input.bytes = 0;
    w.input.xxh3_128 = EMPTY;
    expect_nowhere(&w, BM_ERR_IO, "sig"); /* a directory there has that name */
    scratch_put_text(&w.s, "other/sig", "");
    expect_at(&w, "../other/sig");
    scratch_close(&w.s);
}
