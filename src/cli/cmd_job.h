/* cmd_job.h -- what sign, dedup, pairs and filter share: the end of a job, and saying what it did.
 */
#ifndef BM_CLI_CMD_JOB_H
#define BM_CLI_CMD_JOB_H

#include "cli/command.h"

/* The output options of the job. Before the outputs get their names all of stdout is out: the rows,
 * or with --json the summary. */
bm_output_options cli_job_output(cli_context *context);
/* What a job is followed by: the meter goes. `status` is the job's; returns what the command shall
 * answer. */
bm_status cli_end_job(cli_context *context, bm_status status, bm_error *err);
/* Notes on what it did, for people, a few lines each. */
void cli_say_documents(cli_context *context, const bm_summary *summary);
void cli_say_plan(cli_context *context, const bm_summary *summary);
void cli_say_pairs(cli_context *context, const bm_summary *summary);
/* The last: `verb` is "signed", "done" … */
void cli_say_end(cli_context *context, const char *verb, const bm_summary *summary);

#endif
