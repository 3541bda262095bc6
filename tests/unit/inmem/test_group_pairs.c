/* SPDX-License-Identifier: Apache-2.0 */
/* bm_group_pairs against a plain statement of the rule: labels, kept documents, members. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/world_random.h"

enum { N = 60 };
typedef struct corpus {
    bm_pair pairs[100];
    size_t n_pairs;
    uint64_t sizes[N];
} corpus;

static corpus make(uint64_t seed)
{
    world_state = seed;
    corpus c = {.n_pairs = world_pick(90)};
    for (size_t i = 0; i < c.n_pairs; i++) {
        c.pairs[i].a = world_pick(N);
        c.pairs[i].b = world_pick(N);
    }
    for (size_t i = 0; i < N; i++)
        c.sizes[i] = world_pick(9);
    return c;
}

static bool preferred(const corpus *c, bm_keep keep, uint32_t x, uint32_t y)
{
    if (keep == BM_KEEP_LONGEST && c->sizes[x] != c->sizes[y])
        return c->sizes[x] > c->sizes[y];
    if (keep == BM_KEEP_SHORTEST && c->sizes[x] != c->sizes[y])
        return c->sizes[x] < c->sizes[y];
    return keep == BM_KEEP_LAST ? x > y : x < y;
}

/* kept[i] by the rule of components: the preferred document spreads until nothing changes. */
static void naive_components(const corpus *c, bm_keep keep, uint32_t *kept)
{
    for (uint32_t i = 0; i < N; i++)
        kept[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < c->n_pairs; i++) {
            uint32_t *x = &kept[c->pairs[i].a], *y = &kept[c->pairs[i].b];
            if (*x == *y)
                continue;
            *x = *y = preferred(c, keep, *x, *y) ? *x : *y;
            changed = true;
        }
    }
}

static void naive_stars(const corpus *c, bm_keep keep, uint32_t *kept)
{
    memset(kept, 0xFF, N * sizeof *kept);
    for (;;) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < N; i++)
            if (kept[i] == UINT32_MAX && (best == UINT32_MAX || preferred(c, keep, i, best)))
                best = i;
        if (best == UINT32_MAX)
            return;
        kept[best] = best;
        for (size_t i = 0; i < c->n_pairs; i++) {
            const bm_pair *p = &c->pairs[i];
            uint32_t other = p->a == best ? p->b : p->a;
            if ((p->a == best || p->b == best) && kept[other] == UINT32_MAX)
                kept[other] = best;
        }
    }
}

static void expect_members(const bm_groups *groups, const uint32_t *kept)
{
    const uint32_t *labels = bm_groups_labels(groups), *members = bm_groups_members(groups);
    const uint64_t *offsets = bm_groups_offsets(groups);
    const bm_group_stats *stats = bm_groups_stats(groups);
    uint64_t group = 0, removed = 0, largest = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t first = i;
        uint64_t size = 0;
        for (uint32_t j = N; j-- > 0;)
            first = kept[j] == kept[i] ? j : first;
        cr_assert_eq(labels[i], first);
        removed += kept[i] != i;
        if (first != i)
            continue;
        for (uint32_t j = 0; j < N; j++)
            size += kept[j] == kept[i];
        if (size < 2)
            continue;
        largest = size > largest ? size : largest;
        uint64_t at = offsets[group];
        for (uint32_t j = 0; j < N; j++)
            if (kept[j] == kept[i])
                cr_assert_eq(members[at++], j);
        cr_assert_eq(at, offsets[++group]);
    }
    cr_assert(stats->groups == group && stats->removed == removed && stats->largest == largest);
}

Test(group_pairs, groups_kept_ones_and_members_follow_the_rule)
{
    for (uint64_t seed = 1; seed < 200; seed++) {
        corpus c = make(seed);
        for (int keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
            for (int star = 0; star < 2; star++) {
                uint32_t kept[N];
                bm_group_options options;
                bm_group_options_init(&options);
                options.n_docs = N;
                options.cluster = star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
                options.keep = (bm_keep)keep;
                options.sizes = c.sizes;
                bm_groups *groups = NULL;
                cr_assert_eq(bm_group_pairs(&options, c.pairs, c.n_pairs, &groups, NULL), BM_OK);
                star ? naive_stars(&c, options.keep, kept)
                     : naive_components(&c, options.keep, kept);
                cr_assert(memcmp(kept, bm_groups_kept(groups), sizeof kept) == 0);
                expect_members(groups, kept);
                bm_groups_free(groups);
            }
        }
    }
}

Test(group_pairs, no_documents_and_no_pairs_are_fine)
{
    bm_group_options options;
    bm_group_options_init(&options);
    for (options.n_docs = 0; options.n_docs < 3; options.n_docs++) {
        for (int star = 0; star < 2; star++) {
            bm_groups *groups = NULL;
            options.cluster = star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
            options.keep = star ? BM_KEEP_LAST : BM_KEEP_FIRST;
            cr_assert_eq(bm_group_pairs(&options, NULL, 0, &groups, NULL), BM_OK);
            for (uint32_t i = 0; i < options.n_docs; i++)
                cr_assert_eq(bm_groups_kept(groups)[i], i);
            cr_assert_eq(bm_groups_stats(groups)->groups, 0);
            cr_assert_eq(bm_groups_offsets(groups)[0], 0);
            bm_groups_free(groups);
        }
    }
}

Test(group_pairs, a_pair_of_no_document_is_bad_input)
{
    const bm_pair pair = {0, 3, 1};
    bm_group_options options;
    bm_group_options_init(&options);
    options.n_docs = 3;
    bm_groups *groups = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_group_pairs(&options, &pair, 1, &groups, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "pair 0 ") != NULL, "%s", err.message);
    cr_assert_null(groups);
}
