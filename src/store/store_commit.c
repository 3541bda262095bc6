/* store_commit.c -- removing, and the commit.
 *
 * A commit's pieces may take several transactions; the last one has the notes and the state, and what is no longer named goes
 * in it. After it all of them are on the disk, and the commit is recorded.
 *
 * Tests: tests/unit/store/test_store_model.c, tests/fault/store_calls.c */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/store_build.h"
#include "store/store_merge.h"
#include "store/store_note.h"
#include "store/store_view_inside.h"
#include "store/store_write.h"

/* --- removing --- */

static bm_status remove_one(bm_store *store, const bm_store_view *view, uint32_t number,
                            bm_error *err)
{
    bm_store_doc doc;
    bm_writer_range *range = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_doc(view, number, &doc, err));
    status = bm_writer_range_of(store, &view->snapshot, number / BM_STORE_RANGE, &range, err);
out:
    if (status == BM_NOT_FOUND)
        return bm_fail_at(err, BM_ERR_INTERNAL, store->place.path, 0,
                          "there is no document %" PRIu32 " to remove", number);
    if (status != BM_OK)
        return status;
    const size_t at = number % BM_STORE_RANGE;
    const uint8_t bit = (uint8_t)(1u << at % 8);
    if (range->bits[at / 8] & bit)
        return bm_fail_at(err, BM_ERR_INTERNAL, store->place.path, 0,
                          "document %" PRIu32 " is removed twice", number);
    range->bits[at / 8] |= bit;
    range->removed++;
    bm_store_counts *c = &store->writer->state.counts;
    c->documents--;
    c->removed++;
    c->empty -= doc.n_shingles == 0;
    c->shingles -= doc.n_shingles;
    c->text_bytes -= doc.text_bytes;
    return BM_OK;
}

bm_status bm_store_remove(bm_store *store, const uint32_t *numbers, size_t n, bm_error *err)
{
    bm_store_view *view = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_writer_ready(store, err));
    if (n == 0)
        return BM_OK;
    BM_TRY_OUT(bm_store_view_open(store, &view, err));
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(remove_one(store, view, numbers[i], err));
out:
    bm_store_view_close(view);
    return bm_writer_failed(store, status, err);
}

static bm_status put_range(bm_store *store, const bm_writer_range *range, bm_error *err)
{
    bm_state *state = &store->writer->state;
    const uint64_t version = state->next_version++, first = range->range * BM_STORE_RANGE;
    const bm_piece_key key = {
        .table = BM_KEY_REMOVED, .run = version, .number = (uint32_t)range->range};
    const bm_piece_head head = {.kind = BM_PIECE_REMOVED,
                                .n = (uint32_t)range->removed,
                                .first = first,
                                .last = first + BM_STORE_RANGE - 1};
    char bytes[BM_PIECE_KEY_MAX];
    void *piece = NULL;
    BM_TRY(bm_store_env_put(&store->env, bm_piece_key_write(&key, bytes), BM_REMOVED_PIECE, &piece,
                            err));
    bm_piece_begin(piece, &head);
    memcpy((uint8_t *)piece + BM_PIECE_HEAD_BYTES, range->bits, BM_REMOVED_BYTES);
    bm_piece_seal(piece, BM_REMOVED_PIECE);
    const size_t at = bm_state_range(state, range->range);
    if (at == state->n_ranges || state->ranges[at].range != range->range) {
        BM_TRY(bm_grow_array(&state->ranges, &state->cap_ranges, state->n_ranges + 1, err));
        memmove(state->ranges + at + 1, state->ranges + at,
                (state->n_ranges - at) * sizeof *state->ranges);
        state->n_ranges++;
    } else {
        const bm_piece_key old = {
            .table = BM_KEY_REMOVED, .run = state->ranges[at].version, .number = key.number};
        BM_TRY(bm_writer_drop(store, &old, err));
    }
    state->ranges[at] = (bm_store_range){range->range, range->removed, version};
    return BM_OK;
}

static bm_status put_ranges(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_status status = BM_OK;
    for (size_t i = 0; i < w->n_ranges; i++)
        BM_TRY_OUT(put_range(store, &w->ranges[i], err));
out:
    for (size_t i = 0; i < w->n_ranges; i++)
        bm_free(w->ranges[i].bits);
    w->n_ranges = 0;
    return status;
}

bm_status bm_store_note(bm_store *store, const char *name, bm_str bytes, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    return bm_store_notes_set(store->writer, name, bytes, err);
}

/* --- the commit --- */

/* The notes, what goes, the state: all at once. */
static bm_status put_state(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_state *state = &w->state;
    const uint64_t room = bm_store_notes_size(w) + bm_state_size(state) + BM_PIECE_BYTES +
                          w->n_dropped * BM_PIECE_PAGE;
    const bm_piece_key key = {.table = BM_KEY_STATE};
    char bytes[BM_PIECE_KEY_MAX];
    void *piece = NULL;
    BM_TRY(bm_store_env_together(&store->env, room, err));
    BM_TRY(bm_store_notes_put(store, err));
    for (size_t i = 0; i < w->n_dropped; i++)
        BM_TRY(bm_store_env_del(&store->env, bm_piece_key_write(&w->dropped[i], bytes), err));
    BM_TRY(bm_store_env_put(&store->env, bm_piece_key_write(&key, bytes), bm_state_size(state),
                            &piece, err));
    state->commit++;
    bm_state_write(state, piece);
    return bm_store_env_commit(&store->env, err);
}

/* Of a build nothing was synced before. */
static bm_status sync_build(bm_store *store, bm_error *err)
{
    const bm_store_env *env = &store->env;
    int rc = env->lib.mdb_env_sync(env->env, 1);
    if (rc == 0)
        rc = env->lib.mdb_env_set_flags(env->env, MDB_NOSYNC, 0);
    if (rc == 0 && fsync(store->place.dir) != 0 && errno != EINVAL) /* a file system without */
        rc = errno;
    return rc == 0 ? BM_OK
                   : bm_lmdb_fail(&env->lib, rc, env->name, "cannot write to the index", err);
}

bm_status bm_writer_record(bm_store *store, bm_error *err)
{
    bm_snapshot s = {0};
    bm_status status = BM_OK;
    BM_TRY(bm_snapshot_open(store, &store->writer->state, &s, err));
    s.pages.index = s.state.index;
    s.pages.commit = s.state.commit;
    s.pages.slot = store->record_slot;
    if (bm_store_record_sum(&s.pages, s.map->bytes, s.file_bytes))
        status = bm_store_record_write(&store->place, &s.pages, err);
    else
        status = bm_snapshot_damaged(&s, err, "its pages are not in the file");
    store->record_slot = s.pages.slot;
    bm_snapshot_close(&s);
    return status;
}

static bm_status commit(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const bool build = w->build, named = store->place.dir >= 0;
    if (build)
        BM_TRY(bm_store_build_end(store, err));
    BM_TRY(bm_store_merge(store, BM_MERGE_ALL, err));
    BM_TRY(bm_writer_put(store, err));
    BM_TRY(put_ranges(store, err));
    if (named)
        BM_TRY(build ? bm_store_record_make(&store->place, err)
                     : bm_store_record_prepare(&store->place, store->record_slot, err));
    BM_TRY(put_state(store, err));
    w->committed = w->state.next_version;
    w->n_dropped = 0;
    if (build && named)
        BM_TRY(sync_build(store, err));
    if (named)
        BM_TRY(bm_writer_record(store, err));
    bm_store_notes_done(w);
    return BM_OK;
}

bm_status bm_store_commit(bm_store *store, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    return bm_writer_failed(store, commit(store, err), err);
}
