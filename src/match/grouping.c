/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.c -- sets the labels, the kept documents, and the reason for each removal.
 *
 * Matching has joined the components in a union-find. Stars (lsh/groups.h) are formed by walking
 * over the neighbours of the representatives (edges.h), in order of preference. Components take 29
 * bytes of memory for each document. Labels, kept documents, similarities and groups are accessed
 * in order. These 20 bytes are in a file if columns of the corpus are. One thread does all steps
 * except comparing, because they take linear time.
 *
 * Tests: tests/reference/test_groups.py, tests/reference/test_keep.py,
 *        tests/reference/test_pairs_model.py */
#include "match/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "lsh/groups.h"
#include "match/match.h"

#define COMPARE_PAIRS 65536u /* removed documents that are compared at a time */

void bm_grouping_reset(bm_grouping *grouping)
{
    bm_column_reset(&grouping->column);
    bm_free_all(grouping->reason, grouping->members, grouping->known, grouping->divided,
                grouping->known_members, grouping->known_begin);
    memset(grouping, 0, sizeof *grouping);
}

/* --- components --- */

static bm_status group_by_components(const bm_match *match, const bm_keep_rank *rank,
                                     bm_grouping *out, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    uint32_t *best = out->members; /* scratch memory, because members are listed later */
    /* not const, because finding a root shortens paths. The array `parent` is shared with
     * match->result.groups, but no root changes */
    bm_union_find groups = match->result.groups;
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        out->label[i] = bm_union_find_root(&groups, corpus->rep[i]);
    }
    if (out->from != NULL)
        BM_TRY(bm_known_join(out, corpus->rep, err));
    bm_keep_rank_best(rank, out->label, out->n, best);
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        out->kept[i] = best[out->label[i]];
    }
    return BM_OK;
}

/* --- stars --- */

static bm_status form_stars(const bm_match *match, const bm_turns *turns, bm_error *err)
{
    bm_turn_links links;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turn_links_open(match, turns, &links, err));
    for (size_t i = 0; i < turns->n_order; i++) {
        const uint32_t doc = turns->order[i], *near;
        size_t n;
        BM_TRY_OUT(bm_turn_links_next(&links, i, &near, &n, err));
        if (!bm_star_begin(turns->centres, doc))
            continue;
        for (size_t k = 0; k < n; k++)
            bm_star_assign(turns->centres, doc, near[k]);
    }
out:
    bm_turn_links_close(&links);
    return status;
}

/* Form stars of all documents. If components were divided, form stars only of their documents.
 * Documents that found the same known document become a group instead. */
static bm_status group_by_stars(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                                bm_error *err)
{
    const uint32_t *rep = match->settings.corpus->rep;
    bm_turns turns;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turns_make(rank, rep, out->n, &turns, err));
    for (size_t i = 0; i < out->n; i++) {
        if (bm_grouping_leaves(out, i) || (out->from != NULL && out->from->best[i] != BM_NO_KNOWN))
            turns.centres[i] = (uint32_t)i;
    } /* such documents count as taken, each by itself; they take no others */
    BM_TRY_OUT(form_stars(match, &turns, err));
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        if (bm_grouping_leaves(out, i))
            continue;
        uint32_t centre = turns.centres[rep[i]];
        out->kept[i] = turns.best[centre];
        out->label[i] = centre;
    }
    for (size_t i = 0; out->from != NULL && i < out->n; i++)
        if (!bm_grouping_leaves(out, i))
            out->known[i] = out->from->best[rep[i]];
    if (out->from != NULL)
        BM_TRY_OUT(bm_known_group(out, err));
out:
    bm_turns_reset(&turns);
    return status;
}

/* --- large components --- */

