/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_matches.c -- matches saved and loaded give the same groups and pairs as the
 * matches that were found. */
#include "model/ids.h"
#include "job/checkpoint_state.h"

#include "tests/unit/corpus/corpus_world.h"
#include "tests/unit/match/ranked.h"

typedef struct pair_of_matches {
    world *w;
    bm_corpus corpus[2];
    bm_match match[2];
} pair_of_matches;

static bm_match settings(world *w, bm_corpus *corpus, bm_verify verify, bool only_groups)
{
    return (bm_match){.settings = {.corpus = corpus,
                                   .pool = w->pool,
                                   .meter = &w->meter,
                                   .verify = verify,
                                   .threshold = 0.6,
                                   .only_groups = only_groups}};
}

static bm_spill_file *save(pair_of_matches *p)
{
    bm_spill_file *file = NULL;
    cr_assert_eq(bm_spill_open(p->w->temp.root, BM_SPILL_RUN, 4096, &file, NULL), BM_OK);
    cr_assert_eq(bm_checkpoint_matches_save(&p->match[0], file, NULL), BM_OK);
    return file;
}

static void run(pair_of_matches *p, const bm_corpus_cfg *cfg, bm_verify verify, bool only_groups)
{
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fill(p->w, cfg, &p->corpus[i], NULL), BM_OK);
        p->match[i] = settings(p->w, &p->corpus[i], verify, only_groups);
    }
    cr_assert_eq(bm_match_run(&p->match[0], NULL), BM_OK);
    bm_spill_file *file = save(p);
    cr_assert_eq(bm_checkpoint_matches_load(&p->match[1], file, NULL), BM_OK);
    bm_spill_close(file);
}

static void reset(pair_of_matches *p)
{
    for (int i = 0; i < 2; i++) {
        bm_match_reset(&p->match[i]);
        bm_corpus_reset(&p->corpus[i]);
    }
}

static void expect_same(pair_of_matches *p)
{
    const bm_match_result *x = &p->match[0].result, *y = &p->match[1].result;
    cr_assert(x->counts.candidates == y->counts.candidates &&
              x->counts.verified == y->counts.verified && x->counts.edges == y->counts.edges &&
              x->counts.not_compared == y->counts.not_compared);
    cr_assert_gt(x->counts.edges, 100);
    const bool stored = !p->match[0].settings.only_groups;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(bm_edges_begin(&p->match[i], NULL), BM_OK);
    for (uint64_t i = 0; stored && i < x->counts.edges; i++) {
        bm_pair e, f;
        cr_assert(bm_edges_next(&p->match[0], &e, NULL) == BM_OK &&
                  bm_edges_next(&p->match[1], &f, NULL) == BM_OK);
        cr_assert(e.a == f.a && e.b == f.b &&
                  bm_edge_bits(e.similarity) == bm_edge_bits(f.similarity));
    }
    for (bm_keep keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
        for (int star = 0; star < (p->match[0].settings.only_groups ? 1 : 2); star++) {
            bm_cluster cluster = star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS;
            bm_grouping g[2];
            bm_keep_rank rank = ranked(&p->w->docs, keep);
            for (int i = 0; i < 2; i++)
                cr_assert_eq(
                    bm_grouping_make(&p->match[i],
                                     &(bm_grouping_options){.rank = &rank, .cluster = cluster},
                                     &g[i], NULL),
                    BM_OK);
            bm_keep_rank_reset(&rank);
            for (size_t i = 0; i < N; i++) /* may be NAN: compare bits */
                cr_assert(g[0].label[i] == g[1].label[i] && g[0].kept[i] == g[1].kept[i] &&
                          g[0].reason[i] == g[1].reason[i] &&
                          bm_edge_bits(g[0].similarity[i]) == bm_edge_bits(g[1].similarity[i]));
            bm_grouping_reset(&g[0]);
            bm_grouping_reset(&g[1]);
        }
    }
}

Test(saved_match, groups_and_edges_come_back_from_memory_and_from_files)
{
    pair_of_matches p = {.w = open_world(31)};
    for (int files = 0; files < 2; files++) {
        for (int only_groups = 0; only_groups < 2; only_groups++) {
            bm_corpus_cfg cfg = files ? in_files(p.w, 20000) : in_memory();
            run(&p, &cfg, BM_VERIFY_EXACT, only_groups);
            expect_same(&p);
            reset(&p);
        }
    }
    close_world(p.w);
}

/* Without verification, the reason for a removal depends on common bands. */
Test(saved_match, candidates_that_were_not_verified_come_back)
{
    pair_of_matches p = {.w = open_world(32)};
    for (int only_groups = 0; only_groups < 2; only_groups++) {
        bm_corpus_cfg cfg = in_memory();
        run(&p, &cfg, BM_VERIFY_NONE, only_groups);
        expect_same(&p);
        reset(&p);
    }
    close_world(p.w);
}

Test(saved_match, what_was_saved_of_another_job_is_an_error)
{
    pair_of_matches p = {.w = open_world(33)};
    bm_corpus_cfg cfg = in_memory();
    bm_corpus fewer;
    bm_error err = {0};
    run(&p, &cfg, BM_VERIFY_EXACT, true);
    bm_spill_file *file = save(&p);
    bm_match other = settings(p.w, &p.corpus[1], BM_VERIFY_EXACT, false);
    cr_assert_eq(bm_checkpoint_matches_load(&other, file, &err), BM_ERR_FORMAT, "edges are wanted");
    cr_assert_not_null(strstr(err.message, "saved matches"));
    bm_match_reset(&other);
    bm_corpus_init(&fewer, &cfg);
    cr_assert_eq(add_batch(p.w, &fewer, 0, 250, NULL), BM_OK);
    other = settings(p.w, &fewer, BM_VERIFY_EXACT, true);
    cr_assert_eq(bm_checkpoint_matches_load(&other, file, &err), BM_ERR_FORMAT, "fewer documents");
    bm_match_reset(&other);
    bm_corpus_reset(&fewer);
    bm_spill_close(file);
    cr_assert_eq(bm_spill_open(p.w->temp.root, BM_SPILL_RUN, 4096, &file, NULL), BM_OK);
    other = settings(p.w, &p.corpus[1], BM_VERIFY_EXACT, true);
    cr_assert_eq(bm_spill_flush(file, NULL), BM_OK);
    cr_assert_eq(bm_checkpoint_matches_load(&other, file, &err), BM_ERR_FORMAT,
                 "nothing was saved");
    bm_match_reset(&other);
    bm_spill_close(file);
    reset(&p);
    close_world(p.w);
}
