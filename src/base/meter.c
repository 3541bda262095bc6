/* SPDX-License-Identifier: Apache-2.0 */
/* meter.c -- throttles progress by the clock. A call that comes too early only reads the clock and
 * one atomic variable.
 *
 * Tests: tests/unit/base/test_forecast.c, tests/unit/base/test_meter.c */
#include "base/meter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

/* === forecast ===
 *
 * Computes the time that is left; see meter.h.
 *
 * In the finished steps, a unit of weight took u seconds. The running step has the weight w. It
 * reported no progress in its first s seconds, and reported the share f in the next e seconds. Then
 *
 *     left = (1 - f) * ((1 - f) * (u * w - s) + e)
 *
 * At first this is the guess u * w - s. For f near 1 it is close to e / f * (1 - f), which follows
 * the pace of the step itself. While no step has finished, this pace alone is used. */

/* Set the steps of a forecast. At most BM_FORECAST_STEPS steps are used; more are ignored. {0} is a
 * forecast without steps. */
static void forecast_plan(bm_forecast *f, const bm_forecast_step *steps, uint32_t n, double now_s)
{
    memset(f, 0, sizeof *f);
    f->n = n < BM_FORECAST_STEPS ? n : BM_FORECAST_STEPS;
    for (uint32_t i = 0; i < f->n; i++)
        f->steps[i] = steps[i];
    f->began_s = f->step_began_s = now_s;
    f->share = -1;
}

/* Begin a stage: the forecast advances to the step of that name. If no later step has that name,
 * the stage counts as a part of the current step. */
static void forecast_stage(bm_forecast *f, const char *stage, double now_s)
{
    uint32_t next = f->at;
    while (next < f->n && strcmp(f->steps[next].stage, stage) != 0)
        next++;
    if (next == f->n) { /* the stage is part of the running step */
        const char *within = f->at > 0 ? f->steps[f->at - 1].within : NULL;
        f->counts = within != NULL && strcmp(within, stage) == 0;
        f->reported_s = f->counts && f->share < 0 ? now_s : f->reported_s;
        return;
    }
    if (f->at > 0) { /* skipped steps took no time and do not count for the pace */
        f->past_s += now_s - f->step_began_s;
        f->past_weight += f->steps[f->at - 1].weight;
    }
    f->at = next + 1;
    f->step_began_s = f->reported_s = now_s;
    f->share = -1;
    f->counts = f->steps[next].within == NULL;
}

/* The seconds that the running step will still take; less than 0: unknown. */
static double step_left(const bm_forecast *f, double now_s)
{
    const double elapsed = now_s - f->step_began_s, share = f->share;
    if (!(f->past_weight > 0 && f->past_s > 0))
        return share > 0 ? (1 - share) * elapsed / share : -1;
    const double guess = f->steps[f->at - 1].weight * f->past_s / f->past_weight;
    const double silent = share < 0 ? elapsed : f->reported_s - f->step_began_s;
    const double left = guess > silent ? guess - silent : 0;
    return share < 0 ? left : (1 - share) * ((1 - share) * left + now_s - f->reported_s);
}

/* The seconds that the job will still take; less than 0: unknown. */
static double seconds_left(const bm_forecast *f, double now_s)
{
    const double left = step_left(f, now_s);
    const double known = f->past_weight + f->steps[f->at - 1].weight;
    double later = 0;
    for (uint32_t i = f->at; i < f->n; i++)
        later += f->steps[i].weight;
    if (left < 0 || !(known > 0))
        return left;
    return left + later * (f->past_s + now_s - f->step_began_s + left) / known;
}

/* Update the forecast. `share` is the share of the stage that is done; less than 0: unknown. */
static bm_forecast_view forecast_update(bm_forecast *f, double share, double now_s)
{
    bm_forecast_view view = {.left_s = -1};
    if (f->n == 0)
        return view;
    view.n = f->n;
    view.number = f->at;
    view.elapsed_s = now_s - f->began_s;
    if (f->at > 0) {
        if (f->counts && share > f->share)
            f->share = share < 1 ? share : 1;
        view.left_s = seconds_left(f, now_s);
    }
    if (view.left_s >= 0 && view.elapsed_s > 0) {
        const double done = view.elapsed_s / (view.elapsed_s + view.left_s);
        f->shown = done > f->shown ? done : f->shown;
    }
    view.done = f->shown;
    return view;
}

#define SECONDS_BETWEEN_CALLS 0.1

void bm_meter_init(bm_meter *meter, const bm_callbacks *callbacks)
{
    memset(meter, 0, sizeof *meter);
    if (callbacks != NULL)
        meter->callbacks = *callbacks;
    pthread_mutex_init(&meter->lock, NULL);
    meter->stage = "start";
    meter->unit = "";
    meter->stage_begin = bm_clock_seconds();
}

