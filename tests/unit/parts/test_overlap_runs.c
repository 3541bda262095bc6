/* SPDX-License-Identifier: Apache-2.0 */
/* test_overlap_runs.c -- the longest run of positions, compared with a walk over the units of a
 * document. */
#include <criterion/criterion.h>

#include "base/random.h"
#include "parts/overlap_parts.h"

enum { UNITS = 24, ROUNDS = 20000 };

typedef enum place { NONE, OWN, SHARED } place;

/* The longest run of units that are not NONE, or are SHARED; the first of equal length. */
static bm_stretch walked(const place *places, bool shared)
{
    bm_stretch best = {0, 0}, run = {0, 0};
    for (uint64_t i = 0; i < UNITS; i++) {
        if (places[i] == NONE || (shared && places[i] == OWN)) {
            run = (bm_stretch){i + 1, i + 1};
            continue;
        }
        run.end = i + 1;
        if (run.end - run.first > best.end - best.first)
            best = run;
    }
    return best;
}

static void compare(const place *places)
{
    uint64_t own[UNITS], shared[UNITS];
    bm_stretch stretches[UNITS];
    size_t n_own = 0, n_shared = 0;
    for (uint64_t i = 0; i < UNITS; i++) {
        if (places[i] == OWN)
            own[n_own++] = i;
        if (places[i] == SHARED)
            shared[n_shared++] = i;
    }
    const size_t n = bm_stretches_make(shared, n_shared, stretches);
    const bm_stretch longest = bm_stretches_longest(stretches, n), alone = walked(places, true);
    cr_assert(longest.first == alone.first && longest.end == alone.end);
    const bm_stretch all = bm_stretches_longest_with(own, n_own, stretches, n, longest),
                     wanted = walked(places, false);
    cr_assert(all.first == wanted.first && all.end == wanted.end, "%d to %d, expected %d to %d",
              (int)all.first, (int)all.end, (int)wanted.first, (int)wanted.end);
}

Test(overlap_runs, the_longest_run_of_own_and_shared_places)
{
    bm_random random;
    bm_random_init(&random, 7);
    for (int round = 0; round < ROUNDS; round++) {
        place places[UNITS];
        const uint64_t density = bm_random_range(&random, 1, 8);
        for (int i = 0; i < UNITS; i++)
            places[i] = bm_random_range(&random, 0, 8) < density
                            ? (bm_random_range(&random, 0, 2) == 0 ? OWN : SHARED)
                            : NONE;
        compare(places);
    }
}

Test(overlap_runs, of_no_places_the_run_is_empty)
{
    const bm_stretch none = bm_stretches_longest(NULL, 0),
                     all = bm_stretches_longest_with(NULL, 0, NULL, 0, none);
    cr_expect_eq(all.first, all.end);
    cr_expect_eq(bm_stretches_make(NULL, 0, NULL), 0);
}
