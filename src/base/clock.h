/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h -- seconds of a monotonic clock, and of CPU time. */
#pragma once

#include <time.h>

static inline double bm_clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline double bm_clock_seconds(void)
{
    return bm_clock_of(CLOCK_MONOTONIC);
}

/* The time `seconds` from now, for pthread_cond_timedwait and the like. */
static inline struct timespec bm_clock_in(clockid_t clock, double seconds)
{
    struct timespec t;
    clock_gettime(clock, &t);
    const double end = (double)t.tv_nsec * 1e-9 + (seconds < 1e9 ? seconds : 1e9); /* 30 years */
    t.tv_sec += (time_t)end;
    t.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    return t;
}
