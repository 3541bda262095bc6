/* test_holders.c -- who holds whom: sets are bits of a word, and the model counts the bits that two
 * have in common. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "model/ids.h"
#include "match/edges.h"
#include "match/match.h"

#define N       80u
#define N_KNOWN 12u

/* A document is held by nobody, by known document k (N + k), or by representative h. */
#define NOBODY UINT32_MAX

typedef struct world {
    uint64_t sets[N + N_KNOWN]; /* those of known documents behind */
    bool candidates[N][N + N_KNOWN];
    uint32_t rep[N], sizes[N], ranks[N];
    uint32_t best[N]; /* of each representative: the copy that ranks first */
    bm_share share;
    bm_corpus corpus;
    bm_keep_rank rank;
    bm_match match;
    bm_known known;
} world;

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static uint64_t draw_bits(uint64_t *state)
{
    return draw(state) << 31 ^ draw(state);
}

static uint32_t shared(const world *w, uint32_t a, uint32_t b)
{
    return (uint32_t)__builtin_popcountll(w->sets[a] & w->sets[b]);
}

static double jaccard(const world *w, uint32_t a, uint32_t b)
{
    return (double)shared(w, a, b) / (double)__builtin_popcountll(w->sets[a] | w->sets[b]);
}

/* Does `other` have enough of `doc`? */
static bool has_enough(const world *w, uint32_t other, uint32_t doc)
{
    return w->candidates[doc][other] &&
           shared(w, doc, other) * w->share.below >= w->share.above * w->sizes[doc];
}

/* Subsets of four large sets, now and then with a bit of their own; copies; an order of keeping. */
static void draw_world(world *w, uint64_t seed)
{
    static const bm_share shares[] = {{1, 1}, {5, 10}, {75, 100}, {9, 10}};
    uint64_t state = seed, large[4];
    w->share = shares[seed % 4];
    for (size_t i = 0; i < 4; i++)
        large[i] = draw_bits(&state) | 1;
    for (uint32_t i = 0; i < N + N_KNOWN; i++)
        w->sets[i] = 1 | (large[draw(&state) % 4] & (draw_bits(&state) | draw_bits(&state))) |
                     (draw(&state) % 3 == 0 ? UINT64_C(1) << draw(&state) % 62 : 0);
    for (uint32_t i = 0; i < N; i++) {
        w->rep[i] = i > 5 && draw(&state) % 6 == 0 ? w->rep[draw(&state) % i] : i;
        w->sets[i] = w->sets[w->rep[i]];
        w->sizes[i] = (uint32_t)__builtin_popcountll(w->sets[i]);
        const uint32_t other = (uint32_t)draw(&state) % (i + 1);
        w->ranks[i] = w->ranks[other];
        w->ranks[other] = i;
        for (uint32_t k = 0; k < N_KNOWN; k++)
            w->candidates[i][N + k] = draw(&state) % 12 == 0;
        for (uint32_t j = 0; j < i; j++)
            w->candidates[i][j] = w->candidates[j][i] = draw(&state) % 4 != 0;
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *best = &w->best[w->rep[i]];
        *best = w->rep[i] == i || w->ranks[i] < w->ranks[*best] ? i : *best;
    }
}

/* As a search answers: the known document that shares most, the first of equals. */
static uint32_t best_known(const world *w, uint32_t rep)
{
    uint32_t best = NOBODY;
    for (uint32_t k = N; k < N + N_KNOWN; k++)
        if (has_enough(w, k, rep) && (best == NOBODY || shared(w, rep, k) > shared(w, rep, best)))
            best = k;
    return best;
}

static void add_edges(world *w)
{
    cr_assert_eq(bm_edges_open_runs(&w->corpus, &w->match.result.edges, NULL), BM_OK);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = i + 1; j < N; j++) {
            if (w->rep[i] != i || w->rep[j] != j || !(has_enough(w, i, j) || has_enough(w, j, i)))
                continue;
            cr_assert_eq(bm_sorted_runs_add(w->match.result.edges, bm_pair_key(i, j),
                                            bm_edge_bits(jaccard(w, i, j)), NULL),
                         BM_OK);
        }
}

static world *open_world(uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    draw_world(w, seed);
    w->corpus = (bm_corpus){.n = N, .rep = w->rep, .sizes = w->sizes};
    w->rank = (bm_keep_rank){.ranks = w->ranks, .n = N};
    w->match.settings = (bm_match_settings){.corpus = &w->corpus,
                                            .verify = BM_VERIFY_CONTAINED,
                                            .share = w->share,
                                            .known = seed % 3 != 0 ? &w->known : NULL};
    add_edges(w);
    cr_assert_eq(bm_known_init(&w->known, N, NULL), BM_OK);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t k = w->rep[i] == i ? best_known(w, i) : NOBODY;
        if (k != NOBODY)
            cr_assert_eq(bm_known_add(&w->known, (bm_known_link){k - N, i}, jaccard(w, i, k), NULL),
                         BM_OK);
    }
    cr_assert_eq(bm_known_end(&w->known, NULL), BM_OK);
    for (size_t i = 0; i < w->known.n_links; i++) {
        const uint64_t set = w->sets[N + w->known.links[i].number];
        cr_assert_eq(bm_known_add_id(&w->known, i, (bm_str){"k", 1},
                                     (uint32_t)__builtin_popcountll(set), NULL),
                     BM_OK);
    }
    return w;
}

