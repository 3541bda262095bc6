/* grouping.c -- labels, the one to keep, the reason for each removal.
 *
 * Stars walk the edges as a CSR graph of representatives; components read the union-find that
 * matching left. Memory: about 30 bytes a document. Sequential but for the similarities, since
 * everything here is linear. */
#include "pipeline/match/grouping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define COMPARE_PAIRS 65536u /* removed documents compared at a time */

void bm_grouping_reset(bm_grouping *grouping)
{
    bm_free(grouping->label);
    bm_free(grouping->kept);
    bm_free(grouping->reason);
    bm_free(grouping->similarity);
    bm_free(grouping->members);
    bm_free(grouping->begin);
    memset(grouping, 0, sizeof *grouping);
}

/* Is x preferred to y? Ties go to the first. */
static bool preferred(const bm_doc_table *docs, bm_keep keep, uint32_t x, uint32_t y)
{
    uint64_t bytes_x = docs->rows[x].text_bytes, bytes_y = docs->rows[y].text_bytes;
    switch (keep) {
    case BM_KEEP_LAST:
        return x > y;
    case BM_KEEP_LONGEST:
        return bytes_x != bytes_y ? bytes_x > bytes_y : x < y;
    case BM_KEEP_SHORTEST:
        return bytes_x != bytes_y ? bytes_x < bytes_y : x < y;
    case BM_KEEP_FIRST:
        break;
    }
    return x < y;
}

/* best[owner of each] = the preferred document of those that have that owner. */
static void best_of(const bm_doc_table *docs, bm_keep keep, const uint32_t *owner, size_t n,
                    uint32_t *best)
{
    for (size_t i = 0; i < n; i++)
        best[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *b = &best[owner[i]];
        if (*b == UINT32_MAX || preferred(docs, keep, (uint32_t)i, *b))
            *b = (uint32_t)i;
    }
}

/* --- components --- */

static bm_status components(const bm_match *match, const bm_doc_table *docs, bm_keep keep,
                            bm_grouping *out, bm_error *err)
{
    const bm_corpus *corpus = match->corpus;
    uint32_t *best = bm_alloc(out->n, sizeof *best);
    if (best == NULL)
        return bm_fail_nomem(err, out->n * sizeof *best);
    bm_union_find groups = match->groups; /* halving paths changes no root */
    for (size_t i = 0; i < out->n; i++)
        out->label[i] = bm_union_find_root(&groups, corpus->rep[i]);
    best_of(docs, keep, out->label, out->n, best);
    for (size_t i = 0; i < out->n; i++)
        out->kept[i] = best[out->label[i]];
    bm_free(best);
    return BM_OK;
}

/* --- stars --- */

typedef struct star {
    const bm_match *match;
    const bm_doc_table *docs;
    bm_keep keep;
    uint32_t *best;   /* of each representative: the preferred of its copies and itself */
    uint32_t *order;  /* representatives, preferred first */
    uint32_t *centre; /* of each representative; UINT32_MAX: not taken */
    uint64_t *begin;  /* neighbours of each: CSR */
    uint32_t *neighbours;
} star;

static int by_preference(const void *x, const void *y, void *ctx)
{
    const star *s = ctx;
    uint32_t a = s->best[*(const uint32_t *)x], b = s->best[*(const uint32_t *)y];
    return a == b ? 0 : preferred(s->docs, s->keep, a, b) ? -1 : 1;
}

static void star_neighbours(star *s, size_t n)
{
    const bm_match *match = s->match;
    memset(s->begin, 0, (n + 2) * sizeof *s->begin);
    for (size_t i = 0; i < match->n_edges; i++) {
        s->begin[match->edges[i].a + 2]++;
        s->begin[match->edges[i].b + 2]++;
    }
    for (size_t i = 0; i < n; i++)
        s->begin[i + 2] += s->begin[i + 1];
    for (size_t i = 0; i < match->n_edges; i++) {
        s->neighbours[s->begin[match->edges[i].a + 1]++] = match->edges[i].b;
        s->neighbours[s->begin[match->edges[i].b + 1]++] = match->edges[i].a;
    }
}

