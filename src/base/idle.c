/* SPDX-License-Identifier: Apache-2.0 */
/* idle.c -- searches the slots in the order hint ^ 0, hint ^ 1, hint ^ 2 …. So neighbours come
 * first, and each slot is searched once.
 *
 * Tests: tests/unit/base/test_idle.c, tests/race/race_inmem.c */
#include "base/idle.h"

#include <sched.h>

unsigned bm_processor(void)
{
    const int number = sched_getcpu();
    return number < 0 ? 0 : (unsigned)number;
}

static bm_idle_place *place_at(bm_idle *idle, unsigned hint, unsigned step)
{
    return &idle->places[(hint ^ step) % BM_IDLE_PLACES];
}

void *bm_idle_take(bm_idle *idle)
{
    const unsigned hint = bm_processor();
    for (unsigned step = 0; step < BM_IDLE_PLACES; step++) {
        bm_idle_place *place = place_at(idle, hint, step);
        if (atomic_load_explicit(&place->thing, memory_order_relaxed) == NULL)
            /* without this test, the exchange below would fetch the cache line for writing */
            continue;
        void *thing = atomic_exchange(&place->thing, NULL);
        if (thing != NULL)
            return thing;
    }
    return NULL;
}

bool bm_idle_give(bm_idle *idle, void *thing)
{
    const unsigned hint = bm_processor();
    for (unsigned step = 0; step < BM_IDLE_PLACES; step++) {
        bm_idle_place *place = place_at(idle, hint, step);
        void *none = NULL;
        if (atomic_load_explicit(&place->thing, memory_order_relaxed) == NULL &&
            atomic_compare_exchange_strong(&place->thing, &none, thing))
            return true;
    }
    return false;
}
