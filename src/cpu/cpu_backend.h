/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.h -- the native CPU as a backend. */
#pragma once

#include "model/backend.h"

extern const bm_backend_ops bm_backend_cpu;

/* Describe the native CPU as a device. `cpu`: the instruction set; NULL: the best. */
void bm_backend_cpu_info(const char *cpu, bm_device_info *out);
