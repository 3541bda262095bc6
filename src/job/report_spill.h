/* report_spill.h -- what of a job lay in temporary files, as a member of a report's "run". */
#ifndef BM_OUTPUT_REPORT_SPILL_H
#define BM_OUTPUT_REPORT_SPILL_H

#include "json/json_write.h"
#include "job/job_context.h"

/* "temporary_files": {…}; nothing where there was no pairing, and no input was copied. */
void bm_report_spill(bm_json *json, const bm_job_context *job);
/* The same in a line of the log, where there were files. */
void bm_say_spill(bm_job_context *job);

#endif
