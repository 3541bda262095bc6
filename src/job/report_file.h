/* SPDX-License-Identifier: Apache-2.0 */
/* report_file.h -- writes manifest.json and report.json, which describe what a job was asked to do,
 * how it ran, and its results. Also makes the summary for the caller.
 *
 * All members except "run" are independent of devices, threads, batch size and memory. */
#pragma once

#include <bandmill/job.h>

#include "devices/text_offload.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "json/json_write.h"
#include "match/edges.h"
#include "model/counts.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "output/out_dir.h"
#include "output/out_file.h"
#include "sign/ingest.h"

/* report_counts -- writes the member "counts" of a report, and reads it back. */

/* Read the counts of a report into *out. Some counts may be missing:
 *
 *     a count that reports omit if it is 0, or that earlier versions did not write, becomes 0
 *     a count of losses becomes BM_COUNT_UNKNOWN
 *     a count that every report must have: the call fails with BM_ERR_FORMAT
 *     any other count: reading ends with BM_OK, and the rest of *out is unchanged
 *
 * Counts of an index are not read. */
bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err);

/* report_groups -- groups and pairs in a report: group sizes, the largest groups, the share of
 * chained documents, similarities. */

#define BM_LARGEST_GROUPS 10u /* most groups that a report lists */

/* Warn if the largest group is dominant: if it has more than 1,000 documents, and more than 1 % of
 * all documents. A template or a chain of links is a more likely cause of such a group than real
 * similarity. */
void bm_report_warn_dominant(bm_job_context *job);

/* report_ingest -- the times of the parts of the ingest, and the bytes of temporary files. */

/* Log the bytes of temporary files, if there were any. */
void bm_log_spill(bm_job_context *job);

#define BM_REPORT_SCHEMA 1u

/* Make the report of a job that is about to end, and set *out to the summary, which contains the
 * report. The caller frees the summary with bm_summary_free. `dir`: the directory of the finished
 * outputs; the report lists their digests. NULL: there is no directory. grouping NULL: the job made
 * no groups. */
bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err);
/* Write provenance, parameters and plan as members of the open JSON object. */
void bm_report_settings(bm_json *json, const bm_job_context *job);
/* Begin the JSON object of a report, and write its first members: the kind of job, the program, and
 * the settings that decide results. */
void bm_report_begin(bm_json *json, const bm_job_context *job);
/* Write the value of a setting. */
void bm_report_setting_value(bm_json *json, const bm_setting *setting);
/* Write the report of the summary to file `name` in the directory. */
bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err);
/* If the caller requested a copy of the report (bm_output_options.report), write the copy, and add
 * its file to the group. `existing`: may the copy replace an existing file? */
bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err);

/* report_read -- reads the report of an earlier job, to check whether the present job is already
 * done. */

/* Set *same to true if the report was written by this version of the program, and has the settings
 * and the requested outputs of `job`. The inputs are not compared. BM_ERR_NOMEM. */
bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err);
/* Set *out to a summary, which the caller frees. Counts and text come from the report, device and
 * time from `job`. BM_ERR_FORMAT, BM_ERR_NOMEM. */
bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err);
