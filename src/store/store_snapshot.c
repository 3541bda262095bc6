/* store_snapshot.c -- see store_snapshot.h.
 *
 * Tests: tests/unit/store/test_store_damage.c, tests/unit/store/test_store_processes.c */
#include "store/store_snapshot.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define ATTEMPTS  1000
#define MAP_MORE  ((size_t)64 << 20) /* addresses for a file that grows */
#define PAGE_MASK ((uintptr_t)BM_PIECE_PAGE - 1)

bm_status bm_snapshot_damaged(const bm_snapshot *snapshot, bm_error *err, const char *what)
{
    return bm_fail_at(err, BM_ERR_FORMAT, snapshot->store->place.path, 0,
                      "the index is damaged: %s", what);
}

/* --- the map --- */

static void map_leave(bm_store_map *map)
{
    if (map == NULL || --map->users > 0)
        return;
    munmap(map->bytes, map->size);
    bm_free(map);
}

/* A map of `size` bytes at least, for one user more. */
static bm_status map_take(bm_store *store, size_t size, bm_store_map **out, bm_error *err)
{
    if (store->map == NULL || store->map->size < size) {
        bm_store_map *map = NULL;
        BM_TRY(bm_new_zero(&map, 1, err));
        map->size = (size + size / 4 + MAP_MORE) & ~PAGE_MASK;
        map->users = 1; /* the store itself */
        void *bytes = mmap(NULL, map->size, PROT_READ, MAP_SHARED, store->place.data, 0);
        if (bytes == MAP_FAILED) {
            bm_free(map);
            return bm_fail_errno(err, errno, store->place.path, "cannot read the index");
        }
        map->bytes = bytes;
        if (store->cfg.look_ups)
            (void)madvise(bytes, map->size, MADV_RANDOM);
        map_leave(store->map);
        store->map = map;
    }
    store->map->users++;
    *out = store->map;
    return BM_OK;
}

/* --- transaction and meta page --- */

static void let_go(bm_snapshot *s)
{
    if (s->txn != NULL)
        s->store->env.lib.mdb_txn_abort(s->txn);
    map_leave(s->map);
    s->txn = NULL;
    s->map = NULL;
}

/* One try: the transaction's own meta page may be written over at this moment. */
static bm_status hold_once(bm_snapshot *s, bm_error *err)
{
    struct stat info;
    BM_TRY(bm_store_env_read(&s->store->env, &s->txn, err));
    if (fstat(s->store->place.data, &info) != 0)
        return bm_fail_errno(err, errno, s->store->place.path, "cannot read the index");
    BM_TRY(map_take(s->store, (size_t)info.st_size, &s->map, err));
    s->file = (bm_lmdb_file){s->map->bytes, (size_t)info.st_size};
    return bm_lmdb_meta_of(s->file, s->store->env.lib.mdb_txn_id(s->txn), &s->meta, err);
}

static bm_status hold(bm_snapshot *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        status = hold_once(s, err);
        if (status != BM_NOT_FOUND && status != BM_ERR_FORMAT)
            break;
        let_go(s);
        sched_yield();
        if (status == BM_ERR_FORMAT && i >= 16)
            break;
    }
    if (status == BM_NOT_FOUND)
        return bm_snapshot_damaged(s, err, "its first pages are of other transactions");
    return status;
}

/* --- the pieces --- */

static bm_status take_piece(void *ctx, bm_str key, bm_str value, bm_error *err)
{
    bm_snapshot *s = ctx;
    bm_piece_refs *to = &s->pieces;
    BM_TRY(bm_grow_array(&to->list, &to->cap, to->n + 1, err));
    bm_piece_ref *ref = &to->list[to->n++];
    if (!bm_piece_key_read(key, &ref->key) || value.len > UINT32_MAX)
        return bm_snapshot_damaged(s, err, "it has a key that none writes");
    ref->size = (uint32_t)value.len;
    ref->bytes = (const uint8_t *)value.data;
    return BM_OK;
}

static bm_status read_state(bm_snapshot *s, const bm_state *state, bm_error *err)
{
    if (state != NULL)
        return bm_state_copy(state, &s->state, err);
    const bm_piece_ref *last = s->pieces.n > 0 ? &s->pieces.list[s->pieces.n - 1] : NULL;
    if (last == NULL || last->key.table != BM_KEY_STATE)
        return bm_fail_at(err, BM_ERR_FORMAT, s->store->place.path, 0,
                          "no index of bandmill, or one that was not finished");
    BM_TRY(bm_state_read(last->bytes, last->size, &s->state, err));
    return s->state.txn <= s->meta.txn
               ? BM_OK
               : bm_snapshot_damaged(s, err, "its first pages are older than its state");
}

/* Leavings go to `others`, the rest closes up. */
static bm_status part_others(bm_snapshot *s, bm_error *err)
{
    bm_piece_refs *all = &s->pieces, *others = &s->others;
    size_t named = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; i < all->n; i++) {
        const bm_piece_ref ref = all->list[i];
        if (bm_state_names(&s->state, &ref.key)) {
            all->list[named++] = ref;
            continue;
        }
        BM_TRY_OUT(bm_grow_array(&others->list, &others->cap, others->n + 1, err));
        others->list[others->n++] = ref;
    }
out:
    all->n = named;
    return status;
}

