/* bench_limit.c -- the limits of devices. See bench_limit.h.
 *
 * Tests: tests/unit/bench/test_bench_limit.c */
#include "bench/bench_limit.h"

#include <string.h>
#include <strings.h>

#include "cpu/sign_loops.h"
#include "base/cpu.h"
#include "base/error.h"
#include "sketch/scheme.h"

uint32_t bm_bench_limit_threads(const bm_device_info *info, uint32_t threads)
{
    if (info->kind == BM_DEVICE_NATIVE)
        return threads;
    return info->kind == BM_DEVICE_CL_CPU ? info->compute_units : 0;
}

bm_status bm_bench_limit_open(const bm_bench_options *options, const bm_device_info *info,
                              bm_bench_limit *limit, bm_error *err)
{
    bm_isa isa;
    const char *cpu = info->kind == BM_DEVICE_NATIVE ? options->device.cpu : NULL;
    BM_TRY(bm_isa_choose(cpu, &isa, err));
    limit->loops = bm_sign_loops_find(isa);
    if (limit->loops == NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "this build has no %s loops", bm_isa_name(isa));
    return bm_scheme_affine32.draw(&options->sketch, &limit->params, err);
}

/* Is the word in the platform's or the device's name? Names of devices need not name the vendor. */
static bool names(const bm_device_info *info, const char *word)
{
    const size_t len = strlen(word);
    const char *const texts[] = {info->platform, info->name};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = texts[i]; *at != '\0'; at++)
            if (strncasecmp(at, word, len) == 0)
                return true;
    return false;
}

double bm_bench_limit_computed(const bm_device_info *info, uint32_t perms)
{
    static const struct {
        const char *word;
        unsigned multiply_adds; /* of 32 bits, in a clock of a compute unit */
    } vendors[] = {{"NVIDIA", 64}, {"AMD", 16}, {"Advanced Micro Devices", 16}};
    if (info->kind != BM_DEVICE_CL_GPU || perms == 0)
        return 0;
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (names(info, vendors[i].word))
            return (double)info->compute_units * info->clock_mhz * vendors[i].multiply_adds / perms;
    return 0;
}
