/* page_what_if.c -- components by a union-find a threshold, stars by a walk in the order of the documents.
 *
 * pairs.tsv says of identical documents only that each copy has its first. A copy goes where its first
 * goes: it is known by being in one row alone, the second of it, with similarity 1. (A document that is
 * no copy and stands so has a first that stands in that row alone too: then it makes no difference.)
 *
 * The order of documents is that of groups.jsonl, where members of a group stand in input order; between
 * groups the order does not matter, for no pair joins them. Lengths of texts are in no file of the directory:
 * stars that begin with the longest or shortest wait until the inputs were read.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lsh/stars.h"
#include "pipeline/page/page_tables.h"
#include "pipeline/page/page_texts.h"

#define STEPS 3u /* that are tried, the largest first */

/* The next thresholds: three steps of .05, or of less where there is no room for them. */
static size_t next_thresholds(double threshold, double out[BM_PAGE_CHOICES])
{
    static const long steps[STEPS] = {500, 200, 100}; /* ten-thousandths */
    const long from = lround(threshold * 10000);
    size_t n = 0, i = 0;
    while (i + 1 < STEPS && from + (long)BM_PAGE_CHOICES * steps[i] > 10000)
        i++;
    for (long at = from + steps[i]; n < BM_PAGE_CHOICES && at <= 10000; at += steps[i])
        out[n++] = (double)at / 10000;
    return n;
}

static const char *why_not(const bm_page_facts *facts)
{
    if (!facts->has_pairs)
        return "the directory has no pairs.tsv, which dedup writes on request";
    if (facts->against)
        return "documents were compared with known ones, whose pairs are not in pairs.tsv";
    if (facts->verify == BM_VERIFY_NONE)
        return "no similarities are known";
    if (facts->cluster == BM_CLUSTER_STAR)
        return "the groups are stars, which would begin elsewhere at another threshold";
    return NULL;
}

void bm_page_weigh_begin(bm_page_weigh *w, const bm_settings *settings, bm_page_content *content)
{
    const bm_page_facts *facts = &content->facts;
    bm_page_what_if *out = &content->what_if;
    double thresholds[BM_PAGE_CHOICES];
    *w = (bm_page_weigh){.settings = settings,
                         .content = content,
                         .by_length =
                             facts->keep == BM_KEEP_LONGEST || facts->keep == BM_KEEP_SHORTEST};
    w->room = settings->memory / (w->by_length ? 4 : 2); /* texts are read beside them */
    out->why_not = out->why_no_stars = why_not(facts);
    if (facts->cluster == BM_CLUSTER_STAR)
        out->why_no_stars = "the groups are stars already: nothing is chained";
    else if (out->why_not == NULL && w->by_length && !content->has_texts)
        out->why_no_stars = "stars begin with the longest or shortest texts, and the inputs "
                            "have none";
    w->n_levels = out->why_not == NULL ? next_thresholds(facts->threshold, thresholds) : 0;
    for (size_t i = 0; i < w->n_levels; i++)
        w->levels[i].threshold = thresholds[i];
}

static bm_status grow_sets(bm_page_level *level, size_t n, bm_error *err)
{
    bm_status status = bm_grow_array(&level->sets.parent, &level->cap, n, err);
    for (; status == BM_OK && level->sets.n < n; level->sets.n++)
        level->sets.parent[level->sets.n] = (uint32_t)level->sets.n;
    return status;
}

/* Too much: nothing more is taken, and that is said. */
static void give_up(bm_page_weigh *w)
{
    w->content->what_if.why_not = w->content->what_if.why_no_stars =
        "the pairs do not fit into the memory of this report";
    w->n_levels = 0;
    bm_id_set_reset(&w->ids);
    bm_free(w->pairs);
    w->pairs = NULL;
    w->n_pairs = w->cap_pairs = 0;
}

static uint64_t bytes_of(const bm_page_weigh *w)
{
    return bm_id_set_bytes(w->ids.n, w->ids.text.len) +
           (uint64_t)w->ids.n * (4 * BM_PAGE_CHOICES + 40) +
           (uint64_t)w->n_pairs * (sizeof *w->pairs * 2 + 16);
}

