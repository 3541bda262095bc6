/* job_row.c -- the rows.
 *
 * Tests: tests/unit/job/test_settings.c, tests/cli/cases/progress.sh */
#include "job/job_row.h"

#include "model/field_rows.h"

#define WEIGHS (BM_JOB_TAKES_WEIGHTS | BM_JOB_WEIGHS)

const bm_job_row bm_job_rows[BM_N_JOBS] = {
    [BM_JOB_SIGN] = {"signatures", BM_JOB_SIGNS | BM_JOB_WRITES_DIR | WEIGHS, 0, BM_COUNTS_OF_ALL,
                     .03, .2},
    [BM_JOB_DEDUP] = {"dedup", BM_JOB_MATCHES | BM_JOB_GROUPS | BM_JOB_WRITES_DIR | WEIGHS,
                      BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .5, .05},
    [BM_JOB_PAIRS] = {"pairs", BM_JOB_MATCHES | BM_JOB_TAKES_KEYS | WEIGHS, BM_FIELD_OF_PAIRS,
                      BM_COUNTS_OF_GROUPS, .03, 0},
    [BM_JOB_FILTER] = {"filter", BM_JOB_COPIES | BM_JOB_WRITES_DIR | BM_JOB_TAKES_WEIGHTS,
                       BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, 0, .05},
    [BM_JOB_EXPLAIN] = {"explain", WEIGHS, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .03, .05},
    [BM_JOB_INDEX_BUILD] = {"index build", BM_JOB_FILLS_INDEX | BM_JOB_WRITES_DIR,
                            BM_FIELD_OF_INDEX, BM_COUNTS_OF_INDEX, .5, 0},
    [BM_JOB_INDEX_ADD] = {"index add", BM_JOB_FILLS_INDEX | BM_JOB_ADDS | BM_JOB_WRITES_DIR,
                          BM_FIELD_OF_INDEX | BM_FIELD_OF_ADDING, BM_COUNTS_OF_INDEX, .05, 0},
    [BM_JOB_INDEX_REMOVE] = {"index remove", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_INDEX, .03, .05},
    [BM_JOB_INDEX_COMPACT] = {"index compact", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_INDEX, .03, .05},
    [BM_JOB_TUNE] = {"tune", BM_JOB_COMPARES, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, 0, 0},
    [BM_JOB_QUERY] = {"query", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .03, .05},
    [BM_JOB_EXPORT] = {"export", BM_JOB_WRITES_DIR | BM_JOB_TAKES_WEIGHTS, BM_FIELD_OF_EXPORT,
                       BM_COUNTS_OF_ALL, .03, .05},
};
