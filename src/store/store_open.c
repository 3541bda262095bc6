/* SPDX-License-Identifier: Apache-2.0 */
/* store_open.c -- opens and closes an index, and makes a new one.
 *
 * Before LMDB opens the file, the file's pages are compared with the record of the last commit
 * (store_snapshot.h).
 *
 * Tests: tests/unit/store/test_store_processes.c, tests/unit/store/test_store_errors.c */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "store/store_write.h"
#include "store/store_writer.h"

#define ATTEMPTS 64

/* --- one store of an index in a process ---
 *
 * LMDB locks lock.mdb with POSIX record locks, which belong to the process. If a process opened the
 * file twice, the second call would find no lock of another process, and would clear the table of
 * readers. Closing one of the two would release the locks of both. So this module keeps a list of
 * the data files that the process has open. If an index is opened again for reading, the open store
 * is returned. If the first or the second call is for writing, the second returns BM_ERR_BUSY. An
 * entry with another process id was inherited from a parent at a fork, and is ignored. */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t open_changed = PTHREAD_COND_INITIALIZER;
static bm_store_open_file *open_list;

static void lock_list(void)
{
    pthread_mutex_lock(&open_lock);
}

static void unlock_list(void)
{
    pthread_mutex_unlock(&open_lock);
}

/* Make every fork take open_lock first. If another thread held the lock at the fork, it would
 * remain locked in the child. */
static void guard_forks(void)
{
    (void)pthread_atfork(lock_list, unlock_list, unlock_list);
}

/* Return the entry of this process for the file that `info` describes, or NULL if there is none.
 * Called with open_lock held. */
static bm_store_open_file *find_open(const struct stat *info)
{
    bm_store_open_file *f = open_list;
    while (f != NULL &&
           (f->process != getpid() || f->device != info->st_dev || f->inode != info->st_ino))
        f = f->next;
    return f;
}

/* If the process has this index open already, set *out to its store and add one to its users; else
 * set *out to NULL. BM_ERR_BUSY: the open store or this call writes. Called before the directory is
 * locked. Otherwise a second writer of this process would find the lock, and report that another
 * process has the index. */
static bm_status join_open(const char *dir, bool writes, bm_store **out, bm_error *err)
{
    char *path = NULL;
    struct stat info;
    bm_store_open_file *file = NULL;
    *out = NULL;
    BM_TRY(bm_string_format(&path, err, "%s/" BM_STORE_DATA, dir));
    lock_list();
    while (stat(path, &info) == 0 && (file = find_open(&info)) != NULL && !writes &&
           file->store->cfg.mode == BM_STORE_READ && file->users == 0)
        pthread_cond_wait(&open_changed, &open_lock);
    const bool busy = file != NULL && (writes || file->store->cfg.mode == BM_STORE_WRITE);
    if (file != NULL && !busy) {
        file->users++;
        *out = file->store;
    }
    unlock_list();
    bm_free(path);
    return busy ? bm_fail_at(err, BM_ERR_BUSY, dir, 0,
                             "this process has the index open already (one handle that writes, or "
                             "any number of them that read)")
                : BM_OK;
}

/* Add the data file to the list. BM_NOT_FOUND: meanwhile another thread opened the file. */
static bm_status enter_list(bm_store *store, bm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bm_store_open_file *file = &store->open_file;
    struct stat info;
    pthread_once(&once, guard_forks);
    if (fstat(store->place.data, &info) != 0)
        return bm_fail_errno(err, errno, store->place.path, "cannot read its " BM_STORE_DATA);
    lock_list();
    const bool there = find_open(&info) != NULL;
    if (!there) {
        *file = (bm_store_open_file){info.st_dev, info.st_ino, getpid(), 0, store, open_list};
        open_list = file;
    }
    unlock_list();
    return there ? BM_NOT_FOUND : BM_OK;
}

static void count_user(bm_store *store)
{
    lock_list();
    store->open_file.users = 1;
    pthread_cond_broadcast(&open_changed);
    unlock_list();
}

/* Subtract one user. Returns true if no user remains, so that the store must be closed. */
static bool leave_user(bm_store *store)
{
    bm_store_open_file *file = &store->open_file;
    lock_list();
    const bool last = file->users <= 1;
    file->users -= file->users > 0;
    unlock_list();
    return last;
}

