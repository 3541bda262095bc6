/* meter.c -- progress is throttled by the clock: a call that comes too early costs a look at the
 * clock and one atomic load. */
#include "base/meter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

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

/* Call back, with the lock held. The rest of the job is looked at with what is known of the stage:
 * `done` of `total`. */
static void tell(bm_meter *meter, bm_progress *progress, double now)
{
    const double share =
        progress->total > 0 ? (double)progress->done / (double)progress->total : -1;
    const bm_forecast_view view = bm_forecast_look(&meter->forecast, share, now);
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
    bm_forecast_plan(&meter->forecast, steps, n, bm_clock_seconds());
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
    bm_forecast_stage(&meter->forecast, stage, now);
    if (meter->forecast.n > 0 && meter->callbacks.progress != NULL)
        tell(meter, &(bm_progress){.stage = stage, .unit = unit}, now);
    pthread_mutex_unlock(&meter->lock);
}

void bm_meter_aside(bm_meter *meter, const char *what, uint64_t n_docs)
{
    if (meter->callbacks.progress == NULL)
        return;
    pthread_mutex_lock(&meter->lock);
    tell(meter, &(bm_progress){.stage = what, .unit = "", .n_docs = n_docs}, bm_clock_seconds());
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
        tell(meter,
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
