/* ingest_times.h -- where the time of an ingest went. */
#ifndef BM_INGEST_INGEST_TIMES_H
#define BM_INGEST_INGEST_TIMES_H

#include <stdint.h>

#include "base/clock.h"

/* In seconds of all threads together. */
typedef struct bm_ingest_times {
    double elapsed;
    double read;    /* reading and decompressing, one thread at a time */
    double text;    /* parsing, normalising, shingling: workers */
    double sign;    /* on the native CPU: workers */
    double device;  /* submitting to devices and waiting for them: device workers */
    double deliver; /* the ordered end, one thread at a time */
    double put;     /* what was delivered, to its place: any thread */
    double wait; /* workers: for input, for a place in the ring, for room in the devices' queue */
    double idle; /* device workers: for work */
    uint32_t workers, device_workers;
} bm_ingest_times;

/* Add the seconds since *mark to *sum, and set *mark to now. */
static inline void bm_ingest_lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

/* Add the stages of one thread to those of all. */
void bm_ingest_times_add(bm_ingest_times *all, const bm_ingest_times *thread);
/* The stage that was busy for the greatest share of the time it could have been: "read", "text",
 * "sign", "device" or "deliver". */
const char *bm_ingest_bottleneck(const bm_ingest_times *times);

#endif
