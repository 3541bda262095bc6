/* store_open.c -- opening and closing an index, making a new one.
 *
 * Before LMDB opens a file, which believes its first pages, these are read here; a writer has the whole tree and the lists of
 * free pages checked first, since LMDB writes over pages that a list calls free.
 *
 * Tests: tests/unit/store/test_store_processes.c, tests/unit/store/test_store_errors.c */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/lmdb_pages.h"
#include "store/store_build.h"
#include "store/store_merge.h"
#include "store/store_note.h"

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
    bm_state_reset(&store->state);
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

/* The map of the file as it is now; its size 0 where it cannot be had. */
static bm_lmdb_file map_now(const bm_store_place *place)
{
    struct stat info;
    if (fstat(place->data, &info) != 0 || info.st_size <= 0)
        return (bm_lmdb_file){NULL, 0};
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, place->data, 0);
    if (bytes == MAP_FAILED)
        return (bm_lmdb_file){NULL, 0};
    return (bm_lmdb_file){bytes, (size_t)info.st_size};
}

/* Its first pages are sound; `whole`: and all others. Another process may be writing, unless it is `whole`. */
static bm_status check_file(const bm_store_place *place, bool whole, uint64_t *bytes, bm_error *err)
{
    bm_status status = BM_OK;
    for (int i = 0; i < (whole ? 1 : ATTEMPTS); i++) {
        bm_lmdb_meta meta;
        uint64_t n_free;
        bm_lmdb_file file = map_now(place);
        *bytes = file.size;
        status = file.bytes != NULL ? bm_lmdb_meta_of(file, UINT64_MAX, &meta, err)
                                    : bm_fail(err, BM_ERR_FORMAT, "it is empty");
        if (status == BM_OK && whole)
            status = bm_lmdb_check_pages(file, &meta, &n_free, err);
        if (file.bytes != NULL)
            munmap((void *)(uintptr_t)file.bytes, file.size);
        if (status != BM_ERR_FORMAT)
            break;
        sched_yield();
    }
    if (status == BM_ERR_FORMAT && err != NULL)
        bm_fail_at(err, status, place->path, 0, "the index is damaged: %s", err->message);
    return status;
}

/* BM_NOT_FOUND: another took its place at this moment. */
static bm_status open_env(bm_store *store, unsigned flags, uint64_t bytes, bm_error *err)
{
    char path[PATH_MAX];
    bm_store_place_name(&store->place, path, sizeof path);
    const bm_store_env_cfg cfg = {path, store->place.path, flags, bytes};
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
    uint64_t bytes;
    bool has_slots = false;
    BM_TRY(bm_store_place_open(dir, false, &store->place, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(bm_store_place_lock(&store->place, &has_slots, err));
    /* Of a lock.mdb without all its blocks, LMDB's write of a slot could end the process. */
    if (has_slots)
        has_slots = bm_store_place_lock_room(&store->place, NULL) == BM_OK;
    if (!has_slots)
        BM_TRY(bm_store_place_hold(&store->place, false, err));
    BM_TRY(check_file(&store->place, false, &bytes, err));
    return open_env(store, MDB_RDONLY | (has_slots ? 0 : MDB_NOLOCK), bytes, err);
}

static bm_status open_to_write(bm_store *store, const char *dir, bm_error *err)
{
    uint64_t bytes;
    int dead;
    bool has_slots;
    BM_TRY(bm_store_place_open(dir, true, &store->place, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(bm_store_place_hold(&store->place, true, err));
    BM_TRY(bm_store_place_lock(&store->place, &has_slots, err));
    /* Of a lock.mdb without all its blocks, LMDB's write of a slot could end the process. */
    if (has_slots)
        has_slots = bm_store_place_lock_room(&store->place, NULL) == BM_OK;
    BM_TRY(check_file(&store->place, true, &bytes, err));
    BM_TRY(open_env(store, 0, bytes, err));
    /* slots of readers that were killed */
    (void)store->env.lib.mdb_reader_check(store->env.env, &dead);
    return BM_OK;
}

/* The state, and for a writer what it goes on from. */
static bm_status begin(bm_store *store, bm_error *err)
{
    bm_snapshot s = {0};
    bm_state pending = {0};
    bool leavings = false;
    bm_status status = bm_snapshot_open(store, NULL, &s, err);
    if (status == BM_OK)
        status = keep_facts(store, &s.state.facts, err);
    if (status == BM_OK)
        status = bm_state_copy(&s.state, &store->state, err);
    if (status == BM_OK && store->cfg.mode == BM_STORE_WRITE) {
        status = bm_state_copy(&s.state, &pending, err);
        if (status == BM_OK)
            status = bm_writer_open(store, &pending, err);
        if (status == BM_OK)
            status = bm_store_notes_known(store->writer, &s, err);
        leavings = s.others.n > 0;
    }
    bm_snapshot_close(&s);
    bm_state_reset(&pending);
    return status == BM_OK && leavings ? bm_store_sweep(store, err) : status;
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
    bm_state pending = {0};
    bm_state fresh = {.facts = *facts, .next_version = 1};
    bm_status status = BM_OK;
    BM_TRY_OUT(keep_facts(store, facts, err));
    BM_TRY_OUT(bm_state_copy(&fresh, &pending, err));
    status = bm_writer_open(store, &pending, err);
out:
    bm_state_reset(&pending);
    return status == BM_OK ? bm_store_build_begin(store, err) : status;
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
    store->place.path = bm_strdup(cfg->temp_dir);
    if (store->place.path == NULL)
        status = bm_fail_nomem(err, strlen(cfg->temp_dir));
    if (status == BM_OK)
        status = bm_string_format(&folder, err, "%s/bandmill-index-XXXXXX", cfg->temp_dir);
    if (status == BM_OK && mkdtemp(folder) == NULL)
        status = bm_fail_errno(err, errno, cfg->temp_dir, "cannot make a temporary index");
    if (status == BM_OK) {
        status = open_unnamed(store, folder, err);
        rmdir(folder);
    }
    if (status == BM_OK)
        status = begin_new(store, facts, err);
    if (status == BM_OK)
        *out = store;
    else
        bm_store_close(store);
    bm_free(folder);
    return status;
}
