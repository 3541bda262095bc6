/* bucket_join.c -- one large bucket, row by row, between looks at the groups.
 *
 * `live` holds the documents whose row (the pairs of it with all others) is still to come, ordered
 * by group:
 *
 *     live  [ a a a a a | b b | c | d | … ]      a row of b is  [ a a a a a ]  and  [ c | d | … ]
 *
 * So pairs within a group, which are most of the pairs in a bucket of copies, are never walked
 * over. A round emits rows, waits for their verification, and orders `live` anew: O(n) for at least
 * n/2 pairs looked at. Groups of which no document had its row yet come first: with k clusters of
 * near-copies, about k rows are enough. Rounds grow, so that verification has enough to share among
 * threads where little is joined.
 *
 * The budget counts pairs looked at, not only those compared: a look at the keys of earlier bands
 * costs time too. Pairs across groups can only become fewer than they are. So once they fit into
 * what is left, the rest of the bucket is exact.
 *
 * Sub-buckets: pairs that agree in a second band are the likelier ones. Only later bands are asked,
 * since what agreed in an earlier one was looked at there. Of a large sub-bucket again only a star.
 *
 * Keys made so as to collide in the table of sub-buckets cost time. One thread at a time. */
#include "lsh/bucket_join.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/band_buckets.h"

#define EXACT_DOCS      1024u  /* documents of a bucket of which every pair is looked at */
#define PAIRS_A_DOC     64u    /* of a larger bucket: pairs a document */
#define REPRESENTATIVES 8u     /* rows that are emitted before sub-buckets are tried */
#define ROUND_PAIRS     65536u /* pairs of a round at most, about */
#define SCRATCH_BYTES   42u /* a document: 22 here, 4 (and room) for members, up to 16 for slots */

typedef bm_candidate_walk walk;
typedef bm_bucket_join join;

int64_t bm_bucket_join_budget(size_t n)
{
    int64_t docs = (int64_t)n, least = (int64_t)EXACT_DOCS * (EXACT_DOCS - 1) / 2;
    return docs * PAIRS_A_DOC > least ? docs * PAIRS_A_DOC : least;
}

void bm_bucket_join_init(join *j, size_t n_docs)
{
    *j = (join){.n_docs = n_docs};
}

static void free_scratch(join *j)
{
    bm_free(j->live);
    bm_free(j->spent);
    bm_free(j->group);
    bm_free(j->other);
    bm_free(j->begin);
    bm_free(j->taken);
    bm_free(j->had);
    j->live = j->spent = j->group = j->other = j->begin = NULL;
    j->taken = j->had = NULL;
    j->cap = 0;
}

void bm_bucket_join_reset(join *j)
{
    free_scratch(j);
    bm_free(j->place);
    bm_free(j->slots);
    *j = (join){0};
}

static bm_status reserve(join *j, bm_error *err)
{
    const walk *w = j->walk;
    size_t n = w->n_members;
    if (j->place == NULL) {
        BM_TRY(bm_new(&j->place, j->n_docs, err));
        memset(j->place, 0xFF, j->n_docs * sizeof *j->place); /* BM_NO_DOC */
    }
    if (n <= j->cap)
        return BM_OK;
    size_t cap = n + n / 4;
    if (w->job.reserve != NULL) {
        BM_TRY(w->job.reserve(w->job.ctx, (uint64_t)cap * SCRATCH_BYTES, err));
    }
    free_scratch(j);
    j->live = bm_alloc(cap, sizeof *j->live);
    j->spent = bm_alloc(cap, sizeof *j->spent);
    j->group = bm_alloc(cap, sizeof *j->group);
    j->other = bm_alloc(cap, sizeof *j->other);
    j->begin = bm_alloc(cap + 2, sizeof *j->begin);
    j->taken = bm_alloc_zero(cap, sizeof *j->taken);
    j->had = bm_alloc(cap, sizeof *j->had);
    if (j->live == NULL || j->spent == NULL || j->group == NULL || j->other == NULL ||
        j->begin == NULL || j->taken == NULL || j->had == NULL)
        return bm_fail_nomem(err, cap * 22);
    j->cap = cap;
    return BM_OK;
}

