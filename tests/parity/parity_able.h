/* SPDX-License-Identifier: Apache-2.0 */
/* parity_able.h -- which family of kernels is compared on which device, and where compiled programs
 * are kept. */
#ifndef TESTS_PARITY_ABLE_H
#define TESTS_PARITY_ABLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>

/* llvmpipe ends a kernel's loops after 65,535 iterations in all, which one work-item of the CPU
 * family exceeds (docs/opencl.md): the known answers refuse the CPU family there. */
static bool parity_able(const bm_device_info *device, const char *family)
{
    return strcmp(family, "cpu") != 0 || strstr(device->name, "llvmpipe") == NULL;
}

/* Compiling a program takes about a second, so a test may run a covering selection of its
 * combinations of devices, families and parameters, in which each value meets each other value.
 * With BANDMILL_TEST_DEVICE (one device) or BANDMILL_TEST_SIZE=full, it runs all. */
static inline bool parity_whole(void)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    return getenv("BANDMILL_TEST_DEVICE") != NULL || (size != NULL && strcmp(size, "full") == 0);
}

/* The cache of compiled programs, for tests of computed results: BANDMILL_TEST_PROGRAMS names a
 * folder that outlives the test, since compiling takes about a second; without it there is no
 * cache. Programs are looked up by source, options and driver. PoCL has a cache of its own, and
 * compiles each kernel a second time, for any group size, to export one. Borrowed. */
static inline const char *parity_programs(const bm_device_info *device)
{
    const char *dir = getenv("BANDMILL_TEST_PROGRAMS");
    return dir != NULL && strstr(device->platform, "Portable Computing") == NULL ? dir : "";
}

#endif
