/* cmd_probe.c -- the hidden command __probe-opencl DEVICE CACHE_DIR: what the library runs, in a
 * process of its own, before it trusts an OpenCL driver with ours.
 *
 * A driver's compiler may abort, hang or call exit; here it takes down only the probe. The error
 * goes to stderr as a line of its own, behind whatever the driver wrote there, and the parent quotes
 * it. It leaves with _exit, so that no exit handler of a driver can change the answer.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c */
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "program/program.h"

int cli_probe(const char *device, const char *cache_dir)
{
    bm_error err = {0};
    bm_status status = bm_device_probe(device, cache_dir, &err);
    if (status != BM_OK) {
        fprintf(stderr, "\n%s\n", err.message);
        fflush(stderr);
    }
    _exit(bm_status_exit_code(status));
}