/* If a component has more than `most` documents, mark its documents. Counts such components. */
static bm_status mark_large(bm_grouping *out, uint64_t most, bm_error *err)
{
    uint32_t *sizes = NULL;
    BM_TRY(bm_new_zero(&sizes, out->n, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        sizes[out->label[i]]++;
    }
    for (size_t i = 0; i < out->n; i++)
        out->n_divided += sizes[i] > most;
    if (out->n_divided > 0)
        BM_TRY_OUT(bm_new(&out->divided, out->n, err));
    for (size_t i = 0; out->divided != NULL && i < out->n; i++)
        out->divided[i] = sizes[out->label[i]] > most;
out:
    bm_free(sizes);
    return status;
}

/* Divide the marked components into stars. If matching stored no edges, find the edges that stars
 * need first. */
static bm_status divide(const bm_match *match, const bm_grouping_options *options, bm_grouping *out,
                        bm_error *err)
{
    bm_match again = {.settings = match->settings};
    BM_TRY(mark_large(out, options->most, err));
    if (out->divided == NULL)
        return BM_OK;
    if (!match->settings.only_groups)
        return group_by_stars(match, options->rank, out, err);
    again.settings.only_groups = false;
    again.settings.stars = options->rank;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_match_run(&again, err));
    status = group_by_stars(&again, options->rank, out, err);
out:
    bm_match_reset(&again);
    return status;
}

/* --- labels, members, reasons --- */

/* Change each group's label, which may be any of its documents, to its smallest document. `scratch`
 * has space for n documents. */
static void smallest_labels(bm_grouping *out, uint32_t *scratch)
{
    for (size_t i = 0; i < out->n; i++)
        scratch[i] = UINT32_MAX;
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        if (scratch[out->label[i]] == UINT32_MAX)
            scratch[out->label[i]] = (uint32_t)i;
        out->label[i] = scratch[out->label[i]]; /* labels of documents before i are not read
                                                 * again */
    }
}

#define NOT_LISTED UINT32_MAX /* marks a group that is not listed */

/* List the members of each group, with a counting sort. Groups are in the order of their labels,
 * which are their smallest documents. */
static bm_status gather(bm_grouping *out, bm_error *err)
{
    /* for each label: at first the number of documents, then the index of its next document in
     * `members` */
    uint32_t *next = NULL;
    uint64_t total = 0;
    BM_TRY(bm_new_zero(&next, out->n, err));
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        next[out->label[i]]++;
    }
    for (size_t i = 0; i < out->n; i++) {
        const uint32_t size = next[i];
        bm_grouping_leave(out, i);
        next[i] = NOT_LISTED;
        if (size < 2 && !(size == 1 && bm_grouping_is_known(out, i)))
            continue;
        out->begin[out->n_groups++] = total;
        next[i] = (uint32_t)total;
        total += size;
        out->largest = size > out->largest ? size : out->largest;
    }
    out->begin[out->n_groups] = total;
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        if (next[out->label[i]] != NOT_LISTED)
            out->members[next[out->label[i]]++] = (uint32_t)i;
    }
    bm_free(next);
    return BM_OK;
}

/* Does the removed document a reach the threshold with the kept document b? If nothing was
 * verified: do they share a band key? */
static bool is_near(const bm_match *match, uint32_t a, uint32_t b, double similarity)
{
    if (match->settings.verify != BM_VERIFY_NONE)
        return similarity >= match->settings.threshold;
    const bm_corpus *corpus = match->settings.corpus;
    const bm_band_keyset *keys = &match->result.keys;
    uint32_t x = corpus->rep[a], y = corpus->rep[b];
    for (uint32_t band = 0; band < keys->bands; band++)
        if (bm_band_keyset_at(keys, band, x) == bm_band_keyset_at(keys, band, y))
            return true;
    return false;
}

static void set_reason(const bm_match *match, bm_grouping *out, uint32_t doc, double similarity)
{
    out->similarity[doc] = similarity;
    out->reason[doc] =
        is_near(match, doc, out->kept[doc], similarity) ? BM_REASON_NEAR : BM_REASON_CHAINED;
}

/* Compare n removed documents, each with the document kept for it, and set their reasons. In a
 * pair, a is removed and b is kept. */
static bm_status compare_removed(const bm_match *match, bm_grouping *out, bm_pair *pairs, size_t n,
                                 bm_error *err)
{
    const bm_comparison how = {.rule = {.verify = match->settings.verify},
                               .pool = match->settings.pool};
    BM_TRY(bm_corpus_compare(match->settings.corpus, &how, pairs, n, err));
    for (size_t i = 0; i < n; i++) {
        /* the rows of different pairs are far apart in the columns, so their pages pile up in
         * memory */
        if (i % BM_DOC_LEAVE_ROWS == 0)
            bm_column_leave(&out->column);
        set_reason(match, out, pairs[i].a, pairs[i].similarity);
    }
    return BM_OK;
}

