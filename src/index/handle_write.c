/* handle_write.c -- add, remove, commit: one at a time.
 *
 * Which ids there are is known from the last commit, which the newest view shows, and from what was
 * changed since, which is remembered until the next.
 *
 * Tests: tests/unit/index/test_index_handle.c, tests/unit/jobs/test_public_api_query.c */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/wait_readable.h"
#include "index/index_handle.h"

#define SHOWN    200
#define NO_INPUT UINT32_MAX /* of no input that has a name */

/* --- ids --- */

static bm_status check_writes(const bm_index *index, bm_error *err)
{
    if (index == NULL)
        return bm_fail_field(err, "index", "no index given");
    if (!index->writes)
        return bm_fail_field(err, "index", "the index was opened without `write`");
    return BM_OK;
}

/* Under the lock of writers. */
static bm_status check_works(const bm_index *index, bm_error *err)
{
    const bm_handle_changes *changes = &index->changes;
    if (changes->failed)
        return bm_fail_at(err, BM_ERR_IO, index->path, 0,
                          "an earlier call failed: the index can only be closed");
    if (changes->pending && pthread_equal(changes->by, pthread_self()) == 0)
        return bm_fail_field(err, "index",
                             "another thread has added or removed, and not committed yet");
    return BM_OK;
}

static bm_status check_ids(const bm_str *ids, size_t n, bool named, bm_error *err)
{
    if (ids == NULL && n != 0)
        return bm_fail_field(err, "ids", "`ids` is NULL and has %zu entries", n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i].data == NULL && ids[i].len != 0)
            return bm_fail_field(err, "ids", "`ids`: %zu is NULL and has a length", i);
        if (named && ids[i].len == 0)
            return bm_fail(err, BM_ERR_INPUT, "id %zu is empty (documents of an index have one)",
                           i);
    }
    return BM_OK;
}

/* *number: of the document that has this id now; BM_ID_NONE: there is none. */
static bm_status find_id(const bm_index *index, bm_str id, uint32_t *number, bm_error *err)
{
    const bm_handle_changes *changes = &index->changes;
    const uint32_t changed = changes->ids.n > 0 ? bm_id_set_find(&changes->ids, id) : BM_ID_NONE;
    *number = BM_ID_NONE;
    if (changed != BM_ID_NONE) {
        *number = changes->numbers[changed];
        return BM_OK;
    }
    /* Only a commit replaces the newest view, and that is ours to make. */
    bm_status status = bm_store_view_id(index->newest->view, id, number, err);
    if (status == BM_NOT_FOUND)
        *number = BM_ID_NONE;
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* From now on the id has this number, or none. */
static bm_status note_id(bm_index *index, bm_str id, uint32_t number, bm_error *err)
{
    bm_handle_changes *changes = &index->changes;
    uint32_t at;
    BM_TRY(bm_grow_array(&changes->numbers, &changes->cap_numbers, changes->ids.n + 1, err));
    BM_TRY(bm_id_set_add(&changes->ids, id, &at, err));
    changes->numbers[at] = number;
    return BM_OK;
}

/* The store is about to have something that is not committed. */
static void begin_changes(bm_index *index)
{
    index->changes.pending = true;
    index->changes.by = pthread_self();
}

/* --- add --- */

static bm_status check_new(const bm_index *index, const bm_str *ids, size_t n, bm_error *err)
{
    bm_id_set here = {0};
    bm_status status = BM_OK;
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        bool repeated = bm_id_set_find(&here, ids[i]) != BM_ID_NONE;
        BM_TRY_OUT(bm_id_set_add(&here, ids[i], &number, err));
        if (!repeated) {
            BM_TRY_OUT(find_id(index, ids[i], &number, err));
            repeated = number != BM_ID_NONE;
        }
        if (repeated)
            BM_TRY_OUT(bm_fail_at(err, BM_ERR_INPUT, index->path, 0,
                                  "the id '%.*s' is there already (ids must differ)",
                                  (int)(ids[i].len < SHOWN ? ids[i].len : SHOWN), ids[i].data));
    }
out:
    bm_id_set_reset(&here);
    return status;
}

