/* known_groups.c -- labels, kept ones and members where some documents are known.
 *
 * Tests: tests/unit/match/test_known.c */
#include "match/known_groups.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

bm_status bm_known_begin(bm_grouping *out, bm_error *err)
{
    BM_TRY(bm_new(&out->known, out->n, err));
    for (size_t i = 0; i < out->n; i++)
        out->known[i] = BM_NO_KNOWN;
    return BM_OK;
}

/* Of each group that found one: the first known one. */
static void keep_known(bm_grouping *out, const uint32_t *rep, uint32_t *first)
{
    const bm_known *from = out->from;
    for (size_t i = 0; i < out->n; i++)
        first[i] = BM_NO_KNOWN;
    for (size_t i = from->n_links; i > 0; i--)
        first[out->label[from->links[i - 1].doc]] = from->links[i - 1].number;
    for (size_t i = 0; i < out->n; i++)
        out->known[i] =
            from->best[rep[i]] != BM_NO_KNOWN ? from->best[rep[i]] : first[out->label[i]];
}

bm_status bm_known_join(bm_grouping *out, const uint32_t *rep, bm_error *err)
{
    bm_union_find over = {0}, joined = out->from->joined; /* halving paths changes no root */
    uint32_t *first = bm_alloc(out->n, sizeof *first);
    bm_status status = BM_OK;
    BM_TRY_OUT(first == NULL ? bm_fail_nomem(err, out->n * sizeof *first)
                             : bm_union_find_init(&over, out->n, err));
    for (size_t i = 0; i < out->n; i++) {
        bm_union_find_link(&over, (uint32_t)i, out->label[i]);
        if (rep[i] == i)
            bm_union_find_link(&over, (uint32_t)i, bm_union_find_root(&joined, (uint32_t)i));
    }
    for (size_t i = 0; i < out->n; i++)
        out->label[i] = bm_union_find_root(&over, (uint32_t)i);
    keep_known(out, rep, first);
out:
    bm_union_find_reset(&over);
    bm_free(first);
    return status;
}

bm_status bm_known_take(bm_grouping *out, bm_error *err)
{
    const bm_known *from = out->from;
    uint32_t *first = bm_alloc(from->n_links, sizeof *first); /* that the known one took */
    if (first == NULL)
        return bm_fail_nomem(err, from->n_links * sizeof *first);
    for (size_t i = 0; i < from->n_links; i++)
        first[i] = BM_NO_KNOWN;
    for (size_t i = 0; i < out->n; i++) {
        if (out->known[i] == BM_NO_KNOWN || bm_grouping_leaves(out, i))
            continue;
        const size_t place = bm_known_place(from, out->known[i]);
        if (first[place] == BM_NO_KNOWN)
            first[place] = (uint32_t)i;
        out->label[i] = first[place];
    }
    bm_free(first);
    return BM_OK;
}

/* Of each group the known one that is kept, where it is known. */
static void gather_kept(bm_grouping *out)
{
    uint64_t n = 0;
    for (size_t g = 0; g < out->n_groups; g++) {
        out->known_begin[g] = n;
        if (bm_grouping_is_known(out, out->members[out->begin[g]]))
            out->known_members[n++] = out->known[out->members[out->begin[g]]];
    }
    out->known_begin[out->n_groups] = n;
}

/* Of a divided component the one known document that took the members of the group; BM_NO_KNOWN: it is of none, or of no
 * divided component. */
static uint32_t taken_by(const bm_grouping *out, size_t group)
{
    const uint32_t first = out->members[out->begin[group]];
    return bm_grouping_is_divided(out, first) ? out->known[first] : BM_NO_KNOWN;
}

bm_status bm_known_gather(bm_grouping *out, bool joined, bm_error *err)
{
    const bm_known_link *links = out->from->links;
    const size_t n = out->from->n_links;
    uint32_t *group = bm_alloc(out->n, sizeof *group);
    out->known_begin = bm_alloc_zero(out->n_groups + 2, sizeof *out->known_begin);
    out->known_members = bm_alloc(n + out->n_groups, sizeof *out->known_members);
    if (group == NULL || out->known_begin == NULL || out->known_members == NULL) {
        bm_free(group);
        return bm_fail_nomem(err, out->n * sizeof *group);
    }
    if (!joined) {
        bm_free(group);
        gather_kept(out);
        return BM_OK;
    }
    for (size_t g = 0; g < out->n_groups; g++)
        for (uint64_t i = out->begin[g]; i < out->begin[g + 1]; i++)
            group[out->members[i]] = (uint32_t)g;
    /* known_begin[g + 2] counts, then known_begin[g + 1] is where the next of group g goes. */
    for (size_t i = 0; i < n; i++)
        out->known_begin[group[links[i].doc] + 2] += !bm_grouping_is_divided(out, links[i].doc);
    for (size_t g = 0; g < out->n_groups; g++)
        out->known_begin[g + 2] += taken_by(out, g) != BM_NO_KNOWN;
    for (size_t g = 2; g < out->n_groups + 2; g++)
        out->known_begin[g] += out->known_begin[g - 1];
    for (size_t i = 0; i < n; i++)
        if (!bm_grouping_is_divided(out, links[i].doc))
            out->known_members[out->known_begin[group[links[i].doc] + 1]++] = links[i].number;
    for (size_t g = 0; g < out->n_groups; g++)
        if (taken_by(out, g) != BM_NO_KNOWN)
            out->known_members[out->known_begin[g + 1]++] = taken_by(out, g);
    bm_free(group);
    return BM_OK;
}

void bm_known_reason(const bm_match *match, bm_grouping *out, uint32_t doc)
{
    const uint32_t rep = match->settings.corpus->rep[doc];
    const bool itself = out->from->best[rep] == out->known[doc];
    out->reason[doc] = itself ? BM_REASON_KNOWN : BM_REASON_CHAINED;
    out->similarity[doc] = itself ? out->from->similarities[rep] : NAN;
}

void bm_grouping_compared(bm_grouping *grouping, uint32_t doc, double similarity, double threshold)
{
    grouping->similarity[doc] = similarity;
    if (grouping->reason[doc] != BM_REASON_CHAINED || similarity < threshold)
        return;
    grouping->reason[doc] = BM_REASON_KNOWN;
    grouping->n_chained--;
    grouping->n_known++;
}
