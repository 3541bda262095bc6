/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h -- `bandmill bench`: how fast each device is on this machine, against its own limit.
 *
 * A room of the program, in no library: it may see what lies below the calls of the library. All
 * figures are medians over `repeats` runs after one warm-up, with minimum and maximum; ratios are
 * taken in the same run. Whoever calls has checked the ranges of numbers. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_bench_options {
    bm_device_options device; /* `device` NULL: "all" */
    bm_sketch_options sketch; /* perms 0: the default */
    bm_text_options text;     /* of the text rows; the row gives the shingles */
    const char *const *paths; /* documents to take text from; none: a seeded generator */
    size_t n_paths;
    uint32_t threads;    /* 0: all */
    uint32_t repeats;    /* 0: 5 */
    uint32_t long_doc;   /* shingles of a long document; 0: 3000 */
    double min_seconds;  /* a run lasts at least this long; 0: 0.2 */
    double seconds;      /* that all may take; what does not fit is left out; 0: no limit */
    bool answer_only;    /* no rows but those that the answer needs */
    double price, watts; /* of this machine: its price for an hour, and its power; 0: not known */
    bm_callbacks callbacks;
} bm_bench_options;

typedef enum bm_bench_part {
    BM_BENCH_ARITHMETIC,
    BM_BENCH_LINK,
    BM_BENCH_HOST,
    BM_BENCH_DISK,
    BM_BENCH_N_PARTS
} bm_bench_part;

/* A whole job over the sample (bench_answer.h): the measurements, and the figures that follow. */
typedef struct bm_bench_job {
    char device[32], device_name[128];
    const char *job;             /* "sign" or "dedup" */
    double bytes, documents;     /* of the sample, as JSON Lines */
    double shingles;             /* of its documents */
    double signed_shingles;      /* as many with all permutations are as much arithmetic */
    double up_bytes, down_bytes; /* that the link must carry at least */
    double written_bytes;        /* by the job */
    double seconds, cpu_seconds,
        opening;                   /* `opening`: seconds of a job of one document, taken off */
    double part[BM_BENCH_N_PARTS]; /* seconds */
    const char *binds;             /* the longest part */
    double gb_s, documents_s;
    double replaces;         /* cores; 0: of the CPU, or not known */
    double hours, cost, kwh; /* of a billion documents */
} bm_bench_job;

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
    bm_bench_job *jobs; /* two a device, if there was time for them */
    size_t n_jobs;
    char *answer; /* the jobs, for people: a paragraph and bars */
    char
        *json; /* one object and a newline: all of it, with machine, driver, compiler and version */
} bm_bench_result; /* {0} is empty */

/* `out` is empty, and filled on BM_OK; reset it then. */
bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result *out, bm_error *err);
void bm_bench_result_reset(bm_bench_result *result);
