/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.h -- the common steps of jobs, in one order:
 *
 *     settings      checked options (settings.h)
 *     open          threads, meter
 *     inputs        files and their formats; no output may be one of them
 *     directory     the output's work directory, with what an interrupted job left there
 *     devices       those that sign
 *     ...           what the job is for
 *     finish        digests of the outputs, the report, what the caller writes, the renames
 *     close */
#pragma once

#include "output/out_file.h"
#include "job/checkpoint.h"
#include "job/job_context.h"
#include "match/edges.h"

typedef struct bm_job {
    bm_job_context context;
    bm_out_group files; /* output files besides, or instead of, a directory */
    bm_out_existing existing_report;
    bm_checkpoint checkpoint; /* {0}: no directory, or the job opens it itself */
    bm_summary *summary;      /* set by bm_job_finish, or by bm_job_begin if the job was done
                               * before */
} bm_job;

/* The steps that a job takes. */
typedef enum bm_job_step {
    BM_STEP_INPUTS = 1u << 0,
    BM_STEP_DIRECTORY = 1u << 1,
    BM_STEP_CHECKPOINTS = 1u << 2, /* the job can be saved and resumed */
    BM_STEP_DEVICES = 1u << 3,
    BM_STEP_KEYS = 1u << 4 /* the devices make band keys */
} bm_job_step;

/* `settings` is borrowed until close. On failure nothing needs to be closed. */
bm_status bm_job_open(const bm_settings *settings, bm_job *out, bm_error *err);
/* Run the steps (bm_job_step bits) in their order. If job->summary is set afterwards, the job was
 * done before: only finish and close may follow. */
bm_status bm_job_begin(bm_job *job, unsigned steps, bm_error *err);

/* How a job ends. */
typedef struct bm_job_ending {
    bm_out_dir *dir;         /* NULL: no directory */
    const char *report_name; /* name of the report in the directory; NULL: no report */
    const bm_grouping *grouping;
    bool commit_checkpoint; /* `dir` belongs to the checkpoint; both are committed together */
} bm_job_ending;

/* Sync and digest the outputs, make the report, and ask the caller (bm_output_options.ready). Then
 * rename the directory and the files into place; on failure, rename none of them. */
bm_status bm_job_finish(bm_job *job, const bm_job_ending *ending, bm_error *err);
/* Close the job. Call this after bm_checkpoint_close, which may still save work. `status`: how the
 * job ended; it is returned. If it is BM_OK, *out receives the summary. */
bm_status bm_job_close(bm_job *job, bm_status status, bm_summary **out);
