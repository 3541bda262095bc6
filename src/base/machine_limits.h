/* SPDX-License-Identifier: Apache-2.0 */
/* machine_limits.h -- how much memory and how many processors this process may use by its control
 * groups and resource limits. Each call reads some files of /proc and /sys again. Any thread. */
#pragma once

#include <stdint.h>

typedef struct bm_machine_limits {
    uint64_t memory; /* bytes; UINT64_MAX: no limit */
    uint32_t cpus;   /* processors, a quota rounded up; UINT32_MAX: no quota */
} bm_machine_limits;

/* The lowest limits of all control groups from the process's own up to the root, as far as they are
 * mounted here. `root` is put before each path: "" for the machine itself. */
void bm_control_group_limits(const char *root, bm_machine_limits *out);
/* Bytes that may still be mapped (RLIMIT_AS less mapped bytes); UINT64_MAX: no limit. */
uint64_t bm_address_space_left(void);
