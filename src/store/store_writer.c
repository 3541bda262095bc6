/* store_writer.c -- see store_writer.h.
 *
 * The last piece of documents is put again, under a version of its own, while it is small. Of its versions the last
 * commit's goes with the next commit; those between go at once.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_writer.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/piece.h"

#define TAIL_MOST ((size_t)512 << 10) /* a piece of so many bytes stays as it is */

bm_status bm_writer_open(bm_store *store, bm_state *state, bm_error *err)
{
    bm_writer *w = NULL;
    BM_TRY(bm_new_zero(&w, 1, err));
    w->state = *state;
    w->committed = state->commit > 0 ? state->next_version : 0;
    *state = (bm_state){0};
    store->writer = w;
    return BM_OK;
}

void bm_writer_close(bm_store *store)
{
    bm_writer *w = store->writer;
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->n_ranges; i++)
        bm_free(w->ranges[i].bits);
    for (size_t i = 0; i < w->n_notes; i++) {
        bm_free(w->notes[i].name);
        bm_free(w->notes[i].bytes);
    }
    for (uint32_t b = 0; w->bands != NULL && b < w->state.facts.bands; b++)
        bm_sorted_runs_close(w->bands[b]);
    bm_free(w->bands);
    bm_free(w->ranges);
    bm_free(w->notes);
    bm_free(w->dropped);
    bm_document_writer_reset(&w->tail);
    bm_buf_reset(&w->body);
    bm_state_reset(&w->state);
    bm_free(w);
    store->writer = NULL;
}

bm_status bm_writer_ready(const bm_store *store, bm_error *err)
{
    if (store->writer == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "the index was opened for reading");
    if (store->writer->failed != BM_OK && err != NULL)
        *err = store->writer->failure;
    return store->writer->failed;
}

bm_status bm_writer_failed(bm_store *store, bm_status status, const bm_error *err)
{
    bm_writer *w = store->writer;
    if (status == BM_OK || w->failed != BM_OK)
        return status;
    w->failed = status;
    if (err != NULL)
        w->failure = *err;
    return status;
}

bm_status bm_writer_drop(bm_store *store, const bm_piece_key *key, bm_error *err)
{
    bm_writer *w = store->writer;
    char bytes[BM_PIECE_KEY_MAX];
    if (key->run >= w->committed)
        return bm_store_env_del(&store->env, bm_piece_key_write(key, bytes), err);
    BM_TRY(bm_grow_array(&w->dropped, &w->cap_dropped, w->n_dropped + 1, err));
    w->dropped[w->n_dropped++] = *key;
    return BM_OK;
}

/* --- documents --- */

static bm_status put_tail(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    char bytes[BM_PIECE_KEY_MAX];
    void *piece = NULL;
    const bm_piece_key old = w->tail_key;
    w->tail_key = (bm_piece_key){
        .table = BM_KEY_DOCUMENTS, .run = w->state.next_version++, .number = w->tail.first};
    BM_TRY(bm_store_env_put(&store->env, bm_piece_key_write(&w->tail_key, bytes),
                            bm_document_writer_size(&w->tail), &piece, err));
    bm_document_writer_write(&w->tail, piece);
    w->state.tail_first = w->tail.first;
    w->tail_new = false;
    return old.table != 0 ? bm_writer_drop(store, &old, err) : BM_OK;
}

static void begin_piece(bm_writer *w, uint32_t first)
{
    bm_document_writer_begin(&w->tail, first);
    w->tail_key = (bm_piece_key){0};
}

/* Take the documents of the last piece up again, where there is room in it. */
static bm_status take_up(bm_store *store, const bm_snapshot *s, const bm_piece_ref *ref,
                         bm_error *err)
{
    bm_writer *w = store->writer;
    const uint64_t next = w->state.counts.next_number;
    bm_document_piece piece;
    begin_piece(w, (uint32_t)next);
    if (ref->size >= TAIL_MOST)
        return BM_OK;
    if (!bm_piece_check(ref->bytes, ref->size, BM_PIECE_DOCUMENTS) ||
        !bm_document_piece_open(ref->bytes, ref->size, &piece) ||
        piece.head.first != ref->key.number || piece.head.last != next - 1)
        return bm_snapshot_damaged(s, err, "its last documents");
    begin_piece(w, ref->key.number);
    w->tail_key = ref->key;
    for (uint32_t i = ref->key.number; i < next; i++) {
        bm_store_doc doc;
        if (!bm_document_piece_at(&piece, i, &doc))
            return bm_snapshot_damaged(s, err, "its last documents");
        BM_TRY(bm_document_writer_add(&w->tail, &doc, err));
    }
    return BM_OK;
}

