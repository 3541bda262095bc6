/* test_known.c -- groups where some documents are known, on random graphs against a model that
 * walks them: documents and known ones are its nodes, and known ones are never joined to each
 * other. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/ids.h"
#include "match/edges.h"
#include "match/match.h"

#define N       70u
#define N_KNOWN 25u

typedef struct world {
    bool near[N][N];               /* of representatives */
    double similarity[N][N_KNOWN]; /* of representatives to known ones; 0: below the threshold */
    uint32_t rep[N];
    bm_corpus corpus;
    bm_doc_table docs;
    bm_match match;
    bm_known known;
} world;

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void draw_world(world *w, uint64_t seed)
{
    uint64_t state = seed;
    for (uint32_t i = 0; i < N; i++) {
        w->rep[i] = i;
        if (i > 5 && draw(&state) % 6 == 0)
            w->rep[i] = w->rep[draw(&state) % i];
    }
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (w->rep[i] == i && w->rep[j] == j && draw(&state) % 90 == 0)
                w->near[i][j] = w->near[j][i] = true;
        for (uint32_t k = 0; k < N_KNOWN; k++)
            if (w->rep[i] == i && draw(&state) % 80 == 0)
                w->similarity[i][k] = .6 + (double)(draw(&state) % 4) / 10;
    }
}

static bool better(const world *w, uint32_t doc, uint32_t k, uint32_t than)
{
    return w->similarity[doc][k] > 0 &&
           (than == BM_NO_KNOWN || w->similarity[doc][k] > w->similarity[doc][than]);
}

static uint32_t best_of(const world *w, uint32_t doc)
{
    uint32_t best = BM_NO_KNOWN;
    for (uint32_t k = 0; k < N_KNOWN; k++)
        if (better(w, w->rep[doc], k, best))
            best = k;
    return best;
}

/* As a search answers: of each document the best first; of a star only that. */
static void add_known(world *w, bool stars)
{
    char id[16];
    cr_assert_eq(bm_known_init(&w->known, N, NULL), BM_OK);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t best = w->rep[i] == i ? best_of(w, i) : BM_NO_KNOWN;
        if (best != BM_NO_KNOWN)
            cr_assert_eq(
                bm_known_add(&w->known, (bm_known_link){best, i}, w->similarity[i][best], NULL),
                BM_OK);
        for (uint32_t k = 0; best != BM_NO_KNOWN && !stars && k < N_KNOWN; k++)
            if (k != best && w->similarity[i][k] > 0)
                cr_assert_eq(
                    bm_known_add(&w->known, (bm_known_link){k, i}, w->similarity[i][k], NULL),
                    BM_OK);
    }
    cr_assert_eq(bm_known_end(&w->known, NULL), BM_OK);
    for (size_t i = 0; i < w->known.n_links; i++) {
        const int len = snprintf(id, sizeof id, "known %u", w->known.links[i].number);
        cr_assert_eq(bm_known_add_id(&w->known, i, (bm_str){id, (size_t)len}, 1, NULL), BM_OK);
    }
}

static world *open_world(uint64_t seed, bool stars)
{
    world *w = calloc(1, sizeof *w);
    draw_world(w, seed);
    w->corpus.n = N;
    w->corpus.rep = w->rep;
    w->match.settings = (bm_match_settings){
        .corpus = &w->corpus, .verify = BM_VERIFY_NONE, .threshold = .6, .known = &w->known};
    cr_assert_eq(bm_union_find_init(&w->match.result.groups, N, NULL), BM_OK);
    for (uint32_t i = 0; i < N; i++) {
        char id[8];
        const bm_doc_row row = {.line = i + 1};
        const int len = snprintf(id, sizeof id, "%u", i);
        const bm_doc_id hashed = {{id, (size_t)len}, i * UINT64_C(0x9E3779B97F4A7C15)};
        cr_assert_eq(bm_doc_table_add(&w->docs, &row, hashed, "f", NULL), BM_OK);
    }
    cr_assert_eq(bm_edges_open_runs(&w->corpus, &w->match.result.edges, NULL), BM_OK);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = i + 1; j < N; j++)
            if (w->near[i][j]) {
                cr_assert_eq(bm_sorted_runs_add(w->match.result.edges, bm_pair_key(i, j),
                                                bm_edge_bits(.7), NULL),
                             BM_OK);
                bm_union_find_link(&w->match.result.groups, i, j);
            }
    add_known(w, stars);
    return w;
}

static void close_world(world *w)
{
    bm_match_reset(&w->match);
    bm_doc_table_reset(&w->docs);
    bm_known_reset(&w->known);
    free(w);
}

static bm_grouping group(world *w, bm_cluster cluster)
{
    bm_grouping g;
    const bm_grouping_options options = {.rank = &(bm_keep_rank){0}, .cluster = cluster};
    cr_assert_eq(bm_grouping_make(&w->match, &options, &g, NULL), BM_OK);
    return g;
}

/* Is node x joined to node y? Known one k is node N + k. */
static bool joined(const world *w, uint32_t x, uint32_t y)
{
    if (x >= N || y >= N)
        return x >= N ? y < N && w->similarity[w->rep[y]][x - N] > 0 : joined(w, y, x);
    return w->rep[x] == w->rep[y] || w->near[w->rep[x]][w->rep[y]];
}

static void model_components(const world *w, uint32_t *label)
{
    for (uint32_t x = 0; x < N + N_KNOWN; x++)
        label[x] = x;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t x = 0; x < N + N_KNOWN; x++)
            for (uint32_t y = 0; y < N + N_KNOWN; y++)
                if (label[y] < label[x] && joined(w, x, y)) {
                    label[x] = label[y];
                    moved = true;
                }
    }
}

