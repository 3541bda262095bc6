/* SPDX-License-Identifier: Apache-2.0 */
/* edges.c -- verifies pairs, one chunk at a time. All threads compare the pairs of a chunk; edges
 * and groups change only between chunks.
 *
 * Tests: tests/reference/test_against.py, tests/reference/test_contained.py,
 *        tests/reference/test_lost.py, tests/unit/job/test_corpus_spill.c,
 *        tests/unit/match/test_known.c, tests/unit/match/test_match_all_pairs.c,
 *        tests/unit/match/test_match_stars.c, tests/unit/match/test_turn_links.c */
#include "match/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/candidates.h"
#include "lsh/groups.h"
#include "lsh/verify.h"
#include "model/ids.h"

/* === known ===
 *
 * Links are appended, and sorted from time to time. Sorting keeps only the first link of each known
 * document, and joins the documents of its other links with the document of the first. */

#define LEAST_TAIL ((size_t)1 << 16) /* new links are sorted only if there are at least so many */
/* bytes of the page that is in memory after one edge was changed */
#define PAGE 4096u

bm_status bm_known_init(bm_known *known, size_t n, bm_error *err)
{
    *known = (bm_known){.n = n};
    known->best = bm_alloc(n, sizeof *known->best);
    known->similarities = bm_alloc(n, sizeof *known->similarities);
    bm_status status = BM_OK;
    BM_TRY_OUT(known->best == NULL || known->similarities == NULL
                   ? bm_fail_nomem(err, n * sizeof *known->similarities)
                   : bm_union_find_init(&known->joined, n, err));
    for (size_t i = 0; i < n; i++)
        known->best[i] = BM_NO_KNOWN;
out:
    if (status != BM_OK)
        bm_known_reset(known);
    return status;
}

void bm_known_reset(bm_known *known)
{
    bm_free_all(known->best, known->similarities);
    bm_union_find_reset(&known->joined);
    bm_free(known->links);
    bm_buf_reset(&known->ids);
    bm_free_all(known->id_ends, known->sizes);
    *known = (bm_known){0};
}

static int by_number(const void *x, const void *y)
{
    const bm_known_link *a = x, *b = y;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->doc < b->doc ? -1 : a->doc > b->doc;
}

static void sort_links(bm_known *known)
{
    size_t n = 0;
    if (known->n_links > 1)
        qsort(known->links, known->n_links, sizeof *known->links, by_number);
    for (size_t i = 0; i < known->n_links; i++) {
        const bm_known_link link = known->links[i];
        if (n > 0 && known->links[n - 1].number == link.number)
            bm_union_find_link(&known->joined, known->links[n - 1].doc, link.doc);
        else
            known->links[n++] = link;
    }
    known->n_links = known->n_sorted = n;
}

bm_status bm_known_add(bm_known *known, bm_known_link link, double similarity, bm_error *err)
{
    const size_t tail = known->n_links - known->n_sorted;
    if (tail >= LEAST_TAIL && tail >= known->n_sorted)
        sort_links(known);
    BM_TRY(bm_grow_array(&known->links, &known->cap, known->n_links + 1, err));
    known->links[known->n_links++] = link;
    if (known->best[link.doc] == BM_NO_KNOWN) {
        known->best[link.doc] = link.number;
        known->similarities[link.doc] = similarity;
    }
    return BM_OK;
}

bm_status bm_known_end(bm_known *known, bm_error *err)
{
    sort_links(known);
    BM_TRY(bm_new(&known->id_ends, known->n_links, err));
    return bm_new(&known->sizes, known->n_links, err);
}

bm_status bm_known_add_id(bm_known *known, size_t i, bm_str id, uint32_t n_shingles, bm_error *err)
{
    bm_status status = bm_buf_add(&known->ids, id.data, id.len, err);
    known->id_ends[i] = known->ids.len;
    known->sizes[i] = n_shingles;
    return status;
}

