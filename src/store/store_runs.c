/* SPDX-License-Identifier: Apache-2.0 */
/* store_runs.c -- see store_runs.h.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_runs.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"

#define FACTOR    4u
#define VERY_MANY 16u
#define SIZES     33u /* number of size classes: a count of entries has 0 to 32 digits in base 4 */

/* --- reading --- */

typedef struct source {
    const bm_piece_ref *refs;
    size_t n, at;  /* number of pieces; index of the current piece */
    uint64_t left; /* entries that follow `head` */
    bm_posting_piece piece;
    size_t next; /* index of the current entry in the piece */
    bm_posting head;
} source;

static bool before(const bm_posting *a, const bm_posting *b)
{
    return a->key != b->key ? a->key < b->key : a->number < b->number;
}

/* Is the current entry of the first source less than that of the second? */
static bool goes_first(const void *ctx, const void *x, const void *y)
{
    (void)ctx;
    const source *const *a = x, *const *b = y;
    return before(&(*a)->head, &(*b)->head);
}

static bm_status open_piece(const bm_snapshot *s, source *from, bm_error *err)
{
    const bm_piece_ref *ref = &from->refs[from->at];
    const bm_posting last = from->head;
    BM_TRY(bm_store_check_cancelled(s->store, err));
    if (bm_posting_piece_open(ref->bytes, ref->size, NULL, &from->piece) &&
        from->piece.head.first == ref->key.first && bm_posting_piece_valid(&from->piece)) {
        from->head = bm_posting_piece_at(&from->piece, from->next = 0);
        if (from->head.number == ref->key.number && (from->at == 0 || before(&last, &from->head)))
            return BM_OK;
    }
    return bm_fail_at(err, BM_ERR_FORMAT, s->store->place.path, 0,
                      "the index is damaged: a piece of postings of run %" PRIu64
                      ", table %" PRIu32,
                      ref->key.run, ref->key.band);
}

/* Advance the source to its next entry. BM_NOT_FOUND: there are no more entries. */
static bm_status advance(const bm_snapshot *s, source *from, bm_error *err)
{
    if (++from->next < from->piece.head.n) {
        from->head = bm_posting_piece_at(&from->piece, from->next);
        from->left--;
        return BM_OK;
    }
    bm_snapshot_read(&from->refs[from->at]);
    if (++from->at < from->n && from->left-- > 0)
        return open_piece(s, from, err);
    return from->at == from->n && from->left == 0
               ? BM_NOT_FOUND
               : bm_snapshot_damaged(s, err, "a table has another number of entries");
}

bm_status bm_postings_each(const bm_snapshot *s, const bool chosen[BM_STORE_RUNS], uint32_t table,
                           bm_posting_fn *fn, void *ctx, bm_error *err)
{
    source sources[BM_STORE_RUNS], *order[BM_STORE_RUNS];
    bm_heap heap = {.entries = order, .size = sizeof *order, .order = goes_first};
    for (size_t i = 0; i < s->state.n_runs; i++) {
        source *from = &sources[heap.n];
        *from = (source){.left = s->state.runs[i].entries - 1};
        from->refs = bm_snapshot_table(s, i, table, &from->n);
        if (from->n == 0 || (chosen != NULL && !chosen[i]))
            continue;
        BM_TRY(open_piece(s, from, err));
        order[heap.n++] = from;
    }
    bm_heap_build(&heap);
    while (heap.n > 0) {
        BM_TRY(fn(ctx, order[0]->head, err));
        const bm_status status = advance(s, order[0], err);
        if (status == BM_NOT_FOUND)
            order[0] = order[--heap.n];
        else
            BM_TRY(status);
        bm_heap_sink(&heap, 0);
    }
    return BM_OK;
}

/* --- writing --- */

struct bm_run_writer {
    bm_store *store;
    bm_store_run run;
    uint32_t table;   /* the table to which entries are being added */
    uint64_t entries; /* entries added to `table` so far */
    bm_posting *list; /* entries of the table's next piece */
    size_t n, cap;
};

static bm_status put_piece(bm_run_writer *w, bm_error *err)
{
    const bm_piece_key key = {.kind = BM_PIECE_POSTINGS,
                              .run = w->run.id,
                              .band = w->table,
                              .first = w->list[0].key,
                              .number = w->list[0].number};
    void *piece = NULL;
    BM_TRY(bm_store_check_cancelled(w->store, err));
    BM_TRY(bm_store_env_put(&w->store->env, &key, bm_posting_piece_size(w->n), &piece, err));
    bm_posting_piece_write(w->list, w->n, piece);
    w->n = 0;
    return BM_OK;
}