/* Order `live` by group, groups by their first document in it; fill `begin` and `had` of each. */
static void regroup(join *j)
{
    const walk *w = j->walk;
    uint32_t *place = j->place, *begin = j->begin, n_groups = 0;
    for (size_t i = 0; i < j->n_live; i++) {
        uint32_t *g = &place[bm_union_find_root(w->job.groups, j->live[i])];
        if (*g == BM_NO_DOC)
            *g = n_groups++;
        j->group[i] = *g;
    }
    memset(begin, 0, ((size_t)n_groups + 2) * sizeof *begin);
    memset(j->had, 0, n_groups);
    for (size_t i = 0; i < j->n_spent; i++) {
        uint32_t g = place[bm_union_find_root(w->job.groups, j->spent[i])];
        if (g != BM_NO_DOC)
            j->had[g] = 1;
    }
    for (size_t i = 0; i < j->n_live; i++) {
        place[bm_union_find_root(w->job.groups, j->live[i])] = BM_NO_DOC;
        begin[j->group[i] + 2]++;
    }
    for (size_t g = 0; g < n_groups; g++)
        begin[g + 2] += begin[g + 1];
    for (size_t i = 0; i < j->n_live; i++)
        j->other[begin[j->group[i] + 1]++] = j->live[i];
    uint32_t *live = j->other;
    j->other = j->live;
    j->live = live;
    j->n_groups = n_groups;
}

/* How many pairs of live documents are in different groups. */
static int64_t across(const join *j)
{
    int64_t pairs = 0;
    for (size_t g = 0; g < j->n_groups; g++)
        pairs += (int64_t)(j->begin[g + 1] - j->begin[g]) * (int64_t)(j->n_live - j->begin[g + 1]);
    return pairs;
}

/* Emit the live document at `x` with those at from … to-1, but for pairs of an earlier band. */
static bm_status look(join *j, size_t x, size_t from, size_t to, bm_error *err)
{
    walk *w = j->walk;
    for (size_t i = from; i < to; i++) {
        if (j->taken[i] != 0)
            continue;
        j->left--;
        if (!bm_candidate_walk_met(w, w->band, w->band, j->live[x], j->live[i]))
            BM_TRY(bm_candidate_walk_emit(w, j->live[x], j->live[i], err));
    }
    return BM_OK;
}

/* Emit the row of the live document at `x`, which is in group g: it with all of other groups. */
static bm_status row(join *j, size_t x, size_t g, bm_error *err)
{
    j->taken[x] = 1;
    BM_TRY(look(j, x, 0, j->begin[g], err));
    return look(j, x, j->begin[g + 1], j->n_live, err);
}

/* Move the taken documents from `live` to `spent`. */
static void spend(join *j)
{
    size_t left = 0;
    for (size_t i = 0; i < j->n_live; i++) {
        if (j->taken[i] != 0)
            j->spent[j->n_spent++] = j->live[i];
        else
            j->live[left++] = j->live[i];
        j->taken[i] = 0;
    }
    j->n_live = left;
}

/* Emit rows of at least `pairs` pairs, or all there are; wait for their verification, and order
 * `live` anew. */
static bm_status round_of(join *j, int64_t pairs, bm_error *err)
{
    walk *w = j->walk;
    int64_t stop = j->left - pairs;
    bm_status status = BM_OK;
    for (size_t g = 0; g < j->n_groups && j->left > stop; g++) {
        if (j->had[g] == 0)
            BM_TRY_OUT(row(j, j->begin[g], g, err));
    }
    for (size_t g = 0; g < j->n_groups && j->left > stop; g++) {
        for (size_t x = j->begin[g]; x < j->begin[g + 1] && j->left > stop; x++) {
            if (j->taken[x] == 0)
                BM_TRY_OUT(row(j, x, g, err));
        }
    }
    status = bm_candidate_walk_flush(w, err);
out:
    spend(j);
    regroup(j);
    return status;
}

/* Emit every pair across groups, since they fit into what is left. */
static bm_status look_at_all(join *j, bm_error *err)
{
    walk *w = j->walk;
    int64_t pairs = (int64_t)w->n_members / 2;
    while (across(j) > 0) {
        BM_TRY(round_of(j, pairs, err));
        if (pairs < ROUND_PAIRS)
            pairs *= 2;
    }
    return BM_OK;
}

/* Emit at most `rows` rows, while the pairs across groups are more than what is left. */
static bm_status representatives(join *j, uint64_t rows, bm_error *err)
{
    for (; rows > 0 && j->left > 0 && across(j) > j->left; rows--)
        BM_TRY(round_of(j, 1, err));
    return BM_OK;
}

/* --- sub-buckets --- */

/* Chain the live documents by their keys: other[i] is the place of the next one, plus 1; group[i]
 * tells whether one comes before. */
