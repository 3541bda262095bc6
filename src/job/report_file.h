/* report_file.h -- manifest.json and report.json: what was asked, what was done, what came out; and the
 * summary handed to the caller.
 *
 * Everything outside "run" is the same for any device, threads, batch size and memory. */
#ifndef BM_OUTPUT_REPORT_FILE_H
#define BM_OUTPUT_REPORT_FILE_H

#include "json/json_write.h"
#include "match/grouping.h"
#include "output/out_dir.h"
#include "output/out_group.h"
#include "job/job_context.h"
#include "job/settings_list.h"

#define BM_REPORT_SCHEMA 1u

/* The report of a job that is about to end. `dir`: finished, whose digests the report lists; NULL:
 * there are no outputs. grouping NULL: none. *out is the caller's (bm_summary_free). */
bm_status bm_report_make(bm_job_context *job, const bm_grouping *grouping, bm_out_dir *dir,
                         bm_summary **out, bm_error *err);
/* Provenance, parameters and plan, as members of the object that is open. */
void bm_report_settings(bm_json *json, const bm_job_context *job);
/* Its first members: the kind of job, the program, and the settings that decide results. */
void bm_report_begin(bm_json *json, const bm_job_context *job);
/* A summary of these counts; `json`, the whole report, is taken. BM_ERR_NOMEM. */
bm_status bm_report_summary(const bm_job_context *job, const bm_counts *counts, char *json,
                            bm_summary **out, bm_error *err);
/* Does the setting say what is written, and stand in "run"? The command is the report's kind. */
bool bm_report_asks(const bm_setting *setting);
/* The value of a setting. */
void bm_report_setting_value(bm_json *json, const bm_setting *setting);
/* Write the summary's JSON to `name` in the directory. */
bm_status bm_report_write(const bm_summary *summary, bm_out_dir *dir, const char *name,
                          bm_error *err);
/* And where a second copy was asked for, that, as a file of the group. */
bm_status bm_report_write_copy(const bm_job_context *job, const bm_summary *summary,
                               bm_out_existing existing, bm_out_group *group, bm_error *err);

#endif