static bm_status begin_tail(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const uint32_t next = (uint32_t)w->state.counts.next_number;
    bm_snapshot s = {0};
    bm_status status = BM_OK;
    if (next > 0) {
        BM_TRY(bm_store_env_flush(&store->env, err));
        BM_TRY(bm_snapshot_open(store, &w->state, &s, err));
        status = take_up(store, &s, bm_snapshot_docs(&s, next - 1), err);
        bm_snapshot_close(&s);
    }
    w->tail_begun = status == BM_OK;
    return status;
}

bm_status bm_writer_document(bm_store *store, const bm_store_doc *doc, bm_error *err)
{
    bm_writer *w = store->writer;
    if (!w->tail_begun)
        BM_TRY(begin_tail(store, err));
    if (w->tail.n > 0 && (!bm_document_writer_fits(&w->tail, doc->id.len, doc->body.len) ||
                          (!w->tail_new && bm_document_writer_size(&w->tail) >= TAIL_MOST))) {
        if (w->tail_new)
            BM_TRY(put_tail(store, err));
        begin_piece(w, (uint32_t)w->state.counts.next_number);
    }
    BM_TRY(bm_document_writer_add(&w->tail, doc, err));
    if (w->build)
        w->state.index = XXH3_64bits_withSeed(&doc->content, sizeof doc->content, w->state.index);
    w->tail_new = true;
    bm_store_counts *c = &w->state.counts;
    c->next_number++;
    c->documents++;
    c->empty += doc->n_shingles == 0;
    c->shingles += doc->n_shingles;
    c->text_bytes += doc->text_bytes;
    return BM_OK;
}

bm_status bm_writer_put(bm_store *store, bm_error *err)
{
    return store->writer->tail_new ? put_tail(store, err) : BM_OK;
}

bm_status bm_writer_flush(bm_store *store, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_writer_put(store, err));
    status = bm_store_env_flush(&store->env, err);
out:
    return bm_writer_failed(store, status, err);
}

/* --- what was removed --- */

bm_status bm_writer_range_of(bm_store *store, const bm_snapshot *snapshot, uint64_t range,
                             bm_writer_range **out, bm_error *err)
{
    bm_writer *w = store->writer;
    for (size_t i = 0; i < w->n_ranges; i++)
        if (w->ranges[i].range == range) {
            *out = &w->ranges[i];
            return BM_OK;
        }
    BM_TRY(bm_grow_array(&w->ranges, &w->cap_ranges, w->n_ranges + 1, err));
    bm_writer_range *r = &w->ranges[w->n_ranges];
    *r = (bm_writer_range){.range = range, .bits = bm_alloc_zero(BM_REMOVED_BYTES, 1)};
    if (r->bits == NULL)
        return bm_fail_nomem(err, BM_REMOVED_BYTES);
    const size_t i = bm_state_range(&snapshot->state, range);
    if (i < snapshot->state.n_ranges && snapshot->state.ranges[i].range == range) {
        const bm_piece_ref *ref = &snapshot->pieces.list[snapshot->ranges + i];
        if (ref->size != BM_REMOVED_PIECE ||
            !bm_piece_check(ref->bytes, ref->size, BM_PIECE_REMOVED)) {
            bm_free(r->bits);
            return bm_snapshot_damaged(snapshot, err, "what was removed");
        }
        memcpy(r->bits, ref->bytes + BM_PIECE_HEAD_BYTES, BM_REMOVED_BYTES);
        r->removed = snapshot->state.ranges[i].removed;
    }
    w->n_ranges++;
    *out = r;
    return BM_OK;
}