static void close_world(world *w)
{
    bm_match_reset(&w->match);
    bm_known_reset(&w->known);
    free(w);
}

/* Of each representative its holder: known ones come before all, then those that are kept, in their
 * order. */
static void model_holders(const world *w, uint32_t *holder)
{
    uint32_t kept[N], n_kept = 0;
    for (uint32_t turn = 0; turn < N; turn++)
        for (uint32_t i = 0; i < N; i++) {
            if (w->rep[i] != i || w->ranks[w->best[i]] != turn)
                continue;
            holder[i] = w->match.settings.known != NULL ? best_known(w, i) : NOBODY;
            for (uint32_t k = 0; k < n_kept; k++)
                if (has_enough(w, kept[k], i) &&
                    (holder[i] == NOBODY || shared(w, i, kept[k]) > shared(w, i, holder[i])))
                    holder[i] = kept[k];
            if (holder[i] == NOBODY)
                kept[n_kept++] = i;
        }
}

Test(holders, the_one_that_shares_most_holds_a_document_and_known_ones_come_first)
{
    uint64_t seen[BM_REASON_KNOWN + 1] = {0};
    uint32_t holder[N];
    for (uint64_t seed = 1; seed <= 40; seed++) {
        world *w = open_world(seed);
        bm_grouping g;
        const bm_grouping_options options = {.rank = &w->rank};
        cr_assert_eq(bm_grouping_make(&w->match, &options, &g, NULL), BM_OK);
        model_holders(w, holder);
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t h = holder[w->rep[i]];
            const bool known = h != NOBODY && h >= N;
            const bm_reason reason =
                h == NOBODY ? w->best[w->rep[i]] == i ? BM_REASON_KEPT : BM_REASON_IDENTICAL
                : known     ? BM_REASON_KNOWN
                            : BM_REASON_CONTAINED;
            cr_assert_eq(g.reason[i], reason, "seed %d: %u", (int)seed, i);
            cr_assert_eq(g.similarity[i], h == NOBODY ? 1 : jaccard(w, i, h));
            if (known)
                cr_assert_eq(g.known[i], h - N);
            else
                cr_assert_eq(g.kept[i], w->best[h == NOBODY ? w->rep[i] : h]);
            seen[reason]++;
        }
        bm_grouping_reset(&g);
        close_world(w);
    }
    for (bm_reason reason = BM_REASON_KEPT; reason <= BM_REASON_KNOWN; reason++)
        cr_expect(seen[reason] > 0 || reason == BM_REASON_NEAR || reason == BM_REASON_CHAINED);
}

/* Matching offers edges as it finds them. */
Test(holders, do_not_depend_on_the_order_of_offers)
{
    uint32_t holder[N];
    for (uint64_t seed = 1; seed <= 12; seed++) {
        world *w = open_world(seed);
        bm_turns turns;
        bm_holders holders;
        uint64_t state = seed;
        static bm_pair edges[N * N];
        size_t n = 0;
        cr_assert_eq(bm_edges_begin(&w->match, NULL), BM_OK);
        while (bm_edges_next(&w->match, &edges[n], NULL) == BM_OK)
            n++;
        model_holders(w, holder);
        cr_assert_eq(bm_turns_make(&w->rank, w->rep, N, &turns, NULL), BM_OK);
        cr_assert_eq(bm_holders_init(&w->match, &w->rank, &turns, &holders, NULL), BM_OK);
        for (size_t left = n; left > 0; left--) {
            const size_t at = draw(&state) % left;
            const bm_pair edge = edges[at];
            edges[at] = edges[left - 1];
            if (holder[edge.a] == NOBODY)
                bm_holders_offer(&holders, edge.a, edge.b, edge.similarity);
            if (holder[edge.b] == NOBODY)
                bm_holders_offer(&holders, edge.b, edge.a, edge.similarity);
        }
        for (uint32_t i = 0; i < N; i++) {
            if (w->rep[i] != i)
                continue;
            const bool known = holder[i] != NOBODY && holder[i] >= N;
            cr_assert_eq(holders.docs[i], known                 ? BM_HELD_BY_KNOWN
                                          : holder[i] == NOBODY ? BM_NO_DOC
                                                                : holder[i]);
            const uint32_t common = holder[i] == NOBODY ? 0 : shared(w, i, holder[i]);
            cr_assert_eq(holders.shared[i], common);
            cr_assert_eq(bm_holders_have_all(&holders, i), common == w->sizes[i]);
        }
        bm_holders_reset(&holders);
        bm_turns_reset(&turns);
        close_world(w);
    }
}
