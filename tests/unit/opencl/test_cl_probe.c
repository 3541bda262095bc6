/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl/cl_probe.c"
#include "opencl/cl_backend.h"
#include "base/clock.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"

/* Makes a shell script that stands in for the program; returns its path. */
static const char *script_of(scratch *s, const char *script)
{
    FILE *file = scratch_write(s, "script");
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    chmod(scratch_at(s, "script"), 0700);
    return scratch_at(s, "script");
}

static const bm_callbacks *callbacks;

/* Runs a shell script as the probe. */
static bm_status run_within(const char *script, double seconds, bm_error *err)
{
    SCRATCH s = scratch_open();
    const bm_device_settings settings = {.probe_program = script_of(&s, script),
                                         .probe_seconds = seconds};
    bm_backend_cfg cfg = {.sketch = {.perms = 128, .seed = 7},
                          .bands = 16,
                          .rows = 8,
                          .device = "opencl:1.2",
                          .settings = &settings,
                          .callbacks = callbacks,
                          .cache_dir = "/some/where"};
    return bm_cl_probe_run(&cfg, NULL, "Some Device", err);
}

static bm_status run(const char *script, bm_error *err)
{
    return run_within(script, 0, err);
}

Test(cl_probe, is_told_what_to_open)
{
    bm_error err = {0};
    world_ok(
        run("test \"$*\" = '__probe-opencl opencl:1.2@affine32,128,16,8,7 /some/where' || exit 9",
            &err),
        &err);
}

/* Drivers write to stderr before and after the line of our child. */
Test(cl_probe, that_fails_is_a_device_error_with_our_own_line_whatever_the_driver_wrote)
{
    bm_error err = {0};
    world_refused(run("head -c 300000 /dev/zero | tr '\\0' 'x' >&2\n"
                      "printf '\\nMESA: warning: noise\\n" BM_CL_PROBE_MARK
                      "no such\\tluck\\nmore noise\\n' >&2; exit 5",
                      &err),
                  BM_ERR_DEVICE, &err, "Some Device failed with exit code 5: no such luck");
    cr_assert_null(strstr(err.message, "noise"), "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'));
}

Test(cl_probe, that_leaves_no_line_of_ours_is_told_with_the_drivers_last_words)
{
    bm_error err = {0};
    world_refused(run("echo 'noise at the start' >&2; echo 'LLVM ERROR: out of luck' >&2\n"
                      "printf '\\n  \\n' >&2; kill -ABRT $$",
                      &err),
                  BM_ERR_DEVICE, &err, "signal 6 (ABRT)");
    cr_assert_not_null(strstr(err.message, ": LLVM ERROR: out of luck"), "%s", err.message);
    cr_assert_null(strstr(err.message, "noise"), "%s", err.message);
}

Test(cl_probe, that_dies_is_a_device_error_with_the_signal)
{
    bm_error err = {0};
    world_refused(run("kill -ABRT $$", &err), BM_ERR_DEVICE, &err, "signal 6 (ABRT)");
}

Test(cl_probe, that_hangs_is_ended_at_the_time_limit)
{
    bm_error err = {0};
    double begin = bm_clock_seconds();
    cr_assert_eq(run_within("exec sleep 600", .3, &err), BM_ERR_DEVICE);
    cr_assert_lt(bm_clock_seconds() - begin, 300.0);
    cr_assert_not_null(strstr(err.message, "did not end within"), "%s", err.message);
    cr_assert_eq(run_within("exec 2>&-; exec sleep 600", .3, &err), BM_ERR_DEVICE,
                 "one that closed its stderr");
}

static bool at_the_third_look(void *ctx)
{
    return ++*(int *)ctx >= 3;
}

Test(cl_probe, that_hangs_is_ended_when_the_job_is_to_stop)
{
    int looks = 0;
    const bm_callbacks calls = {.ctx = &looks, .cancelled = at_the_third_look};
    bm_error err = {0};
    callbacks = &calls;
    cr_assert_eq(run("exec sleep 600", &err), BM_ERR_CANCELLED);
    cr_assert_eq(looks, 3);
    callbacks = NULL;
}

Test(cl_probe, that_says_a_lot_does_not_block)
{
    bm_error err = {0};
    cr_assert_eq(run("head -c 300000 /dev/zero | tr '\\0' 'x' >&2; exit 5", &err), BM_ERR_DEVICE);
}

Test(cl_probe, that_cannot_be_run_is_a_device_error_and_none_is_fine)
{
    bm_device_settings settings = {.probe_program = "/nowhere/at/all"};
    bm_backend_cfg cfg = {
        .sketch = {.perms = 1}, .device = "opencl:0.0", .settings = &settings, .cache_dir = ""};
    bm_error err = {0};
    cr_assert_eq(bm_cl_probe_run(&cfg, NULL, "x", &err), BM_ERR_DEVICE);
    settings.probe_program = "";
    cr_assert_eq(bm_cl_probe_run(&cfg, NULL, "x", &err), BM_OK);
    settings.probe_program = NULL; /* this program is not `bandmill` */
    cr_assert_eq(bm_cl_probe_run(&cfg, NULL, "x", &err), BM_OK);
    cfg.settings = NULL;
    cr_assert_eq(bm_cl_probe_run(&cfg, NULL, "x", &err), BM_OK);
}

#define ROW "a row,*,*,gpu,16,8,8,128,128,100,100,512,64,0,2"

Test(cl_probe, is_given_shingles_limit_and_kernel_parameters_and_our_environment)
{
    SCRATCH s = scratch_open();
    const bm_device_settings settings = {
        .probe_program = script_of(&s, "[ \"$2:$KEPT\" = 'opencl:0.0@oph,1,0,0,0+1:5/65536=" ROW
                                       ":yes' ] || exit 9"),
        .buffer_limit_bytes = 65536};
    const bm_text_options text = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 5};
    bm_backend_cfg cfg = {.sketch = {.perms = 1, .scheme = BM_SCHEME_OPH},
                          .text = &text,
                          .device = "opencl:0.0",
                          .settings = &settings,
                          .cache_dir = ""};
    bm_kernel_params row;
    bm_error err = {0};
    cr_assert(bm_kernel_params_parse(ROW, &row));
    setenv("KEPT", "yes", 1);
    cr_expect_eq(bm_cl_probe_run(&cfg, &row, "x", &err), BM_OK, "%s", err.message);
    cfg.text = NULL;
    cr_expect_eq(bm_cl_probe_run(&cfg, &row, "x", &err), BM_ERR_DEVICE);
}