/* Pieces of one table of keys, from *at on, which moves behind them. */
static size_t count_table(const bm_snapshot *s, size_t *at, char table)
{
    const size_t begin = *at;
    while (*at < s->pieces.n && s->pieces.list[*at].key.table == table)
        ++*at;
    return *at - begin;
}

static bool docs_are_whole(const bm_snapshot *s, size_t n)
{
    if (n != s->state.doc_pieces)
        return false;
    if (n == 0)
        return true;
    const bm_piece_ref *docs = s->pieces.list + s->docs;
    for (size_t i = 0; i < n; i++)
        if (i == 0 ? docs[i].key.number != 0 : docs[i].key.number <= docs[i - 1].key.number)
            return false;
    return docs[n - 1].key.number == s->state.tail.first;
}

/* Note where the tables of the runs begin. */
static bm_status note_tables(bm_snapshot *s, size_t begin, size_t end, bm_error *err)
{
    size_t n_tables = 0, at = begin, slot = 0;
    for (size_t i = 0; i < s->state.n_runs; i++)
        n_tables += s->state.runs[i].n_tables + 1;
    s->of_run = bm_alloc(s->state.n_runs, sizeof *s->of_run);
    s->tables = bm_alloc(n_tables, sizeof *s->tables);
    if (s->of_run == NULL || s->tables == NULL)
        return bm_fail_nomem(err, n_tables * sizeof *s->tables);
    for (size_t i = 0; i < s->state.n_runs; i++) {
        const bm_store_run *run = &s->state.runs[i];
        const size_t first = at;
        s->of_run[i] = slot;
        for (uint32_t t = 0; t < run->n_tables; t++) {
            s->tables[slot++] = at;
            while (at < end && s->pieces.list[at].key.run == run->id &&
                   s->pieces.list[at].key.band == run->first_table + t)
                at++;
            if (at == s->tables[slot - 1])
                return bm_snapshot_damaged(s, err, "a table of postings is missing");
        }
        s->tables[slot++] = at;
        if (at - first != run->pieces)
            return bm_snapshot_damaged(s, err, "pieces of postings are missing");
    }
    return at == end ? BM_OK : bm_snapshot_damaged(s, err, "it has postings of no table");
}

static bm_status arrange(bm_snapshot *s, bm_error *err)
{
    size_t at = 0;
    const size_t n_docs = count_table(s, &at, BM_KEY_DOCUMENTS);
    s->notes = at;
    const size_t n_notes = count_table(s, &at, BM_KEY_NOTE);
    s->postings = at;
    count_table(s, &at, BM_KEY_POSTINGS);
    s->ranges = at;
    const size_t n_ranges = count_table(s, &at, BM_KEY_REMOVED);
    if (!docs_are_whole(s, n_docs))
        return bm_snapshot_damaged(s, err, "pieces of documents are missing");
    if (n_notes != s->state.n_notes)
        return bm_snapshot_damaged(s, err, "notes are missing");
    if (n_ranges != s->state.n_ranges)
        return bm_snapshot_damaged(s, err, "what was removed is missing");
    return note_tables(s, s->postings, s->ranges, err);
}

bm_status bm_snapshot_open(bm_store *store, const bm_state *state, bm_snapshot *out, bm_error *err)
{
    bm_snapshot s = {.store = store};
    pthread_mutex_lock(&store->mutex);
    bm_status status = hold(&s, err);
    pthread_mutex_unlock(&store->mutex);
    if (status == BM_OK)
        status = bm_lmdb_walk(s.file, &s.meta, take_piece, &s, err);
    if (status == BM_OK)
        status = read_state(&s, state, err);
    if (status == BM_OK)
        status = part_others(&s, err);
    if (status == BM_OK)
        status = arrange(&s, err);
    if (status == BM_OK) {
        *out = s;
        return BM_OK;
    }
    if (err != NULL && err->file[0] == '\0' && status != BM_ERR_NOMEM)
        bm_fail_at(err, status, store->place.path, 0, "%s", err->message);
    bm_snapshot_close(&s);
    return status;
}

void bm_snapshot_close(bm_snapshot *s)
{
    if (s->store == NULL)
        return;
    pthread_mutex_lock(&s->store->mutex);
    let_go(s);
    pthread_mutex_unlock(&s->store->mutex);
    bm_state_reset(&s->state);
    bm_free(s->pieces.list);
    bm_free(s->others.list);
    bm_free(s->tables);
    bm_free(s->of_run);
    *s = (bm_snapshot){0};
}

const bm_piece_ref *bm_snapshot_table(const bm_snapshot *s, size_t run, uint32_t table, size_t *n)
{
    const bm_store_run *r = &s->state.runs[run];
    *n = 0;
    if (table < r->first_table || table - r->first_table >= r->n_tables)
        return NULL;
    const size_t *begin = s->tables + s->of_run[run] + (table - r->first_table);
    *n = begin[1] - begin[0];
    return s->pieces.list + begin[0];
}

const bm_piece_ref *bm_snapshot_docs(const bm_snapshot *s, uint32_t number)
{
    size_t low = 0, high = s->notes - s->docs;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (s->pieces.list[s->docs + middle].key.number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &s->pieces.list[s->docs + low - 1];
}

void bm_snapshot_read(const bm_snapshot *s, const bm_piece_ref *piece)
{
    (void)s;
    const uintptr_t begin = ((uintptr_t)piece->bytes + PAGE_MASK) & ~PAGE_MASK;
    const uintptr_t end = ((uintptr_t)piece->bytes + piece->size) & ~PAGE_MASK;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}