static bm_status star_in_memory(star *s, size_t n, size_t n_order, bm_error *err)
{
    s->begin = bm_alloc(n + 2, sizeof *s->begin);
    s->neighbours = bm_alloc(2 * s->match->n_edges, sizeof *s->neighbours);
    if (s->begin == NULL || s->neighbours == NULL)
        return bm_fail_nomem(err, n * sizeof *s->begin);
    star_neighbours(s, n);
    for (size_t i = 0; i < n_order; i++) {
        uint32_t doc = s->order[i];
        if (s->centre[doc] != UINT32_MAX)
            continue;
        s->centre[doc] = doc;
        for (uint64_t j = s->begin[doc]; j < s->begin[doc + 1]; j++)
            if (s->centre[s->neighbours[j]] == UINT32_MAX)
                s->centre[s->neighbours[j]] = doc;
    }
    return BM_OK;
}

/* Edges in files: each twice, sorted by the place of one end in `order`, so that neighbours come
 * when their centre's turn is. */
static bm_status star_sort(star *s, const uint32_t *place, bm_sorted_runs *by_place, bm_error *err)
{
    bm_run_record edge;
    bm_status status = bm_sorted_runs_begin(s->match->edge_runs, err);
    while (status == BM_OK) {
        status = bm_sorted_runs_next(s->match->edge_runs, &edge, err);
        uint32_t a = (uint32_t)(edge.key >> 32), b = (uint32_t)edge.key;
        if (status == BM_OK)
            status = bm_sorted_runs_add(by_place, (uint64_t)place[a] << 32 | b, 0, err);
        if (status == BM_OK)
            status = bm_sorted_runs_add(by_place, (uint64_t)place[b] << 32 | a, 0, err);
    }
    return status == BM_NOT_FOUND ? bm_sorted_runs_begin(by_place, err) : status;
}

