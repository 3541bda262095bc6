/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.h -- runs the common steps of jobs, in one order:
 *
 *     settings      check the options (settings.h)
 *     open          start threads and the meter
 *     inputs        open the input files, and find their formats; no output may be an input
 *     directory     open the work directory of the output, and saved work of an interrupted job
 *     devices       open the devices that sign
 *     ...           do the work of the particular job
 *     finish        digest the outputs, write the report, call the caller's `ready`, rename
 *     close */
#pragma once

#include "output/out_file.h"
#include "job/checkpoint.h"
#include "job/job_context.h"
#include "match/edges.h"

typedef struct bm_job {
    bm_job_context context;
    bm_out_group files;              /* output files that are not in the output directory */
    bm_out_existing existing_report; /* may the copy of the report replace an existing file? */
    bm_checkpoint checkpoint;        /* {0}: there is no directory, or the job opens it itself */
    /* Set by bm_job_finish. If an earlier run has completed the job, set by bm_job_begin. */
    bm_summary *summary;
} bm_job;

/* The steps that bm_job_begin runs. */
typedef enum bm_job_step {
    BM_STEP_INPUTS = 1u << 0,
    BM_STEP_DIRECTORY = 1u << 1,
    BM_STEP_CHECKPOINTS = 1u << 2, /* the job can be saved and resumed */
    BM_STEP_DEVICES = 1u << 3,
    BM_STEP_KEYS = 1u << 4 /* the devices make band keys */
} bm_job_step;

/* Open the context. `settings` is borrowed until close. On failure nothing needs to be closed. */
bm_status bm_job_open(const bm_settings *settings, bm_job *out, bm_error *err);
/* Run the steps (bits of bm_job_step) in their order. If this sets job->summary, an earlier run has
 * completed the job. Then the copy of the report was written if it was missing, and the caller must
 * only close the job. */
bm_status bm_job_begin(bm_job *job, unsigned steps, bm_error *err);

/* How a job ends. */
typedef struct bm_job_ending {
    bm_out_dir *dir;         /* the output directory; NULL: the job has none */
    const char *report_name; /* name of the report in the directory; NULL: no report */
    const bm_grouping *grouping;
    bool commit_checkpoint; /* `dir` belongs to job->checkpoint, and is committed with it */
} bm_job_ending;

/* Sync and digest the outputs, make the report, and call bm_output_options.ready, which may refuse
 * the outputs. Then rename the files and the directory into place. On failure nothing is renamed,
 * except if only a sync after the last rename fails. */
bm_status bm_job_finish(bm_job *job, const bm_job_ending *ending, bm_error *err);
/* Close a job that ended with `status`, and return `status`. If it is BM_OK, *out receives the
 * summary. Call this after bm_checkpoint_close, which may still save work. */
bm_status bm_job_close(bm_job *job, bm_status status, bm_summary **out);
