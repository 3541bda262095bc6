/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest program that bm_cl_probe_run can run (the command line program contains the same).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "opencl/cl_backend.h"

int main(int argc, char **argv)
{
    bm_error err = {0};
    if (argc != 4 || strcmp(argv[1], "__probe-opencl") != 0)
        return 2;
    bm_status status = bm_backend_opencl_try(argv[2], argv[3], &err);
    if (status != BM_OK)
        fprintf(stderr, "\n%s\n", err.message);
    _exit(status == BM_OK ? 0 : 5); /* skip the driver's exit handlers */
}
