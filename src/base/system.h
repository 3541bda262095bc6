/* SPDX-License-Identifier: Apache-2.0 */
/* system.h -- processor features, and libraries that are opened when a job needs them. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* cpu -- processor features. The compiler's run-time library detects them once per process. */

typedef enum bm_isa { BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON } bm_isa;

/* Does this processor have the instruction set? AVX2 means AVX2 and BMI2. AVX512 means F, BW, DQ,
 * VL and BMI2; code that can use further extensions checks for them itself. NEON is part of every
 * AArch64. */
bool bm_isa_available(bm_isa isa);
bm_isa bm_isa_best(void);
const char *bm_isa_name(bm_isa isa);
/* Choose the instruction set `name`. NULL or "" chooses the best one. BM_ERR_USAGE: the name is
 * unknown, or this processor does not have the instruction set. */
bm_status bm_isa_choose(const char *name, bm_isa *out, bm_error *err);
/* How many processors this process may use, by its affinity mask and the quotas of its control
 * groups; at least 1. */
uint32_t bm_cpu_count(void);
/* Fill `out` with the processor's name for reports ("AMD EPYC 9634"), or with "unknown processor".
 * The name is cut to `cap` bytes, including its NUL. */
void bm_cpu_name(char *out, size_t cap);

/* shared_library -- opens a shared library when it is first needed. If the program were linked with
 * the library, each start would take .05 to .6 ms longer, even if the library is never used.
 *
 * A module lists the functions that it calls. The table of pointers and the names to look up are
 * made from this list:
 *
 *     #define FUNCTIONS(X) X(inflate) X(inflateEnd)
 *     typedef struct zlib {
 *         FUNCTIONS(BM_LIBRARY_MEMBER)
 *     } zlib;
 *     static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};
 *
 * The build defines the file name of the library, which is its SONAME, as BM_SONAME_ZLIB
 * (cmake/rooms.cmake). */

#define BM_LIBRARY_MEMBER(name) __typeof__(name) *name;
#define BM_LIBRARY_NAME(name)   #name,

/* Open the library `file`, which the dynamic linker searches in its usual places. Fill `table` with
 * a pointer to a function for each of `names`, which ends with NULL. The library stays loaded until
 * the process ends, because its threads and exit handlers need its code. Opening it again takes
 * only microseconds. BM_ERR_IO: the library is missing, and the message has the linker's words; or
 * the library lacks one of the names, and the message has this name. BM_ERR_NOMEM. Any thread. */
bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err);

/* The library or the name that could not be found. */
typedef struct bm_library_lack {
    /* the linker's message, valid until this thread calls the linker again; set if the library is
     * missing */
    const char *library;
    const char *name; /* the one of `names` that is missing */
} bm_library_lack;

/* Like bm_shared_library_open, for callers that write their own message. False: `lack` describes
 * what is missing. */
bool bm_shared_library_find(const char *file, const char *const *names, void *table,
                            bm_library_lack *lack);
