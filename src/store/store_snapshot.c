/* SPDX-License-Identifier: Apache-2.0 */
/* store_snapshot.c -- see store_snapshot.h.
 *
 * Tests: tests/unit/store/test_store_damage.c, tests/unit/store/test_store_processes.c */
#include "store/store_snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

#define ATTEMPTS  4                  /* attempts to check a file before LMDB opens it */
#define TRIES     32                 /* attempts to open a snapshot */
#define MAP_MORE  ((size_t)64 << 20) /* address space into which the file can grow */
#define PAGE_MASK ((uintptr_t)BM_PIECE_PAGE - 1)

static bm_status damaged(const bm_store *store, bm_error *err, const char *what)
{
    return bm_fail_at(err, BM_ERR_FORMAT, store->place.path, 0, "the index is damaged: %s", what);
}

bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what)
{
    return damaged(snapshot->store, err, what);
}

bm_status bm_store_check_cancelled(const bm_store *store, bm_error *err)
{
    if (store->cfg.cancelled == NULL || !store->cfg.cancelled(store->cfg.cancelled_ctx))
        return BM_OK;
    return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
}

/* --- the map --- */

/* Map the file, unless the present map covers it. *bytes becomes the address of the map, and *size
 * the present size of the file. */
static bm_status map_file(bm_store *store, const uint8_t **bytes, size_t *size, bm_error *err)
{
    struct stat info;
    if (fstat(store->place.data, &info) != 0)
        return bm_fail_errno(err, errno, store->place.path, "cannot read the index");
    *size = (size_t)info.st_size;
    if (store->map == NULL || store->map->size < *size) {
        bm_store_map *map = NULL;
        BM_TRY(bm_new(&map, 1, err));
        *map = (bm_store_map){.size = (*size + *size / 4 + MAP_MORE) & ~PAGE_MASK,
                              .before = store->map};
        map->bytes = mmap(NULL, map->size, PROT_READ, MAP_SHARED, store->place.data, 0);
        if (map->bytes == MAP_FAILED) {
            bm_free(map);
            return bm_fail_errno(err, errno, store->place.path, "cannot read the index");
        }
        if (store->cfg.look_ups)
            (void)madvise(map->bytes, map->size, MADV_RANDOM);
        store->map = map;
    }
    *bytes = store->map->bytes;
    return BM_OK;
}

void bm_store_unmap(bm_store *store)
{
    for (bm_store_map *map; (map = store->map) != NULL; bm_free(map)) {
        store->map = map->before;
        munmap(map->bytes, map->size);
    }
}

/* --- the check before LMDB reads --- */

bm_status bm_snapshot_admit(bm_store *store, bool slot, bm_error *err)
{
    bm_status status = BM_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        bm_store_record record = {0};
        const uint8_t *bytes = NULL;
        size_t size;
        if (i > 0)
            sched_yield(); /* a writer may just have been writing the record, or pages that the
                            * child read */
        status = bm_store_record_read(&store->place, &record, err);
        if (status == BM_OK)
            status = map_file(store, &bytes, &size, err);
        if (status == BM_OK && !bm_store_record_matches(&record, bytes, size))
            status = bm_pages_read_in_child(&store->place, slot, err);
        bm_store_record_reset(&record);
        if (status != BM_ERR_FORMAT)
            break;
    }
    return status;
}

static void release(bm_snapshot *s)
{
    if (s->txn != NULL)
        s->store->env.lib.mdb_txn_abort(s->txn);
    s->txn = NULL;
}

/* May LMDB read the pages of this snapshot's transaction? BM_OK if so; s->recorded becomes whether
 * the transaction is the recorded one. BM_ERR_FORMAT: it may not. */
static bm_status trust(bm_snapshot *s, const bm_store_record *record, bm_error *err)
{
    const uint64_t txn = s->store->env.lib.mdb_txn_id(s->txn);
    if (txn < record->txn)
        return damaged(s->store, err, "its first pages are older than its last commit");
    if (txn > record->txn)
        return bm_pages_read_in_child(&s->store->place, false, err);
    s->recorded = true;
    return bm_store_record_matches(record, s->map, s->file_bytes)
               ? BM_OK
               : damaged(s->store, err, "its pages are others than its last commit has written");
}

