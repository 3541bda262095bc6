/* SPDX-License-Identifier: Apache-2.0 */
/* parity_able.h -- which family of kernels is compared on which device, and where programs are
 * kept. */
#ifndef TESTS_PARITY_ABLE_H
#define TESTS_PARITY_ABLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>

/* llvmpipe leaves the loops of a kernel after 65,535 turns in all, which one work-item of the CPU's
 * family exceeds (docs/opencl.md): the known answers refuse it there. */
static bool parity_able(const bm_device_info *device, const char *family)
{
    return strcmp(family, "cpu") != 0 || strstr(device->name, "llvmpipe") == NULL;
}

/* A program takes a second to compile, so a test may take a cover of the devices, the families and
 * what it varies: each value with each other. On the device that BANDMILL_TEST_DEVICE names, and
 * with BANDMILL_TEST_SIZE=full, it takes all. */
static inline bool parity_whole(void)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    return getenv("BANDMILL_TEST_DEVICE") != NULL || (size != NULL && strcmp(size, "full") == 0);
}

/* The cache of compiled programs for tests of what these compute: BANDMILL_TEST_PROGRAMS, a folder
 * that outlives the test, since a compiler takes a second for each; without it none. A program is
 * found there by its source, options and driver. PoCL keeps them itself, and to hand one out
 * compiles each kernel a second time, for groups of any size. Borrowed. */
static inline const char *parity_programs(const bm_device_info *device)
{
    const char *dir = getenv("BANDMILL_TEST_PROGRAMS");
    return dir != NULL && strstr(device->platform, "Portable Computing") == NULL ? dir : "";
}

#endif
