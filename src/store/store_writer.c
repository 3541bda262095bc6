/* store_writer.c -- see store_writer.h.
 *
 * The last piece of documents is put again, under a version of its own, while it is small. Of its versions the last
 * commit's stays in the file until the next commit; those between go at once.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_writer.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/piece.h"

#define TAIL_MOST ((size_t)512 << 10) /* a piece of so many bytes stays as it is */

bm_status bm_writer_open(bm_store *store, bm_state *state, bm_error *err)
{
    bm_writer *w = NULL;
    BM_TRY(bm_new_zero(&w, 1, err));
    w->state = *state;
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
    bm_free(w->names);
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

/* --- documents --- */

static bm_str tail_key(bm_store_tail tail, char *out)
{
    const bm_piece_key key = {
        .table = BM_KEY_DOCUMENTS, .run = tail.version, .number = (uint32_t)tail.first};
    return bm_piece_key_write(&key, out);
}

static bm_status put_tail(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    char key[BM_PIECE_KEY_MAX];
    void *piece = NULL;
    const bm_store_tail old = w->state.tail, new = {w->tail.first, w->state.next_version++};
    BM_TRY(bm_store_env_put(&store->env, tail_key(new, key), bm_document_writer_size(&w->tail),
                            &piece, err));
    bm_document_writer_write(&w->tail, piece);
    bm_status status = BM_OK;
    if (old.version == 0 || old.first != new.first)
        w->state.doc_pieces++;
    else if (old.version == store->state.tail.version)
        w->state.gone = old;
    else
        status = bm_store_env_del(&store->env, tail_key(old, key), err);
    w->state.tail = new;
    w->tail_new = false;
    return status;
}

/* Take the documents of the last piece up again, where there is room in it. */
static bm_status begin_tail(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const uint32_t next = (uint32_t)w->state.counts.next_number;
    bm_snapshot s = {0};
    bm_document_piece piece;
    bm_status status = BM_OK;
    if (next > 0)
        BM_TRY_OUT(bm_store_env_flush(&store->env, err));
    if (next > 0)
        BM_TRY_OUT(bm_snapshot_open(store, &w->state, &s, err));
out:;
    const bm_piece_ref *ref = next > 0 && status == BM_OK ? bm_snapshot_docs(&s, next - 1) : NULL;
    if (ref == NULL || ref->size >= TAIL_MOST) {
        bm_document_writer_begin(&w->tail, next);
    } else if (!bm_piece_check(ref->bytes, ref->size, BM_PIECE_DOCUMENTS) ||
               !bm_document_piece_open(ref->bytes, ref->size, &piece) ||
               piece.head.first != ref->key.number || piece.head.last != next - 1) {
        status = bm_snapshot_damaged(&s, err, "its last documents");
    } else {
        bm_document_writer_begin(&w->tail, ref->key.number);
        for (uint32_t i = ref->key.number; status == BM_OK && i < next; i++) {
            bm_store_doc doc;
            status = bm_document_piece_at(&piece, i, &doc)
                         ? bm_document_writer_add(&w->tail, &doc, err)
                         : bm_snapshot_damaged(&s, err, "its last documents");
        }
    }
    bm_snapshot_close(&s);
    w->tail_begun = status == BM_OK;
    return status;
}

bm_status bm_writer_document(bm_store *store, const bm_store_doc *doc, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_status status = BM_OK;
    if (!w->tail_begun)
        status = begin_tail(store, err);
    if (status == BM_OK && w->tail.n > 0 &&
        (!bm_document_writer_fits(&w->tail, doc->id.len, doc->body.len) ||
         (!w->tail_new && bm_document_writer_size(&w->tail) >= TAIL_MOST))) {
        if (w->tail_new)
            status = put_tail(store, err);
        bm_document_writer_begin(&w->tail, (uint32_t)w->state.counts.next_number);
    }
    if (status == BM_OK)
        status = bm_document_writer_add(&w->tail, doc, err);
    if (status != BM_OK)
        return status;
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
