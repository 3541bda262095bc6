/* bench_seam.c -- holds the place of the bench job until it is there; the weak symbols give way to
 * it. */
#include <bandmill/bench.h>

#include <string.h>

#include "base/error.h"

__attribute__((weak)) void bm_bench_options_init(bm_bench_options *options)
{
    memset(options, 0, sizeof *options);
}

__attribute__((weak)) bm_status bm_bench_run(const bm_bench_options *options, bm_bench_row **rows,
                                             size_t *n, char **json, bm_error *err)
{
    (void)options;
    (void)rows;
    (void)n;
    (void)json;
    return bm_fail(err, BM_ERR_UNSUPPORTED, "bench is not in this version yet");
}

__attribute__((weak)) void bm_bench_free(bm_bench_row *rows)
{
    (void)rows;
}
