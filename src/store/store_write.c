/* SPDX-License-Identifier: Apache-2.0 */
/* store_write.c -- adds, removes and commits. See store_write.h.
 *
 * The ids of a batch are sorted and written as one run. The keys of all its bands are written as
 * another run. In a build, only the commit writes the keys of the bands: all of them, sorted, as
 * one run.
 *
 * The pieces of a commit may take several transactions. The last one writes the state and the
 * removals, and deletes the pieces that the new state no longer names. When everything is on the
 * disk, the commit is recorded.
 *
 * Tests: tests/unit/store/test_store_model.c, tests/fault/store_calls.c */
#include "store/store_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/ids.h"
#include "store/piece.h"
#include "store/store_runs.h"

#define RECORD_BYTES 40u /* bytes of memory that sorting needs for each entry */

/* --- adding --- */

/* Encode the set or the words of document i into w->body. */
static bm_status encode(bm_store *store, const bm_store_batch *batch, size_t i, bm_error *err)
{
    bm_writer *w = store->writer;
    const uint32_t n_words = store->facts.words;
    const bool sets = store->facts.kind == BM_STORE_SETS;
    const size_t n = batch->docs[i].n_shingles;
    const size_t size = sets ? bm_set_code_size(n) : n_words * (size_t)4;
    w->body.len = 0;
    BM_TRY(bm_buf_reserve(&w->body, size, err));
    w->body.len = size;
    uint8_t *out = (uint8_t *)w->body.data;
    if (sets)
        bm_set_code_write(n > 0 ? batch->sets[i] : NULL, n, out);
    for (uint32_t word = 0; !sets && word < n_words; word++)
        bm_le32_put(out + 4 * (size_t)word, batch->words[i * n_words + word]);
    return BM_OK;
}

/* A batch of documents. Its first document has the number `first`. */
typedef struct added {
    bm_store *store;
    const bm_store_batch *batch;
    uint64_t first;
} added;

/* Add the entries that a batch has in one table to `records`, which sorts them. The keys of the
 * entries are those of a band or, in table `bands`, hashes of ids. */
static bm_status sort_table(const added *a, uint32_t table, bm_sorted_runs *records, bm_error *err)
{
    const uint32_t bands = a->store->facts.bands;
    for (size_t i = 0; i < a->batch->n; i++) {
        const bm_store_doc *doc = &a->batch->docs[i];
        if (table == bands) {
            BM_TRY(bm_sorted_runs_add(records, XXH3_64bits(doc->id.data, doc->id.len), a->first + i,
                                      err));
        } else if (doc->n_shingles > 0)
            BM_TRY(
                bm_sorted_runs_add(records, a->batch->keys[i * bands + table], a->first + i, err));
    }
    return BM_OK;
}

static bm_status add_sorted(bm_sorted_runs *records, bm_run_writer *out, bm_error *err)
{
    bm_run_record r;
    bm_status status = bm_sorted_runs_begin(records, err);
    while (status == BM_OK && (status = bm_sorted_runs_next(records, &r, err)) == BM_OK)
        status = bm_run_add(out, (bm_posting){r.key, (uint32_t)r.value}, err);
    return status == BM_NOT_FOUND ? BM_OK : status;
}

static bm_status fill_added(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err)
{
    const added *a = ctx;
    bm_sorted_runs *records = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_sorted_runs_open(NULL, a->batch->n * RECORD_BYTES, &records, err));
    BM_TRY_OUT(sort_table(a, table, records, err));
    status = add_sorted(records, out, err);
out:
    bm_sorted_runs_close(records);
    return status;
}

static bm_status add_tables(added *a, bm_error *err)
{
    bm_sorted_runs **aside = a->store->writer->bands;
    const uint32_t bands = a->store->facts.bands;
    BM_TRY(bm_run_write(a->store, bands, 1, fill_added, a, err));
    if (aside == NULL)
        return bm_run_write(a->store, 0, bands, fill_added, a, err);
    for (uint32_t b = 0; b < bands; b++)
        BM_TRY(sort_table(a, b, aside[b], err));
    return BM_OK;
}

