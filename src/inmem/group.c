/* SPDX-License-Identifier: Apache-2.0 */
/* group.c -- bm_group_pairs: groups documents by a list of pairs, and finds the label, the kept
 * document and the members of each group.
 *
 * The rules are those of `dedup` (docs/pairing.md), so the same pairs give the same groups. The
 * pairs are checked first, then grouped by lsh/groups.h. Memory: about 24 bytes per document. Uses
 * one thread.
 *
 * Tests: tests/unit/inmem/test_group_pairs.c */
#include <bandmill/sketch.h>

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "lsh/groups.h"
#include "model/option_words.h"

static bm_status check_pairs(bm_pair_list list, bm_error *err)
{
    if (list.n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", list.n_docs,
                             BM_DOCS_MAX);
    for (size_t i = 0; i < list.n; i++)
        if (list.pairs[i].a >= list.n_docs || list.pairs[i].b >= list.n_docs)
            return bm_fail(err, BM_ERR_INPUT,
                           "pair %zu joins documents %u and %u (there are %zu, from 0)", i,
                           list.pairs[i].a, list.pairs[i].b, list.n_docs);
    return BM_OK;
}

/* Set labels[i] to the smallest document in the component of document i. */
static bm_status label_components(bm_pair_list list, uint32_t *labels, bm_error *err)
{
    bm_union_find sets;
    BM_TRY(bm_union_find_init(&sets, list.n_docs, err));
    for (size_t i = 0; i < list.n; i++)
        bm_union_find_link(&sets, list.pairs[i].a, list.pairs[i].b);
    for (size_t doc = 0; doc < list.n_docs; doc++)
        labels[doc] = bm_union_find_root(&sets, (uint32_t)doc);
    bm_union_find_reset(&sets);
    return BM_OK;
}

struct bm_groups {
    uint32_t *kept, *labels;
    uint64_t *offsets;
    uint32_t *members;
    bm_group_stats stats;
};

BM_OPTIONS_INIT(group, 0)

/* On entry, kept[i] is an arbitrary document of document i's group, and all members of the group
 * have the same one. Replace it by the document of the group that the rank prefers. `best`: memory
 * for n numbers. */
static void prefer(const bm_keep_rank *rank, uint32_t *kept, size_t n, uint32_t *best)
{
    bm_keep_rank_best(rank, kept, n, best);
    for (size_t i = 0; i < n; i++)
        kept[i] = best[kept[i]];
}

/* Set labels[i] to the smallest document that has the same kept document as document i. `first`:
 * memory for n_docs numbers. */
static void label(const bm_group_options *options, bm_groups *g, uint32_t *first)
{
    for (size_t i = 0; i < options->n_docs; i++)
        first[i] = UINT32_MAX;
    for (size_t i = 0; i < options->n_docs; i++) {
        uint32_t *f = &first[g->kept[i]];
        *f = *f == UINT32_MAX ? (uint32_t)i : *f;
        g->labels[i] = *f;
    }
}

/* List the members of groups by a counting sort. `size`: n_docs zeros. `next`: memory for n_docs
 * numbers. */
static void gather(const bm_group_options *options, bm_groups *g, uint32_t *size, uint64_t *next)
{
    uint64_t total = 0;
    g->stats = (bm_group_stats){0};
    for (size_t i = 0; i < options->n_docs; i++) {
        size[g->labels[i]]++;
        g->stats.removed += g->kept[i] != i;
    }
    for (size_t i = 0; i < options->n_docs; i++) {
        if (size[i] < 2)
            continue;
        g->offsets[g->stats.groups++] = next[i] = total;
        total += size[i];
        g->stats.largest = size[i] > g->stats.largest ? size[i] : g->stats.largest;
    }
    g->offsets[g->stats.groups] = total;
    for (size_t i = 0; i < options->n_docs; i++)
        if (size[g->labels[i]] >= 2)
            g->members[next[g->labels[i]]++] = (uint32_t)i;
}

