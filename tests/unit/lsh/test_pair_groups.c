/* test_pair_groups.c -- groups of random pairs, against plain models: labels that spread until
 * nothing changes, and stars by their definition. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "lsh/groups.h"

enum { DOCS = 40, PAIRS = 50 };

typedef struct world {
    uint64_t state;
    bm_pair pairs[PAIRS];
    size_t n;
} world;

static uint32_t draw(world *w, uint32_t below)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((w->state >> 33) % below);
}

static world make(uint64_t seed)
{
    world w = {.state = seed};
    w.n = draw(&w, PAIRS + 1);
    for (size_t i = 0; i < w.n; i++) {
        const uint32_t a = draw(&w, DOCS), step = 1 + draw(&w, DOCS - 1), tenth = draw(&w, 11);
        w.pairs[i] = (bm_pair){a, (a + step) % DOCS, tenth == 0 ? NAN : tenth / 10.0};
    }
    return w;
}

static bool reaches(double similarity, double threshold)
{
    return isnan(similarity) || similarity >= threshold;
}

/* The smallest document of each group: labels spread along pairs until none changes. */
static uint64_t spread(const world *w, double threshold, uint32_t labels[DOCS])
{
    uint64_t n_pairs = 0;
    for (uint32_t i = 0; i < DOCS; i++)
        labels[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        n_pairs = 0;
        for (size_t i = 0; i < w->n; i++) {
            uint32_t *a = &labels[w->pairs[i].a], *b = &labels[w->pairs[i].b];
            if (!reaches(w->pairs[i].similarity, threshold))
                continue;
            n_pairs++;
            changed = changed || *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
    return n_pairs;
}

static bm_group_counts count(const uint32_t labels[DOCS])
{
    bm_group_counts counts = {0};
    for (uint32_t label = 0; label < DOCS; label++) {
        uint64_t size = 0;
        for (size_t i = 0; i < DOCS; i++)
            size += labels[i] == label;
        counts.groups += size > 1;
        counts.removed += size > 1 ? size - 1 : 0;
        counts.largest = size > 1 && size > counts.largest ? size : counts.largest;
    }
    return counts;
}

Test(pair_groups, components_of_each_threshold_are_those_of_its_own_pairs)
{
    static const double thresholds[] = {.5, .9, .1, .9, 1.0};
    enum { N = sizeof thresholds / sizeof thresholds[0] };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const world w = make(seed);
        bm_pair_levels levels;
        uint64_t n_pairs = 0;
        size_t n_docs = 0;
        cr_assert_eq(bm_pair_levels_open(thresholds, N, &levels, NULL), BM_OK);
        for (size_t i = 0; i < w.n; i++) {
            const size_t at = bm_pair_levels_count(&levels, w.pairs[i].similarity);
            n_docs = w.pairs[i].a >= n_docs ? w.pairs[i].a + 1 : n_docs;
            n_docs = w.pairs[i].b >= n_docs ? w.pairs[i].b + 1 : n_docs;
            n_docs = i + 1 < w.n ? n_docs : DOCS;
            cr_assert_eq(bm_pair_levels_join(&levels, at, w.pairs[i].a, w.pairs[i].b, n_docs, NULL),
                         BM_OK);
        }
        for (size_t i = 0; i < N && w.n > 0; i++) {
            bm_pair_level *level = &levels.levels[i];
            uint32_t labels[DOCS];
            cr_assert_eq(level->threshold, thresholds[level->place]);
            n_pairs += level->first_at;
            cr_expect_eq(n_pairs, spread(&w, level->threshold, labels));
            cr_assert_eq(level->sets.n, (size_t)DOCS);
            for (uint32_t doc = 0; doc < DOCS; doc++)
                cr_expect_eq(bm_union_find_root(&level->sets, doc), labels[doc]);
        }
        bm_pair_levels_reset(&levels);
    }
}

Test(pair_groups, without_thresholds_all_pairs_count)
{
    bm_pair_levels levels;
    cr_assert_eq(bm_pair_levels_open(NULL, 0, &levels, NULL), BM_OK);
    cr_expect_eq(levels.n, 1u);
    cr_expect_eq(bm_pair_levels_count(&levels, 0), 0u);
    cr_expect_eq(bm_pair_levels_count(&levels, NAN), 0u);
    cr_expect_eq(levels.levels[0].first_at, 2u);
    bm_pair_levels_reset(&levels);
}

Test(pair_groups, counts_are_of_groups_of_two_and_more)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const world w = make(seed);
        uint32_t labels[DOCS];
        bm_group_counts got;
        spread(&w, .5, labels);
        const bm_group_counts wanted = count(labels);
        cr_assert_eq(bm_group_counts_of(labels, DOCS, &got, NULL), BM_OK);
        cr_expect(got.groups == wanted.groups && got.largest == wanted.largest &&
                  got.removed == wanted.removed);
    }
}

/* Documents from FIRST_COPY on are copies of the one so many places before them, and in no pair. In
 * the order of the ranks, each that nobody took takes those that it is joined to; a copy counts
 * where the first of them does. */
Test(pair_groups, stars_keep_the_preferred_copy_of_each_centre)
{
    enum { FIRST_COPY = 30 };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        world w = make(seed);
        uint32_t ranks[DOCS], rep[DOCS], labels[DOCS], wanted[DOCS], at[DOCS];
        for (size_t i = 0; i < w.n; i++) {
            w.pairs[i].a %= FIRST_COPY;
            w.pairs[i].b = (w.pairs[i].a + 1 + draw(&w, FIRST_COPY - 1)) % FIRST_COPY;
        }
        for (uint32_t i = 0; i < DOCS; i++) {
            rep[i] = i < FIRST_COPY ? i : i - FIRST_COPY;
            const uint32_t k = draw(&w, i + 1);
            at[i] = at[k];
            at[k] = i;
        }
        for (uint32_t i = 0; i < DOCS; i++)
            ranks[at[i]] = i;
        memset(wanted, 0xFF, sizeof wanted);
        for (uint32_t turn = 0; turn < DOCS; turn++) {
            const uint32_t doc = at[turn], first = rep[doc];
            if (wanted[first] != UINT32_MAX)
                continue; /* taken, or its copy had the turn before */
            wanted[first] = doc;
            for (size_t i = 0; i < w.n; i++) {
                const uint32_t a = w.pairs[i].a, b = w.pairs[i].b;
                const uint32_t other = a == first ? b : b == first ? a : first;
                if (wanted[other] == UINT32_MAX)
                    wanted[other] = doc;
            }
        }
        const bm_keep_rank rank = {.ranks = ranks, .n = DOCS};
        cr_assert_eq(bm_pair_stars((bm_pair_list){w.pairs, w.n, DOCS}, &rank, rep, labels, NULL),
                     BM_OK);
        for (uint32_t i = 0; i < DOCS; i++)
            cr_expect_eq(labels[i], wanted[rep[i]], "seed %u, document %u", (unsigned)seed, i);
    }
}