/* The index of the link of known document `number`. */
static size_t link_of(const bm_known *known, uint32_t number)
{
    bm_bisect b = {1, known->n_links};
    while (b.low < b.high)
        bm_bisect_go(&b, known->links[bm_middle(&b)].number <= number);
    return b.low - 1;
}

bm_str bm_known_id(const bm_known *known, uint32_t number)
{
    const size_t i = link_of(known, number);
    const uint64_t begin = i == 0 ? 0 : known->id_ends[i - 1];
    return (bm_str){known->ids.data + begin, (size_t)(known->id_ends[i] - begin)};
}

/* === known groups ===
 *
 * Sets labels, kept documents and members of groups if there are known documents. */

bm_status bm_known_begin(bm_grouping *out, bm_error *err)
{
    BM_TRY(bm_new(&out->known, out->n, err));
    for (size_t i = 0; i < out->n; i++)
        out->known[i] = BM_NO_KNOWN;
    return BM_OK;
}

/* Set out->known[i] for each document i. If the representative of i found a known document, use
 * that one; if not, the first known document that a member of i's group found, or BM_NO_KNOWN. */
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
    /* A copy may be changed, because shortening its paths changes no root. */
    bm_union_find over = {0}, joined = out->from->joined;
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

bm_status bm_known_group(bm_grouping *out, bm_error *err)
{
    const bm_known *from = out->from;
    /* for each link: the first document for which the link's known document is kept */
    uint32_t *first = bm_alloc(from->n_links, sizeof *first);
    if (first == NULL)
        return bm_fail_nomem(err, from->n_links * sizeof *first);
    for (size_t i = 0; i < from->n_links; i++)
        first[i] = BM_NO_KNOWN;
    for (size_t i = 0; i < out->n; i++) {
        if (out->known[i] == BM_NO_KNOWN || bm_grouping_leaves(out, i))
            continue;
        const size_t link = link_of(from, out->known[i]);
        if (first[link] == BM_NO_KNOWN)
            first[link] = (uint32_t)i;
        out->label[i] = first[link];
    }
    bm_free(first);
    return BM_OK;
}

/* For each group, list the known document that is kept, if there is one. */
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

/* The known document that is kept for a group. BM_NO_KNOWN: there is none, or the group's component
 * was not divided. */
static uint32_t known_of_group(const bm_grouping *out, size_t group)
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
    /* At first, known_begin[g + 2] is the number of entries of group g. Later, known_begin[g + 1]
     * is the index of the group's next entry. */
    for (size_t i = 0; i < n; i++)
        out->known_begin[group[links[i].doc] + 2] += !bm_grouping_is_divided(out, links[i].doc);
    for (size_t g = 0; g < out->n_groups; g++)
        out->known_begin[g + 2] += known_of_group(out, g) != BM_NO_KNOWN;
    for (size_t g = 2; g < out->n_groups + 2; g++)
        out->known_begin[g] += out->known_begin[g - 1];
    for (size_t i = 0; i < n; i++)
        if (!bm_grouping_is_divided(out, links[i].doc))
            out->known_members[out->known_begin[group[links[i].doc] + 1]++] = links[i].number;
    for (size_t g = 0; g < out->n_groups; g++)
        if (known_of_group(out, g) != BM_NO_KNOWN)
            out->known_members[out->known_begin[g + 1]++] = known_of_group(out, g);
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

/* === turn links ===
 *
 * Each edge is sorted twice: once for each of its two documents, by the turn of that document. */

/* Add each edge twice. The key contains the turn of one of its documents, then the other
 * document. */
static bm_status sort_by_turn(const bm_match *match, const uint32_t *turn_of,
                              bm_sorted_runs *by_turn, bm_error *err)
{
    bm_pair edge;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_edges_begin(match, err));
    for (;;) {
        BM_TRY_OUT(bm_edges_next(match, &edge, err));
        const uint64_t bits = bm_edge_bits(edge.similarity);
        BM_TRY_OUT(bm_sorted_runs_add(by_turn, bm_pair_key(turn_of[edge.a], edge.b), bits, err));
        BM_TRY_OUT(bm_sorted_runs_add(by_turn, bm_pair_key(turn_of[edge.b], edge.a), bits, err));
    }
