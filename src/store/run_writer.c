/* run_writer.c -- see run_writer.h.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/run_writer.h"

#include "base/error.h"
#include "base/memory.h"

void bm_run_writer_begin(bm_store *store, uint32_t first_table, uint32_t n_tables,
                         bm_run_writer *out)
{
    *out = (bm_run_writer){.store = store,
                           .run = {.id = store->writer->state.next_version++,
                                   .first_table = first_table,
                                   .n_tables = n_tables},
                           .table = first_table};
}

static bm_status put_piece(bm_run_writer *w, bm_error *err)
{
    const bm_piece_key key = {.table = BM_KEY_POSTINGS,
                              .run = w->run.id,
                              .band = w->table,
                              .first = w->list[0].key,
                              .number = w->list[0].number};
    char bytes[BM_PIECE_KEY_MAX];
    void *piece = NULL;
    BM_TRY(bm_store_go_on(w->store, err));
    BM_TRY(bm_store_env_put(&w->store->env, bm_piece_key_write(&key, bytes),
                            bm_posting_piece_size(w->n), &piece, err));
    bm_posting_piece_write(w->list, w->n, piece);
    w->n = 0;
    return BM_OK;
}

bm_status bm_run_writer_add(bm_run_writer *w, bm_posting posting, bm_error *err)
{
    if (w->n == w->cap) {
        BM_TRY(bm_grow_array(&w->list, &w->cap, w->n + 1, err));
    }
    w->list[w->n++] = posting;
    w->entries++;
    return w->n == BM_POSTING_PIECE ? put_piece(w, err) : BM_OK;
}

bm_status bm_run_writer_end_table(bm_run_writer *w, bm_error *err)
{
    if (w->table == w->run.first_table)
        w->run.entries = w->entries;
    else if (w->run.entries != w->entries)
        return bm_fail_at(err, BM_ERR_FORMAT, w->store->place.path, 0,
                          "the index is damaged: its tables are of different length");
    w->entries = 0;
    const bm_status status = w->n > 0 ? put_piece(w, err) : BM_OK;
    w->table++;
    return status;
}

bm_status bm_run_writer_end(bm_run_writer *w, bm_error *err)
{
    if (w->run.entries == 0)
        return BM_OK;
    return bm_state_add_run(&w->store->writer->state, &w->run, err);
}

void bm_run_writer_reset(bm_run_writer *w)
{
    bm_free(w->list);
    *w = (bm_run_writer){0};
}
