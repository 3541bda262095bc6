/* cpu.h -- what the processor can do. Detected once a process (CPU features are its one global
 * fact). */
#ifndef BM_BASE_CPU_H
#define BM_BASE_CPU_H

#include <stdbool.h>

#include <bandmill/status.h>

typedef enum bm_isa { BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON } bm_isa;

/* AVX512 means F, BW, DQ, VL and VBMI-free code; AVX2 means AVX2 and BMI2; NEON is part of every
 * AArch64. */
bool bm_isa_available(bm_isa isa);
bm_isa bm_isa_best(void);
const char *bm_isa_name(bm_isa isa);
/* `name` NULL or "": the best. Unknown or not available here: BM_ERR_USAGE. */
bm_status bm_isa_choose(const char *name, bm_isa *out, bm_error *err);
/* Processors that this process may run on (affinity and cgroup quota), at least 1. */
uint32_t bm_cpu_count(void);
/* The processor's name, for reports: "AMD EPYC". Filled, ended by NUL. */
void bm_cpu_name(char *out, size_t cap);

#endif
