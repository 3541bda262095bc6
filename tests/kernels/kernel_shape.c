/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_shape.c -- prints how kernels are built for a vendor's GPU: kernel_shape VENDOR PERMS
 * [ROW]
 *
 * Prints each, team, teams, tile and unroll (kernels/sign_gpu.cl) and the group of text_*.cl, from
 * the vendor's row of kernels/tuning/opencl.csv, or from ROW, a line in that format.
 * scripts/inspect-kernels.sh builds the kernels with these values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/cl_program.h"

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: kernel_shape VENDOR PERMS [ROW]\n");
        return 2;
    }
    bm_cl_device device = {.max_group = 1024, .lanes = 1};
    snprintf(device.vendor, sizeof device.vendor, "%s", argv[1]);
    snprintf(device.info.name, sizeof device.info.name, "GPU");
    device.info.kind = BM_DEVICE_CL_GPU;
    device.info.local_bytes = 48 << 10;
    const uint32_t plan[3] = {(uint32_t)strtoul(argv[2], NULL, 10), 0, 0};
    const bm_kernel_params_search search = {.info = &device.info, .vendor = device.vendor};
    bm_kernel_params row;
    bm_cl_shape shape;
    bm_error err = {0};
    if (argc > 3 && !bm_kernel_params_parse(argv[3], &row)) {
        fprintf(stderr, "kernel_shape: not a row: %s\n", argv[3]);
        return 2;
    }
    if ((argc <= 3 && bm_kernel_params_choose(&search, &row, &err) != BM_OK) ||
        bm_cl_kernel_shape(&device, &row, plan, &shape, &err) != BM_OK) {
        fprintf(stderr, "kernel_shape: %s\n", err.message);
        return 1;
    }
    const bm_cl_teams *t = &shape.teams;
    printf("%u %u %u %u %u %u\n", t->each, t->team, t->teams, t->tile, t->unroll, shape.text_group);
    return 0;
}
