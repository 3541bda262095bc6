/* SPDX-License-Identifier: Apache-2.0 */
/* weights_calls.c -- one call or allocation fails in each run while documents are counted, looked
 * up and weighed with little memory, and while weighted documents are compared with sets in a file.
 * The job must report why and give no result. */
#include "sign/df_table.h"

#include "match_calls.h"
#include "tests/unit/match/weighted_world.h"

struct job {
    drawn *sets;
    bm_corpus corpus;
    bm_shingle_batch batch; /* all sets, with counts */
};

/* Restores the batch to its state before weighing. */
static void fill_batch(job *j)
{
    bm_shingle_batch *b = &j->batch;
    const drawn *s = j->sets;
    plan.armed = false;
    bm_shingle_batch_reset(b);
    b->counted = true;
    for (size_t i = 0; i < s->n; i++) {
        const size_t n = s->sizes[i];
        cr_assert_eq(bm_shingle_batch_reserve(b, 1, n, NULL), BM_OK);
        const size_t at = (size_t)b->offsets[b->n_docs];
        for (size_t k = 0; k < n; k++) {
            b->hashes[at + k] = s->docs[i][k];
            b->counts[at + k] = 1 + (uint32_t)(k % 3);
        }
        b->offsets[++b->n_docs] = at + n;
    }
    plan.armed = true;
}

/* Counts with runs and with the list in a file, then weighs. */
static bm_status count_and_weigh(job *j, bm_error *err)
{
    const bm_df_cfg cfg = {1 << 17, 1, j->sets->temp.root};
    bm_df_count *count = NULL;
    bm_df_table *table = NULL;
    bm_status status = bm_df_count_open(&cfg, &count, err);
    if (status == BM_OK)
        status = bm_df_count_add(count, &j->batch, err);
    if (status == BM_OK)
        status = bm_df_count_end(count, &table, err);
    if (status == BM_OK)
        status = bm_weigh_batch(table, &j->batch, err);
    if (status == BM_OK)
        result = bm_shingle_batch_hashes(&j->batch);
    bm_df_table_close(table);
    bm_df_count_close(count);
    fill_batch(j);
    return status;
}

static bm_status match_weighted(job *j, bm_error *err)
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

Test(weights_calls, a_failing_call_while_shingles_are_counted_and_weighed_is_an_error)
{
    job j = {.sets = make_sets(2500, 60, 4, 1)};
    fill_batch(&j);
    cr_assert_gt(fail_some(&j, count_and_weigh, false), 20);
    cr_assert_gt(fail_some(&j, count_and_weigh, true), 20);
    bm_shingle_batch_reset(&j.batch);
    drop_sets(j.sets);
}

Test(weights_calls, a_failing_call_while_weighted_documents_are_compared_is_an_error)
{
    job j = {.sets = make_sets(400, 60, 4, 1)};
    fill_weighted(j.sets, true, &j.corpus);
    leave_memory(&j.corpus, (uint64_t)1100 << 10); /* several indexes */
    cr_assert_gt(fail_some(&j, match_weighted, false), 20);
    cr_assert_gt(fail_some(&j, match_weighted, true), 10);
    bm_corpus_reset(&j.corpus);
    drop_sets(j.sets);
}