bm_status bm_store_add(bm_store *store, const bm_store_batch *batch, uint32_t *first, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    const uint64_t next = store->writer->state.counts.next_number;
    if (batch->n > BM_DOCS_MAX - next)
        return bm_fail_at(err, BM_ERR_INPUT, store->place.path, 0,
                          "more than %" PRIu32 " documents in an index", BM_DOCS_MAX);
    *first = (uint32_t)next;
    if (batch->n == 0)
        return BM_OK;
    bm_status status = BM_OK;
    for (size_t i = 0; i < batch->n; i++) {
        BM_TRY_OUT(encode(store, batch, i, err));
        bm_store_doc doc = batch->docs[i];
        doc.body = (bm_str){store->writer->body.data, store->writer->body.len};
        BM_TRY_OUT(bm_writer_document(store, &doc, err));
    }
    BM_TRY_OUT(add_tables(&(added){store, batch, next}, err));
    status = bm_store_merge(store, BM_MERGE_SOME, err);
out:
    return bm_writer_failed(store, status, err);
}

/* --- removing --- */

static bm_status remove_one(bm_store *store, const bm_store_view *view, uint32_t number,
                            bm_error *err)
{
    bm_store_doc doc;
    bm_writer *w = store->writer;
    uint8_t *bits = &w->removed[number / 8];
    const uint8_t bit = (uint8_t)(1u << number % 8);
    const bm_status status = bm_store_view_doc(view, number, &doc, err);
    if (status == BM_NOT_FOUND)
        return bm_fail_at(err, BM_ERR_INTERNAL, store->place.path, 0,
                          "there is no document %" PRIu32 " to remove", number);
    BM_TRY(status);
    if (*bits & bit)
        return bm_fail_at(err, BM_ERR_INTERNAL, store->place.path, 0,
                          "document %" PRIu32 " is removed twice", number);
    *bits |= bit;
    bm_store_counts *c = &w->state.counts;
    c->documents--;
    c->removed++;
    c->empty -= doc.n_shingles == 0;
    c->unreadable -= bm_store_doc_is_unreadable(&doc);
    c->short_docs -= bm_store_doc_is_short(&doc);
    c->shingles -= doc.n_shingles;
    c->text_bytes -= doc.text_bytes;
    return BM_OK;
}

/* Copy the view's bits of removed documents to the writer, with room for the documents added
 * since. */
static bm_status load_bits(bm_writer *w, const bm_store_view *view, bm_error *err)
{
    const size_t size = (size_t)(w->state.counts.next_number / 8 + 1);
    uint8_t *bits = NULL;
    BM_TRY(bm_new_zero(&bits, size, err));
    if (view->removed_bytes > 0)
        memcpy(bits, view->removed, view->removed_bytes);
    bm_free(w->removed);
    w->removed = bits;
    w->removed_bytes = size;
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
    BM_TRY_OUT(load_bits(store->writer, view, err));
    for (size_t i = 0; i < n; i++)
        BM_TRY_OUT(remove_one(store, view, numbers[i], err));
out:
    bm_store_view_close(view);
    return bm_writer_failed(store, status, err);
}

bm_status bm_store_note(bm_store *store, bm_store_note_kind note, bm_str bytes, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    return bm_writer_note(store->writer, note, bytes, err);
}

/* --- ids --- */

bm_status bm_store_set_ids(bm_store *store, bm_id_kind ids, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    store->writer->state.counts.ids = ids;
    return BM_OK;
}

/* Earlier versions gave a document without an id a number as its id: the number of documents so
 * far. So all numbers below next_number count as given. All ids that are read count as given
 * too. */
static bm_status find_next_id(bm_store *store, uint64_t *out, bm_error *err)
{
    bm_store_view *view = NULL;
    BM_TRY(bm_store_view_open(store, &view, err));
    const uint64_t n = bm_store_view_counts(view).next_number;
    bm_status status = BM_OK;
    *out = n;
    for (uint64_t number = 0; number < n; number++) {
        bm_store_doc doc;
        status = bm_store_view_doc(view, (uint32_t)number, &doc, err);
        if (status == BM_OK)
            bm_next_id_pass(out, doc.id);
        else if (status != BM_NOT_FOUND) /* if BM_NOT_FOUND, the document was removed */
            BM_TRY_OUT(status);
    }
    status = BM_OK;
out:
    bm_store_view_close(view);
    return status;
}