out:
    return status == BM_NOT_FOUND ? bm_sorted_runs_begin(by_turn, err) : status;
}

static bm_status next_link(bm_turn_links *links, bm_error *err)
{
    bm_status status = bm_sorted_runs_next(links->by_turn, &links->link, err);
    links->ended = status == BM_NOT_FOUND;
    return links->ended ? BM_OK : status;
}

bm_status bm_turn_links_open(const bm_match *match, const bm_turns *turns, bm_turn_links *out,
                             bm_error *err)
{
    uint32_t *turn_of = NULL;
    *out = (bm_turn_links){.turns = turns};
    BM_TRY(bm_new(&turn_of, turns->n, err));
    for (size_t i = 0; i < turns->n_order; i++)
        turn_of[turns->order[i]] = (uint32_t)i;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_edges_open_runs(match->settings.corpus, &out->by_turn, err));
    BM_TRY_OUT(sort_by_turn(match, turn_of, out->by_turn, err));
    status = next_link(out, err);
out:
    bm_free(turn_of);
    return status;
}

bm_status bm_turn_links_next(bm_turn_links *links, size_t turn, const uint32_t **docs, size_t *n,
                             bm_error *err)
{
    bm_status status = BM_OK;
    *n = 0;
    while (!links->ended && links->link.key >> 32 == turn) {
        BM_TRY_OUT(bm_grow_array(&links->docs, &links->cap, *n + 1, err));
        BM_TRY_OUT(bm_grow_array(&links->similarities, &links->cap_alike, *n + 1, err));
        links->similarities[*n] = bm_edge_similarity(links->link.value);
        links->docs[(*n)++] = (uint32_t)links->link.key;
        BM_TRY_OUT(next_link(links, err));
    }
out:
    *docs = links->docs;
    return status;
}

void bm_turn_links_close(bm_turn_links *links)
{
    bm_sorted_runs_close(links->by_turn);
    bm_free_all(links->docs, links->similarities);
    *links = (bm_turn_links){0};
}

/* === holders ===
 *
 * Walks once over the documents in keep order, and over the edges of each kept document.
 *
 * The number of shingles that two documents share is computed from the similarity of their edge
 * (bm_jaccard_common). */

static void hold_by_known(bm_holders *h)
{
    const bm_known *known = h->match->settings.known;
    for (size_t i = 0; known != NULL && i < known->n; i++) {
        if (known->best[i] == BM_NO_KNOWN)
            continue;
        h->docs[i] = BM_HELD_BY_KNOWN;
        h->shared[i] =
            (uint32_t)bm_jaccard_common(known->similarities[i], h->match->settings.corpus->sizes[i],
                                        known->sizes[link_of(known, known->best[i])]);
    }
}

static void holders_reset(bm_holders *holders)
{
    bm_free_all(holders->docs, holders->shared);
    *holders = (bm_holders){0};
}

/* Make holders in which only known documents hold others. BM_ERR_NOMEM: *out is empty. */
static bm_status holders_init(const bm_match *match, const bm_keep_rank *rank,
                              const bm_turns *turns, bm_holders *out, bm_error *err)
{
    const size_t n = match->settings.corpus->n;
    *out = (bm_holders){.match = match, .rank = rank, .turns = turns};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(&out->docs, n, err));
    BM_TRY_OUT(bm_new_zero(&out->shared, n, err));
    for (size_t i = 0; i < n; i++)
        out->docs[i] = BM_NO_DOC;
    hold_by_known(out);
out:
    if (status != BM_OK)
        holders_reset(out);
    return status;
}

/* The rank of a representative: that of the best document among itself and its copies. */
static uint32_t rank_of(const bm_holders *h, uint32_t doc)
{
    return bm_keep_rank_of(h->rank, h->turns->best[doc]);
}

