/* bench_limit.h -- what bounds a device: the arithmetic of its own processors, and of as many of them
 * as work.
 *
 *     native CPU           the signature loop without memory traffic, on the threads of the rows
 *     OpenCL, processors   the same loop on all processors that the device is made of
 *     OpenCL, GPU          computed: compute units * clock * 32-bit multiply-adds a clock / permutations
 *
 * A limit that is measured is measured in turns with the row that it is the limit of. */
#ifndef BM_BENCH_BENCH_LIMIT_H
#define BM_BENCH_BENCH_LIMIT_H

#include <bandmill/device.h>

#include "bench/bench.h"
#include "bench/bench_rate.h"
#include "bench/bench_work.h"

/* Of a native device, `threads` threads; of OpenCL's the processors that it is made of. 0: none is
 * measured. */
uint32_t bm_bench_limit_threads(const bm_device_info *info, uint32_t threads);

/* The loop of the instruction set in use on a native device, of the best one else. Close it with
 * bm_scheme_params_reset(&limit->params). */
bm_status bm_bench_limit_open(const bm_bench_options *options, const bm_device_info *info,
                              bm_bench_limit *limit, bm_error *err);

/* Millions of shingles a second by a GPU of NVIDIA (64 multiply-adds a clock of a compute unit) or AMD
 * (16); 0: not known. */
double bm_bench_limit_computed(const bm_device_info *info, uint32_t perms);

#endif
