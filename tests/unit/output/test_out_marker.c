/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_marker.c -- a marker truncated at every byte, as by a job that was killed. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "output/out_dir.h"
#include "output/out_lock.c"
#include "output/out_target.h"
#include "tests/world/scratch.h"

#define HEADER "bandmill work directory 1\n"
#define MARKER "out.partial/" BM_OUT_MARKER

/* Makes OUT.partial with these bytes as its marker, and a file that is not listed. */
static void put_work(scratch *s, const char *marker, size_t bytes)
{
    scratch_folder(s, "out.partial");
    scratch_put(s, MARKER, marker, bytes);
    scratch_put_text(s, "out.partial/thesis.tex", "precious");
}

/* Expects every way to open a work directory to refuse this one and keep the marker unchanged. */
static void expect_refused(scratch *s, const char *marker)
{
    bm_out_dir *dir = NULL;
    bool found;
    const char *target = scratch_at(s, "out");
    cr_expect_eq(bm_out_dir_open(target, BM_OUT_REFUSE, &dir, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_out_dir_open(target, BM_OUT_REPLACE, &dir, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_out_dir_open_again(target, BM_OUT_REFUSE, &dir, &found, NULL), BM_ERR_USAGE);
    cr_expect(scratch_holds(s, MARKER, marker), "\"%s\" was changed", marker);
    cr_expect(scratch_holds(s, "out.partial/thesis.tex", "precious"));
    cr_expect_eq(scratch_count(s, "out.partial"), 2u);
}

Test(out_marker, stays_as_it_is_wherever_it_is_torn_when_a_job_is_refused)
{
    static const char marker[] = HEADER "output/ids.txt\n.bandmill-sets\n";
    for (size_t bytes = 0; bytes < sizeof marker; bytes++) {
        SCRATCH s = scratch_open();
        char text[sizeof marker];
        snprintf(text, sizeof text, "%.*s", (int)bytes, marker);
        put_work(&s, marker, bytes);
        expect_refused(&s, text);
    }
}

Test(out_marker, torn_and_alone_it_is_the_next_jobs)
{
    static const char marker[] = HEADER "output/ids.txt\n";
    for (size_t bytes = 0; bytes < sizeof marker; bytes++) {
        SCRATCH s = scratch_open();
        bm_out_dir *dir = NULL;
        scratch_folder(&s, "out.partial");
        scratch_put(&s, MARKER, marker, bytes);
        cr_assert_eq(bm_out_dir_open(scratch_at(&s, "out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
        cr_expect(scratch_holds(&s, MARKER, HEADER), "torn at %zu", bytes);
        bm_out_dir_close(dir);
        cr_expect_eq(scratch_count(&s, "."), 0u);
    }
}

Test(out_marker, what_is_torn_goes_before_the_next_line_is_written)
{
    static const char marker[] = HEADER "output/a_long_name.txt\noutput/never_made.txt\n";
    const size_t whole = sizeof HEADER - 1 + strlen("output/a_long_name.txt\n");
    for (size_t bytes = 0; bytes < sizeof marker - 1; bytes++) {
        SCRATCH s = scratch_open();
        bm_out_marker it;
        bm_out_marker_state state;
        char wanted[sizeof marker];
        scratch_folder(&s, "out.partial");
        scratch_put(&s, MARKER, marker, bytes);
        const int folder = open(scratch_at(&s, "out.partial"), O_RDONLY | O_DIRECTORY);
        cr_assert_geq(folder, 0);
        const bm_ours_at at = {folder, "out.partial", false};
        cr_assert_eq(out_marker_open(at, false, &it, &state, NULL), BM_OK);
        cr_assert_eq(state, BM_OUT_MARKER_HELD);
        cr_expect_eq(bm_ours_has(&it.ours, "output/a_long_name.txt"), bytes >= whole);
        cr_expect_not(bm_ours_has(&it.ours, "output/never_made.txt"));
        cr_assert_eq(out_marker_list(&it, at.path, &(const char *){"b"}, 1, NULL), BM_OK);
        out_marker_close(&it);
        const size_t stays = bytes >= whole ? whole : sizeof HEADER - 1;
        snprintf(wanted, sizeof wanted, "%.*sb\n", (int)stays, marker);
        cr_expect(scratch_holds(&s, MARKER, wanted), "torn at %zu", bytes);
        close(folder);
    }
}
