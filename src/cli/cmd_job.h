/* SPDX-License-Identifier: Apache-2.0 */
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
/* A line that is put together of parts; {0} is empty. What does not fit is cut. */
typedef struct cli_sentence {
    char text[4096];
    unsigned n; /* parts */
} cli_sentence;
/* `between` is before each part but the first. */
void cli_add_part(cli_sentence *sentence, const char *between, const char *format, ...)
    BM_PRINTF(3, 4);

/* Notes for people. Details appear under -v alone: shingles, the plan; and candidates. */
void cli_report_details(cli_context *context, const bm_summary *summary);
void cli_report_candidates(cli_context *context, const bm_counts *counts);
/* The lines of the summary, one each. The counts of the input; entries of directories that were
 * left out have a line before it. */
void cli_report_read(cli_context *context, const bm_counts *counts);
/* What was cut, in words, and what that has left. */
void cli_report_cuts(cli_context *context, const char *cut, const bm_counts *counts);
void cli_report_pairs(cli_context *context, const bm_counts *counts);
/* "not compared: ...", unless everything was. */
void cli_report_not(cli_context *context, const char *verb, const bm_counts *counts);
/* `verb` is "signed", "done" … */
void cli_report_end(cli_context *context, const char *verb, const bm_summary *summary);
