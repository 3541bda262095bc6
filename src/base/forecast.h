/* forecast.h -- how far a job is, and how long the rest will take.
 *
 * A job says its steps beforehand, with weights that it guesses from what it knows: shares of the
 * whole time, in any unit that all steps have in common. What has gone by since tells what one unit
 * of weight takes here. Within a step the guess gives way to what the step itself has shown, in
 * proportion to how much of it is done; so nothing jumps where one step ends and the next begins.
 * The share that is done never goes back: a job that turns out to be longer stands still for a
 * while.
 *
 * Times come from the caller. Threads: one at a time. */
#ifndef BM_BASE_FORECAST_H
#define BM_BASE_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

enum { BM_FORECAST_STEPS = 8 };

typedef struct bm_forecast_step {
    const char *stage; /* borrowed for good */
    double weight;
    const char *within; /* the stage that it ends with, whose progress counts; NULL: its own */
} bm_forecast_step;

typedef struct bm_forecast {
    bm_forecast_step steps[BM_FORECAST_STEPS];
    uint32_t n, at;                       /* `at`: the step that runs, from 1; 0: none yet */
    bool counts;                          /* progress that is told is that of the step */
    double began_s, step_began_s, told_s; /* `told_s`: since when its progress is told */
    double share;                         /* of the step that is done; less than 0: not known */
    double past_s, past_weight;           /* of the steps that have ended */
    double shown;                         /* the largest share of the job that was told */
} bm_forecast;

typedef struct bm_forecast_view {
    uint32_t number, n; /* "2 of 4"; 0: not known */
    double done;        /* share of the job, 0 … 1 */
    double elapsed_s;   /* since the plan was made */
    double left_s;      /* less than 0: not known */
} bm_forecast_view;

/* At most BM_FORECAST_STEPS; more are left out. {0} is a forecast without a plan. */
void bm_forecast_plan(bm_forecast *f, const bm_forecast_step *steps, uint32_t n, double now_s);
/* The stage begins. One that is not planned, or lies behind, is a part of the step that runs. */
void bm_forecast_stage(bm_forecast *f, const char *stage, double now_s);
/* So much of the stage is done; less than 0: not known. */
bm_forecast_view bm_forecast_look(bm_forecast *f, double share, double now_s);

#endif