/* Handle an edge with this similarity between `doc` and the kept representative `kept`. `kept`
 * becomes the holder of `doc` if `doc` does not come earlier in keep order, `kept` contains enough
 * of it, and `doc` has no better holder. The holder that contains more is better. If two contain as
 * much, a known document is better than one of the job, and an earlier one in keep order is better
 * than a later one. */
static void holders_offer(bm_holders *h, uint32_t kept, uint32_t doc, double similarity)
{
    const uint32_t *sizes = h->match->settings.corpus->sizes, had = h->docs[doc];
    if (rank_of(h, doc) < rank_of(h, kept))
        return;
    const uint32_t shared = (uint32_t)bm_jaccard_common(similarity, sizes[doc], sizes[kept]);
    if (shared < bm_share_least(h->match->settings.share, sizes[doc]) || shared < h->shared[doc])
        return;
    if (shared == h->shared[doc] && (had == BM_HELD_BY_KNOWN || rank_of(h, had) < rank_of(h, kept)))
        return;
    h->docs[doc] = kept;
    h->shared[doc] = shared;
}

static bm_status walk_turns(bm_holders *h, bm_error *err)
{
    bm_turn_links links;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turn_links_open(h->match, h->turns, &links, err));
    for (size_t i = 0; i < h->turns->n_order; i++) {
        const uint32_t doc = h->turns->order[i], *near;
        size_t n;
        BM_TRY_OUT(bm_turn_links_next(&links, i, &near, &n, err));
        for (size_t k = 0; h->docs[doc] == BM_NO_DOC && k < n; k++)
            holders_offer(h, doc, near[k], links.similarities[k]);
    }
out:
    bm_turn_links_close(&links);
    return status;
}

static void fill_in(const bm_holders *h, bm_grouping *out)
{
    const bm_corpus *corpus = h->match->settings.corpus;
    for (size_t i = 0; i < out->n; i++) {
        const uint32_t rep = corpus->rep[i], holder = h->docs[rep];
        bm_grouping_leave(out, i);
        const bool held = holder != BM_NO_DOC && holder != BM_HELD_BY_KNOWN;
        const uint32_t centre = held ? holder : rep;
        if (holder == BM_HELD_BY_KNOWN)
            out->known[i] = out->from->best[rep];
        out->label[i] = centre;
        out->kept[i] = h->turns->best[centre];
        out->similarity[i] =
            held ? bm_jaccard(h->shared[rep], corpus->sizes[rep], corpus->sizes[holder]) : 1.0;
    }
}

bm_status bm_holders_group(const bm_match *match, const bm_keep_rank *rank, bm_grouping *out,
                           bm_error *err)
{
    bm_turns turns;
    bm_holders holders = {0};
    bm_status status = BM_OK;
    BM_TRY(bm_turns_make(rank, match->settings.corpus->rep, out->n, &turns, err));
    BM_TRY_OUT(holders_init(match, rank, &turns, &holders, err));
    BM_TRY_OUT(walk_turns(&holders, err));
    fill_in(&holders, out);
    if (out->from != NULL)
        BM_TRY_OUT(bm_known_group(out, err));
out:
    holders_reset(&holders);
    bm_turns_reset(&turns);
    return status;
}

/* === match stars ===
 *
 * Documents take their turns (lsh/groups.h) while edges are still being found.
 *
 * Pairs of centres with other documents are collected in a chunk, so that many are verified at
 * once. Only verifying shows which documents a centre takes. So the chunk is verified before the
 * turn of any document in it. It is also verified before a later centre takes a document in the
 * chunk by an edge that was found earlier. The result is as if each pair were verified immediately,
 * so edges and counts do not depend on threads. */

#define CHECK_TURNS 4096u /* turns between two checks for cancellation */

typedef struct star_walk {
    bm_match *match;
    bm_turns turns;
    bm_holders *holders; /* NULL: stars are formed */
    bm_crowded_buckets crowded;
    bm_candidate_walk pairs;
} star_walk;

