/* SPDX-License-Identifier: Apache-2.0 */
/* job_steps.h -- runs the common steps of jobs, in one order:
 *
 *     settings      checked options (settings.h)
 *     open          threads, meter
 *     inputs        files and their formats; no output may be one of them
 *     directory     the work directory of the output, with what an interrupted job left there
 *     devices       the devices that sign
 *     ...           the work of the particular job
 *     finish        digests of the outputs, the report, a callback of the caller, the renames
 *     close */
#pragma once

#include "output/out_file.h"
#include "job/checkpoint.h"
#include "job/job_context.h"
#include "match/edges.h"

typedef struct bm_job {
    bm_job_context context;
    bm_out_group files;              /* output files besides, or instead of, a directory */
    bm_out_existing existing_report; /* what the copy of the report may replace */
    bm_checkpoint checkpoint;        /* {0}: there is no directory, or the job opens it itself */
    /* Set by bm_job_finish, or, if an earlier run has done the job, by bm_job_begin. */
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
/* Run the steps (bm_job_step bits) in their order. If job->summary is set afterwards, an earlier
 * run has done the job: a missing copy of the report was written, and only closing may follow. */
bm_status bm_job_begin(bm_job *job, unsigned steps, bm_error *err);

/* How a job ends. */
typedef struct bm_job_ending {
    bm_out_dir *dir;         /* the output directory; NULL: the job has none */
    const char *report_name; /* name of the report in the directory; NULL: no report */
    const bm_grouping *grouping;
    bool commit_checkpoint; /* `dir` belongs to the checkpoint; both are committed together */
} bm_job_ending;

/* Sync and digest the outputs, make the report, and call bm_output_options.ready, which may refuse.
 * Then rename the files and the directory into place. On failure none of them is renamed, unless
 * only a sync after the last rename failed. */
bm_status bm_job_finish(bm_job *job, const bm_job_ending *ending, bm_error *err);
/* Close the job, and return `status`, which is how the job ended. If it is BM_OK, *out receives the
 * summary. Call this after bm_checkpoint_close, which may still save work. */
bm_status bm_job_close(bm_job *job, bm_status status, bm_summary **out);
