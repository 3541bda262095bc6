/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h -- `bandmill bench`: how fast each device is on this machine, and how close to its own
 * limit.
 *
 * Part of the program and in no library, so it may use headers below the public ones. A row is the
 * median of `repeats` runs after one warm-up, with minimum and maximum (a link's rows have only a
 * median); ratios are taken within the same run. The caller has checked the ranges of the numbers;
 * bm_bench_run checks only the option structs, `repeats` and `min_seconds`. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_bench_options {
    bm_device_options device; /* `device` NULL: all usable ones */
    bm_sketch_options sketch; /* perms 0: the default */
    bm_text_options text;     /* for the text rows; each row sets its shingles */
    const char *const *paths; /* documents to take text from; no paths: generated text */
    size_t n_paths;
    uint32_t threads;    /* 0: one per processor */
    uint32_t repeats;    /* 0: 5 */
    uint32_t long_doc;   /* shingles in a long document; 0: 3000 */
    double min_seconds;  /* a run lasts at least this long, if `seconds` allows; 0: 0.2 */
    double seconds;      /* total time allowed; rows that do not fit are left out; 0: no limit */
    bool answer_only;    /* only the rows that the answer needs */
    double price, watts; /* of this machine: its price per hour, and its power; 0: unknown */
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
    double signed_shingles;               /* shingles, times the share of permutations used */
    double up_bytes, down_bytes;          /* the least that the link must carry */
    double written_bytes;                 /* bytes that the job writes */
    double seconds, cpu_seconds, opening; /* `opening`: of one document; already subtracted */
    double part[BM_BENCH_N_PARTS];        /* seconds */
    const char *binds;                    /* name of the longest part */
    double gb_s, documents_s;
    double replaces;         /* CPU cores; 0: the device is the CPU, or unknown */
    double hours, cost, kwh; /* for a billion documents */
} bm_bench_job;

typedef struct bm_bench_row {
    char device[32], device_name[128];
    char what[48]; /* "arithmetic limit", "resident hashes", "upload", "text word:5" … */
    char unit[16]; /* "Mshingles/s", "MB/s" */
    double median, min, max;
    double ratio; /* ratio to the row named in `ratio_to`, of the same device; 0: no ratio */
    char ratio_to[48];
    uint32_t threads;       /* host threads at work; 0: none */
    uint32_t compute_units; /* compute units at work, of an OpenCL device; 0: none */
} bm_bench_row;

typedef struct bm_bench_result {
    bm_bench_row *rows;
    size_t n;
    bm_bench_job *jobs; /* two for each device, unless time ran out */
    size_t n_jobs;
    char *answer;  /* the jobs in words: a paragraph and bars */
    char *json;    /* all of it, with machine and version: one JSON object and a newline */
} bm_bench_result; /* {0} is empty */

/* `out` is empty before, and filled on BM_OK; release it with bm_bench_result_reset. */
bm_status bm_bench_run(const bm_bench_options *options, bm_bench_result *out, bm_error *err);
void bm_bench_result_reset(bm_bench_result *result);
