/* job_row.h -- the kinds of jobs, a row each: what a job reads and writes, which stages it has, and what
 * its report tells. Code that jobs share asks the row and never which job it is, so a new job is a row
 * and what it does itself. */
#ifndef BM_CONTEXT_JOB_ROW_H
#define BM_CONTEXT_JOB_ROW_H

#include <stdint.h>

#include "model/counts.h"

typedef enum bm_job_kind {
    BM_JOB_SIGN,
    BM_JOB_DEDUP,
    BM_JOB_PAIRS,
    BM_JOB_FILTER,
    BM_JOB_EXPLAIN,
    BM_JOB_INDEX_BUILD,
    BM_JOB_INDEX_ADD,
    BM_JOB_INDEX_REMOVE,
    BM_JOB_INDEX_COMPACT,
    BM_JOB_TUNE,
    BM_JOB_QUERY,
    BM_JOB_EXPORT,
    BM_N_JOBS
} bm_job_kind;

enum {                           /* bits of bm_job_row.does */
       BM_JOB_SIGNS = 1u << 0,   /* it signs all documents, and nothing else */
       BM_JOB_MATCHES = 1u << 1, /* it finds pairs, of documents or of signatures */
       BM_JOB_GROUPS =
           1u << 2, /* and groups, which are kept and resumed; pairs are rows if wanted */
       BM_JOB_WRITES_DIR = 1u << 3, /* its output is a directory */
       BM_JOB_COPIES = 1u << 4,     /* it copies records that another job has chosen */
       BM_JOB_COMPARES = 1u << 5,   /* it compares a sample, and that is all */
       BM_JOB_FILLS_INDEX = 1u << 6,
       BM_JOB_ADDS = 1u << 7,       /* to an index that is there */
       BM_JOB_TAKES_KEYS = 1u << 8, /* band keys made elsewhere */
       BM_JOB_TAKES_WEIGHTS = 1u << 9,
       BM_JOB_WEIGHS = 1u << 10 /* it counts shingles and weighs documents itself */
};

typedef struct bm_job_row {
    const char *name; /* "signatures", "dedup", "index add" …: as reports have it */
    uint32_t does;    /* BM_JOB_* bits */
    uint32_t lists;   /* BM_FIELD_OF_* bits (model/field_rows.h): the parameters of its report */
    bm_report_counts_of counts;
    /* Shares of the time of signing (job_stages.c); 0: there is no such stage. */
    double write_weight, seal_weight;
} bm_job_row;

extern const bm_job_row bm_job_rows[BM_N_JOBS];

#endif
