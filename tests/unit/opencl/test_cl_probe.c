#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/opencl/cl_probe.h"
#include "base/clock.h"

/* Run a shell script as the probe. */
static bm_status run(const char *script, bm_error *err)
{
    char path[] = "/tmp/bandmill_script_XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_geq(dprintf(fd, "#!/bin/sh\n%s\n", script), 0);
    fchmod(fd, 0700);
    close(fd);
    setenv("BANDMILL_PROBE", path, 1);
    bm_backend_cfg cfg = {.sketch = {.perms = 128, .seed = 7},
                          .bands = 16,
                          .rows = 8,
                          .device = "opencl:1.2",
                          .cache_dir = "/some/where"};
    bm_status status = bm_cl_probe_run(&cfg, &(bm_cl_open_options){0}, "Some Device", err);
    unlink(path);
    return status;
}

Test(cl_probe, is_told_what_to_open)
{
    bm_error err = {0};
    cr_assert_eq(
        run("test \"$*\" = '__probe-opencl opencl:1.2@affine32,128,16,8,7 /some/where' || exit 9",
            &err),
        BM_OK, "%s", err.message);
}

Test(cl_probe, that_fails_is_a_device_error_with_its_words)
{
    bm_error err = {0};
    cr_assert_eq(run("echo 'no such luck' >&2; echo more >&2; exit 5", &err), BM_ERR_DEVICE);
    cr_assert_not_null(strstr(err.message, "Some Device failed with exit code 5: no such luck"),
                       "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'));
}

Test(cl_probe, that_dies_is_a_device_error_with_the_signal)
{
    bm_error err = {0};
    cr_assert_eq(run("kill -ABRT $$", &err), BM_ERR_DEVICE);
    cr_assert_not_null(strstr(err.message, "signal 6 (ABRT)"), "%s", err.message);
}

Test(cl_probe, that_hangs_is_ended_at_the_time_limit)
{
    bm_error err = {0};
    setenv("BANDMILL_PROBE_SECONDS", "0.3", 1);
    double begin = bm_clock_seconds();
    cr_assert_eq(run("exec sleep 30", &err), BM_ERR_DEVICE);
    cr_assert_lt(bm_clock_seconds() - begin, 10.0);
    cr_assert_not_null(strstr(err.message, "did not end within"), "%s", err.message);
    cr_assert_eq(run("exec 2>&-; exec sleep 30", &err), BM_ERR_DEVICE,
                 "one that closed its stderr");
}

Test(cl_probe, that_says_a_lot_does_not_block)
{
    bm_error err = {0};
    cr_assert_eq(run("head -c 300000 /dev/zero | tr '\\0' 'x' >&2; exit 5", &err), BM_ERR_DEVICE);
}

Test(cl_probe, that_cannot_be_run_is_a_device_error_and_none_is_fine)
{
    bm_backend_cfg cfg = {.sketch = {.perms = 1}, .device = "opencl:0.0", .cache_dir = ""};
    bm_error err = {0};
    setenv("BANDMILL_PROBE", "/nowhere/at/all", 1);
    cr_assert_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){0}, "x", &err), BM_ERR_DEVICE);
    setenv("BANDMILL_PROBE", "", 1);
    cr_assert_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){0}, "x", &err), BM_OK);
    unsetenv("BANDMILL_PROBE"); /* this program is not `bandmill` */
    cr_assert_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){0}, "x", &err), BM_OK);
}

Test(cl_probe, is_given_the_row_in_place_of_the_one_that_is_set_and_the_time_limit)
{
    bm_backend_cfg cfg = {.sketch = {.perms = 1}, .device = "opencl:0.0", .cache_dir = ""};
    char path[] = "/tmp/bandmill_script_XXXXXX";
    bm_error err = {0};
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && dprintf(fd, "#!/bin/sh\n[ \"$BANDMILL_CL_ROW:$KEPT\" = 'a row:yes' ] || "
                                     "exit 9\n[ -z \"$SLEEP\" ] || "
                                     "exec sleep 30\n") > 0);
    fchmod(fd, 0700);
    close(fd);
    setenv("BANDMILL_PROBE", path, 1);
    setenv("BANDMILL_CL_ROW", "another", 1);
    setenv("KEPT", "yes", 1);
    cr_expect_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){.row = "a row"}, "x", &err), BM_OK,
                 "%s", err.message);
    cr_expect_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){0}, "x", &err), BM_ERR_DEVICE,
                 "the variable stays");
    setenv("SLEEP", "yes", 1);
    const double begin = bm_clock_seconds();
    cr_expect_eq(bm_cl_probe_run(&cfg, &(bm_cl_open_options){.row = "a row", .probe_seconds = .3},
                                 "x", &err),
                 BM_ERR_DEVICE);
    cr_expect_lt(bm_clock_seconds() - begin, 10.0);
    cr_expect_not_null(strstr(err.message, "did not end within"), "%s", err.message);
    unlink(path);
}

Test(cl_probe, refuses_a_device_it_cannot_read)
{
    bm_error err = {0};
    cr_assert_eq(bm_device_probe("opencl:0.0", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_device_probe("opencl:0.0@oph,1,2", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_device_probe("opencl:0.0@64,4,16,1", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_device_probe("opencl:0.0@nonesuch,64,4,16,1", "", &err), BM_ERR_USAGE);
}
