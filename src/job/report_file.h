/* SPDX-License-Identifier: Apache-2.0 */
/* report_file.h -- manifest.json and report.json: the request, the work and the results of a job;
 * and the summary for the caller.
 *
 * Everything outside "run" is the same for any device, threads, batch size and memory. */
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

/* Read the counts that are there; the others stay as they are. BM_ERR_FORMAT. */
bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err);

/* report_groups -- groups and pairs in a report: sizes, the largest, the chained, similarities. The
 * same for any device, threads, batch size and memory. */

#define BM_LARGEST_GROUPS 10u

/* Is a group of this size so large, more than 1 % of the documents and more than 1,000, that a
 * template or a chain of links has rather made it than likeness? */
bool bm_group_is_dominant(uint64_t size, uint64_t n_docs);

/* report_ingest -- where the time of the ingest went, as a member of a report's "run". */

/* Log the bytes of temporary files, where there were some. */
void bm_log_spill(bm_job_context *job);

#define BM_REPORT_SCHEMA 1u

/* The report of a job that is about to end. `dir`: the finished outputs, for their digests; NULL:
 * there are no outputs. grouping NULL: none. *out is the caller's (bm_summary_free). */
bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err);
/* Provenance, parameters and plan, as members of the object that is open. */
void bm_report_settings(bm_json *json, const bm_job_context *job);
/* Its first members: the kind of job, the program, and the settings that decide results. */
void bm_report_begin(bm_json *json, const bm_job_context *job);
/* The value of a setting. */
void bm_report_setting_value(bm_json *json, const bm_setting *setting);
/* Write the summary's JSON to `name` in the directory. */
bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err);
/* And where a second copy was asked for, that, as a file of the group. */
bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err);

/* report_read -- a report that a job wrote, read back by a job that asks whether it has been done
 * already. */

/* Is it the report of such a job, with the same program, settings and outputs? The inputs are not
 * compared. BM_ERR_NOMEM. */
bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err);
/* The summary that the job had which wrote it; *out is the caller's. BM_ERR_FORMAT, BM_ERR_NOMEM.
 */
bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err);
