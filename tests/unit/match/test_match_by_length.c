/* test_match_by_length.c -- edges of --candidates length against comparing every two documents:
 * sets in memory and in a file, any memory, any number of threads. */
#include "model/pair_order.h"
#include "all_pairs_world.h"
#include "tests/unit/base/sized.h"

static char line[256]; /* the last line of the log that speaks of rounds; empty: none */

static void listen(void *ctx, bm_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    if (strstr(text, "rounds") != NULL)
        strncpy(line, text, sizeof line - 1);
}

static bm_status run(drawn *s, bm_corpus *corpus, double threshold, bm_match *match, bm_error *err)
{
    bm_callbacks callbacks = {.log = listen};
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    line[0] = '\0';
    *match = (bm_match){.settings = {.corpus = corpus,
                                     .pool = s->pool,
                                     .meter = &s->meter,
                                     .verify = BM_VERIFY_EXACT,
                                     .threshold = threshold,
                                     .all_candidates = true,
                                     .by_length = true}};
    return bm_match_run(match, err);
}

static unsigned long rounds(void)
{
    return line[0] == '\0' ? 1 : strtoul(strstr(line, " in ") + 4, NULL, 10);
}

/* The edges, wherever they are, are these pairs; frees them. */
static void expect_edges(bm_match *match, const bm_pair *wanted, size_t n)
{
    cr_assert_eq(match->result.counts.edges, n, "%zu edges for %zu",
                 (size_t)match->result.counts.edges, n);
    if (match->result.edges.runs != NULL)
        cr_assert_eq(bm_sorted_runs_begin(match->result.edges.runs, NULL), BM_OK);
    for (size_t i = 0; i < n; i++) {
        bm_pair got;
        if (match->result.edges.runs != NULL) {
            bm_run_record record;
            cr_assert_eq(bm_sorted_runs_next(match->result.edges.runs, &record, NULL), BM_OK);
            got = (bm_pair){(uint32_t)(record.key >> 32), (uint32_t)record.key,
                            bm_edge_similarity(record.value)};
        } else {
            got = match->result.edges.list[i];
        }
        cr_assert(got.a == wanted[i].a && got.b == wanted[i].b &&
                  got.similarity == wanted[i].similarity);
    }
    bm_match_reset(match);
}

/* Pairs of different documents whose sizes allow the threshold. */
static uint64_t allowed(const drawn *s, double threshold)
{
    uint64_t n = 0;
    for (size_t a = 0; a < s->n; a++) {
        for (size_t b = a + 1; b < s->n; b++) {
            double x = s->sizes[a], y = s->sizes[b];
            n += s->same_as[a] == a && s->same_as[b] == b && x > 0 && y > 0 &&
                 (x < y ? x / y : y / x) >= threshold;
        }
    }
    return n;
}

Test(match_by_length, equals_comparing_every_two_for_any_memory_and_threads)
{
    static const double thresholds[] = {1e-9, .1, .5, .8, .95, 1};
    static const uint64_t left[] = {0, (uint64_t)64 << 20, (uint64_t)4 << 20, 2200000};
    static const uint32_t threads[] = {1, 2, 8};
    unsigned long most = 0, once = 0;
    size_t in_runs = 0;
    for (int t = 0; t < 6; t += (int)sized(1, 2)) {
        drawn *s = make_sets(900, 250, 17 + (uint64_t)t, threads[t % 3]);
        size_t n;
        bm_pair *wanted = every_two(s, thresholds[t], &n);
        cr_assert_gt(n, 10);
        for (int m = -1; m < 4; m++) { /* first all in memory */
            bm_corpus corpus;
            bm_match match;
            bm_error err = {0};
            cr_assert_eq(fill(s, m >= 0, &corpus, NULL), BM_OK);
            if (m > 0)
                leave_memory(&corpus, left[m]);
            cr_assert_eq(run(s, &corpus, thresholds[t], &match, &err), BM_OK, "%s", err.message);
            cr_assert_eq(match.result.counts.candidates, allowed(s, thresholds[t]));
            cr_assert_eq(match.result.counts.verified, match.result.counts.candidates);
            in_runs += match.result.edges.runs != NULL;
            most = rounds() > most ? rounds() : most;
            once += rounds() == 1;
            expect_edges(&match, wanted, n);
            bm_corpus_reset(&corpus);
        }
        free(wanted);
        drop_sets(s);
    }
    cr_assert(most > 3 && once > 5 && in_runs > 0, "%lu %lu %zu", most, once, in_runs);
}

Test(match_by_length, sets_in_memory_that_leave_no_room_move_to_the_file)
{
    drawn *s = make_sets(1200, 500, 50, 2);
    bm_corpus corpus;
    bm_match match;
    size_t n;
    bm_pair *wanted = every_two(s, .7, &n);
    cr_assert_eq(fill(s, false, &corpus, NULL), BM_OK);
    leave_memory(&corpus, 1500000);
    cr_assert_eq(run(s, &corpus, .7, &match, NULL), BM_OK);
    cr_assert(bm_corpus_sets_in_file(&corpus));
    expect_edges(&match, wanted, n);
    free(wanted);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(match_by_length, too_little_memory_is_said_with_the_least_that_would_do)
{
    drawn *s = make_sets(500, 60, 3, 1);
    bm_corpus corpus;
    bm_match match;
    bm_error err = {0};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    leave_memory(&corpus, 1 << 20);
    cr_assert_eq(run(s, &corpus, .5, &match, &err), BM_ERR_NOMEM);
    bm_match_reset(&match);
    const char *needs = strstr(err.message, "needs ");
    cr_assert_not_null(needs, "%s", err.message);
    uint64_t mib = strtoull(needs + 6, NULL, 10);
    cr_assert(mib > 1 && mib < 6);
    leave_memory(&corpus, mib << 20);
    cr_assert_eq(run(s, &corpus, .5, &match, &err), BM_OK, "%s", err.message);
    bm_match_reset(&match);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(match_by_length, no_documents_and_only_empty_ones_have_no_edges)
{
    for (size_t n = 0; n < 40; n += 13) {
        for (int in_file = 0; in_file < 2; in_file++) {
            drawn *s = make_sets(n, 0, 3, 2);
            bm_corpus corpus;
            bm_match match;
            cr_assert_eq(fill(s, in_file, &corpus, NULL), BM_OK);
            cr_assert_eq(run(s, &corpus, .5, &match, NULL), BM_OK);
            cr_assert(match.result.counts.edges == 0 && match.result.counts.candidates == 0);
            bm_match_reset(&match);
            bm_corpus_reset(&corpus);
            drop_sets(s);
        }
    }
}

Test(match_by_length, a_damaged_file_of_sets_is_an_error)
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