bm_status bm_run_add(void *writer, bm_posting posting, bm_error *err)
{
    bm_run_writer *w = writer;
    if (w->n == w->cap) {
        BM_TRY(bm_grow_array(&w->list, &w->cap, w->n + 1, err));
    }
    w->list[w->n++] = posting;
    w->entries++;
    return w->n == BM_POSTING_PIECE ? put_piece(w, err) : BM_OK;
}

bm_status bm_run_write(bm_store *store, uint32_t first_table, uint32_t n_tables, bm_table_fn *fn,
                       void *ctx, bm_error *err)
{
    bm_state *state = &store->writer->state;
    bm_run_writer w = {
        .store = store,
        .run = {.id = state->next_run++, .first_table = first_table, .n_tables = n_tables}};
    bm_status status = BM_OK;
    for (w.table = first_table; w.table - first_table < n_tables; w.table++) {
        w.entries = 0;
        BM_TRY_OUT(fn(ctx, w.table, &w, err));
        if (w.n > 0)
            BM_TRY_OUT(put_piece(&w, err));
        if (w.table == first_table)
            w.run.entries = w.entries;
        else if (w.run.entries != w.entries)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, store->place.path, 0,
                                  "the index is damaged: its tables are of different length"));
    }
    if (w.run.entries > 0)
        status = bm_state_add_run(state, &w.run, err);
out:
    bm_free(w.list);
    return status;
}

/* --- merging --- */

/* The number of base-FACTOR digits of n. */
static unsigned size_of(uint64_t n)
{
    unsigned digits = 0;
    for (; n > 0; n /= FACTOR)
        digits++;
    return digits;
}

/* Of the runs whose first table is `first`, choose those to be merged into one. Returns false if
 * nothing is to be merged. This is so if each size class has few runs or, with BM_MERGE_SOME, if
 * there are few runs in total. */
static bool choose(const bm_state *state, uint64_t first, bm_merge_rule rule,
                   bool chosen[BM_STORE_RUNS])
{
    size_t counts[SIZES + 1] = {0}, all = 0;
    unsigned largest = 0;
    for (size_t i = 0; i < state->n_runs; i++)
        if (state->runs[i].first_table == first) {
            counts[size_of(state->runs[i].entries)]++;
            all++;
        }
    if (rule == BM_MERGE_SOME && all < VERY_MANY)
        return false;
    for (unsigned size = 0; size <= SIZES; size++)
        if (counts[size] >= FACTOR)
            largest = size;
    for (size_t i = 0; i < state->n_runs; i++)
        chosen[i] =
            state->runs[i].first_table == first && size_of(state->runs[i].entries) <= largest;
    return largest > 0;
}

typedef struct merging {
    bm_snapshot snapshot;
    bool chosen[BM_STORE_RUNS];
} merging;

static bm_status fill_table(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err)
{
    const merging *m = ctx;
    return bm_postings_each(&m->snapshot, m->chosen, table, bm_run_add, out, err);
}

/* Merge the chosen runs, whose first table is `first`. The new run replaces them in the state. */
static bm_status merge_runs(bm_store *store, merging *m, uint32_t first, bm_error *err)
{
    const bm_snapshot *s = &m->snapshot;
    bm_state *state = &store->writer->state;
    BM_TRY(bm_run_write(store, first, first == 0 ? store->facts.bands : 1, fill_table, m, err));
    size_t kept = 0;
    for (size_t i = 0; i < state->n_runs; i++) {
        const uint64_t id = state->runs[i].id;
        if (!m->chosen[i])
            state->runs[kept++] = state->runs[i];
        for (size_t p = s->postings; m->chosen[i] && p < s->filters; p++)
            if (s->pieces.list[p].key.run == id)
                BM_TRY(bm_writer_drop(store, &s->pieces.list[p].key, err));
    }
    state->n_runs = kept;
    return BM_OK;
}

bm_status bm_store_merge(bm_store *store, bm_merge_rule rule, bm_error *err)
{
    const uint32_t kinds[2] = {0, store->facts.bands};
    for (unsigned kind = 0; kind < 2;) {
        merging m = {0};
        if (!choose(&store->writer->state, kinds[kind], rule, m.chosen)) {
            kind++;
            continue;
        }
        BM_TRY(bm_writer_flush(store, err));
        BM_TRY(bm_snapshot_open(store, &store->writer->state, &m.snapshot, err));
        const bm_status status = merge_runs(store, &m, kinds[kind], err);
        bm_snapshot_close(&m.snapshot);
        BM_TRY(status);
    }
    return BM_OK;
}
