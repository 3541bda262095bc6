/* cpu.h -- what the processor can do. The compiler's run-time library finds it out once in a
 * process; it is the one global fact of the library. */
#ifndef BM_BASE_CPU_H
#define BM_BASE_CPU_H

#include <stdbool.h>

#include <bandmill/status.h>

typedef enum bm_isa { BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON } bm_isa;

/* AVX2 means AVX2 and BMI2; AVX512 means F, BW, DQ, VL and BMI2 (code that can use more asks for it
 * itself); NEON is part of every AArch64. */
bool bm_isa_available(bm_isa isa);
bm_isa bm_isa_best(void);
const char *bm_isa_name(bm_isa isa);
/* `name` NULL or "": the best. Unknown or not available here: BM_ERR_USAGE. */
bm_status bm_isa_choose(const char *name, bm_isa *out, bm_error *err);
/* Processors that this process may use (by affinity mask and cgroup quota), at least 1. */
uint32_t bm_cpu_count(void);
/* Fills `out` with the processor's name for reports ("AMD EPYC 9634"), cut to `cap` bytes with its
 * NUL. */
void bm_cpu_name(char *out, size_t cap);

#endif
