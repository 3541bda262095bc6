/* grouping.c -- labels, the one to keep, the reason for each removal.
 *
 * Components read the union-find that matching left. Stars (lsh/stars.h) walk the neighbours of the
 * representatives; where the edges lie in runs, so do the neighbours, in the order of the turns.
 * Memory: about 30 bytes a document. Sequential but for the similarities, since everything here is
 * linear. */
#include "pipeline/match/grouping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"
#include "model/pair_order.h"

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
static bool preferred(const bm_grouping_options *options, uint32_t x, uint32_t y)
{
    const bm_doc_row *rows = options->docs->rows;
    uint64_t bytes_x = rows[x].text_bytes, bytes_y = rows[y].text_bytes;
    switch (options->keep) {
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

/* best[x] = the preferred of the documents whose owner is x; UINT32_MAX: none. */
static void best_of(const bm_grouping_options *options, const uint32_t *owner, size_t n,
                    uint32_t *best)
{
    for (size_t i = 0; i < n; i++)
        best[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *b = &best[owner[i]];
        if (*b == UINT32_MAX || preferred(options, (uint32_t)i, *b))
            *b = (uint32_t)i;
    }
}

/* --- components --- */

static bm_status group_by_components(const bm_match *match, const bm_grouping_options *options,
                                     bm_grouping *out, bm_error *err)
{
    const bm_corpus *corpus = match->settings.corpus;
    uint32_t *best = bm_alloc(out->n, sizeof *best);
    if (best == NULL)
        return bm_fail_nomem(err, out->n * sizeof *best);
    bm_union_find groups = match->result.groups; /* halving paths changes no root */
    for (size_t i = 0; i < out->n; i++)
        out->label[i] = bm_union_find_root(&groups, corpus->rep[i]);
    best_of(options, out->label, out->n, best);
    for (size_t i = 0; i < out->n; i++)
        out->kept[i] = best[out->label[i]];
    bm_free(best);
    return BM_OK;
}

/* --- stars --- */

typedef struct stars {
    const bm_match *match;
    const bm_grouping_options *options;
    uint32_t *best;    /* of each representative: the preferred of its copies and itself */
    uint32_t *order;   /* representatives, preferred first */
    uint32_t *centres; /* of each representative (lsh/stars.h) */
    size_t n, n_order;
} stars;

static int by_preference(const void *x, const void *y, void *ctx)
{
    const stars *s = ctx;
    uint32_t a = s->best[*(const uint32_t *)x], b = s->best[*(const uint32_t *)y];
    return a == b ? 0 : preferred(s->options, a, b) ? -1 : 1;
}

static bm_status stars_in_memory(const stars *s, bm_error *err)
{
    const bm_edges *edges = &s->match->result.edges;
    bm_pair_list list = {.pairs = edges->list, .n = edges->n, .n_docs = s->n};
    bm_neighbours neighbours = {0};
    bm_status status = bm_neighbours_make(list, BM_NEIGHBOURS_DOCS, &neighbours, err);
    if (status == BM_OK)
        bm_stars_walk(&neighbours, s->order, s->n_order, s->centres);
    bm_neighbours_reset(&neighbours);
    return status;
}

/* Add each edge of the runs twice, sorted by the place of one end in `order`, so that the
 * neighbours of a document come when its turn does. */
static bm_status sort_by_turn(const stars *s, const uint32_t *place, bm_sorted_runs *by_turn,
                              bm_error *err)
{
    bm_sorted_runs *edges = s->match->result.edges.runs;
    bm_run_record edge;
    bm_status status = bm_sorted_runs_begin(edges, err);
    while (status == BM_OK) {
        status = bm_sorted_runs_next(edges, &edge, err);
        bm_pair pair = bm_pair_of_key(edge.key, edge.value);
        if (status == BM_OK)
            status = bm_sorted_runs_add(by_turn, bm_pair_key(place[pair.a], pair.b), 0, err);
        if (status == BM_OK)
            status = bm_sorted_runs_add(by_turn, bm_pair_key(place[pair.b], pair.a), 0, err);
    }
    return status == BM_NOT_FOUND ? bm_sorted_runs_begin(by_turn, err) : status;
}

static bm_status walk_runs(const stars *s, bm_sorted_runs *by_turn, bm_error *err)
{
    bm_run_record link = {0};
    bm_status status = bm_sorted_runs_next(by_turn, &link, err);
    for (size_t i = 0; i < s->n_order; i++) {
        uint32_t doc = s->order[i];
        bool is_centre = bm_star_begin(s->centres, doc);
        for (; status == BM_OK && link.key >> 32 == i;
             status = bm_sorted_runs_next(by_turn, &link, err))
            if (is_centre)
                bm_star_take(s->centres, doc, (uint32_t)link.key);
    }
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static bm_status stars_from_runs(const stars *s, bm_error *err)
{
    const bm_corpus_cfg *cfg = &s->match->settings.corpus->cfg;
    bm_sorted_runs *by_turn = NULL;
    uint32_t *place = bm_alloc(s->n, sizeof *place);
    if (place == NULL)
        return bm_fail_nomem(err, s->n * sizeof *place);
    for (size_t i = 0; i < s->n_order; i++)
        place[s->order[i]] = (uint32_t)i;
    bm_status status =
        bm_sorted_runs_open(cfg->temp_dir, (size_t)cfg->budget.arena / 2, &by_turn, err);
    if (status == BM_OK)
        status = sort_by_turn(s, place, by_turn, err);
    bm_free(place);
    if (status == BM_OK)
        status = walk_runs(s, by_turn, err);
    bm_sorted_runs_close(by_turn);
    return status;
}

static bm_status group_by_stars(const bm_match *match, const bm_grouping_options *options,
                                bm_grouping *out, bm_error *err)
{
    const uint32_t *rep = match->settings.corpus->rep;
    stars s = {.match = match, .options = options, .n = out->n};
    bm_status status = BM_OK;
    s.best = bm_alloc(s.n, sizeof *s.best);
    s.order = bm_alloc(s.n, sizeof *s.order);
    s.centres = bm_alloc(s.n, sizeof *s.centres);
    if (s.best == NULL || s.order == NULL || s.centres == NULL) {
        status = bm_fail_nomem(err, s.n * sizeof *s.best);
        goto out;
    }
    best_of(options, rep, s.n, s.best);
    for (size_t i = 0; i < s.n; i++) {
        s.centres[i] = BM_NOT_TAKEN;
        if (rep[i] == i)
            s.order[s.n_order++] = (uint32_t)i;
    }
    qsort_r(s.order, s.n_order, sizeof *s.order, by_preference, &s);
    status = match->result.edges.runs == NULL ? stars_in_memory(&s, err) : stars_from_runs(&s, err);
    for (size_t i = 0; status == BM_OK && i < s.n; i++) {
        uint32_t centre = s.centres[rep[i]];
        out->kept[i] = s.best[centre];
        out->label[i] = centre;
    }
out:
    bm_free(s.best);
    bm_free(s.order);
    bm_free(s.centres);
    return status;
}

/* --- labels, members, reasons --- */

/* The label of a group is any of its documents: make it the smallest. `scratch` holds n. */
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

/* List the members of each group, by counting. Groups come in the order of their labels, which are
 * their smallest documents. */
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

/* Is the removed document a near the kept document b? Without verification: was it a candidate of
 * it? */
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

static void give_reason(const bm_match *match, bm_grouping *out, uint32_t doc, double similarity)
{
    out->similarity[doc] = similarity;
    out->reason[doc] =
        is_near(match, doc, out->kept[doc], similarity) ? BM_REASON_NEAR : BM_REASON_CHAINED;
}

/* Compare each removed document (a) with the kept one (b), and give it its reason. */
static bm_status compare_removed(const bm_match *match, bm_grouping *out, bm_pair *pairs, size_t n,
                                 bm_error *err)
{
    bm_comparison how = {.verify = match->settings.verify, .pool = match->settings.pool};
    bm_status status = bm_corpus_compare(match->settings.corpus, &how, pairs, n, err);
    for (size_t i = 0; status == BM_OK && i < n; i++)
        give_reason(match, out, pairs[i].a, pairs[i].similarity);
    return status;
}

/* Did matching compare the document with the kept one, and find an edge? */
static bool is_known(const bm_match *match, uint32_t doc, uint32_t kept, double *similarity)
{
    uint32_t x = match->settings.corpus->rep[doc], y = match->settings.corpus->rep[kept];
    uint32_t first = x < y ? x : y, second = x < y ? y : x;
    const bm_earlier_edges *earlier = &match->result.earlier;
    if (earlier->docs == NULL || earlier->docs[second] != first)
        return false;
    *similarity = earlier->similarities[second];
    return true;
}

static bm_status give_reasons(const bm_match *match, bm_grouping *out, bm_error *err)
{
    const uint32_t *rep = match->settings.corpus->rep;
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

bm_status bm_grouping_make(const bm_match *match, const bm_grouping_options *options,
                           bm_grouping *out, bm_error *err)
{
    bm_status status = alloc_grouping(match->settings.corpus->n, out, err);
    if (status == BM_OK)
        status = options->cluster == BM_CLUSTER_STAR
                     ? group_by_stars(match, options, out, err)
                     : group_by_components(match, options, out, err);
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
