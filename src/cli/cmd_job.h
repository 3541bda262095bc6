/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_job.h -- shared by the commands that run jobs: the end of a job, and its report. */
#pragma once

#include "cli/command.h"

/* The output options of a job. They make the job write everything that goes to stdout (rows or,
 * with --json, the summary) before it renames its outputs. */
bm_output_options cli_job_output(cli_context *context);
/* End the meter after a job. `status`: the status of the job. Returns the status of the command. */
bm_status cli_end_job(cli_context *context, bm_status status, bm_error *err);
/* Like cli_end_job, for a job that wrote rows to stdout. Flushes stdout too. */
bm_status cli_end_rows(cli_context *context, bm_status status, bm_error *err);
/* A line that is built from parts. An empty line is {0}. Text that does not fit is cut. */
typedef struct cli_sentence {
    char text[4096];
    unsigned n; /* number of parts */
} cli_sentence;
/* Append a part. `between` separates it from the part before it, if there is one. */
void cli_add_part(cli_sentence *sentence, const char *between, const char *format, ...)
    BM_PRINTF(3, 4);

/* Print details for people: shingles, plan and candidates. Nothing is printed without -v. */
void cli_report_details(cli_context *context, const bm_summary *summary);
void cli_report_candidates(cli_context *context, const bm_counts *counts);
/* Each of these functions reports one line of the summary. This one reports what was read, after a
 * line about directory entries that were left out. */
void cli_report_read(cli_context *context, const bm_counts *counts);
/* Report what was cut, and what remains. `cut` names what was cut. */
void cli_report_cuts(cli_context *context, const char *cut, const bm_counts *counts);
void cli_report_pairs(cli_context *context, const bm_counts *counts);
/* Report how many records, documents and pairs were not processed: "not VERB: ...". If there are
 * none, nothing is printed. */
void cli_report_not(cli_context *context, const char *verb, const bm_counts *counts);
/* Report the time, the device and the output. `verb` is "signed", "done" … */
void cli_report_end(cli_context *context, const char *verb, const bm_summary *summary);
