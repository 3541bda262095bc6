/* SPDX-License-Identifier: Apache-2.0 */
/* store_writer.c -- see store_writer.h.
 *
 * If the last piece of documents is small, the next documents are appended to it, and it is written
 * again, even before a commit. It then has its earlier documents, followed by documents that the
 * committed state does not count yet.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/store_writer.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/ids.h"

#define TAIL_MOST ((size_t)512 << 10) /* size from which a written piece is not extended */

bm_status bm_writer_open(bm_store *store, const bm_state *state, bm_error *err)
{
    bm_writer *w = NULL;
    BM_TRY(bm_new_zero(&w, 1, err));
    store->writer = w;
    w->state = *state;
    w->state.facts = store->facts;
    w->filters =
        (bm_store_filters){.env = &store->env,
                           .state = &w->state,
                           .none = store->facts.kind != BM_STORE_SETS || store->place.dir < 0};
    w->committed = state->commit > 0 ? state->next_run : 0;
    for (unsigned i = 0; i < BM_STORE_NOTES; i++)
        BM_TRY(bm_writer_note(w, i, state->notes[i], err));
    return BM_OK;
}

void bm_writer_close(bm_store *store)
{
    bm_writer *w = store->writer;
    if (w == NULL)
        return;
    bm_writer_bands_close(store);
    for (unsigned i = 0; i < BM_STORE_NOTES; i++)
        bm_buf_reset(&w->notes[i]);
    bm_free_all(w->removed, w->dropped);
    bm_document_writer_reset(&w->tail);
    bm_filter_writer_reset(&w->filters.next);
    bm_buf_reset(&w->body);
    bm_free(w);
    store->writer = NULL;
}

bm_status bm_writer_bands_open(bm_store *store, bm_error *err)
{
    const uint32_t bands = store->facts.bands;
    const uint64_t all = store->cfg.memory != 0 ? store->cfg.memory : BM_STORE_MEMORY,
                   filter = store->writer->filters.none ? 0 : BM_FILTER_WRITER_BYTES,
                   memory = all > 4 * filter ? all - filter : all;
    const char *dir = store->cfg.temp_dir != NULL ? store->cfg.temp_dir : store->place.path;
    bm_sorted_runs **list = NULL;
    BM_TRY(bm_new_zero(&list, bands, err));
    store->writer->bands = list;
    for (uint32_t b = 0; b < bands; b++)
        BM_TRY(bm_sorted_runs_open(dir, (size_t)(memory / bands), &list[b], err));
    return BM_OK;
}

