/* SPDX-License-Identifier: Apache-2.0 */
/* system.h -- processor features, and libraries that are opened when a job needs them. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* cpu -- processor features. The compiler's run-time library detects them once per process. */

typedef enum bm_isa { BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON } bm_isa;

/* Does this processor have the instruction set? AVX2 means AVX2 and BMI2; AVX512 means F, BW, DQ,
 * VL and BMI2 (code that can use more checks for it itself); NEON is part of every AArch64. */
bool bm_isa_available(bm_isa isa);
bm_isa bm_isa_best(void);
const char *bm_isa_name(bm_isa isa);
/* Choose the instruction set `name`; NULL or "": the best one. BM_ERR_USAGE: the name is unknown,
 * or the instruction set not available here. */
bm_status bm_isa_choose(const char *name, bm_isa *out, bm_error *err);
/* Processors that this process may use (by affinity mask and the quotas of control groups), at
 * least 1. */
uint32_t bm_cpu_count(void);
/* Fills `out` with the processor's name for reports ("AMD EPYC 9634"), cut to `cap` bytes with its
 * NUL. */
void bm_cpu_name(char *out, size_t cap);

/* shared_library -- a shared library that is opened when it is first needed. A linked library would
 * cost each start of the program .05 to .6 ms, even if it is never used.
 *
 * A module lists the functions that it calls, and the table of pointers and the names to look up
 * are made from that list:
 *
 *     #define FUNCTIONS(X) X(inflate) X(inflateEnd)
 *     typedef struct zlib {
 *         FUNCTIONS(BM_LIBRARY_MEMBER)
 *     } zlib;
 *     static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};
 *
 * The build defines the file's name, its SONAME, as BM_SONAME_ZLIB (cmake/rooms.cmake). */

#define BM_LIBRARY_MEMBER(name) __typeof__(name) *name;
#define BM_LIBRARY_NAME(name)   #name,

/* Opens `file`, found as the dynamic linker finds it, and fills `table`: pointers to functions, one
 * for each of `names`, which ends with NULL. The library stays loaded for the life of the process:
 * opening it again then takes only microseconds, and its threads and exit handlers need its code.
 * BM_ERR_IO: the library is missing or lacks one of the names; the message has the linker's words
 * or that name. BM_ERR_NOMEM. Any thread. */
bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err);

/* The library or the name that could not be found. */
typedef struct bm_library_lack {
    const char *library; /* the linker's message, valid until this thread calls the linker again */
    const char *name;    /* the missing one of `names` */
} bm_library_lack;

/* Like bm_shared_library_open, for callers that write their own message. False: see `lack`. */
bool bm_shared_library_find(const char *file, const char *const *names, void *table,
                            bm_library_lack *lack);