/* Begin the transaction, check it, and list its pages. *record becomes the record of the last
 * commit. It is read after the transaction has begun, so it is normally the record of the same
 * commit, or of the one before. If it is newer, a writer has committed in between, and another
 * attempt is needed. */
static bm_status acquire_once(bm_snapshot *s, bool own, bm_store_record *record, bm_error *err)
{
    BM_TRY(bm_store_env_read(&s->store->env, &s->txn, err));
    if (!own)
        BM_TRY(bm_store_record_read(&s->store->place, record, err));
    BM_TRY(map_file(s->store, &s->map, &s->file_bytes, err));
    if (!own)
        BM_TRY(trust(s, record, err));
    const bm_pages_of of = {&s->store->env, s->txn, s->map, s->file_bytes};
    BM_TRY(bm_pages_read(&of, &s->pieces, &s->pages, err));
    if (s->recorded &&
        (s->pages.heads != record->heads || s->pages.last_page != record->last_page ||
         s->pages.n_free != record->n_free || s->pages.n_spans != record->n_spans))
        return damaged(s->store, err, "its pages are others than its last commit has written");
    return BM_OK;
}

/* Like acquire_once, with several attempts. `own`: this process wrote the state itself, so nothing
 * is checked and *record is not set. */
static bm_status acquire(bm_snapshot *s, bool own, bm_store_record *record, bm_error *err)
{
    bm_status status = BM_OK;
    pthread_mutex_lock(&s->store->mutex);
    for (int i = 0; i < TRIES; i++) {
        s->recorded = false;
        status = acquire_once(s, own, record, err);
        if (status != BM_ERR_FORMAT || own)
            break;
        release(s);
        sched_yield(); /* another process may be writing the first pages just now */
    }
    pthread_mutex_unlock(&s->store->mutex);
    return status;
}

/* --- the pieces --- */

/* Return the index of the first piece whose key is not less than `key`. */
static size_t first_not_below(const bm_snapshot *s, const bm_piece_key *key)
{
    bm_bisect b = {0, s->pieces.n};
    while (b.low < b.high)
        bm_bisect_go(&b, bm_piece_key_order(&s->pieces.list[bm_middle(&b)].key, key) < 0);
    return b.low;
}

const bm_piece_ref *bm_snapshot_piece(const bm_snapshot *s, const bm_piece_key *key)
{
    const size_t i = first_not_below(s, key);
    return i < s->pieces.n && bm_piece_key_order(&s->pieces.list[i].key, key) == 0
               ? &s->pieces.list[i]
               : NULL;
}

/* Read the state in the file. It must belong to the last recorded commit. If the snapshot is newer
 * than the record, it must belong to the commit after that. */
static bm_status read_state(bm_snapshot *s, const bm_store_record *record, bm_error *err)
{
    const bm_piece_ref *last = bm_snapshot_piece(s, &(bm_piece_key){.kind = BM_PIECE_STATE});
    if (last == NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, s->store->place.path, 0,
                          "no index of bandmill, or one that was not finished");
    BM_TRY(bm_state_read(last->bytes, last->size, &s->state, err));
    if (s->state.index != record->index || s->state.commit < record->commit ||
        s->state.commit - record->commit > (s->recorded ? 0 : 1))
        return damaged(s->store, err, "its last commit is another than was recorded");
    return BM_OK;
}

/* Move the pieces that the state does not name from s->pieces to s->others. */
static bm_status split_leftovers(bm_snapshot *s, bm_error *err)
{
    bm_piece_refs *all = &s->pieces, *others = &s->others;
    size_t named = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (bm_state_names(&s->state, &all->list[i].key)) {
            all->list[named++] = all->list[i];
            continue;
        }
        BM_TRY(bm_grow_array(&others->list, &others->cap, others->n + 1, err));
        others->list[others->n++] = all->list[i];
    }
    all->n = named;
    return BM_OK;
}

