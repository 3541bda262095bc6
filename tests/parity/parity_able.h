/* SPDX-License-Identifier: Apache-2.0 */
/* parity_able.h -- which family of kernels is compared on which device, and where compiled programs
 * are kept. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/device.h>

/* llvmpipe ends the loops of a kernel after 65,535 iterations in total, and one work-item of the
 * CPU family needs more: the known-answer test of the backend rejects the CPU family there. */
static bool parity_able(const bm_device_info *device, const char *family)
{
    return strcmp(family, "cpu") != 0 || strstr(device->name, "llvmpipe") == NULL;
}

/* Compiling a program takes about a second. So a test may run only some combinations of devices,
 * families and parameters, in which each two values of different kinds meet. With
 * BANDMILL_TEST_DEVICE (one device) or BANDMILL_TEST_SIZE=full, it runs all. */
static inline bool parity_whole(void)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    return getenv("BANDMILL_TEST_DEVICE") != NULL || (size != NULL && strcmp(size, "full") == 0);
}

/* The directory of compiled programs for tests of computed results, borrowed; "" for none.
 * BANDMILL_TEST_PROGRAMS names a directory that outlives the test, since compiling takes about a
 * second. Programs are looked up by source, options and driver. PoCL gets none: it has a cache of
 * its own, and to export a program it would compile each kernel a second time, for any group
 * size. */
static inline const char *parity_programs(const bm_device_info *device)
{
    const char *dir = getenv("BANDMILL_TEST_PROGRAMS");
    return dir != NULL && strstr(device->platform, "Portable Computing") == NULL ? dir : "";
}
