/* bench.h -- how fast each device is on this machine, against the machine's own limit.
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
    const char *device; /* --device; NULL: "all" */
    const char *cpu;
    const char *cache_dir;
    bm_sketch_options sketch;
    bm_text_options text;     /* of the text rows; its shingles are not used: they are those
                               of the row */
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
    char what[48]; /* "arithmetic limit", "resident hashes", "upload", "read-back", "text word:5" …
                    */
    char unit[16]; /* "Mshingles/s", "MB/s" */
    double median, min, max;
    double ratio; /* to the row named in `ratio_to`; 0: none */
    char ratio_to[48];
} bm_bench_row;

BM_API void bm_bench_options_init(bm_bench_options *options);
/* *rows is an array of *n, *json the same with machine, driver, compiler and version; freed with
 * bm_bench_free and bm_string_free. Either may be NULL. */
BM_API bm_status bm_bench_run(const bm_bench_options *options, bm_bench_row **rows, size_t *n,
                              char **json, bm_error *err);
BM_API void bm_bench_free(bm_bench_row *rows);
/* Search for better parameters of the kernels on each OpenCL device of options->device (NULL: all
 * usable). Every row that is tried is built in a process of its own where a probe is set (see
 * docs/opencl.md), and must sign made documents like the native CPU before it is timed. *csv: the
 * rows found, as a file that $BANDMILL_TUNING may name; *json: all that was measured; both are
 * freed with bm_string_free, either may be NULL. paths, text and threads are not used.
 * BM_ERR_DEVICE: no such device, or one that fails with the row that it has now. */
BM_API bm_status bm_bench_tune(const bm_bench_options *options, char **csv, char **json,
                               bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