static bm_status chain_by_key(join *j, const bm_band_keyset *keys, uint32_t band, bm_error *err)
{
    size_t n_slots = 16;
    while (n_slots < j->n_live * 2)
        n_slots *= 2;
    if (n_slots > j->cap_slots) {
        bm_free(j->slots);
        j->slots = bm_alloc(n_slots, sizeof *j->slots);
        j->cap_slots = j->slots == NULL ? 0 : n_slots;
        if (j->slots == NULL)
            return bm_fail_nomem(err, n_slots * sizeof *j->slots);
    }
    memset(j->slots, 0, n_slots * sizeof *j->slots);
    for (size_t i = 0; i < j->n_live; i++) {
        uint64_t key = bm_band_keyset_at(keys, band, j->live[i]);
        uint64_t mixed = key * UINT64_C(0x9E3779B97F4A7C15);
        size_t at = (size_t)(mixed >> 32) & (n_slots - 1);
        while (j->slots[at] != 0 && bm_band_keyset_at(keys, band, j->live[j->slots[at] - 1]) != key)
            at = (at + 1) & (n_slots - 1);
        j->group[i] = j->slots[at] != 0;
        j->other[i] = 0;
        if (j->slots[at] != 0)
            j->other[j->slots[at] - 1] = (uint32_t)i + 1;
        j->slots[at] = (uint32_t)i + 1;
    }
    return BM_OK;
}

/* Emit pairs of the sub-bucket docs[0] … docs[n-1], which agrees in `band` too: all of them where
 * they are few, else those of the first document. */
static bm_status sub_bucket(join *j, uint32_t band, const uint32_t *docs, size_t n, bm_error *err)
{
    walk *w = j->walk;
    uint64_t pairs = (uint64_t)n * (n - 1) / 2;
    size_t rows = pairs <= (uint64_t)n * PAIRS_A_DOC && pairs <= (uint64_t)j->left ? n - 1 : 1;
    for (size_t a = 0; a < rows; a++) {
        for (size_t b = a + 1; b < n; b++) {
            j->left--;
            if (!bm_candidate_walk_joined(w, docs[a], docs[b]) &&
                !bm_candidate_walk_met(w, band, w->band, docs[a], docs[b]))
                BM_TRY(bm_candidate_walk_emit(w, docs[a], docs[b], err));
        }
    }
    return BM_OK;
}

/* Emit pairs of the sub-buckets that `band` makes of the live documents. */
static bm_status sub_band(join *j, uint32_t band, bm_error *err)
{
    walk *w = j->walk;
    BM_TRY(chain_by_key(j, w->job.keys, band, err));
    uint32_t *docs = j->begin; /* of no use until live is grouped again */
    for (size_t i = 0; i < j->n_live && j->left > 0; i++) {
        if (j->group[i] != 0 || j->other[i] == 0)
            continue;
        size_t n = 0;
        for (size_t at = i + 1; at != 0; at = j->other[at - 1])
            docs[n++] = j->live[at - 1];
        BM_TRY(sub_bucket(j, band, docs, n, err));
    }
    return bm_candidate_walk_flush(w, err);
}

/* The same for each band after that of the bucket, while the budget lasts. */
static bm_status sub_bands(join *j, bm_error *err)
{
    walk *w = j->walk;
    bm_status status = BM_OK;
    for (uint32_t band = w->band + 1; band < w->job.keys->bands && j->left > 0; band++)
        BM_TRY_OUT(sub_band(j, band, err));
out:
    regroup(j);
    return status;
}

bm_status bm_bucket_join_run(join *j, walk *w, bm_error *err)
{
    j->walk = w;
    BM_TRY(reserve(j, err));
    BM_TRY(bm_candidate_walk_flush(w, err));
    j->spent[0] = w->members[0];
    j->n_spent = 1;
    j->n_live = w->n_members - 1;
    memcpy(j->live, w->members + 1, j->n_live * sizeof *j->live);
    j->left = bm_bucket_join_budget(w->n_members);
    regroup(j);
    BM_TRY(representatives(j, REPRESENTATIVES, err));
    if (across(j) > j->left)
        BM_TRY(sub_bands(j, err));
    BM_TRY(representatives(j, UINT64_MAX, err));
    if (across(j) <= j->left)
        return look_at_all(j, err);
    j->stats.n_cut++;
    j->stats.n_not_compared += (uint64_t)across(j);
    return BM_OK;
}
