/* SPDX-License-Identifier: Apache-2.0 */
/* idle.h -- a store of unused objects, such as scratch memory. Each object may be used by one
 * thread at a time.
 *
 * The store has slots of one object each. A thread first searches the slot of its processor. So it
 * usually gets the object that its processor used last, and two processors write to different cache
 * lines. There is no lock: removing an object and putting it back is one atomic exchange each.
 *
 * Threads: any number may take and give at once. {0} is an empty store. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define BM_IDLE_PLACES 64u /* a power of 2 */

typedef struct bm_idle_place {
    _Atomic(void *) thing; /* NULL: the slot is empty */
    char others[64 - sizeof(void *)];
} bm_idle_place;

typedef struct bm_idle {
    bm_idle_place places[BM_IDLE_PLACES];
} bm_idle;

/* The number of the processor on which this thread runs, or any number if the system does not
 * report it. The number is only a hint, because the thread may move to another processor at any
 * time. */
unsigned bm_processor(void);

/* Take an unused object, which the caller then owns; NULL: there is none. */
void *bm_idle_take(bm_idle *idle);
/* Store an object. False: no slot is empty, and the caller keeps the object. */
bool bm_idle_give(bm_idle *idle, void *thing);
