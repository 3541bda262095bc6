/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h -- reports progress to the caller of a job through bm_callbacks, and checks whether to
 * stop.
 *
 * Progress is passed on at most ten times a second. Any thread may call these functions. A mutex
 * ensures that there is one callback at a time, as bm_callbacks promises. A callback that is NULL
 * is not called. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* forecast -- estimates which share of a job is done, and how long the rest will take.
 *
 * A job lists its steps beforehand. Each step has a guessed weight, which is its share of the whole
 * time in any common unit. The time of finished steps shows how long one unit of weight takes here,
 * which gives a guess for the running step. While the step runs, its own pace gradually replaces
 * this guess, in proportion to the share of the step that is done. So the estimate does not jump
 * when a step ends. The share of the job that is done never decreases: if the job takes longer than
 * expected, the share stays constant for a while.
 *
 * The caller passes the time. Threads: one at a time. */

enum { BM_FORECAST_STEPS = 8 };

typedef struct bm_forecast_step {
    const char *stage; /* borrowed, and never freed */
    double weight;
    const char *within; /* the stage that reports the step's progress; NULL: `stage` */
} bm_forecast_step;

typedef struct bm_forecast {
    bm_forecast_step steps[BM_FORECAST_STEPS];
    /* n: number of steps; at: number of the running step, from 1 (0: no step has begun) */
    uint32_t n, at;
    bool counts; /* the running stage reports the progress of the running step */
    /* `reported_s`: when the running step could first report its progress */
    double began_s, step_began_s, reported_s;
    double share;               /* share of the running step that is done; less than 0: unknown */
    double past_s, past_weight; /* time and weight of the steps that have ended, together */
    double shown;               /* the largest share of the job that was reported */
} bm_forecast;

typedef struct bm_forecast_view {
    uint32_t number, n; /* number: the running step, from 1 (0: unknown); n: number of steps */
    double done;        /* share of the job that is done, 0 … 1 */
    double elapsed_s;   /* since the plan was made */
    double left_s;      /* less than 0: unknown */
} bm_forecast_view;

typedef struct bm_meter {
    bm_callbacks callbacks;
    pthread_mutex_t lock;
    const char *stage, *unit;
    double stage_begin;        /* in seconds of bm_clock_seconds, like next_call */
    bm_forecast forecast;      /* forecast of the whole job, if it has a plan */
    _Atomic(double) next_call; /* progress calls before this time are dropped */
    atomic_bool stopped;       /* `cancelled` returned true once */
} bm_meter;

/* `callbacks` are copied; NULL: none. */
void bm_meter_init(bm_meter *meter, const bm_callbacks *callbacks);
void bm_meter_reset(bm_meter *meter);
/* Set the steps of the job. From now on progress calls also report the progress of the whole job,
 * and the beginning of each stage is reported. */
void bm_meter_plan(bm_meter *meter, const bm_forecast_step *steps, uint32_t n);
/* Begin a stage ("read", counted in "bytes") and start its clock. Both texts are borrowed and must
 * never be freed. */
void bm_meter_stage(bm_meter *meter, const char *stage, const char *unit);
/* Report that the stage does something else for a while: `what`. `n_docs` documents are done. */
void bm_meter_detour(bm_meter *meter, const char *what, uint64_t n_docs);
/* Report that `done` of `total` units of the stage are done (total 0: unknown), and `n_docs`
 * documents. */
void bm_meter_progress(bm_meter *meter, uint64_t done, uint64_t total, uint64_t n_docs);
void bm_meter_log(bm_meter *meter, bm_log_level level, const char *format, ...) BM_PRINTF(3, 4);
/* Call the callback `cancelled`. Returns BM_ERR_CANCELLED if it has ever returned true, or if
 * bm_meter_stop was called; else BM_OK. */
bm_status bm_meter_check(bm_meter *meter, bm_error *err);
/* From now on bm_meter_check returns BM_ERR_CANCELLED without calling `cancelled`. */
void bm_meter_stop(bm_meter *meter);
/* Callbacks that call this meter, to be passed to functions that take bm_callbacks. */
bm_callbacks bm_meter_callbacks(bm_meter *meter);
