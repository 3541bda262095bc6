/* SPDX-License-Identifier: Apache-2.0 */
/* system.c -- processor features, the number of processors, shared libraries.
 *
 * Tests: tests/unit/base/test_cpu.c, tests/unit/base/test_shared_library.c */
#include "base/system.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/machine_limits.h"

/* === cpu ===
 *
 * The compiler's run-time library detects instruction sets. The number of processors follows from
 * the affinity mask and the control groups. */

bool bm_isa_available(bm_isa isa)
{
    switch (isa) {
    case BM_ISA_SCALAR:
        return true;
#if defined(__x86_64__)
    case BM_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    case BM_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("bmi2");
    case BM_ISA_NEON:
        return false;
#elif defined(__aarch64__)
    case BM_ISA_NEON:
        return true;
    case BM_ISA_AVX2:
    case BM_ISA_AVX512:
        return false;
#else
    case BM_ISA_AVX2:
    case BM_ISA_AVX512:
    case BM_ISA_NEON:
        return false;
#endif
    }
    return false;
}

bm_isa bm_isa_best(void)
{
    static const bm_isa order[] = {BM_ISA_AVX512, BM_ISA_AVX2, BM_ISA_NEON};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (bm_isa_available(order[i]))
            return order[i];
    return BM_ISA_SCALAR;
}

const char *bm_isa_name(bm_isa isa)
{
    switch (isa) {
    case BM_ISA_SCALAR:
        return "scalar";
    case BM_ISA_AVX2:
        return "avx2";
    case BM_ISA_AVX512:
        return "avx512";
    case BM_ISA_NEON:
        return "neon";
    }
    return "unknown";
}

bm_status bm_isa_choose(const char *name, bm_isa *out, bm_error *err)
{
    static const bm_isa all[] = {BM_ISA_SCALAR, BM_ISA_AVX2, BM_ISA_AVX512, BM_ISA_NEON};
    if (name == NULL || name[0] == '\0') {
        *out = bm_isa_best();
        return BM_OK;
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(name, bm_isa_name(all[i])) != 0)
            continue;
        if (!bm_isa_available(all[i]))
            return bm_fail_field(err, "cpu",
                                 "`cpu`: this processor has no %s (the best here is %s)", name,
                                 bm_isa_name(bm_isa_best()));
        *out = all[i];
        return BM_OK;
    }
    return bm_fail_field(
        err, "cpu", "`cpu`: unknown instruction set '%s' (scalar, avx2, avx512 or neon)", name);
}

/* Get the quota. To find it, a dozen files have to be read, so it is found only once, like the
 * instruction sets. */
static uint32_t cpu_quota(void)
{
    static atomic_uint known; /* 0: not read yet */
    unsigned quota = atomic_load(&known);
    if (quota == 0) {
        bm_machine_limits limits;
        bm_control_group_limits("", &limits);
        quota = limits.cpus;
        atomic_store(&known, quota);
    }
    return quota;
}

uint32_t bm_cpu_count(void)
{
    uint32_t count = 1;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        count = (uint32_t)CPU_COUNT(&set);
    } else {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        if (online > 0)
            count = (uint32_t)online;
    }
    const uint32_t quota = cpu_quota();
    return quota < count ? quota : count;
}

void bm_cpu_name(char *out, size_t cap)
{
    snprintf(out, cap, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL)
        return;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value += strspn(value, ": \t");
            snprintf(out, cap, "%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
    fclose(file);
}

/* Is this a lack of memory? The dynamic linker reports it only in its message. */
static bool is_nomem(const char *why)
{
    return strstr(why, "cannot allocate") != NULL || strstr(why, "cannot map") != NULL ||
           strstr(why, "failed to map") != NULL;
}

bool bm_shared_library_find(const char *file, const char *const *names, void *table,
                            bm_library_lack *lack)
{
    *lack = (bm_library_lack){0};
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        const char *why = dlerror(); /* the message begins with the file's name */
        lack->library = why != NULL ? why : file;
        return false;
    }
    char *slot = table;
    for (; *names != NULL && lack->name == NULL; names++, slot += sizeof library) {
        void *symbol = dlsym(library, *names);
        memcpy(slot, &symbol, sizeof symbol); /* ISO C has no cast from void * to a function */
        if (symbol == NULL)
            lack->name = *names;
    }
    dlclose(library); /* the library stays loaded: RTLD_NODELETE */
    return lack->name == NULL;
}

bm_status bm_shared_library_open(const char *file, const char *const *names, void *table,
                                 bm_error *err)
{
    bm_library_lack lack;
    if (bm_shared_library_find(file, names, table, &lack))
        return BM_OK;
    if (lack.name != NULL)
        return bm_fail(err, BM_ERR_IO, "%s has no %s", file, lack.name);
    return bm_fail(err, is_nomem(lack.library) ? BM_ERR_NOMEM : BM_ERR_IO,
                   "cannot open a library: %s", lack.library);
}