bm_status bm_page_weigh_pair(bm_page_weigh *w, bm_str a, bm_str b, double jaccard, bm_error *err)
{
    uint32_t x, y;
    if (w->content->what_if.why_not != NULL)
        return BM_OK;
    bm_status status = bm_id_set_add(&w->ids, a, &x, err);
    if (status == BM_OK)
        status = bm_id_set_add(&w->ids, b, &y, err);
    for (size_t i = 0; status == BM_OK && i < w->n_levels; i++) {
        bm_page_level *level = &w->levels[i];
        if (level->sets.n < w->ids.n)
            status = grow_sets(level, w->ids.n, err);
        if (status != BM_OK || !(jaccard >= level->threshold))
            continue;
        level->pairs++;
        bm_union_find_link(&level->sets, x, y);
    }
    if (status == BM_OK && w->content->what_if.why_no_stars == NULL) {
        status = bm_grow_array(&w->pairs, &w->cap_pairs, w->n_pairs + 1, err);
        if (status == BM_OK)
            w->pairs[w->n_pairs++] = (bm_pair){x, y, jaccard};
    }
    if (status == BM_OK && bytes_of(w) > w->room)
        give_up(w);
    return status;
}

/* --- counting groups --- */

/* From the group of each document, a number below n, to how many there are of what size. */
static bm_status count_groups(const uint32_t *of, size_t n, bm_page_choice *out, bm_error *err)
{
    uint32_t *sizes = bm_alloc_zero(n, sizeof *sizes);
    if (sizes == NULL)
        return bm_fail_nomem(err, n * sizeof *sizes);
    for (size_t i = 0; i < n; i++)
        sizes[of[i]]++;
    for (size_t i = 0; i < n; i++) {
        out->groups += sizes[i] > 1;
        out->removed += sizes[i] > 1 ? sizes[i] - 1 : 0;
        out->largest = sizes[i] > 1 && sizes[i] > out->largest ? sizes[i] : out->largest;
    }
    bm_free(sizes);
    return BM_OK;
}

static bm_status end_level(bm_page_level *level, bm_page_choice *out, bm_error *err)
{
    *out = (bm_page_choice){.threshold = level->threshold, .pairs = level->pairs};
    for (size_t i = 0; i < level->sets.n; i++)
        level->sets.parent[i] = bm_union_find_root(&level->sets, (uint32_t)i);
    return count_groups(level->sets.parent, level->sets.n, out, err);
}

/* --- stars --- */

typedef struct star_walk {
    const bm_page_weigh *weigh;
    bm_buf id;
    uint32_t *place; /* of each document, in groups.jsonl; UINT32_MAX: not there */
    uint32_t n_placed;
    uint32_t *rep;  /* the first of its copies, or itself */
    uint32_t *best; /* of a first: the one that is rather kept, of its copies and itself */
    uint32_t *centres;
    uint32_t *order;
} star_walk;

/* The members of a group in their order. */
static bm_status place_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    star_walk *s = ctx;
    bool more = true;
    bm_status status = BM_OK;
    (void)stop;
    while (status == BM_OK && more) {
        status = bm_group_file_member(file, &s->id, &more, err);
        if (status != BM_OK || !more)
            break;
        const uint32_t doc = bm_id_set_find(&s->weigh->ids, (bm_str){s->id.data, s->id.len});
        if (doc != BM_ID_NONE)
            s->place[doc] = s->n_placed++;
    }
    return status;
}

static void find_copies(const bm_page_weigh *w, uint32_t *rep, uint32_t *rows)
{
    memset(rows, 0, w->ids.n * sizeof *rows);
    for (size_t i = 0; i < w->n_pairs; i++) {
        rows[w->pairs[i].a]++;
        rows[w->pairs[i].b]++;
    }
    for (size_t i = 0; i < w->ids.n; i++)
        rep[i] = (uint32_t)i;
    for (size_t i = 0; i < w->n_pairs; i++)
        if (rows[w->pairs[i].b] == 1 && w->pairs[i].similarity >= 1)
            rep[w->pairs[i].b] = w->pairs[i].a;
}

/* Is x rather kept than y? As dedup's turns have it: ties go to the first. */
static bool is_preferred(const star_walk *s, uint32_t x, uint32_t y)
{
    const bm_keep keep = s->weigh->content->facts.keep;
    const uint64_t *lengths = s->weigh->lengths;
    if (keep == BM_KEEP_LAST)
        return s->place[x] > s->place[y];
    if (keep == BM_KEEP_LONGEST && lengths[x] != lengths[y])
        return lengths[x] > lengths[y];
    if (keep == BM_KEEP_SHORTEST && lengths[x] != lengths[y])
        return lengths[x] < lengths[y];
    return s->place[x] < s->place[y];
}

static int by_turn(const void *x, const void *y, void *ctx)
{
    const star_walk *s = ctx;
    const uint32_t a = s->best[*(const uint32_t *)x], b = s->best[*(const uint32_t *)y];
    return a == b ? 0 : is_preferred(s, a, b) ? -1 : 1;
}

