/* SPDX-License-Identifier: Apache-2.0 */
/* idle -- things that one thread at a time uses, kept while nobody does: scratch memory, mostly.
 *
 * Each thing lies in a place of its own. A thread looks first in the place of the processor that it
 * runs on, so it mostly gets what that processor used last, and two processors write to different
 * cache lines. There is no lock: a place is taken and filled by one atomic exchange each.
 *
 * Threads: any number may take and give at once. {0} has nothing in it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BM_IDLE_PLACES 64u /* a power of 2 */

typedef struct bm_idle_place {
    _Atomic(void *) thing; /* NULL: the place is empty */
    char others[64 - sizeof(void *)];
} bm_idle_place;

typedef struct bm_idle {
    bm_idle_place places[BM_IDLE_PLACES];
} bm_idle;

/* The number of the processor that this thread runs on, or any number where the system does not
 * tell: a hint, for the thread may have moved by the time that it is used. */
unsigned bm_processor(void);

/* A thing that nobody uses, which is then the caller's; NULL: there is none. */
void *bm_idle_take(bm_idle *idle);
/* Keep a thing. False: every place is taken, and the thing stays the caller's. */
bool bm_idle_give(bm_idle *idle, void *thing);
