/* report_read.h -- a report that a job wrote, read back by a job that asks whether it has been done
 * already. */
#ifndef BM_OUTPUT_REPORT_READ_H
#define BM_OUTPUT_REPORT_READ_H

#include "output/manifest.h"
#include "job/report_file.h"

/* Is it the report of such a job: the same program, the same settings, what is written included?
 * The inputs are not compared. BM_ERR_NOMEM. */
bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err);
/* The summary that the job had which wrote it; *out is the caller's. BM_ERR_FORMAT, BM_ERR_NOMEM.
 */
bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err);

#endif