static bm_status arrange(bm_snapshot *s, bm_error *err)
{
    s->postings = first_not_below(s, &(bm_piece_key){.kind = BM_PIECE_POSTINGS});
    s->filters = first_not_below(s, &(bm_piece_key){.kind = BM_PIECE_FILTER});
    s->after_filters = first_not_below(s, &(bm_piece_key){.kind = BM_PIECE_FILTER + 1});
    const bm_piece_ref *docs = s->pieces.list;
    if (s->state.counts.next_number > 0 &&
        (s->postings == 0 || docs[0].key.number != 0 ||
         docs[s->postings - 1].key.number != s->state.tail_first))
        return damaged(s->store, err, "pieces of documents are missing");
    for (size_t i = 0; i < s->state.n_runs; i++)
        for (uint32_t t = 0; t < s->state.runs[i].n_tables; t++) {
            size_t n;
            bm_snapshot_table(s, i, (uint32_t)s->state.runs[i].first_table + t, &n);
            if (n == 0)
                return damaged(s->store, err, "a table of postings is missing");
        }
    return BM_OK;
}

bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err)
{
    bm_snapshot s = {.store = store};
    bm_store_record record = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(acquire(&s, state != NULL, &record, err));
    if (state != NULL)
        s.state = *state;
    else
        BM_TRY_OUT(read_state(&s, &record, err));
    BM_TRY_OUT(split_leftovers(&s, err));
    status = arrange(&s, err);
out:
    if (err != NULL && status != BM_OK && err->file[0] == '\0' && status != BM_ERR_NOMEM)
        bm_fail_at(err, status, store->place.path, 0, "%s", err->message);
    s.pages.slot = record.slot;
    bm_store_record_reset(&record);
    if (status == BM_OK)
        *out = s;
    else
        bm_snapshot_close(&s);
    return status;
}

void bm_snapshot_close(bm_snapshot *s)
{
    if (s->store == NULL)
        return;
    pthread_mutex_lock(&s->store->mutex);
    release(s);
    pthread_mutex_unlock(&s->store->mutex);
    bm_store_record_reset(&s->pages);
    bm_free_all(s->pieces.list, s->others.list);
    *s = (bm_snapshot){0};
}

const bm_piece_ref *bm_snapshot_table(const bm_snapshot *s, size_t run, uint32_t table, size_t *n)
{
    const bm_store_run *r = &s->state.runs[run];
    *n = 0;
    if (table < r->first_table || table - r->first_table >= r->n_tables)
        return NULL;
    bm_piece_key key = {.kind = BM_PIECE_POSTINGS, .run = r->id, .band = table};
    const size_t begin = first_not_below(s, &key);
    key.band++;
    *n = first_not_below(s, &key) - begin;
    return s->pieces.list + begin;
}

bm_status bm_snapshot_documents(const bm_snapshot *s, size_t i, bm_document_piece *out,
                                bm_error *err)
{
    const bm_piece_ref *ref = &s->pieces.list[i];
    const bool is_last = i + 1 == s->postings;
    const uint64_t end = is_last ? s->state.counts.next_number : ref[1].key.number;
    BM_TRY(bm_store_check_cancelled(s->store, err));
    if (!bm_document_piece_open(ref->bytes, ref->size, out) || !bm_document_piece_valid(out) ||
        out->head.first != ref->key.number || out->head.last + 1 < end ||
        (!is_last && out->head.last + 1 > end))
        return bm_fail_at(err, BM_ERR_FORMAT, s->store->place.path, 0,
                          "the index is damaged: the piece of documents from %" PRIu32 " on",
                          ref->key.number);
    out->head.last = end - 1;
    return BM_OK;
}

const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *s, uint32_t number)
{
    bm_bisect b = {0, s->postings};
    while (b.low < b.high)
        bm_bisect_go(&b, s->pieces.list[bm_middle(&b)].key.number <= number);
    return b.low == 0 ? NULL : &s->pieces.list[b.low - 1];
}

static void advise(const bm_piece_ref *piece, int advice)
{
    const uintptr_t begin = ((uintptr_t)piece->bytes + PAGE_MASK) & ~PAGE_MASK;
    const uintptr_t end = ((uintptr_t)piece->bytes + piece->size) & ~PAGE_MASK;
    if (end > begin)
        madvise((void *)begin, end - begin, advice);
}

void bm_snapshot_expect(const bm_piece_ref *piece)
{
    advise(piece, MADV_WILLNEED);
}

void bm_snapshot_read(const bm_piece_ref *piece)
{
    advise(piece, MADV_DONTNEED);
}