/* The representatives in the order of their turns: a first stands where the preferred of its copies does. */
static size_t make_order(star_walk *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->weigh->ids.n; i++)
        s->best[i] = i;
    for (uint32_t i = 0; i < s->weigh->ids.n; i++)
        if (is_preferred(s, i, s->best[s->rep[i]]))
            s->best[s->rep[i]] = i;
    for (uint32_t i = 0; i < s->weigh->ids.n; i++)
        if (s->rep[i] == i)
            s->order[n++] = i;
    qsort_r(s->order, n, sizeof *s->order, by_turn, s);
    return n;
}

static bm_status walk_stars(star_walk *s, bm_page_choice *out, bm_error *err)
{
    const bm_page_weigh *w = s->weigh;
    bm_neighbours neighbours = {0};
    find_copies(w, s->rep, s->centres);
    const size_t n = make_order(s);
    bm_status status = bm_neighbours_make((bm_pair_list){w->pairs, w->n_pairs, w->ids.n},
                                          BM_NEIGHBOURS_DOCS, &neighbours, err);
    if (status != BM_OK)
        return status;
    for (size_t i = 0; i < w->ids.n; i++)
        s->centres[i] = BM_NOT_TAKEN;
    bm_stars_walk(&neighbours, s->order, n, s->centres);
    bm_neighbours_reset(&neighbours);
    for (size_t i = 0; i < w->ids.n; i++) /* a copy goes where its first went */
        s->centres[i] = s->centres[s->rep[i]];
    *out = (bm_page_choice){.threshold = w->content->facts.threshold, .pairs = w->n_pairs};
    return count_groups(s->centres, w->ids.n, out, err);
}

static bm_status find_stars(const bm_page_weigh *w, bm_page_choice *out, bm_error *err)
{
    star_walk s = {.weigh = w};
    uint32_t *all = bm_alloc(w->ids.n, 5 * sizeof *all);
    if (all == NULL)
        return bm_fail_nomem(err, w->ids.n * 5 * sizeof *all);
    s.place = all;
    s.rep = all + w->ids.n;
    s.best = s.rep + w->ids.n;
    s.centres = s.best + w->ids.n;
    s.order = s.centres + w->ids.n;
    memset(s.place, 0xFF, w->ids.n * sizeof *s.place);
    bm_status status = bm_page_each_group(w->settings, w->content->manifest, place_group, &s, err);
    if (status == BM_OK && s.n_placed != w->ids.n)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(w->content->manifest), 0,
                            "a document of its pairs is in none of its groups");
    if (status == BM_OK)
        status = walk_stars(&s, out, err);
    bm_buf_reset(&s.id);
    bm_free(all);
    return status;
}

bm_status bm_page_weigh_end(bm_page_weigh *w, bm_error *err)
{
    bm_page_what_if *out = &w->content->what_if;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < w->n_levels; i++)
        status = end_level(&w->levels[i], &out->thresholds[i], err);
    out->n_thresholds = status == BM_OK ? w->n_levels : 0;
    for (size_t i = 0; i < BM_PAGE_CHOICES; i++) {
        bm_free(w->levels[i].sets.parent);
        w->levels[i].sets.parent = NULL;
    }
    return status;
}

bm_status bm_page_weigh_ask_lengths(bm_page_weigh *w, bm_error *err)
{
    if (!w->by_length || w->content->what_if.why_no_stars != NULL)
        return BM_OK;
    w->lengths = bm_alloc(w->ids.n, sizeof *w->lengths);
    if (w->lengths == NULL)
        return bm_fail_nomem(err, w->ids.n * sizeof *w->lengths);
    for (size_t i = 0; i < w->ids.n; i++)
        w->lengths[i] = BM_PAGE_NO_LENGTH;
    return BM_OK;
}

bm_status bm_page_weigh_stars(bm_page_weigh *w, bm_error *err)
{
    bm_page_what_if *out = &w->content->what_if;
    for (size_t i = 0; w->lengths != NULL && i < w->ids.n; i++)
        if (w->lengths[i] == BM_PAGE_NO_LENGTH)
            out->why_no_stars = "stars begin with the longest or shortest texts, and not all of "
                                "the inputs are there to tell how long they are";
    return out->why_no_stars == NULL ? find_stars(w, &out->stars, err) : BM_OK;
}

void bm_page_weigh_reset(bm_page_weigh *w)
{
    bm_id_set_reset(&w->ids);
    bm_free(w->pairs);
    bm_free(w->lengths);
    for (size_t i = 0; i < BM_PAGE_CHOICES; i++)
        bm_free(w->levels[i].sets.parent);
}
