/* ingest_times.c -- see the header. */
#include "sign/ingest_times.h"

#include <stddef.h>

void bm_ingest_times_add(bm_ingest_times *all, const bm_ingest_times *thread)
{
    all->read += thread->read;
    all->text += thread->text;
    all->sign += thread->sign;
    all->device += thread->device;
    all->deliver += thread->deliver;
    all->put += thread->put;
    all->wait += thread->wait;
    all->idle += thread->idle;
}

const char *bm_ingest_bottleneck(const bm_ingest_times *times)
{
    const double workers = times->workers > 0 ? times->workers : 1;
    const double device_workers = times->device_workers > 0 ? times->device_workers : 1;
    const struct {
        const char *name;
        double busy; /* of one thread that may do it */
    } stages[] = {{"read", times->read},           {"text", times->text / workers},
                  {"sign", times->sign / workers}, {"device", times->device / device_workers},
                  {"deliver", times->deliver},     {"put", times->put / workers}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof stages / sizeof stages[0]; i++)
        if (stages[i].busy > stages[most].busy)
            most = i;
    return stages[most].name;
}
