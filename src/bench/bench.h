/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h -- `bandmill bench`: measures how fast each device of this machine is, and how close it
 * comes to its own limit.
 *
 * It is part of the program and of no library, so it may use internal headers. A row is the median
 * of `repeats` runs after one warm-up, with minimum and maximum (rows of a link have only a
 * median). Ratios compare figures of the same measurement. The caller has checked the ranges of the
 * numbers. bm_bench_run checks only the option structs, `repeats` and `min_seconds`. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_bench_options {
    bm_device_options device; /* device.device NULL: all usable devices */
    bm_sketch_options sketch; /* perms 0: the default */
    bm_text_options text;     /* for the text rows; each row replaces the kind of shingles */
    const char *const *paths; /* documents from which the text is taken; no paths: text is
                                 generated */
    size_t n_paths;
    uint32_t threads;    /* 0: one per processor */
    uint32_t repeats;    /* 0: 5 */
    uint32_t long_doc;   /* shingles in a long document; 0: 3000 */
    double min_seconds;  /* least time of a run, if `seconds` allows; 0: 0.2 */
    double seconds;      /* total time allowed; if it is short, rows are left out. 0: no limit */
    bool answer_only;    /* measure only the rows that the answer needs */
    double price, watts; /* price per hour and power of this machine; 0: unknown */
    bm_callbacks callbacks;
} bm_bench_options;

typedef enum bm_bench_part {
    BM_BENCH_ARITHMETIC,
    BM_BENCH_LINK,
    BM_BENCH_HOST,
    BM_BENCH_DISK,
    BM_BENCH_N_PARTS
} bm_bench_part;

/* A whole job over the sample (bench_answer.h): measurements, and figures computed from them. */
typedef struct bm_bench_job {
    char device[32], device_name[128];
    const char *job;                      /* "sign" or "dedup" */
    double bytes, documents;              /* size of the sample, as JSON Lines */
    double shingles;                      /* shingles of the sample's documents */
    double signed_shingles;               /* shingles, times the share of the permutations that is
                                             used */
    double up_bytes, down_bytes;          /* least bytes that the link must carry */
    double written_bytes;                 /* bytes that the job writes */
    double seconds, cpu_seconds, opening; /* `opening`: time of the same job with one document,
                                             already subtracted from `seconds` */
    double part[BM_BENCH_N_PARTS];        /* seconds of each part */
    const char *binds;                    /* name of the longest part */
    double gb_s, documents_s;
    double replaces;         /* CPU cores that the device replaces; 0: the device is the CPU, or the
                                number is unknown */
    double hours, cost, kwh; /* for a billion documents */
} bm_bench_job;

typedef struct bm_bench_row {
    char device[32], device_name[128];
    char what[48]; /* "arithmetic limit", "resident hashes", "upload", "text word:5" … */
    char unit[16]; /* "Mshingles/s", "MB/s" */
    double median, min, max;
    double ratio; /* ratio to the row named in `ratio_to`, of the same device; 0: no ratio */
    char ratio_to[48];
    uint32_t threads;       /* busy host threads; 0: none */
    uint32_t compute_units; /* busy compute units of an OpenCL device; 0: none */
} bm_bench_row;

typedef struct bm_bench_result {
    bm_bench_row *rows;
    size_t n;
    bm_bench_job *jobs; /* two jobs for each device, unless time ran out */
    size_t n_jobs;
    char *answer;  /* the jobs in words: a paragraph and bars */
    char *json;    /* everything, with machine and version: one JSON object and a newline */
} bm_bench_result; /* {0} is empty */

/* `out` must be empty. If the result is BM_OK, it is filled. Release it with
 * bm_bench_result_reset. */
bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result *out, bm_error *err);
void bm_bench_result_reset(bm_bench_result *result);