bm_status bm_store_next_id(bm_store *store, uint64_t *out, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    uint64_t *known = &store->writer->state.counts.next_id;
    if (*known == BM_NEXT_ID_UNKNOWN)
        BM_TRY(find_next_id(store, known, err));
    *out = *known;
    return BM_OK;
}

/* --- the commit --- */

static bm_status fill_built(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err)
{
    return add_sorted(((bm_store *)ctx)->writer->bands[table], out, err);
}

static bm_status put_removed(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const size_t size = BM_PIECE_HEAD_BYTES + w->removed_bytes;
    const bm_piece_head head = {.kind = BM_PIECE_REMOVED, .n = (uint32_t)w->state.counts.removed};
    void *piece = NULL;
    BM_TRY(bm_store_env_put(&store->env, &(bm_piece_key){.kind = BM_PIECE_REMOVED}, size, &piece,
                            err));
    bm_piece_begin(piece, &head);
    memcpy((uint8_t *)piece + BM_PIECE_HEAD_BYTES, w->removed, w->removed_bytes);
    bm_piece_seal(piece, size);
    bm_free(w->removed);
    w->removed = NULL;
    w->removed_bytes = 0;
    return BM_OK;
}

/* In one transaction, write the removals, delete dropped pieces, and write the state. */
static bm_status put_state(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    bm_state *state = &w->state;
    const size_t size = bm_state_size(state);
    void *piece = NULL;
    BM_TRY(bm_store_env_together(
        &store->env, w->removed_bytes + size + BM_PIECE_BYTES + w->n_dropped * BM_PIECE_PAGE, err));
    if (w->removed != NULL)
        BM_TRY(put_removed(store, err));
    for (size_t i = 0; i < w->n_dropped; i++)
        BM_TRY(bm_store_env_del(&store->env, &w->dropped[i], err));
    BM_TRY(
        bm_store_env_put(&store->env, &(bm_piece_key){.kind = BM_PIECE_STATE}, size, &piece, err));
    state->commit++;
    bm_state_write(state, piece);
    return bm_store_env_commit(&store->env, err);
}

/* Sync the files of a build, and switch syncing on. Until then, a build syncs nothing. */
static bm_status sync_build(bm_store *store, bm_error *err)
{
    const bm_store_env *env = &store->env;
    int rc = env->lib.mdb_env_sync(env->env, 1);
    if (rc == 0)
        rc = env->lib.mdb_env_set_flags(env->env, MDB_NOSYNC, 0);
    if (rc == 0 && fsync(store->place.dir) != 0 && errno != EINVAL) /* EINVAL: the file system
                                                                       cannot sync a directory */
        rc = errno;
    return rc == 0 ? BM_OK
                   : bm_lmdb_fail(&env->lib, rc, env->name, "cannot write to the index", err);
}

static bm_status commit(bm_store *store, bm_error *err)
{
    bm_writer *w = store->writer;
    const bool build = w->bands != NULL, named = store->place.dir >= 0;
    if (build)
        BM_TRY(bm_run_write(store, 0, store->facts.bands, fill_built, store, err));
    if (build)
        bm_writer_bands_close(store);
    BM_TRY(bm_store_merge(store, BM_MERGE_ALL, err));
    BM_TRY(bm_writer_put(store, err));
    if (named)
        BM_TRY(bm_store_record_prepare(&store->place, store->record_slot, build, err));
    BM_TRY(put_state(store, err));
    w->committed = w->state.next_run;
    w->n_dropped = 0;
    if (build && named)
        BM_TRY(sync_build(store, err));
    return named ? bm_writer_record(store, err) : BM_OK;
}

bm_status bm_store_commit(bm_store *store, bm_error *err)
{
    BM_TRY(bm_writer_ready(store, err));
    return bm_writer_failed(store, commit(store, err), err);
}