static void assign(star_walk *s, uint32_t centre, uint32_t doc)
{
    if (s->turns.centres[doc] != BM_NOT_TAKEN)
        return;
    bm_star_assign(s->turns.centres, centre, doc);
    bm_crowded_buckets_remove(&s->crowded, doc);
}

/* Handle an edge between a kept document and `doc`. If a holder contains all of `doc`, `doc` needs
 * no more pairs. Otherwise another kept document may contain more of it. */
static void hold_by_kept(star_walk *s, uint32_t kept, uint32_t doc, double similarity)
{
    holders_offer(s->holders, kept, doc, similarity);
    if (bm_holders_have_all(s->holders, doc))
        assign(s, kept, doc);
}

/* A bm_candidates_fn. Compares pairs of a centre and a document whose turn has not come. If a pair
 * is an edge, the centre takes or may hold the document. */
static bm_status verify(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    star_walk *s = ctx;
    BM_TRY(bm_edges_compare(s->match, pairs, n, err));
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = pairs[i].a, b = pairs[i].b;
        const bool a_is_centre = s->turns.centres[a] == a;
        const uint32_t centre = a_is_centre ? a : b, doc = a_is_centre ? b : a;
        s->crowded.waiting[doc] = 0;
        if (!isnan(pairs[i].similarity) && pairs[i].similarity < s->match->settings.threshold)
            continue;
        if (s->holders != NULL)
            hold_by_kept(s, centre, doc, pairs[i].similarity);
        else
            assign(s, centre, doc);
    }
    return BM_OK;
}

/* `doc` has just become a centre: take its n neighbours `near`, and emit its pairs in crowded
 * buckets. */
static bm_status make_centre(star_walk *s, uint32_t doc, const uint32_t *near, size_t n,
                             bm_error *err)
{
    bool waits = false;
    for (size_t i = 0; i < n; i++)
        waits = waits || s->crowded.waiting[near[i]] != 0;
    if (waits)
        BM_TRY(bm_candidate_walk_flush(&s->pairs, err));
    for (size_t i = 0; i < n; i++)
        assign(s, doc, near[i]);
    return bm_crowded_buckets_row(&s->crowded, &s->pairs, doc, err);
}

static bm_status match_stars_walk_turns(star_walk *s, bm_turn_links *links, bm_error *err)
{
    for (size_t i = 0; i < s->turns.n_order; i++) {
        const uint32_t doc = s->turns.order[i], *near;
        size_t n;
        if (i % CHECK_TURNS == CHECK_TURNS - 1)
            BM_TRY(bm_candidate_walk_check(&s->pairs, err));
        BM_TRY(bm_turn_links_next(links, i, &near, &n, err));
        if (s->crowded.waiting[doc] != 0)
            BM_TRY(bm_candidate_walk_flush(&s->pairs, err));
        if (s->holders != NULL && s->holders->docs[doc] != BM_NO_DOC)
            assign(s, s->holders->docs[doc], doc);
        if (!bm_star_begin(s->turns.centres, doc))
            continue;
        bm_crowded_buckets_remove(&s->crowded, doc);
        if (s->holders == NULL) {
            BM_TRY(make_centre(s, doc, near, n, err));
            continue;
        }
        for (size_t k = 0; k < n; k++)
            hold_by_kept(s, doc, near[k], links->similarities[k]);
        BM_TRY(bm_crowded_buckets_row(&s->crowded, &s->pairs, doc, err));
    }
    return bm_candidate_walk_flush(&s->pairs, err);
}

