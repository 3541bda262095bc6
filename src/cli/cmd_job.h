/* cmd_job.h -- what sign, dedup, pairs and filter share: the end of a job, and the report of it. */
#pragma once

#include "cli/command.h"

/* The output options of the job. Before the outputs get their names all of stdout is out: the rows,
 * or with --json the summary. */
bm_output_options cli_job_output(cli_context *context);
/* End the meter after a job. `status` is the job's; returns the command's. */
bm_status cli_end_job(cli_context *context, bm_status status, bm_error *err);
/* The same after a call that wrote rows to stdout, which is finished. */
bm_status cli_end_rows(cli_context *context, bm_status status, bm_error *err);
/* Notes on what it did, for people, a few lines each. */
void cli_report_documents(cli_context *context, const bm_summary *summary);
void cli_report_plan(cli_context *context, const bm_summary *summary);
void cli_report_pairs(cli_context *context, const bm_summary *summary);
/* The last note: `verb` is "signed", "done" … */
void cli_report_end(cli_context *context, const char *verb, const bm_summary *summary);