/* Remove the file from the list, if it is there. Called when the file is closed. */
static void leave_list(bm_store *store)
{
    bm_store_open_file *file = &store->open_file, **at = &open_list;
    if (file->process == 0)
        return;
    lock_list();
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    pthread_cond_broadcast(&open_changed);
    unlock_list();
}

static bm_status make(const bm_store_cfg *cfg, bm_store **out, bm_error *err)
{
    BM_TRY(bm_new_zero(out, 1, err));
    pthread_mutex_init(&(*out)->mutex, NULL);
    (*out)->place = (bm_store_place){.dir = -1, .data = -1};
    (*out)->cfg = *cfg;
    return BM_OK;
}

void bm_store_close(bm_store *store)
{
    if (store == NULL || !leave_user(store))
        return;
    bm_writer_close(store);
    bm_store_env_close(&store->env);
    bm_store_unmap(store);
    bm_store_place_close(&store->place);
    leave_list(store);
    bm_free((void *)(uintptr_t)store->facts.settings.data);
    pthread_mutex_destroy(&store->mutex);
    bm_free(store);
}

const bm_store_facts *bm_store_facts_of(const bm_store *store)
{
    return &store->facts;
}

bool bm_store_is_replaced(const bm_store *store)
{
    return bm_store_place_is_replaced(&store->place);
}

static bm_status keep_facts(bm_store *store, const bm_store_facts *facts, bm_error *err)
{
    const char *settings = facts->settings.data != NULL ? facts->settings.data : "";
    store->facts = *facts;
    store->facts.settings.data = bm_strndup(settings, facts->settings.len);
    return store->facts.settings.data != NULL ? BM_OK : bm_fail_nomem(err, facts->settings.len);
}

/* --- opening --- */

/* Open the environment of LMDB. BM_NOT_FOUND: meanwhile another index has replaced the opened
 * one. */
static bm_status open_env(bm_store *store, unsigned flags, bm_error *err)
{
    const bm_store_place *place = &store->place;
    struct stat info;
    int fd = -1;
    BM_TRY(bm_snapshot_admit(store, flags == MDB_RDONLY, err));
    if (fstat(place->data, &info) != 0)
        return bm_fail_errno(err, errno, place->path, "cannot read its " BM_STORE_DATA);
    if (flags == 0)
        BM_TRY(bm_store_place_reserve_lock(place, err));
    const bm_store_env_cfg cfg = {bm_store_place_name(place), place->path, flags,
                                  (uint64_t)info.st_size};
    BM_TRY(bm_store_env_open(&cfg, &store->env, err));
    if (store->env.lib.mdb_env_get_fd(store->env.env, &fd) == 0 &&
        !bm_store_place_same(place, fd)) {
        bm_fail_at(err, BM_ERR_LOCKED, place->path, 0, "the index is being replaced");
        return BM_NOT_FOUND;
    }
    return BM_OK;
}

/* Open and lock the files of an index. A reader gets a slot in lock.mdb. If that is impossible, it
 * takes a shared lock on the data file. BM_NOT_FOUND: try again. */
