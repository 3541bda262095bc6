/* store_open.c -- opening and closing an index, making a new one.
 *
 * LMDB opens no file before its pages were compared with the record of the last commit (store_snapshot.h).
 *
 * Tests: tests/unit/store/test_store_processes.c, tests/unit/store/test_store_errors.c */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/store_write.h"
#include "store/store_writer.h"

#define ATTEMPTS 64

/* NULL: no memory, which is said. */
static bm_store *make(const bm_store_cfg *cfg, bm_error *err)
{
    bm_store *store = bm_alloc_zero(1, sizeof *store);
    if (store == NULL) {
        bm_fail_nomem(err, sizeof *store);
        return NULL;
    }
    pthread_mutex_init(&store->mutex, NULL);
    store->place = (bm_store_place){.dir = -1, .data = -1};
    store->cfg = *cfg;
    if (cfg->temp_dir != NULL && (store->temp_dir = bm_strdup(cfg->temp_dir)) == NULL) {
        bm_fail_nomem(err, strlen(cfg->temp_dir));
        bm_store_close(store);
        return NULL;
    }
    store->cfg.temp_dir = store->temp_dir;
    return store;
}

void bm_store_close(bm_store *store)
{
    if (store == NULL)
        return;
    bm_writer_close(store);
    bm_store_env_close(&store->env);
    if (store->map != NULL) { /* its views are closed */
        munmap(store->map->bytes, store->map->size);
        bm_free(store->map);
    }
    bm_store_place_close(&store->place);
    bm_free((void *)(uintptr_t)store->facts.settings.data);
    bm_free(store->temp_dir);
    pthread_mutex_destroy(&store->mutex);
    bm_free(store);
}

const bm_store_facts *bm_store_facts_of(const bm_store *store)
{
    return &store->facts;
}

static bm_status keep_facts(bm_store *store, const bm_store_facts *facts, bm_error *err)
{
    const char *settings = facts->settings.data != NULL ? facts->settings.data : "";
    store->facts = *facts;
    store->facts.settings.data = bm_strndup(settings, facts->settings.len);
    return store->facts.settings.data != NULL ? BM_OK : bm_fail_nomem(err, facts->settings.len);
}

/* --- opening --- */

/* BM_NOT_FOUND: another took its place at this moment. */
static bm_status open_env(bm_store *store, unsigned flags, bm_error *err)
{
    char path[PATH_MAX];
    struct stat info;
    BM_TRY(bm_snapshot_admit(store, flags == MDB_RDONLY, err));
    if (fstat(store->place.data, &info) != 0)
        return bm_fail_errno(err, errno, store->place.path, "cannot read its " BM_STORE_DATA);
    bm_store_place_name(&store->place, path, sizeof path);
    const bm_store_env_cfg cfg = {path, store->place.path, flags, (uint64_t)info.st_size};
    BM_TRY(flags & MDB_RDONLY ? BM_OK : bm_store_place_lock_room(&store->place, err));
    int fd = -1;
    BM_TRY(bm_store_env_open(&cfg, &store->env, err));
    if (store->env.lib.mdb_env_get_fd(store->env.env, &fd) == 0 &&
        !bm_store_place_same(&store->place, fd)) {
        bm_fail_at(err, BM_ERR_LOCKED, store->place.path, 0, "the index is being replaced");
        return BM_NOT_FOUND;
    }
    return BM_OK;
}