static bm_status store_chunk(bm_index *index, const bm_str *ids, const bm_documents *docs,
                             const bm_handle_signed *chunk, bm_error *err)
{
    uint32_t first;
    bm_store_doc *stored = NULL;
    BM_TRY(bm_new(&stored, chunk->n, err));
    for (size_t i = 0; i < chunk->n; i++)
        stored[i] = (bm_store_doc){.id = ids[i],
                                   .content = chunk->content[i],
                                   .text_bytes = docs->texts != NULL ? docs->texts[i].len : 0,
                                   .input = NO_INPUT,
                                   .n_shingles = chunk->n_shingles[i]};
    const bm_store_batch batch = {.n = chunk->n,
                                  .docs = stored,
                                  .sets = chunk->sets,
                                  .words = chunk->words,
                                  .keys = chunk->keys};
    begin_changes(index);
    bm_status status = bm_store_add(index->newest->from->store, &batch, &first, err);
    bm_free(stored);
    for (size_t i = 0; status == BM_OK && i < chunk->n; i++)
        status = note_id(index, ids[i], first + (uint32_t)i, err);
    index->changes.failed = status != BM_OK; /* what the store has then is not known */
    return status;
}

static bm_status add(bm_index *index, const bm_str *ids, const bm_documents *docs, bm_error *err)
{
    bm_handle_signed chunk;
    BM_TRY(check_works(index, err));
    BM_TRY(bm_check_cancelled(&index->settings.callbacks, err));
    BM_TRY(check_new(index, ids, docs->n_docs, err));
    BM_TRY(bm_handle_sign(index, docs, (const size_t[]){0, docs->n_docs}, &chunk, err));
    bm_status status = store_chunk(index, ids, docs, &chunk, err);
    bm_handle_signed_leave(index, &chunk);
    return status;
}

bm_status bm_index_add(bm_index *index, const bm_str *ids, const bm_documents *documents,
                       bm_error *err)
{
    bm_documents docs;
    bm_error why = {0};
    bm_status status = check_writes(index, &why);
    if (status == BM_OK)
        status = bm_handle_check_documents(index, documents, &docs, &why);
    if (status == BM_OK)
        status = check_ids(ids, docs.n_docs, true, &why);
    if (status == BM_OK && docs.n_docs > 0) {
        pthread_mutex_lock(&index->write_lock);
        status = add(index, ids, &docs, &why);
        pthread_mutex_unlock(&index->write_lock);
    }
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

/* --- remove --- */

static bm_status remove_ids(bm_index *index, const bm_str *ids, size_t n, size_t *missing,
                            bm_error *err)
{
    uint32_t *numbers = NULL;
    size_t n_found = 0;
    bm_status status = BM_OK;
    *missing = 0;
    BM_TRY(check_works(index, err));
    BM_TRY(bm_new(&numbers, n, err));
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        BM_TRY_OUT(find_id(index, ids[i], &number, err));
        if (number == BM_ID_NONE) {
            ++*missing;
            continue;
        }
        numbers[n_found++] = number;
        BM_TRY_OUT(note_id(index, ids[i], BM_ID_NONE, err));
    }
    if (n_found > 0) {
        begin_changes(index);
        status = bm_store_remove(index->newest->from->store, numbers, n_found, err);
    }
out: /* What was noted as removed and is not: */
    index->changes.failed = index->changes.failed || (status != BM_OK && n_found > 0);
    bm_free(numbers);
    return status;
}

bm_status bm_index_remove(bm_index *index, const bm_str *ids, size_t n_ids, bm_error *err)
{
    size_t missing = 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(check_writes(index, err));
    status = check_ids(ids, n_ids, false, err);
out:
    if (status != BM_OK || n_ids == 0)
        return status;
    pthread_mutex_lock(&index->write_lock);
    status = remove_ids(index, ids, n_ids, &missing, err);
    pthread_mutex_unlock(&index->write_lock);
    return status == BM_OK && missing > 0
               ? bm_fail(err, BM_NOT_FOUND, "%zu of %zu ids are not there", missing, n_ids)
               : status;
}

/* --- commit --- */

static bm_status commit(bm_index *index, bm_error *err)
{
    bm_handle_changes *changes = &index->changes;
    BM_TRY(check_works(index, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_commit(index->newest->from->store, err));
    status = bm_handle_show_commit(index, err);
out:
    if (status != BM_OK) {
        changes->failed = true;
        return status;
    }
    changes->pending = false;
    bm_id_set_reset(&changes->ids);
    return BM_OK;
}

bm_status bm_index_commit(bm_index *index, bm_error *err)
{
    BM_TRY(check_writes(index, err));
    pthread_mutex_lock(&index->write_lock);
    bm_status status = commit(index, err);
    pthread_mutex_unlock(&index->write_lock);
    return status;
}
