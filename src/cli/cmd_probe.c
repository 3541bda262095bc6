/* cmd_probe.c -- the hidden command __probe-opencl DEVICE CACHE_DIR: what the library runs, in a
 * process of its own, before it trusts an OpenCL driver with ours. With `list` for DEVICE it lists
 * what there is.
 *
 * A driver may abort, hang or call exit; here it takes down only the probe. The error
 * goes to stderr as a line of its own, behind whatever the driver wrote there, and the parent quotes
 * it. It leaves with _exit, so that no exit handler of a driver can change the answer.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c, tests/fault/icd/drivers.sh */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "program/program.h"

/* A driver called exit: whatever it answered by that, nothing was finished here. */
static void end_unfinished(int code, void *ctx)
{
    (void)ctx;
    _exit(code != 0 ? code : bm_status_exit_code(BM_ERR_DEVICE));
}

int cli_probe(const char *device, const char *cache_dir)
{
    bm_error err = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else would end a driver that hangs */
    on_exit(end_unfinished, NULL);
    bm_status status = bm_device_probe(device, cache_dir, &err);
    if (status != BM_OK) {
        fprintf(stderr, "\n%s\n", err.message);
        fflush(stderr);
    }
    _exit(bm_status_exit_code(status));
}