/* The first known one of a component. */
static uint32_t first_known(const uint32_t *label, uint32_t of)
{
    for (uint32_t k = 0; k < N_KNOWN; k++)
        if (label[N + k] == of)
            return k;
    return BM_NO_KNOWN;
}

static void check_members(const bm_grouping *g, const uint32_t *label)
{
    size_t n = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t size = 0, n_known = 0;
        for (uint32_t x = 0; x < N + N_KNOWN; x++) {
            size += x < N && label[x] == i;
            n_known += x >= N && label[x] == i;
        }
        if (size + n_known < 2)
            continue;
        cr_assert_lt(n, g->n_groups);
        cr_assert_eq(g->members[g->begin[n]], i);
        cr_assert_eq(g->begin[n + 1] - g->begin[n], size);
        cr_assert_eq(g->known_begin[n + 1] - g->known_begin[n], n_known);
        for (uint64_t k = g->known_begin[n]; k < g->known_begin[n + 1]; k++) {
            cr_assert_eq(label[N + g->known_members[k]], i);
            cr_assert(k == g->known_begin[n] || g->known_members[k - 1] < g->known_members[k]);
        }
        n++;
    }
    cr_assert_eq(n, g->n_groups);
}

Test(known, a_component_that_holds_a_known_document_keeps_none_of_the_others)
{
    uint64_t n_known = 0, n_chained = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        world *w = open_world(seed, false);
        bm_grouping g = group(w, BM_CLUSTER_COMPONENTS);
        uint32_t label[N + N_KNOWN];
        model_components(w, label);
        check_members(&g, label);
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t first = first_known(label, label[i]), best = best_of(w, i);
            cr_assert_eq(g.label[i], label[i]);
            cr_assert_eq(g.known[i], best != BM_NO_KNOWN ? best : first);
            if (best != BM_NO_KNOWN)
                cr_assert(g.reason[i] == BM_REASON_KNOWN &&
                          g.similarity[i] == w->similarity[w->rep[i]][best]);
            else if (first != BM_NO_KNOWN)
                cr_assert(g.reason[i] == BM_REASON_CHAINED && isnan(g.similarity[i]));
            else
                cr_assert_eq(g.reason[i] == BM_REASON_KEPT, label[i] == i);
            n_known += best != BM_NO_KNOWN;
            n_chained += best == BM_NO_KNOWN && first != BM_NO_KNOWN;
        }
        bm_grouping_reset(&g);
        close_world(w);
    }
    cr_assert(n_known > 200 && n_chained > 50, "%d %d", (int)n_known, (int)n_chained);
}

Test(known, known_documents_take_their_turns_before_all_others)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        world *w = open_world(seed, true);
        bm_grouping g = group(w, BM_CLUSTER_STAR);
        uint32_t centre[N];
        for (uint32_t i = 0; i < N; i++)
            centre[i] = UINT32_MAX;
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t j = i; j < N && (centre[i] == UINT32_MAX || centre[i] == i); j++)
                if (best_of(w, i) == BM_NO_KNOWN && best_of(w, j) == BM_NO_KNOWN &&
                    w->rep[i] == i && centre[j] == UINT32_MAX && (i == j || joined(w, i, j)))
                    centre[j] = i;
        for (uint32_t i = 0; i < N; i++) {
            cr_assert_eq(g.known[i], best_of(w, i));
            if (g.known[i] == BM_NO_KNOWN)
                cr_assert_eq(g.kept[i], centre[w->rep[i]], "seed %d doc %u: %u not %u", (int)seed,
                             i, g.kept[i], centre[w->rep[i]]);
            for (uint32_t j = 0; j < i; j++)
                cr_assert_eq(g.label[i] == g.label[j],
                             g.known[i] == g.known[j] &&
                                 (g.known[i] != BM_NO_KNOWN || g.kept[i] == g.kept[j]));
        }
        for (size_t i = 0; i < g.n_groups; i++) {
            const uint32_t known = g.known[g.members[g.begin[i]]];
            cr_assert_eq(g.known_begin[i + 1] - g.known_begin[i], known != BM_NO_KNOWN);
            if (known != BM_NO_KNOWN)
                cr_assert_eq(g.known_members[g.known_begin[i]], known);
        }
        bm_grouping_reset(&g);
        close_world(w);
    }
}

Test(known, ids_are_found_and_links_that_repeat_join_their_documents)
{
    bm_known known;
    char id[32];
    const uint32_t n = 300000; /* more than are sorted at once */
    cr_assert_eq(bm_known_init(&known, n, NULL), BM_OK);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(bm_known_add(&known, (bm_known_link){(i * 7u) % 1000u * 3u, i}, .9, NULL),
                     BM_OK);
    cr_assert_eq(bm_known_end(&known, NULL), BM_OK);
    cr_assert_eq(known.n_links, 1000);
    cr_assert_lt(known.cap, n);
    for (size_t i = 0; i < 1000; i++) {
        cr_assert_eq(known.links[i].number, i * 3);
        const int len = snprintf(id, sizeof id, "%zu", i);
        cr_assert_eq(bm_known_add_id(&known, i, (bm_str){id, (size_t)len}, 1, NULL), BM_OK);
    }
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(bm_union_find_root(&known.joined, i), i % 1000);
    const bm_str found = bm_known_id(&known, 2997);
    cr_assert(found.len == 3 && memcmp(found.data, "999", 3) == 0);
    bm_known_reset(&known);
}
