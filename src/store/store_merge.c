/* store_merge.c -- see store_merge.h.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_merge.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/posting_stream.h"
#include "store/run_writer.h"

#define FACTOR    4u
#define VERY_MANY 16u
#define SIZES     33u /* of 0 … 32 digits to the base of 4 */

/* Digits of n to the base of FACTOR. */
static unsigned size_of(uint64_t n)
{
    unsigned digits = 0;
    for (; n > 0; n /= FACTOR)
        digits++;
    return digits;
}

/* *list: the places of the runs that begin with table `first` and become one; none where there are few of each size. */
static void choose(const bm_state *state, uint32_t first, bm_merge_rule rule, size_t *list,
                   size_t *n)
{
    size_t counts[SIZES + 1] = {0}, all = 0;
    unsigned largest = 0;
    for (size_t i = 0; i < state->n_runs; i++)
        if (state->runs[i].first_table == first) {
            counts[size_of(state->runs[i].entries)]++;
            all++;
        }
    *n = 0;
    if (rule == BM_MERGE_SOME && all < VERY_MANY)
        return;
    for (unsigned size = 0; size <= SIZES; size++)
        if (counts[size] >= FACTOR)
            largest = size;
    for (size_t i = 0; largest > 0 && i < state->n_runs; i++)
        if (state->runs[i].first_table == first && size_of(state->runs[i].entries) <= largest)
            list[(*n)++] = i;
}

static bm_status copy_table(const bm_snapshot *s, bm_posting_runs runs, bm_run_writer *out,
                            bm_error *err)
{
    bm_posting_stream stream = {0};
    bm_posting posting;
    bm_status status = bm_posting_stream_open(s, runs, out->table, &stream, err);
    while (status == BM_OK && (status = bm_posting_stream_next(&stream, &posting, err)) == BM_OK)
        status = bm_run_writer_add(out, posting, err);
    bm_posting_stream_close(&stream);
    return status == BM_NOT_FOUND ? bm_run_writer_end_table(out, err) : status;
}

/* Runs of one kind into one, which takes their place in the state. */
static bm_status merge_runs(bm_store *store, const bm_snapshot *s, bm_posting_runs runs,
                            bm_error *err)
{
    bm_writer *w = store->writer;
    const bm_store_run *like = &s->state.runs[runs.list[0]];
    bm_run_writer out;
    bm_status status = BM_OK;
    bm_run_writer_begin(store, like->first_table, like->n_tables, &out);
    for (uint32_t t = 0; t < like->n_tables; t++)
        BM_TRY_OUT(copy_table(s, runs, &out, err));
    BM_TRY_OUT(bm_run_writer_end(&out, err));
    for (size_t i = 0; i < runs.n; i++)
        for (uint32_t t = 0; t < like->n_tables; t++) {
            size_t n;
            const bm_piece_ref *refs =
                bm_snapshot_table(s, runs.list[i], like->first_table + t, &n);
            for (size_t p = 0; p < n; p++)
                BM_TRY_OUT(bm_writer_drop(store, &refs[p].key, err));
        }
out:
    bm_run_writer_reset(&out);
    if (status != BM_OK)
        return status;
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < w->state.n_runs; i++) {
        const bool merged = next < runs.n && runs.list[next] == i;
        next += merged;
        if (!merged)
            w->state.runs[kept++] = w->state.runs[i];
    }
    w->state.n_runs = kept;
    return BM_OK;
}

static bm_status merge_kind(bm_store *store, uint32_t first, bm_merge_rule rule, bool *merged,
                            bm_error *err)
{
    bm_writer *w = store->writer;
    bm_snapshot s = {0};
    size_t n = 0, *list = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new(&list, w->state.n_runs, err));
    choose(&w->state, first, rule, list, &n);
    *merged = n > 0;
    if (n == 0)
        goto out;
    BM_TRY_OUT(bm_writer_flush(store, err));
    BM_TRY_OUT(bm_snapshot_open(store, &w->state, &s, err));
    status = merge_runs(store, &s, (bm_posting_runs){list, n}, err);
out:
    bm_snapshot_close(&s);
    bm_free(list);
    return status;
}

bm_status bm_store_merge(bm_store *store, bm_merge_rule rule, bm_error *err)
{
    const uint32_t kinds[2] = {0, store->facts.bands};
    for (unsigned kind = 0; kind < 2; kind++)
        for (bool merged = true; merged;)
            BM_TRY(merge_kind(store, kinds[kind], rule, &merged, err));
    return BM_OK;
}
