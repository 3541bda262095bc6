/* meter.h -- what a job tells its caller through bm_callbacks, and the question whether to stop.
 *
 * Progress is passed on at most ten times a second. Any thread may call; a mutex makes the
 * callbacks come one at a time, as bm_callbacks promises. Callbacks that are NULL are not
 * called. */
#ifndef BM_BASE_METER_H
#define BM_BASE_METER_H

#include <pthread.h>
#include <stdatomic.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/forecast.h"

typedef struct bm_meter {
    bm_callbacks callbacks;
    pthread_mutex_t lock;
    const char *stage, *unit;
    double stage_begin;        /* seconds of bm_clock_seconds, as the next */
    bm_forecast forecast;      /* of the whole job, where it has a plan */
    _Atomic(double) next_call; /* of progress; earlier ones are dropped */
    atomic_bool stopped;       /* `cancelled` answered true once */
} bm_meter;

/* `callbacks` are copied; NULL: none. */
void bm_meter_init(bm_meter *meter, const bm_callbacks *callbacks);
void bm_meter_reset(bm_meter *meter);
/* What stages there will be (base/forecast.h): from here on progress says how far the whole job is,
 * and each stage says that it begins. */
void bm_meter_plan(bm_meter *meter, const bm_forecast_step *steps, uint32_t n);
/* A stage begins ("read", counted in "bytes"), and its clock. Both words are borrowed for good. */
void bm_meter_stage(bm_meter *meter, const char *stage, const char *unit);
/* Something else is done for a while within the stage, after `n_docs` documents. */
void bm_meter_aside(bm_meter *meter, const char *what, uint64_t n_docs);
/* So many of `total` units of the stage are done (total 0: nobody knows), after `n_docs`
 * documents. */
void bm_meter_progress(bm_meter *meter, uint64_t done, uint64_t total, uint64_t n_docs);
void bm_meter_log(bm_meter *meter, bm_log_level level, const char *format, ...) BM_PRINTF(3, 4);
/* BM_ERR_CANCELLED once the caller wants to stop, else BM_OK. */
bm_status bm_meter_check(bm_meter *meter, bm_error *err);
/* From here on it says that the caller wants to stop, whatever he says. */
void bm_meter_stop(bm_meter *meter);
/* Callbacks that lead to this meter, for functions that take bm_callbacks. */
bm_callbacks bm_meter_callbacks(bm_meter *meter);

#endif