void bm_writer_bands_close(bm_store *store)
{
    bm_writer *w = store->writer;
    for (uint32_t b = 0; w->bands != NULL && b < store->facts.bands; b++)
        bm_sorted_runs_close(w->bands[b]);
    bm_free(w->bands);
    w->bands = NULL;
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

bm_status bm_writer_note(bm_writer *w, bm_store_note_kind note, bm_str bytes, bm_error *err)
{
    bm_buf copy = {0};
    BM_TRY(bm_buf_add(&copy, bytes.data, bytes.len, err));
    bm_buf_reset(&w->notes[note]);
    w->notes[note] = copy;
    w->state.notes[note] = (bm_str){copy.data, copy.len};
    return BM_OK;
}

bm_status bm_writer_drop(bm_store *store, const bm_piece_key *key, bm_error *err)
{
    bm_writer *w = store->writer;
    if (key->run >= w->committed)
        return bm_store_env_del(&store->env, key, err);
    BM_TRY(bm_grow_array(&w->dropped, &w->cap_dropped, w->n_dropped + 1, err));
    w->dropped[w->n_dropped++] = *key;
    return BM_OK;
}

/* --- documents --- */

/* Load the last piece of documents into w->tail, so that more documents can be appended. A piece of
 * TAIL_MOST bytes or more is not loaded, unless an interrupted writer added documents to it. */
static bm_status reopen_tail(bm_writer *w, const bm_snapshot *s, bm_error *err)
{
    const bm_piece_ref *ref = &s->pieces.list[s->postings - 1];
    bm_document_piece piece;
    /* If an interrupted writer added documents to the piece, they are not loaded, and the piece
     * counts as new, so that it is written again. */
    w->tail_new = bm_document_piece_open(ref->bytes, ref->size, &piece) &&
                  piece.head.last >= s->state.counts.next_number;
    if (ref->size >= TAIL_MOST && !w->tail_new)
        return BM_OK;
    BM_TRY(bm_snapshot_documents(s, s->postings - 1, &piece, err));
    bm_document_writer_begin(&w->tail, ref->key.number);
    for (uint32_t i = ref->key.number; i <= piece.head.last; i++) {
        bm_store_doc doc;
        (void)bm_document_piece_again(&piece, i, &doc); /* the piece was validated */
        BM_TRY(bm_document_writer_add(&w->tail, &doc, err));
    }
    return BM_OK;
}

static bm_status begin_tail(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_snapshot s = {0};
    bm_status status = BM_OK;
    bm_document_writer_begin(&w->tail, (uint32_t)w->state.counts.next_number);
    if (w->state.counts.next_number > 0) {
        BM_TRY(bm_store_env_flush(&store->env, err));
        BM_TRY(bm_snapshot_open(store, &w->state, &s, err));
        BM_TRY_OUT(reopen_tail(w, &s, err));
        status = bm_store_filters_begin(&w->filters, &s, err);
    }
out:
    bm_snapshot_close(&s);
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
        BM_TRY(bm_writer_put(store, err));
        bm_document_writer_begin(&w->tail, (uint32_t)w->state.counts.next_number);
    }
    BM_TRY(bm_document_writer_add(&w->tail, doc, err));
    BM_TRY(bm_store_filters_add(&w->filters, doc, err));
    if (w->bands != NULL)
        w->state.index = XXH3_64bits_withSeed(&doc->content, sizeof doc->content, w->state.index);
    w->tail_new = true;
    bm_store_counts *c = &w->state.counts;
    c->next_number++;
    c->documents++;
    c->empty += doc->n_shingles == 0;
    c->unreadable += bm_store_doc_is_unreadable(doc);
    c->short_docs += bm_store_doc_is_short(doc);
    c->shingles += doc->n_shingles;
    c->text_bytes += doc->text_bytes;
    bm_next_id_pass(&c->next_id, doc->id);
    return BM_OK;
}

bm_status bm_writer_put(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const bm_piece_key key = {.kind = BM_PIECE_DOCUMENTS, .number = w->tail.first};
    void *piece = NULL;
    if (!w->tail_new)
        return BM_OK;
    BM_TRY(bm_store_env_put(&store->env, &key, bm_document_writer_size(&w->tail), &piece, err));
    bm_document_writer_write(&w->tail, piece);
    w->state.tail_first = w->tail.first;
    w->tail_new = false;
    return BM_OK;
}

bm_status bm_writer_flush(bm_store *store, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_writer_put(store, err));
    status = bm_store_env_flush(&store->env, err);
out:
    return bm_writer_failed(store, status, err);
}

bm_status bm_writer_record(bm_store *store, bm_error *err)
{
    bm_snapshot s = {0};
    bm_status status = BM_OK;
    BM_TRY(bm_snapshot_open(store, &store->writer->state, &s, err));
    s.pages.index = s.state.index;
    s.pages.commit = s.state.commit;
    s.pages.slot = store->record_slot;
    if (bm_store_record_sum(&s.pages, s.map, s.file_bytes))
        status = bm_store_record_write(&store->place, &s.pages, err);
    else
        status = bm_snapshot_damaged(&s, err, "its pages are not in the file");
    store->record_slot = s.pages.slot;
    bm_snapshot_close(&s);
    return status;
}
