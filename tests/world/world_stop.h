/* SPDX-License-Identifier: Apache-2.0 */
/* world_stop.h -- callbacks that cancel a call. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

static inline bool world_stop(void *ctx)
{
    (void)ctx;
    return true;
}

/* `ctx` is an int, the number of questions to answer with no before the first yes. */
static inline bool world_stop_after(void *ctx)
{
    return --*(int *)ctx < 0;
}

/* The same, and it notes whether another thread than `by` asks. */
typedef struct world_asked {
    int left;
    pthread_t by;
    bool other;
} world_asked;

static inline bool world_stop_asked(void *ctx)
{
    world_asked *a = ctx;
    a->other = a->other || !pthread_equal(a->by, pthread_self());
    return a->left-- <= 0;
}