void bm_meter_reset(bm_meter *meter)
{
    pthread_mutex_destroy(&meter->lock);
}

/* Call back, with the lock held. The forecast is updated first: `done` of `total` units of the
 * stage are done. */
static void report(bm_meter *meter, bm_progress *progress, double now)
{
    const double share =
        progress->total > 0 ? (double)progress->done / (double)progress->total : -1;
    const bm_forecast_view view = forecast_update(&meter->forecast, share, now);
    progress->elapsed_s = now - meter->stage_begin;
    progress->stage_number = view.number;
    progress->n_stages = view.n;
    progress->job_done = view.done;
    progress->job_elapsed_s = view.elapsed_s;
    progress->job_left_s = view.left_s;
    meter->callbacks.progress(meter->callbacks.ctx, progress);
}

void bm_meter_plan(bm_meter *meter, const bm_forecast_step *steps, uint32_t n)
{
    pthread_mutex_lock(&meter->lock);
    forecast_plan(&meter->forecast, steps, n, bm_clock_seconds());
    pthread_mutex_unlock(&meter->lock);
}

void bm_meter_stage(bm_meter *meter, const char *stage, const char *unit)
{
    pthread_mutex_lock(&meter->lock);
    const double now = bm_clock_seconds();
    meter->stage = stage;
    meter->unit = unit;
    meter->stage_begin = now;
    atomic_store(&meter->next_call, 0.0);
    forecast_stage(&meter->forecast, stage, now);
    if (meter->forecast.n > 0 && meter->callbacks.progress != NULL)
        report(meter, &(bm_progress){.stage = stage, .unit = unit}, now);
    pthread_mutex_unlock(&meter->lock);
}

void bm_meter_detour(bm_meter *meter, const char *what, uint64_t n_docs)
{
    if (meter->callbacks.progress == NULL)
        return;
    pthread_mutex_lock(&meter->lock);
    report(meter, &(bm_progress){.stage = what, .unit = "", .n_docs = n_docs}, bm_clock_seconds());
    atomic_store(&meter->next_call, 0.0);
    pthread_mutex_unlock(&meter->lock);
}

void bm_meter_progress(bm_meter *meter, uint64_t done, uint64_t total, uint64_t n_docs)
{
    if (meter->callbacks.progress == NULL)
        return;
    double now = bm_clock_seconds();
    if (now < atomic_load(&meter->next_call))
        return;
    pthread_mutex_lock(&meter->lock);
    if (now >= atomic_load(&meter->next_call)) {
        atomic_store(&meter->next_call, now + SECONDS_BETWEEN_CALLS);
        report(meter,
               &(bm_progress){.stage = meter->stage,
                              .done = done,
                              .total = total,
                              .unit = meter->unit,
                              .n_docs = n_docs},
               now);
    }
    pthread_mutex_unlock(&meter->lock);
}

void bm_meter_log(bm_meter *meter, bm_log_level level, const char *format, ...)
{
    if (meter->callbacks.log == NULL)
        return;
    char line[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    bm_text_hide(line);
    pthread_mutex_lock(&meter->lock);
    meter->callbacks.log(meter->callbacks.ctx, level, line);
    pthread_mutex_unlock(&meter->lock);
}

bm_status bm_meter_check(bm_meter *meter, bm_error *err)
{
    if (meter->callbacks.cancelled != NULL) {
        pthread_mutex_lock(&meter->lock);
        if (!atomic_load(&meter->stopped) && meter->callbacks.cancelled(meter->callbacks.ctx))
            atomic_store(&meter->stopped, true);
        pthread_mutex_unlock(&meter->lock);
    }
    if (!atomic_load(&meter->stopped))
        return BM_OK;
    return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
}

void bm_meter_stop(bm_meter *meter)
{
    atomic_store(&meter->stopped, true);
}

static void forward_progress(void *ctx, const bm_progress *progress)
{
    bm_meter_progress(ctx, progress->done, progress->total, progress->n_docs);
}

static void forward_log(void *ctx, bm_log_level level, const char *message)
{
    bm_meter_log(ctx, level, "%s", message);
}

static bool forward_cancelled(void *ctx)
{
    return bm_meter_check(ctx, NULL) != BM_OK;
}

bm_callbacks bm_meter_callbacks(bm_meter *meter)
{
    return (bm_callbacks){.ctx = meter,
                          .progress = forward_progress,
                          .log = forward_log,
                          .cancelled = forward_cancelled};
}