/* The child reads the device that the parent describes: it gets as far as searching for it. */
Test(cl_probe, what_it_is_told_it_reads)
{
    const bm_device_settings limited = {.buffer_limit_bytes = 65536}, none = {0};
    const bm_text_options text = {.shingle = BM_SHINGLE_BYTE, .shingle_k = 8};
    bm_kernel_params row;
    cr_assert(bm_kernel_params_parse(ROW, &row));
    for (int i = 0; i < 8; i++) {
        const bm_backend_cfg cfg = {.sketch = {.perms = 64, .seed = 4000000000u},
                                    .bands = 4,
                                    .rows = 16,
                                    .text = i & 1 ? &text : NULL,
                                    .device = "opencl:77.0",
                                    .settings = i & 2 ? &limited : &none};
        char device[BM_CL_PROBE_TEXT];
        bm_error err = {0};
        cl_probe_device(&cfg, i & 4 ? &row : NULL, device);
        cr_expect_eq(bm_backend_opencl_try(device, "", &err), BM_ERR_DEVICE, "%s", device);
        cr_expect_not_null(strstr(err.message, "opencl:77.0"), "%s", err.message);
    }
}

Test(cl_probe, refuses_a_device_it_cannot_read)
{
    bm_error err = {0};
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@oph,1,2", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@64,4,16,1", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@nonesuch,64,4,16,1", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@oph,64,4,16,1+9:5", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@oph,64,4,16,1+1", "", &err), BM_ERR_USAGE);
    cr_assert_eq(bm_backend_opencl_try("opencl:0.0@oph,64,4,16,1/x", "", &err), BM_ERR_USAGE);
}
