/* SPDX-License-Identifier: Apache-2.0 */
/* test_match_all_pairs.c -- edges of --candidates all with sets in a file, compared with a
 * comparison of every two documents, for any memory limit and any number of threads. */
#include "model/ids.h"
#include "all_pairs_world.h"
#include "tests/world/sized.h"

static const char *said; /* the last line of the log that mentions indexes */
static char line[256];

static void listen(void *ctx, bm_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    if (strstr(text, "indexes") != NULL)
        said = strncpy(line, text, sizeof line - 1);
}

static bm_status run(drawn *s, bm_corpus *corpus, double threshold, bm_match *match, bm_error *err)
{
    bm_callbacks callbacks = {.log = listen};
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    said = NULL;
    *match = (bm_match){.settings = {.corpus = corpus,
                                     .pool = s->pool,
                                     .meter = &s->meter,
                                     .verify = BM_VERIFY_EXACT,
                                     .threshold = threshold,
                                     .all_candidates = true}};
    return bm_match_run(match, err);
}

/* Expects the edges, in memory or in files, to be these pairs; frees them. */
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

static unsigned long blocks(void)
{
    return said == NULL ? 1 : strtoul(strstr(said, "through") + 7, NULL, 10);
}

Test(match_all_pairs, equals_comparing_every_two_for_any_memory)
{
    static const double thresholds[] = {.1, .5, .8, .95, 1};
    static const uint64_t left[] = {0, (uint64_t)64 << 20, (uint64_t)8 << 20, 3500000};
    unsigned long seen[3] = {0}, most = 0;
    size_t in_files = 0;
    for (int t = 0; t < 5; t += (int)sized(1, 2)) {
        drawn *s = make_sets(1800, 120, 7 + (uint64_t)t, 1 + (uint32_t)t % 3);
        uint64_t candidates = 0;
        size_t n;
        bm_pair *wanted = every_two(s, thresholds[t], &n);
        cr_assert_gt(n, 30);
        for (int m = -1; m < 4; m++) { /* first with all sets in memory */
            bm_corpus corpus;
            bm_match match;
            bm_error err = {0};
            cr_assert_eq(fill(s, m >= 0, &corpus, NULL), BM_OK);
            cr_assert((corpus.sets.column.data == NULL) == (m >= 0),
                      "sets lie where they are meant to");
            if (m > 0)
                leave_memory(&corpus, left[m]);
            cr_assert_eq(run(s, &corpus, thresholds[t], &match, &err), BM_OK, "%s", err.message);
            cr_assert(m < 0 || match.result.counts.candidates == candidates,
                      "as many are compared");
            candidates = match.result.counts.candidates;
            cr_assert_eq(match.result.counts.verified, candidates);
            in_files += bm_sorted_runs_spilled(match.result.edges) > 0;
            most = blocks() > most ? blocks() : most;
            seen[blocks() > 2 ? 2 : blocks() - 1]++;
            expect_edges(&match, wanted, n);
            bm_corpus_reset(&corpus);
        }
        free(wanted);
        drop_sets(s);
    }
    cr_assert(seen[0] > 0 && most > 5 && in_files > 0, "1, many: %lu %lu %lu, at most %lu", seen[0],
              seen[1], seen[2], most);
}

Test(match_all_pairs, sets_in_memory_that_leave_too_little_for_an_index_move_to_the_file)
{
    drawn *s = make_sets(1200, 500, 50, 2);
    bm_corpus corpus;
    bm_match match;
    size_t n;
    bm_pair *wanted = every_two(s, .7, &n);
    cr_assert_eq(fill(s, false, &corpus, NULL), BM_OK);
    leave_memory(&corpus, 2500000);
    cr_assert_not(bm_corpus_sets_in_file(&corpus));
    cr_assert_eq(run(s, &corpus, .7, &match, NULL), BM_OK);
    cr_assert(bm_corpus_sets_in_file(&corpus) && corpus.sets.column.data == NULL &&
              corpus.sets.bytes == 0);
    cr_assert_gt(corpus.sets.file_bytes, 1000000);
    expect_edges(&match, wanted, n);
    free(wanted);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(match_all_pairs, too_little_memory_is_said_with_the_least_that_would_do)
{
    drawn *s = make_sets(500, 60, 3, 1);
    bm_corpus corpus;
    bm_match match;
    bm_error err = {0};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    uint64_t mib = 1, refused = 0;
    for (;; refused++) { /* refused for the prefixes, then for the search */
        leave_memory(&corpus, mib << 20);
        if (run(s, &corpus, .5, &match, &err) == BM_OK)
            break;
        bm_match_reset(&match);
        cr_assert_eq(err.status, BM_ERR_NOMEM);
        const char *needs = strstr(err.message, "needs ");
        cr_assert_not_null(needs, "%s", err.message);
        cr_assert_gt(strtoull(needs + 6, NULL, 10), mib);
        mib = strtoull(needs + 6, NULL, 10);
    }
    cr_assert(refused > 0 && refused < 3 && mib < 6, "%llu", (unsigned long long)mib);
    bm_match_reset(&match);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(match_all_pairs, no_documents_and_only_empty_ones_have_no_edges)
{
    for (size_t n = 0; n < 40; n += 13) {
        drawn *s = make_sets(n, 0, 3, 2);
        bm_corpus corpus;
        bm_match match;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        cr_assert_eq(run(s, &corpus, .5, &match, NULL), BM_OK);
        cr_assert(match.result.counts.edges == 0 && match.result.counts.candidates == 0);
        bm_match_reset(&match);
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
}

Test(match_all_pairs, a_damaged_file_of_sets_is_an_error)
{
    drawn *s = make_sets(600, 60, 9, 2);
    for (int place = 1; place < 4; place++) {
        bm_corpus corpus;
        bm_match match;
        bm_error err = {0};
        uint64_t bad = 0x1234567812345678;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        off_t at = (off_t)(corpus.sets.file_bytes * (uint64_t)place / 4);
        cr_assert_eq(pwrite(bm_spill_fd(corpus.sets.file), &bad, sizeof bad, at), 8);
        cr_assert_eq(run(s, &corpus, .5, &match, &err), BM_ERR_FORMAT);
        cr_assert_not_null(strstr(err.message, "damaged"), "%s", err.message);
        bm_match_reset(&match);
        bm_corpus_reset(&corpus);
    }
    drop_sets(s);
}

Test(match_all_pairs, nothing_is_left_in_the_directory_of_temporary_files)
{
    drawn *s = make_sets(600, 60, 9, 2);
    bm_corpus corpus;
    bm_match match;
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    leave_memory(&corpus, 4 << 20);
    cr_assert_eq(run(s, &corpus, .2, &match, NULL), BM_OK);
    cr_assert_eq(rmdir(s->temp.root), 0, "not even while files lie there");
    bm_match_reset(&match);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}
