/* cpu_backend.h -- the native CPU as a backend. */
#ifndef BM_BACKEND_CPU_CPU_BACKEND_H
#define BM_BACKEND_CPU_CPU_BACKEND_H

#include "model/backend.h"

extern const bm_backend_ops bm_backend_cpu;

/* The native CPU as a device; always one. `cpu`: the instruction set, NULL: the best. */
void bm_backend_cpu_info(const char *cpu, bm_device_info *out);

#endif