/* Did matching store the edge between the document and the one kept for it (bm_earlier_edges)? If
 * so, *similarity is set. */
static bool is_known(const bm_match *match, uint32_t doc, uint32_t kept, double *similarity)
{
    uint32_t x = match->settings.corpus->rep[doc], y = match->settings.corpus->rep[kept];
    uint32_t first = x < y ? x : y, second = x < y ? y : x;
    const bm_earlier_edge *edges = match->result.earlier.edges;
    if (edges == NULL || edges[second].behind != first + 1)
        return false;
    *similarity = edges[second].similarity;
    return true;
}

/* The reason for removing a document that is a copy of `other`. */
static uint8_t copy_reason(const bm_corpus *corpus, size_t doc, size_t other)
{
    return bm_corpus_same_text(corpus, doc, other) ? BM_REASON_IDENTICAL : BM_REASON_EQUAL;
}

static bm_status set_reasons(const bm_match *match, bm_grouping *out, bm_error *err)
{
    const uint32_t *rep = match->settings.corpus->rep;
    const bm_doc_table *docs = match->settings.corpus->cfg.docs;
    size_t n = 0;
    bm_status status = BM_OK;
    bm_pair *pairs = NULL;
    BM_TRY(bm_new(&pairs, COMPARE_PAIRS, err));
    for (size_t i = 0; i < out->n; i++) {
        bm_grouping_leave(out, i);
        if (i % BM_GROUPING_LEAVE == 0)
            bm_column_leave(&match->result.earlier.column);
        if (docs != NULL)
            bm_doc_table_pass(docs, i);
        if (bm_grouping_is_known(out, i)) {
            bm_known_reason(match, out, (uint32_t)i);
            continue;
        }
        if (out->kept[i] == BM_NO_KEPT)
            continue;
        const bool copy = rep[i] == rep[out->kept[i]];
        if (!copy && match->settings.verify == BM_VERIFY_CONTAINED) {
            out->reason[i] = BM_REASON_CONTAINED; /* bm_holders_group has set the similarity */
            continue;
        }
        if (copy) {
            out->similarity[i] = 1.0;
            out->reason[i] = out->kept[i] == i
                                 ? BM_REASON_KEPT
                                 : copy_reason(match->settings.corpus, i, out->kept[i]);
            continue;
        }
        double similarity;
        if (is_known(match, (uint32_t)i, out->kept[i], &similarity)) {
            set_reason(match, out, (uint32_t)i, similarity);
            continue;
        }
        pairs[n++] = (bm_pair){(uint32_t)i, out->kept[i], 0.0};
        if (n == COMPARE_PAIRS) {
            BM_TRY_OUT(compare_removed(match, out, pairs, n, err));
            n = 0;
        }
    }
    status = compare_removed(match, out, pairs, n, err);
out:
    bm_free(pairs);
    return status;
}

/* The texts of all documents that are copies or have copies, each as a hash of its shingles and
 * text, ascending. Unknown texts have the value 0. */
typedef struct copied_texts {
    uint64_t *list;
    size_t n;
    bm_column column; /* memory of the list, and of equally large scratch memory for sorting */
} copied_texts;

static uint64_t copied_text(const bm_corpus *corpus, size_t doc)
{
    const uint64_t text = bm_doc_table_row(corpus->cfg.docs, doc)->text_hash;
    return text == BM_TEXT_UNKNOWN ? 0 : bm_hash_seeded(text, corpus->rep[doc], 1) | 1;
}

static bm_status list_texts(const bm_corpus *corpus, const uint8_t *copied, copied_texts *out,
                            bm_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < corpus->n; i++)
        n += copied[corpus->rep[i]];
    if (n == 0)
        return BM_OK;
    BM_TRY(bm_corpus_new_column_beside(corpus, 2 * n * sizeof *out->list, &out->column, err));
    out->list = out->column.data;
    for (size_t i = 0; i < corpus->n; i++)
        if (copied[corpus->rep[i]] != 0)
            out->list[out->n++] = copied_text(corpus, i);
    bm_hashes_sort(out->list, out->n, out->list + n);
    return BM_OK;
}

