/* SPDX-License-Identifier: Apache-2.0 */
/* report_file.h -- manifest.json and report.json: the request, the work and the results of a job;
 * and the summary for the caller.
 *
 * Everything outside "run" is independent of device, threads, batch size and memory. */
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

/* report_counts -- the member "counts" of a report, written and read back. */

/* Read the counts that the report has; others stay unchanged. BM_ERR_FORMAT. */
bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err);

/* report_groups -- groups and pairs in a report: group sizes, the largest groups, the chained
 * share, similarities. */

#define BM_LARGEST_GROUPS 10u

/* Is a group of this size dominant: more than 1 % of the documents and more than 1,000? Such a
 * group is more likely made by a template or a chain of links than by real similarity. */
bool bm_group_is_dominant(uint64_t size, uint64_t n_docs);

/* report_ingest -- the time spent in the parts of the ingest, a member of a report's "run". */

/* Log the bytes of temporary files, if there were any. */
void bm_log_spill(bm_job_context *job);

#define BM_REPORT_SCHEMA 1u

/* Make the report of a job that is about to end. `dir`: the finished outputs, for their digests;
 * NULL: no outputs. grouping NULL: the job made no groups. The caller frees *out
 * (bm_summary_free). */
bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err);
/* Write provenance, parameters and plan as members of the open object. */
void bm_report_settings(bm_json *json, const bm_job_context *job);
/* Begin the report's object and write its first members: the kind of job, the program, and the
 * settings that decide results. */
void bm_report_begin(bm_json *json, const bm_job_context *job);
/* Write the value of a setting. */
void bm_report_setting_value(bm_json *json, const bm_setting *setting);
/* Write the summary's JSON to `name` in the directory. */
bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err);
/* If a second copy was requested, write it as a file of the group. */
bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err);

/* report_read -- reads the report of an earlier job, to check whether the present job is already
 * done. */

/* Set *same: did a job with the same program, settings and outputs write the report? The inputs are
 * not compared. BM_ERR_NOMEM. */
bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err);
/* Set *out to the summary of the job that wrote the report; the caller frees it. BM_ERR_FORMAT,
 * BM_ERR_NOMEM. */
bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err);
