/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs_calls.c -- --candidates all with sets in a file: one call or allocation fails in each
 * run, and the job must report why and give no result. First each call fails in turn; later, of
 * many similar calls, fewer and fewer. */
#include "match/match_all_pairs.c"

#include "match_calls.h"

struct job {
    drawn *sets;
    bm_corpus corpus;
};

/* Makes prefixes, with counts in parts. */
static bm_status make_prefixes(job *j, bm_error *err)
{
    set_prefixes p;
    set_prefixes_job making = {.corpus = &j->corpus,
                               .rule = {BM_MEASURE_JACCARD, .5},
                               .memory = 1200000,
                               .pool = j->sets->pool,
                               .meter = &j->sets->meter};
    bm_status status = set_prefixes_make(&making, &p, err);
    cr_assert(status != BM_OK || p.part_bits > 0);
    result = p.bytes_written;
    set_prefixes_reset(&p);
    return status;
}

/* Runs all of the matching, with counts in one part and edges in runs. */
static bm_status match_all(job *j, bm_error *err)
{
    bm_match match = {.settings = {.corpus = &j->corpus,
                                   .pool = j->sets->pool,
                                   .meter = &j->sets->meter,
                                   .verify = BM_VERIFY_EXACT,
                                   .threshold = .3,
                                   .all_candidates = true}};
    bm_status status = bm_match_run(&match, err);
    result = match.result.counts.edges;
    bm_match_reset(&match);
    return status;
}

static void fail_all(bm_status (*run)(job *, bm_error *), size_t n, size_t longest, uint64_t left)
{
    job j = {.sets = make_sets(n, longest, 4, 1)};
    cr_assert_eq(fill(j.sets, true, &j.corpus, NULL), BM_OK);
    leave_memory(&j.corpus, left);
    cr_assert_gt(fail_some(&j, run, false), 30);
    cr_assert_gt(fail_some(&j, run, true), 10);
    bm_corpus_reset(&j.corpus);
    drop_sets(j.sets);
}

Test(all_pairs_calls, a_failing_call_while_prefixes_are_made_is_an_error)
{
    fail_all(make_prefixes, 3600, 500, (uint64_t)1 << 30);
}

Test(all_pairs_calls, a_failing_call_while_pairs_are_searched_is_an_error)
{
    fail_all(match_all, 700, 60, (uint64_t)16 << 20); /* one block */
    fail_all(match_all, 1500, 100, 3300000);          /* several blocks */
}