/* One that reads has a slot in lock.mdb; where it cannot have one, it holds the data file. */
static bm_status open_to_read(bm_store *store, const char *dir, bm_error *err)
{
    bool has_slots = false;
    BM_TRY(bm_store_place_open(dir, false, &store->place, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(bm_store_place_lock(&store->place, &has_slots, err));
    /* Of a lock.mdb without all its blocks, LMDB's write of a slot could end the process. */
    if (has_slots)
        has_slots = bm_store_place_lock_room(&store->place, NULL) == BM_OK;
    if (!has_slots)
        BM_TRY(bm_store_place_hold(&store->place, false, err));
    return open_env(store, MDB_RDONLY | (has_slots ? 0 : MDB_NOLOCK), err);
}

static bm_status open_to_write(bm_store *store, const char *dir, bm_error *err)
{
    int dead;
    bool has_slots;
    BM_TRY(bm_store_place_open(dir, true, &store->place, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(bm_store_place_hold(&store->place, true, err));
    BM_TRY(bm_store_place_lock(&store->place, &has_slots, err));
    /* Of a lock.mdb without all its blocks, LMDB's write of a slot could end the process. */
    if (has_slots)
        has_slots = bm_store_place_lock_room(&store->place, NULL) == BM_OK;
    BM_TRY(open_env(store, 0, err));
    /* slots of readers that were killed */
    (void)store->env.lib.mdb_reader_check(store->env.env, &dead);
    return BM_OK;
}

/* The commit that an interrupted writer had made is recorded, so that the next one is not two ahead, and what it has left is
 * deleted. */
static bm_status clear_up(bm_store *store, const bm_piece_refs *leavings, bm_error *err)
{
    BM_TRY(bm_writer_record(store, err));
    if (leavings->n == 0)
        return BM_OK;
    for (size_t i = 0; i < leavings->n; i++)
        BM_TRY(bm_store_env_del(&store->env, &leavings->list[i].key, err));
    return bm_store_commit(store, err);
}

/* The facts, and for a writer what it goes on from. */
static bm_status begin(bm_store *store, bm_error *err)
{
    bm_snapshot s = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_snapshot_open(store, NULL, &s, err));
    BM_TRY_OUT(keep_facts(store, &s.state.facts, err));
    if (store->cfg.mode == BM_STORE_WRITE) {
        BM_TRY_OUT(bm_writer_open(store, &s.state, err));
        store->record_slot = s.pages.slot;
        if (!s.recorded || s.others.n > 0)
            status = clear_up(store, &s.others, err);
    }
out:
    bm_snapshot_close(&s);
    return status;
}

bm_status bm_store_open(const char *dir, const bm_store_cfg *cfg, bm_store **out, bm_error *err)
{
    bm_status status = BM_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        bm_store *store = make(cfg, err);
        if (store == NULL)
            return BM_ERR_NOMEM;
        status = cfg->mode == BM_STORE_WRITE ? open_to_write(store, dir, err)
                                             : open_to_read(store, dir, err);
        if (status == BM_OK)
            status = begin(store, err);
        if (status == BM_OK) {
            *out = store;
            return BM_OK;
        }
        bm_store_close(store);
        if (status != BM_NOT_FOUND)
            return status;
    }
    return BM_ERR_LOCKED;
}

/* --- a new one --- */

static bm_status begin_new(bm_store *store, const bm_store_facts *facts, bm_error *err)
{
    BM_TRY(keep_facts(store, facts, err));
    BM_TRY(bm_writer_open(store, &(bm_state){.next_version = 1}, err));
    return bm_writer_bands_open(store, err);
}

bm_status bm_store_create(const char *dir, const bm_store_facts *facts, const bm_store_cfg *cfg,
                          bm_store **out, bm_error *err)
{
    bm_store *store = make(cfg, err);
    if (store == NULL)
        return BM_ERR_NOMEM;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_place_open(dir, true, &store->place, err));
    struct stat info;
    if ((fstatat(store->place.dir, BM_STORE_DATA, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
         fstatat(store->place.dir, BM_STORE_LOCK, &info, AT_SYMLINK_NOFOLLOW) == 0))
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_USAGE, dir, 0, "there is an index already"));
    char path[PATH_MAX];
    bm_store_place_name(&store->place, path, sizeof path);
    const bm_store_env_cfg env = {path, store->place.path, MDB_NOSYNC, 0};
    BM_TRY_OUT(bm_store_env_open(&env, &store->env, err));
    BM_TRY_OUT(bm_store_place_data(&store->place, err));
    BM_TRY_OUT(bm_store_place_hold(&store->place, true, err));
    status = begin_new(store, facts, err);
out:
    if (status == BM_OK)
        *out = store;
    else
        bm_store_close(store);
    return status;
}

/* LMDB opens its files by name; then the names go. */
static bm_status open_unnamed(bm_store *store, const char *folder, bm_error *err)
{
    char *data = NULL, *lock = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&data, err, "%s/" BM_STORE_DATA, folder));
    BM_TRY_OUT(bm_string_format(&lock, err, "%s/" BM_STORE_DATA "-lock", folder));
    const bm_store_env_cfg env = {data, store->place.path, MDB_NOSUBDIR | MDB_NOSYNC, 0};
    BM_TRY_OUT(bm_store_env_open(&env, &store->env, err));
    if ((store->place.data = open(data, O_RDONLY | O_CLOEXEC)) < 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, store->place.path, "cannot open a temporary index"));
out:
    if (data != NULL)
        unlink(data);
    if (lock != NULL)
        unlink(lock);
    bm_free(data);
    bm_free(lock);
    return status;
}

bm_status bm_store_create_unnamed(const bm_store_facts *facts, const bm_store_cfg *cfg,
                                  bm_store **out, bm_error *err)
{
    bm_store *store = make(cfg, err);
    char *folder = NULL;
    bm_status status = BM_OK;
    if (store == NULL)
        return BM_ERR_NOMEM;
    BM_TRY_OUT(bm_string_format(&store->place.path, err, "%s", cfg->temp_dir));
    BM_TRY_OUT(bm_string_format(&folder, err, "%s/bandmill-index-XXXXXX", cfg->temp_dir));
    if (mkdtemp(folder) == NULL)
        BM_TRY_OUT(bm_fail_errno(err, errno, cfg->temp_dir, "cannot make a temporary index"));
    status = open_unnamed(store, folder, err);
    rmdir(folder);
    if (status == BM_OK)
        status = begin_new(store, facts, err);
out:
    if (status == BM_OK)
        *out = store;
    else
        bm_store_close(store);
    bm_free(folder);
    return status;
}