static bm_status walk_crowded(star_walk *s, const bm_candidates_job *job, bm_error *err)
{
    const bm_corpus *corpus = s->match->settings.corpus;
    bm_turn_links links = {0};
    bm_holders holders = {0};
    s->pairs.job = *job;
    s->pairs.job.fn = verify;
    s->pairs.job.ctx = s;
    BM_TRY(bm_new(&s->pairs.pairs, job->chunk, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_turns_make(s->match->settings.stars, corpus->rep, corpus->n, &s->turns, err));
    BM_TRY_OUT(bm_crowded_buckets_begin_rows(&s->crowded, job->keys->bands, s->turns.centres, err));
    if (s->match->settings.verify == BM_VERIFY_CONTAINED) {
        s->holders = &holders;
        BM_TRY_OUT(holders_init(s->match, s->match->settings.stars, &s->turns, &holders, err));
    }
    BM_TRY_OUT(bm_turn_links_open(s->match, &s->turns, &links, err));
    status = match_stars_walk_turns(s, &links, err);
out:
    bm_turn_links_close(&links);
    holders_reset(&holders);
    return status;
}

bm_status bm_match_stars(bm_match *match, const bm_candidates_job *job, bm_join_stats *stats,
                         bm_error *err)
{
    star_walk s = {.match = match};
    bm_crowded_buckets_init(&s.crowded, match->settings.corpus->n);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_candidates_of_small(job, &s.crowded, err));
    if (s.crowded.n_buckets > 0)
        BM_TRY_OUT(walk_crowded(&s, job, err));
out:
    *stats = s.crowded.stats;
    bm_crowded_buckets_reset(&s.crowded);
    bm_turns_reset(&s.turns);
    bm_free(s.pairs.pairs);
    return status;
}

/* === lost shingles ===
 *
 * Computes the lost shingles of each removed document, and the totals. */

uint64_t bm_lost_shingles(const bm_lost_source *from, size_t doc)
{
    const bm_grouping *g = from->grouping;
    const bm_corpus *corpus = from->corpus;
    const uint32_t n = corpus->sizes[doc];
    if (!corpus->cfg.hashes || corpus->cfg.weighted)
        return UINT64_MAX;
    if (!bm_grouping_is_known(g, doc) && g->kept[doc] == BM_NO_KEPT)
        return n;
    const uint32_t n_kept = bm_grouping_is_known(g, doc)
                                ? g->from->sizes[link_of(g->from, g->known[doc])]
                                : corpus->sizes[g->kept[doc]];
    return n - bm_jaccard_common(g->similarity[doc], n, n_kept);
}

bm_losses bm_lost_count(const bm_lost_source *from, const bm_doc_table *docs)
{
    bm_losses sum = {0};
    for (size_t i = 0; i < from->grouping->n; i++) {
        bm_grouping_leave(from->grouping, i);
        bm_doc_table_pass(docs, i);
        if (from->grouping->reason[i] == BM_REASON_KEPT)
            continue;
        const uint64_t bytes = bm_doc_table_row(docs, i)->text_bytes,
                       lost = bm_lost_shingles(from, i);
        sum.removed_shingles += from->corpus->sizes[i];
        /* A removed document has shingles, so its text is not empty. 0 bytes mean that the size is
         * unknown. */
        sum.removed_bytes =
            bytes == 0 || sum.removed_bytes == UINT64_MAX ? UINT64_MAX : sum.removed_bytes + bytes;
        sum.lost_shingles = lost == UINT64_MAX ? UINT64_MAX : sum.lost_shingles + lost;
    }
    if (!from->corpus->cfg.hashes || from->corpus->cfg.weighted)
        sum.lost_shingles = UINT64_MAX;
    return sum;
}

bm_status bm_edges_open_runs(const bm_corpus *corpus, bm_sorted_runs **out, bm_error *err)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    const bm_corpus_sums now = bm_corpus_sums_now(corpus);
    const uint64_t needed = bm_corpus_bytes_needed(corpus, &now),
                   left = cfg->spill_now || cfg->memory < needed ? 0 : cfg->memory - needed;
    const bool bounded = cfg->memory != 0 || cfg->spill_now;
    return bm_sorted_runs_open(
        cfg->temp_dir, bounded ? (size_t)(cfg->budget.arena / 2 + left / 4) : SIZE_MAX, out, err);
}

