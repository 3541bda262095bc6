/* bench.h -- `bandmill bench`: how fast each device is on this machine, against its own limit, and the search for better
 * kernel parameters.
 *
 * A room of the program, in no library: it may see what lies below the calls of the library. All
 * figures are medians over `repeats` runs after one warm-up, with minimum and maximum; ratios are taken
 * in the same run. Whoever calls has checked the ranges of numbers. */
#ifndef BM_BENCH_BENCH_H
#define BM_BENCH_BENCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_bench_options {
    bm_device_options device; /* `device` NULL: "all" */
    bm_sketch_options sketch; /* perms 0: the default */
    bm_text_options text;     /* of the text rows; its shingles are those of the row */
    const char *const *paths; /* documents to take text from; none: a seeded generator */
    size_t n_paths;
    uint32_t threads;   /* 0: all */
    uint32_t repeats;   /* 0: 5 */
    uint32_t long_doc;  /* shingles of a long document; 0: 3000 */
    double min_seconds; /* a run lasts at least this long; 0: 0.2 */
    bm_callbacks callbacks;
} bm_bench_options;

typedef struct bm_bench_row {
    char device[32], device_name[128];
    char what[48]; /* "arithmetic limit", "resident hashes", "upload", "text word:5" … */
    char unit[16]; /* "Mshingles/s", "MB/s" */
    double median, min, max;
    double ratio; /* to the row named in `ratio_to`, of the same device; 0: none */
    char ratio_to[48];
    uint32_t threads;       /* of the host at work; 0: none */
    uint32_t compute_units; /* of an OpenCL device at work; 0: none */
} bm_bench_row;

typedef struct bm_bench_result {
    bm_bench_row *rows;
    size_t n;
    char *json; /* one object and a newline: the rows, with machine, driver, compiler and version */
} bm_bench_result; /* {0} is empty */

/* `out` is empty, and filled on BM_OK; reset it then. */
bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result *out, bm_error *err);
void bm_bench_result_reset(bm_bench_result *result);

typedef struct bm_kernel_tune_options {
    bm_device_options device; /* `device` NULL: all usable OpenCL devices */
    bm_sketch_options sketch; /* perms 0: the default */
    uint32_t repeats;         /* 0: 5 */
    double min_seconds;       /* a run lasts at least this long; 0: 0.2 */
    bm_callbacks callbacks;
} bm_kernel_tune_options;

/* Search for better parameters of the kernels on OpenCL devices. Each set that is tried is built in
 * a process of its own where a probe is set (docs/opencl.md), and must sign made documents like the
 * native CPU before it is timed. *csv: the sets found, as a file that bm_device_options.tuning_path
 * may name; *json: all that was measured; both are freed with bm_string_free, either may be NULL.
 * BM_ERR_DEVICE: no such device, or one that fails with the parameters that it has now. */
bm_status bm_kernel_tune(const bm_kernel_tune_options *options, char **csv, char **json,
                         bm_error *err);

#endif