/* Does another document have the same shingles and the same text? `text`: their hash; 0 (unknown):
 * false. */
static bool has_twin(const copied_texts *texts, uint64_t text)
{
    bm_bisect b = {0, texts->n};
    while (b.low < b.high)
        bm_bisect_go(&b, texts->list[bm_middle(&b)] < text);
    return text != 0 && b.low + 1 < texts->n && texts->list[b.low + 1] == text;
}

/* Keep no document of any group, and set the reasons of all members, except those for which a known
 * document is kept. */
static bm_status keep_none(const bm_match *match, bm_grouping *out, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    const uint32_t *rep = corpus->rep;
    const bool known = corpus->cfg.docs != NULL && corpus->cfg.docs->n == corpus->n;
    uint8_t *copied = NULL; /* for each representative: whether it has a copy */
    copied_texts texts = {0};
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&copied, out->n, err));
    for (size_t i = 0; i < out->n; i++)
        if (rep[i] != i)
            copied[rep[i]] = 1;
    if (known)
        BM_TRY_OUT(list_texts(corpus, copied, &texts, err));
    for (uint64_t i = 0; i < out->begin[out->n_groups]; i++) {
        const uint32_t doc = out->members[i];
        if (i % BM_DOC_LEAVE_ROWS == 0)
            bm_column_leave(&out->column);
        if (bm_grouping_is_known(out, doc))
            continue;
        out->kept[doc] = BM_NO_KEPT;
        out->similarity[doc] = NAN;
        out->reason[doc] = copied[rep[doc]] == 0 ? BM_REASON_NEAR
                           : known && has_twin(&texts, copied_text(corpus, doc))
                               ? BM_REASON_IDENTICAL
                               : BM_REASON_EQUAL;
    }
out:
    bm_column_reset(&texts.column);
    bm_free(copied);
    return status;
}

static bm_status alloc_grouping(const bm_match *match, bm_grouping *out, bm_error *err)
{
    const bm_known *known = match->settings.known;
    const size_t n = match->settings.corpus->n, n_begin = (known != NULL ? n : n / 2) + 2;
    *out = (bm_grouping){.n = n, .from = known};
    BM_TRY(bm_corpus_new_column(
        match->settings.corpus,
        n_begin * sizeof *out->begin +
            n * (sizeof *out->similarity + sizeof *out->label + sizeof *out->kept),
        &out->column, err));
    out->begin = out->column.data;
    out->similarity = (double *)(out->begin + n_begin);
    out->label = (uint32_t *)(out->similarity + n);
    out->kept = out->label + n;
    BM_TRY(bm_new(&out->reason, n, err));
    BM_TRY(bm_new(&out->members, n, err));
    return known != NULL ? bm_known_begin(out, err) : BM_OK;
}

static void count(bm_grouping *out)
{
    for (size_t i = 0; i < out->n; i++) {
        out->n_removed += out->reason[i] != BM_REASON_KEPT;
        out->n_chained += out->reason[i] == BM_REASON_CHAINED;
        out->n_identical += out->reason[i] == BM_REASON_IDENTICAL;
        out->n_equal += out->reason[i] == BM_REASON_EQUAL;
        out->n_known += out->reason[i] == BM_REASON_KNOWN;
    }
}

bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(alloc_grouping(match, out, err));
    const bool contained = match->settings.verify == BM_VERIFY_CONTAINED,
               stars = options->cluster == BM_CLUSTER_STAR;
    BM_TRY_OUT(contained ? bm_holders_group(match, options->rank, out, err)
               : stars   ? group_by_stars(match, options->rank, out, err)
                         : group_by_components(match, options->rank, out, err));
    if (options->most > 0)
        BM_TRY_OUT(divide(match, options, out, err));
    smallest_labels(out, out->members);
    BM_TRY_OUT(gather(out, err));
    if (out->from != NULL)
        BM_TRY_OUT(bm_known_gather(out, !contained && !stars, err));
    /* must precede set_reasons, which then does not compare removed documents with kept ones */
    if (options->rank->none)
        BM_TRY_OUT(keep_none(match, out, err));
    status = set_reasons(match, out, err);
out:
    if (status == BM_OK)
        count(out);
    else
        bm_grouping_reset(out);
    return status;
}
