/* bench.h -- how fast each device is on this machine, against its own limit.
 *
 * All figures are medians over `repeats` runs after one warm-up, with minimum and maximum; ratios
 * are taken in the same run. */
#ifndef BANDMILL_BENCH_H
#define BANDMILL_BENCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct bm_bench_options {
    size_t struct_size;
    bm_device_options device; /* `device` NULL: "all" */
    bm_sketch_options sketch;
    bm_text_options text;     /* of the text rows; its shingles are those of the row */
    const char *const *paths; /* documents to take text from; none: a seeded generator */
    size_t n_paths;
    uint32_t threads;   /* 0: all */
    uint32_t repeats;   /* 0: 5 */
    uint32_t long_doc;  /* shingles of a long document; 0: 3000 */
    double min_seconds; /* a run lasts at least this long; 0: 0.2 */
    bm_callbacks callbacks;
} bm_bench_options;

/* The library's own: read by pointer, later versions may add fields behind. */
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

typedef struct bm_bench_result bm_bench_result;

BM_API void bm_bench_options_init_sized(bm_bench_options *options, size_t struct_size);
static inline void bm_bench_options_init(bm_bench_options *options)
{
    bm_bench_options_init_sized(options, sizeof *options);
}

BM_API bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result **out,
                              bm_error *err);
BM_API size_t bm_bench_result_count(const bm_bench_result *result);
/* NULL: there are no more. Valid until free. */
BM_API const bm_bench_row *bm_bench_result_row(const bm_bench_result *result, size_t index);
/* One object and a newline: the rows, with machine, driver, compiler and version. */
BM_API const char *bm_bench_result_json(const bm_bench_result *result);
BM_API void bm_bench_result_free(bm_bench_result *result); /* NULL is fine */

typedef struct bm_kernel_tune_options {
    size_t struct_size;
    bm_device_options device; /* `device` NULL: all usable OpenCL devices */
    bm_sketch_options sketch;
    uint32_t repeats;   /* 0: 5 */
    double min_seconds; /* a run lasts at least this long; 0: 0.2 */
    bm_callbacks callbacks;
} bm_kernel_tune_options;

BM_API void bm_kernel_tune_options_init_sized(bm_kernel_tune_options *options, size_t struct_size);
static inline void bm_kernel_tune_options_init(bm_kernel_tune_options *options)
{
    bm_kernel_tune_options_init_sized(options, sizeof *options);
}

/* Search for better parameters of the kernels on OpenCL devices. Each set that is tried is built in
 * a process of its own where a probe is set (docs/opencl.md), and must sign made documents like the
 * native CPU before it is timed. *csv: the sets found, as a file that bm_device_options.tuning_path
 * may name; *json: all that was measured; both are freed with bm_string_free, either may be NULL.
 * BM_ERR_DEVICE: no such device, or one that fails with the parameters that it has now. */
BM_API bm_status bm_kernel_tune(const bm_kernel_tune_options *options, char **csv, char **json,
                                bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
