/* clock.h -- seconds on a clock that never goes back. */
#pragma once

#include <time.h>

static inline double bm_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