static bm_status find_kept(const bm_group_options *options, const bm_pair *pairs, size_t n_pairs,
                           bm_groups *g, bm_error *err)
{
    const size_t n = options->n_docs;
    const bm_pair_list list = {.pairs = pairs, .n = n_pairs, .n_docs = n};
    const bm_keep_column sizes = {.numbers = options->sizes, .width = sizeof(uint64_t)};
    bm_keep_rank rank;
    bm_turns turns = {0};
    BM_TRY(check_pairs(list, err));
    BM_TRY(bm_keep_rank_of_rule(options->keep, &sizes, n, &rank, err));
    bm_status status = BM_OK;
    if (options->cluster == BM_CLUSTER_COMPONENTS) {
        BM_TRY_OUT(label_components(list, g->kept, err));
        prefer(&rank, g->kept, n, g->labels);
    } else {
        BM_TRY_OUT(bm_turns_make(&rank, NULL, n, &turns, err));
        status = bm_stars(list, turns.order, g->kept, err);
    }
out:
    bm_turns_reset(&turns);
    bm_keep_rank_reset(&rank);
    return status;
}

static bm_status make(const bm_group_options *options, const bm_pair *pairs, size_t n_pairs,
                      bm_groups *g, bm_error *err)
{
    const size_t n = options->n_docs;
    g->kept = bm_alloc(n, sizeof *g->kept);
    g->labels = bm_alloc(n, sizeof *g->labels);
    g->members = bm_alloc(n, sizeof *g->members);
    g->offsets = bm_alloc(n / 2 + 1, sizeof *g->offsets);
    uint32_t *size = bm_alloc_zero(n, sizeof *size);
    uint64_t *next = bm_alloc(n, sizeof *next);
    bm_status status = BM_OK;
    if (g->kept == NULL || g->labels == NULL || g->members == NULL || g->offsets == NULL ||
        size == NULL || next == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, n * 28));
    BM_TRY_OUT(find_kept(options, pairs, n_pairs, g, err));
    label(options, g, g->members);
    gather(options, g, size, next);
out:
    bm_free_all(size, next);
    return status;
}

static bm_status read_options(const bm_group_options *options, bm_group_options *used,
                              bm_error *err)
{
    *used = group_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_group_options, sizes), used, err));
    BM_TRY(bm_option_check(BM_OPTION_CLUSTER, used->cluster, err));
    BM_TRY(bm_option_check(BM_OPTION_KEEP, used->keep, err));
    if (used->keep == BM_KEEP_NONE)
        return bm_fail_field(err, "keep",
                             "`keep` none of groups in memory (first last longest shortest)");
    if (used->n_docs > BM_DOCS_MAX)
        return bm_fail_field(err, "n_docs", "%zu documents are too many (at most %u)", used->n_docs,
                             BM_DOCS_MAX);
    const bool by_size = used->keep == BM_KEEP_LONGEST || used->keep == BM_KEEP_SHORTEST;
    if (by_size && used->sizes == NULL && used->n_docs != 0)
        return bm_fail_field(err, "sizes", "`sizes` is NULL (`keep` is by size)");
    return BM_OK;
}

bm_status bm_group_pairs(const bm_group_options *options, const bm_pair *pairs, size_t n_pairs,
                         bm_groups **out, bm_error *err)
{
    bm_group_options used;
    BM_TRY(read_options(options, &used, err));
    if (pairs == NULL && n_pairs != 0)
        return bm_fail_field(err, "pairs", "`pairs` is NULL and has %zu entries", n_pairs);
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the groups given");
    bm_groups *groups = NULL;
    BM_TRY(bm_new_zero(&groups, 1, err));
    bm_status status = make(&used, pairs, n_pairs, groups, err);
    if (status == BM_OK)
        *out = groups;
    else
        bm_groups_free(groups);
    return status;
}

/* --- the result --- */

const uint32_t *bm_groups_kept(const bm_groups *groups)
{
    return groups != NULL ? groups->kept : NULL;
}

const uint32_t *bm_groups_labels(const bm_groups *groups)
{
    return groups != NULL ? groups->labels : NULL;
}

const uint64_t *bm_groups_offsets(const bm_groups *groups)
{
    return groups != NULL ? groups->offsets : NULL;
}

const uint32_t *bm_groups_members(const bm_groups *groups)
{
    return groups != NULL ? groups->members : NULL;
}

const bm_group_stats *bm_groups_stats(const bm_groups *groups)
{
    return groups != NULL ? &groups->stats : NULL;
}

void bm_groups_free(bm_groups *groups)
{
    if (groups == NULL)
        return;
    bm_free_all(groups->kept, groups->labels, groups->offsets, groups->members, groups);
}
