/* SPDX-License-Identifier: Apache-2.0 */
/* Idle objects: each belongs to one thread at a time, and each place holds at most one. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/idle.h"
#include "tests/world/sized.h"

enum { MORE = BM_IDLE_PLACES + 3 };

Test(idle, what_was_given_is_taken_once_and_nothing_else)
{
    static bm_idle idle;
    int things[BM_IDLE_PLACES];
    int taken[BM_IDLE_PLACES] = {0};
    cr_assert_null(bm_idle_take(&idle));
    for (size_t i = 0; i < BM_IDLE_PLACES; i++)
        cr_assert(bm_idle_give(&idle, &things[i]));
    for (size_t i = 0; i < BM_IDLE_PLACES; i++) {
        const int *thing = bm_idle_take(&idle);
        cr_assert(thing >= things && thing < things + BM_IDLE_PLACES);
        cr_assert_eq(taken[thing - things]++, 0);
    }
    cr_assert_null(bm_idle_take(&idle));
}

Test(idle, what_has_no_place_stays_with_who_gives_it)
{
    static bm_idle idle;
    int things[MORE];
    size_t n_kept = 0;
    for (size_t i = 0; i < MORE; i++)
        n_kept += bm_idle_give(&idle, &things[i]);
    cr_assert_eq(n_kept, BM_IDLE_PLACES);
    cr_assert_not_null(bm_idle_take(&idle));
    cr_assert(bm_idle_give(&idle, &things[0]));
}

/* --- threads --- */

typedef struct thing {
    atomic_uint users;
    uint64_t uses; /* counted by the thread that has it, without a lock */
} thing;

static bm_idle shared;
static thing all[8];
static atomic_bool wrong;

static void *use(void *arg)
{
    const size_t rounds = *(size_t *)arg;
    for (size_t done = 0; done < rounds;) {
        thing *t = bm_idle_take(&shared);
        if (t == NULL)
            continue;
        if (atomic_fetch_add(&t->users, 1u) != 0)
            atomic_store(&wrong, true);
        t->uses++;
        done++;
        atomic_fetch_sub(&t->users, 1u);
        if (!bm_idle_give(&shared, t))
            atomic_store(&wrong, true);
    }
    return NULL;
}

Test(idle, a_thing_is_one_threads_at_a_time)
{
    enum { THREADS = 8 };
    size_t rounds = sized(20000, 2000);
    pthread_t threads[THREADS];
    uint64_t uses = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cr_assert(bm_idle_give(&shared, &all[i]));
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, use, &rounds), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        uses += all[i].uses;
    cr_assert(!atomic_load(&wrong));
    cr_assert_eq(uses, THREADS * rounds);
}