bm_status bm_edges_begin(const bm_match *match, bm_error *err)
{
    return match->result.edges == NULL ? BM_OK : bm_sorted_runs_begin(match->result.edges, err);
}

bm_status bm_edges_next(const bm_match *match, bm_pair *out, bm_error *err)
{
    bm_run_record record;
    if (match->result.edges == NULL)
        return BM_NOT_FOUND;
    BM_TRY(bm_sorted_runs_next(match->result.edges, &record, err));
    *out = bm_pair_of_key(record.key, record.value);
    return BM_OK;
}

static void record_earlier(const bm_corpus *corpus, bm_earlier_edges *earlier, const bm_pair *edge)
{
    if (earlier->edges == NULL)
        return;
    bm_earlier_edge *had = &earlier->edges[edge->b];
    if (had->behind == 0 || edge->a < had->behind)
        *had = (bm_earlier_edge){edge->similarity, edge->a + 1};
    if (++earlier->n_touched * PAGE > bm_corpus_columns_part(corpus) / 4) {
        bm_column_leave(&earlier->column);
        earlier->n_touched = 0;
    }
}

/* Sets of m and n shingles, m < n, have a similarity of at most m/n. So the probability that
 * signatures of K independent words agree in all words is at most (m/n)^K. */
#define UNLIKELY 1e-6

static void count_unlikely(bm_match *match, const bm_pair *edge)
{
    const bm_match_settings *settings = &match->settings;
    const bm_word_rows words = settings->corpus->cfg.words;
    bm_match_counts *counts = &match->result.counts;
    const uint32_t x = settings->corpus->sizes[edge->a], y = settings->corpus->sizes[edge->b];
    const double least = x < y ? x : y, most = x < y ? y : x;
    const double n_words = (double)words.uints * sizeof(uint32_t) / words.word_bytes;
    if (least < settings->judged_from || pow(least / most, n_words) >= UNLIKELY)
        return;
    if (counts->unlikely++ == 0)
        counts->first_unlikely = *edge;
}

bm_status bm_edges_add(bm_match *match, const bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match_result *result = &match->result;
    double threshold = match->settings.threshold;
    const bool stored = !match->settings.only_groups;
    if (stored && result->edges == NULL)
        BM_TRY(bm_edges_open_runs(match->settings.corpus, &result->edges, err));
    for (size_t i = 0; i < n; i++) {
        if (!(isnan(pairs[i].similarity) || pairs[i].similarity >= threshold))
            continue;
        result->counts.edges++;
        if (match->settings.verify == BM_VERIFY_SIGNATURE && pairs[i].similarity == 1)
            count_unlikely(match, &pairs[i]);
        bm_union_find_link(&result->groups, pairs[i].a, pairs[i].b);
        record_earlier(match->settings.corpus, &result->earlier, &pairs[i]);
        if (stored)
            BM_TRY(bm_sorted_runs_add(result->edges, bm_pair_key(pairs[i].a, pairs[i].b),
                                      bm_edge_bits(pairs[i].similarity), err));
    }
    return BM_OK;
}

bm_status bm_edges_found(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    BM_TRY(bm_meter_check(match->settings.meter, err));
    return bm_edges_add(match, pairs, n, err);
}

bm_status bm_edges_compare(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    bm_match *match = ctx;
    bm_match_counts *counts = &match->result.counts;
    const bm_match_settings *settings = &match->settings;
    const bm_comparison how = {.rule = {.verify = settings->verify,
                                        .measure = settings->measure,
                                        .threshold = settings->threshold,
                                        .share = settings->share},
                               .pool = settings->pool};
    BM_TRY(bm_meter_check(settings->meter, err));
    counts->candidates += n;
    counts->verified += settings->verify == BM_VERIFY_NONE ? 0 : n;
    double began_s = bm_clock_seconds();
    bm_status status = bm_corpus_compare(settings->corpus, &how, pairs, n, err);
    counts->verify_seconds += bm_clock_seconds() - began_s;
    BM_TRY(status);
    return bm_edges_add(match, pairs, n, err);
}
