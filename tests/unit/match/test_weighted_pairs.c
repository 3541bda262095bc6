/* SPDX-License-Identifier: Apache-2.0 */
/* test_weighted_pairs.c -- edges of weighted documents without bands, compared with a comparison of
 * every two documents, for sets in memory and in a file, any memory limit and any number of
 * threads. */
#include "match/weighted_pairs.h"

#include <string.h>

#include "model/ids.h"
#include "weighted_world.h"

#define LONGEST 100u          /* shingles per document */
#define BLOCK   (2 * LONGEST) /* words per set */

static unsigned long n_indexes; /* indexes that the log reports */

static void listen(void *ctx, bm_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    const char *told = strstr(text, "through ");
    if (told != NULL)
        n_indexes = strtoul(told + strlen("through "), NULL, 10);
}

static bm_pair *every_weighted_two(const drawn *s, double threshold, size_t *n)
{
    size_t cap = 1024;
    bm_pair *pairs = malloc(cap * sizeof *pairs);
    uint64_t *blocks = calloc(s->n, BLOCK * sizeof *blocks);
    bm_weighted_set *sets = calloc(s->n, sizeof *sets);
    for (size_t i = 0; i < s->n; i++)
        sets[i] = set_of(s, i, blocks + i * BLOCK);
    *n = 0;
    for (uint32_t a = 0; a < s->n; a++) {
        for (uint32_t b = a + 1; b < s->n; b++) {
            if (s->same_as[a] != a || s->same_as[b] != b || sets[a].n == 0 || sets[b].n == 0)
                continue;
            const double similarity = bm_weighted_jaccard(sets[a], sets[b]);
            if (similarity < threshold)
                continue;
            if (*n == cap)
                pairs = realloc(pairs, (cap *= 2) * sizeof *pairs);
            pairs[(*n)++] = (bm_pair){a, b, similarity};
        }
    }
    free(blocks);
    free(sets);
    return pairs;
}

static void expect_edges(bm_match *match, const bm_pair *wanted, size_t n)
{
    cr_assert_eq(match->result.counts.edges, n, "%zu edges for %zu",
                 (size_t)match->result.counts.edges, n);
    cr_assert_eq(bm_edges_begin(match, NULL), BM_OK);
    for (size_t i = 0; i < n; i++) {
        bm_pair got;
        cr_assert_eq(bm_edges_next(match, &got, NULL), BM_OK);
        cr_assert(got.a == wanted[i].a && got.b == wanted[i].b &&
                  got.similarity == wanted[i].similarity);
    }
    bm_match_reset(match);
}

Test(weighted_pairs, equal_comparing_every_two_for_any_memory)
{
    static const double thresholds[] = {.1, .5, .8, .95};
    static const uint64_t left[] = {0, (uint64_t)64 << 20, (uint64_t)1100 << 10};
    unsigned long most = 0;
    const bm_callbacks callbacks = {.log = listen};
    for (uint32_t t = 0; t < 4; t++) {
        drawn *s = make_sets(700, LONGEST, 17 + t, 1 + t % 3);
        uint64_t candidates = 0;
        size_t n;
        bm_pair *wanted = every_weighted_two(s, thresholds[t], &n);
        cr_assert_gt(n, 3);
        bm_meter_reset(&s->meter);
        bm_meter_init(&s->meter, &callbacks);
        for (int m = -1; m < 3; m++) { /* first with all sets in memory */
            bm_corpus corpus;
            bm_error err = {0};
            fill_weighted(s, m >= 0, &corpus);
            cr_assert_eq(bm_corpus_sets_in_file(&corpus), m >= 0);
            if (m > 0)
                leave_memory(&corpus, left[m]);
            bm_match match = {.settings = {.corpus = &corpus,
                                           .pool = s->pool,
                                           .meter = &s->meter,
                                           .verify = BM_VERIFY_EXACT,
                                           .threshold = thresholds[t],
                                           .all_candidates = true}};
            n_indexes = 1;
            cr_assert_eq(bm_match_run(&match, &err), BM_OK, "%s", err.message);
            candidates = m < 0 ? match.result.counts.candidates : candidates;
            cr_assert_eq(match.result.counts.candidates, candidates);
            cr_assert_lt(candidates, s->n * s->n / 4); /* the index rules most pairs out */
            most = n_indexes > most ? n_indexes : most;
            expect_edges(&match, wanted, n);
            bm_corpus_reset(&corpus);
        }
        free(wanted);
        drop_sets(s);
    }
    cr_assert_gt(most, 1); /* some run needed several indexes */
}

Test(weighted_pairs, no_pair_is_lost_where_the_similarity_is_the_threshold_itself)
{
    drawn *s = make_sets(300, 60, 5, 2);
    size_t n, n_equal;
    bm_pair *all = every_weighted_two(s, .05, &n);
    for (size_t i = 0; i < n; i += n / 8 + 1) {
        bm_corpus corpus;
        const double threshold = all[i].similarity;
        bm_pair *wanted = every_weighted_two(s, threshold, &n_equal);
        fill_weighted(s, false, &corpus);
        bm_match match = {.settings = {.corpus = &corpus,
                                       .pool = s->pool,
                                       .meter = &s->meter,
                                       .verify = BM_VERIFY_EXACT,
                                       .threshold = threshold,
                                       .all_candidates = true}};
        cr_assert_eq(bm_match_run(&match, NULL), BM_OK);
        expect_edges(&match, wanted, n_equal);
        bm_corpus_reset(&corpus);
        free(wanted);
    }
    free(all);
    drop_sets(s);
}