static bm_status open_files(bm_store *store, const char *dir, bm_error *err)
{
    const bool writes = store->cfg.mode == BM_STORE_WRITE;
    bool has_slots = false;
    int dead;
    BM_TRY(bm_store_place_open(dir, writes, &store->place, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(enter_list(store, err));
    BM_TRY(bm_store_place_map(&store->place, err));
    if (writes)
        BM_TRY(bm_store_place_lock_data(&store->place, true, err));
    BM_TRY(bm_store_place_lock(&store->place, writes, &has_slots, err));
    if (writes) {
        BM_TRY(open_env(store, 0, err));
        (void)store->env.lib.mdb_reader_check(store->env.env, &dead); /* frees slots of killed
                                                                         processes */
        return BM_OK;
    }
    /* LMDB writes slots through a map of lock.mdb. If the file lacked blocks and the disk were
     * full, such a write could kill the process. So allocate the blocks first; if the disk is too
     * full for them, take the shared lock. */
    if (has_slots && bm_store_place_reserve_lock(&store->place, NULL) == BM_OK)
        return open_env(store, MDB_RDONLY, err);
    BM_TRY(bm_store_place_lock_data(&store->place, false, err));
    return open_env(store, MDB_RDONLY | MDB_NOLOCK, err);
}

/* Called if a writer was interrupted. Its last commit may not be recorded: record it, so that the
 * next commit is not two ahead of the record. Then delete the leftovers. */
static bm_status clear_up(bm_store *store, const bm_piece_refs *leftovers, bm_error *err)
{
    BM_TRY(bm_writer_record(store, err));
    if (leftovers->n == 0)
        return BM_OK;
    for (size_t i = 0; i < leftovers->n; i++)
        BM_TRY(bm_store_env_del(&store->env, &leftovers->list[i].key, err));
    return bm_store_commit(store, err);
}

/* Read the facts. A writer also reads the state from which it continues, and clears up after an
 * interrupted writer. */
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
    bm_status status = BM_NOT_FOUND;
    for (int i = 0; status == BM_NOT_FOUND && i < ATTEMPTS; i++) {
        bm_store *store = NULL;
        BM_TRY(join_open(dir, cfg->mode == BM_STORE_WRITE, &store, err));
        if (store != NULL) {
            *out = store;
            return BM_OK;
        }
        BM_TRY(make(cfg, &store, err));
        status = open_files(store, dir, err);
        if (status == BM_OK)
            status = begin(store, err);
        if (status == BM_OK) {
            count_user(store);
            *out = store;
        } else {
            bm_store_close(store);
        }
    }
    return status == BM_NOT_FOUND ? BM_ERR_LOCKED : status;
}

/* --- creating --- */

/* Create an index in the open directory of store->place. */
static bm_status create(bm_store *store, const bm_store_facts *facts, bm_error *err)
{
    const bm_store_place *place = &store->place;
    const bm_store_env_cfg env = {bm_store_place_name(place), place->path, MDB_NOSYNC, 0};
    bool data, lock;
    BM_TRY(bm_look_at(place->dir, BM_STORE_DATA, AT_SYMLINK_NOFOLLOW, &data, NULL, err));
    BM_TRY(bm_look_at(place->dir, BM_STORE_LOCK, AT_SYMLINK_NOFOLLOW, &lock, NULL, err));
    if (data || lock)
        return bm_fail_field_at(err, "path", place->path, 0, "there is an index already");
    BM_TRY(bm_store_env_open(&env, &store->env, err));
    BM_TRY(bm_store_place_data(&store->place, err));
    BM_TRY(enter_list(store, err));
    BM_TRY(bm_store_place_lock_data(place, true, err));
    BM_TRY(keep_facts(store, facts, err));
    BM_TRY(bm_writer_open(store, &(bm_state){.next_run = 1}, err));
    return bm_writer_bands_open(store, err);
}

bm_status bm_store_create(const char *dir, const bm_store_facts *facts, const bm_store_cfg *cfg,
                          bm_store **out, bm_error *err)
{
    bm_store *store = NULL;
    bm_status status = BM_OK;
    BM_TRY(make(cfg, &store, err));
    BM_TRY_OUT(bm_store_place_open(dir, true, &store->place, err));
    status = create(store, facts, err);
out:
    if (status == BM_OK)
        *out = store;
    else
        bm_store_close(store);
    return status == BM_NOT_FOUND ? BM_ERR_LOCKED : status;
}

/* LMDB can create its files only by name, so they are created in a new directory. Then the files
 * and the directory are removed. */
bm_status bm_store_create_unnamed(const bm_store_facts *facts, const bm_store_cfg *cfg,
                                  bm_store **out, bm_error *err)
{
    bm_store *store = NULL;
    char *folder = NULL, *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&path, err, "%s", cfg->temp_dir));
    BM_TRY_OUT(bm_string_format(&folder, err, "%s/bandmill-index-XXXXXX", cfg->temp_dir));
    if (mkdtemp(folder) == NULL)
        BM_TRY_OUT(bm_fail_errno(err, errno, cfg->temp_dir, "cannot make a temporary index"));
    status = make(cfg, &store, err);
    if (status == BM_OK)
        status = bm_store_place_open(folder, false, &store->place, err);
    if (status == BM_OK) {
        status = create(store, facts, err);
        unlinkat(store->place.dir, BM_STORE_DATA, 0);
        unlinkat(store->place.dir, BM_STORE_LOCK, 0);
    }
    rmdir(folder);
out:
    bm_free(folder);
    if (status != BM_OK) {
        bm_store_close(store);
        bm_free(path);
        return status;
    }
    close(store->place.dir);
    bm_free(store->place.path);
    store->place.dir = -1; /* then commits are not recorded */
    store->env.name = store->place.path = path;
    *out = store;
    return BM_OK;
}
