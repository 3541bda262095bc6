/* report_inputs.h -- the inputs in a report: names, bytes, digests; and where they are. */
#ifndef BM_OUTPUT_REPORT_INPUTS_H
#define BM_OUTPUT_REPORT_INPUTS_H

#include "json/json_write.h"
#include "output/out_dir.h"
#include "job/job_context.h"

/* A name, or an argument, whose bytes may be any: escaped as in TSV. */
void bm_report_text(bm_json *json, const char *text);
/* The member "inputs". `removed_bytes`: of the text of removed documents, of each input; NULL: not known. */
void bm_report_inputs(bm_json *json, const bm_job_context *job, const uint64_t *removed_bytes);
/* Of "run": where the inputs were found, if that was not where their names say; and the paths to them from
 * the directory of outputs, where there is one (NULL: none). */
void bm_report_inputs_found(bm_json *json, const bm_job_context *job, const bm_out_dir *dir);

#endif