static bm_status star_walk(star *s, size_t n_order, bm_sorted_runs *by_place, bm_error *err)
{
    bm_run_record edge = {0};
    bm_status status = bm_sorted_runs_next(by_place, &edge, err);
    for (size_t i = 0; i < n_order; i++) {
        uint32_t doc = s->order[i];
        bool centre = s->centre[doc] == UINT32_MAX;
        if (centre)
            s->centre[doc] = doc;
        for (; status == BM_OK && edge.key >> 32 == i;
             status = bm_sorted_runs_next(by_place, &edge, err))
            if (centre && s->centre[(uint32_t)edge.key] == UINT32_MAX)
                s->centre[(uint32_t)edge.key] = doc;
    }
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static bm_status star_from_runs(star *s, size_t n, size_t n_order, bm_error *err)
{
    const bm_corpus_cfg *cfg = &s->match->corpus->cfg;
    bm_sorted_runs *by_place = NULL;
    uint32_t *place = bm_alloc(n, sizeof *place);
    if (place == NULL)
        return bm_fail_nomem(err, n * sizeof *place);
    for (size_t i = 0; i < n_order; i++)
        place[s->order[i]] = (uint32_t)i;
    bm_status status =
        bm_sorted_runs_open(cfg->temp_dir, (size_t)cfg->budget.arena / 2, &by_place, err);
    if (status == BM_OK)
        status = star_sort(s, place, by_place, err);
    bm_free(place);
    if (status == BM_OK)
        status = star_walk(s, n_order, by_place, err);
    bm_sorted_runs_close(by_place);
    return status;
}

static bm_status stars(const bm_match *match, const bm_doc_table *docs, bm_keep keep,
                       bm_grouping *out, bm_error *err)
{
    size_t n = out->n, n_order = 0;
    const uint32_t *rep = match->corpus->rep;
    star s = {.match = match, .docs = docs, .keep = keep};
    bm_status status = BM_OK;
    s.best = bm_alloc(n, sizeof *s.best);
    s.order = bm_alloc(n, sizeof *s.order);
    s.centre = bm_alloc(n, sizeof *s.centre);
    if (s.best == NULL || s.order == NULL || s.centre == NULL) {
        status = bm_fail_nomem(err, n * sizeof *s.best);
        goto out;
    }
    best_of(docs, keep, rep, n, s.best);
    for (size_t i = 0; i < n; i++) {
        s.centre[i] = UINT32_MAX;
        if (rep[i] == i)
            s.order[n_order++] = (uint32_t)i;
    }
    qsort_r(s.order, n_order, sizeof *s.order, by_preference, &s);
    status = match->edge_runs == NULL ? star_in_memory(&s, n, n_order, err)
                                      : star_from_runs(&s, n, n_order, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        uint32_t centre = s.centre[rep[i]];
        out->kept[i] = s.best[centre];
        out->label[i] = centre;
    }
out:
    bm_free(s.best);
    bm_free(s.order);
    bm_free(s.centre);
    bm_free(s.begin);
    bm_free(s.neighbours);
    return status;
}

/* --- labels, members, reasons --- */

/* Any document of a group as its label -> the smallest. `scratch` holds n. */
static void smallest_labels(bm_grouping *out, uint32_t *scratch)
{
    for (size_t i = 0; i < out->n; i++)
        scratch[i] = UINT32_MAX;
    for (size_t i = 0; i < out->n; i++)
        if (scratch[out->label[i]] == UINT32_MAX)
            scratch[out->label[i]] = (uint32_t)i;
    for (size_t i = 0; i < out->n; i++)
        out->label[i] = scratch[out->label[i]];
}

/* Members by counting: groups come in order of their smallest document, which is their label. */
static bm_status gather(bm_grouping *out, bm_error *err)
{
    uint32_t *size = bm_alloc_zero(out->n, sizeof *size);
    uint64_t *place = bm_alloc(out->n, sizeof *place);
    if (size == NULL || place == NULL) {
        bm_free(size);
        bm_free(place);
        return bm_fail_nomem(err, out->n * sizeof *place);
    }
    uint64_t total = 0;
    for (size_t i = 0; i < out->n; i++)
        size[out->label[i]]++;
    for (size_t i = 0; i < out->n; i++) {
        if (size[i] < 2)
            continue;
        out->begin[out->n_groups++] = total;
        place[i] = total;
        total += size[i];
        out->largest = size[i] > out->largest ? size[i] : out->largest;
    }
    out->begin[out->n_groups] = total;
    for (size_t i = 0; i < out->n; i++)
        if (size[out->label[i]] >= 2)
            out->members[place[out->label[i]]++] = (uint32_t)i;
    bm_free(size);
    bm_free(place);
    return BM_OK;
}

/* Without verification a removed document is `near` where it was itself a candidate of the kept
 * one. */
static bool is_near(const bm_match *match, uint32_t a, uint32_t b, double similarity)
{
    if (match->verify != BM_VERIFY_NONE)
        return similarity >= match->threshold;
    const bm_corpus *corpus = match->corpus;
    uint32_t x = corpus->rep[a], y = corpus->rep[b];
    for (uint32_t band = 0; band < match->keys.bands; band++)
        if (bm_band_keyset_at(&match->keys, band, x) == bm_band_keyset_at(&match->keys, band, y))
            return true;
    return false;
}

static void give_reason(const bm_match *match, bm_grouping *out, uint32_t doc, double similarity)
{
    out->similarity[doc] = similarity;
    out->reason[doc] =
        is_near(match, doc, out->kept[doc], similarity) ? BM_REASON_NEAR : BM_REASON_CHAINED;
}

/* The similarities of the pairs go to the documents that were removed. */
static bm_status compare_removed(const bm_match *match, bm_grouping *out, bm_pair *pairs, size_t n,
                                 bm_error *err)
{
    bm_status status =
        bm_corpus_compare(match->corpus, match->verify, 0, pairs, n, match->pool, err);
    for (size_t i = 0; status == BM_OK && i < n; i++)
        give_reason(match, out, pairs[i].a, pairs[i].similarity);
    return status;
}

/* Does matching know the similarity of the document and the kept one? */
static bool is_known(const bm_match *match, uint32_t doc, uint32_t kept, double *similarity)
{
    uint32_t x = match->corpus->rep[doc], y = match->corpus->rep[kept];
    uint32_t first = x < y ? x : y, second = x < y ? y : x;
    if (match->earlier == NULL || match->earlier[second] != first)
        return false;
    *similarity = match->to_earlier[second];
    return true;
}

static bm_status give_reasons(const bm_match *match, bm_grouping *out, bm_error *err)
{
    const uint32_t *rep = match->corpus->rep;
    size_t n = 0;
    bm_status status = BM_OK;
    bm_pair *pairs = bm_alloc(COMPARE_PAIRS, sizeof *pairs);
    if (pairs == NULL)
        return bm_fail_nomem(err, COMPARE_PAIRS * sizeof *pairs);
    for (size_t i = 0; status == BM_OK && i < out->n; i++) {
        out->similarity[i] = 1.0;
        out->reason[i] = out->kept[i] == i ? BM_REASON_KEPT : BM_REASON_IDENTICAL;
        if (rep[i] == rep[out->kept[i]])
            continue;
        double similarity;
        if (is_known(match, (uint32_t)i, out->kept[i], &similarity)) {
            give_reason(match, out, (uint32_t)i, similarity);
            continue;
        }
        pairs[n++] = (bm_pair){(uint32_t)i, out->kept[i], 0.0};
        if (n == COMPARE_PAIRS) {
            status = compare_removed(match, out, pairs, n, err);
            n = 0;
        }
    }
    if (status == BM_OK)
        status = compare_removed(match, out, pairs, n, err);
    bm_free(pairs);
    return status;
}

static bm_status alloc_grouping(size_t n, bm_grouping *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->n = n;
    out->label = bm_alloc(n, sizeof *out->label);
    out->kept = bm_alloc(n, sizeof *out->kept);
    out->reason = bm_alloc(n, sizeof *out->reason);
    out->similarity = bm_alloc(n, sizeof *out->similarity);
    out->members = bm_alloc(n, sizeof *out->members);
    out->begin = bm_alloc(n / 2 + 2, sizeof *out->begin);
    if (out->label == NULL || out->kept == NULL || out->reason == NULL || out->similarity == NULL ||
        out->members == NULL || out->begin == NULL)
        return bm_fail_nomem(err, n * sizeof *out->similarity);
    return BM_OK;
}

bm_status bm_grouping_make(const bm_match *match, const bm_doc_table *docs, bm_cluster cluster,
                           bm_keep keep, bm_grouping *out, bm_error *err)
{
    bm_status status = alloc_grouping(match->corpus->n, out, err);
    if (status == BM_OK)
        status = cluster == BM_CLUSTER_STAR ? stars(match, docs, keep, out, err)
                                            : components(match, docs, keep, out, err);
    if (status == BM_OK) {
        smallest_labels(out, out->members);
        status = gather(out, err);
    }
    if (status == BM_OK)
        status = give_reasons(match, out, err);
    for (size_t i = 0; status == BM_OK && i < out->n; i++) {
        out->n_removed += out->reason[i] != BM_REASON_KEPT;
        out->n_chained += out->reason[i] == BM_REASON_CHAINED;
        out->n_identical += out->reason[i] == BM_REASON_IDENTICAL;
    }
    if (status != BM_OK)
        bm_grouping_reset(out);
    return status;
}
