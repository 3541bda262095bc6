/* SPDX-License-Identifier: Apache-2.0 */
/* machine_limits.h -- finds how much memory and how many processors this process may use, by its
 * control groups and resource limits. Each call reads files of /proc and /sys again. Any thread. */
#pragma once

#include <stdint.h>

typedef struct bm_machine_limits {
    uint64_t memory; /* bytes; UINT64_MAX: no limit */
    uint32_t cpus;   /* number of processors (a quota is rounded up); UINT32_MAX: no quota */
} bm_machine_limits;

/* The lowest limits of the process's control group and of all groups above it that are mounted
 * here. `root` is put before each path: "" for the machine itself. */
void bm_control_group_limits(const char *root, bm_machine_limits *out);
/* Bytes of free memory; UINT64_MAX: unknown. On a machine that never promises more memory than it
 * has (vm.overcommit_memory=2), it is the part of the free memory that it has not promised yet.
 * `root` is as above. */
uint64_t bm_free_memory(const char *root);
/* How many more bytes may be mapped (RLIMIT_AS less mapped bytes); UINT64_MAX: no limit. */
uint64_t bm_address_space_left(void);
