/* SPDX-License-Identifier: Apache-2.0 */
/* sets_holder.c -- writes, locks and removes holders. A holder is a file of one line: the device
 * and inode of the folder that contains the work directory, then the path of the work directory.
 *
 * Sets are never removed while a job uses them. A job that opens its holder locks it, and so does a
 * job that removes unneeded sets. Each then checks that the locked file still has its name: if the
 * holder was removed while a job waited for the lock, that job makes a new holder. The path in a
 * holder is accepted only if the name of the holder contains the hash of the path.
 *
 * Tests: tests/cli/cases/work_removed.sh */
#include "job/sets_holder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "output/out_target.h"
#include "spill/spill_saved.h"

#define SETS       "-sets"
#define HOLDER     "-holder"
#define HASH_CHARS 16u
#define HEAD       "bandmill sets of "
#define LINE_BYTES (sizeof HEAD + 2 * 21 + PATH_MAX)
#define TRIES      1000 /* attempts to lock, a millisecond apart; removing sets takes less time */

struct bm_sets_holder {
    int fd;     /* the locked file */
    char *path; /* the path of the file */
};

/* --- the file --- */

bool bm_sets_are_saved(const char *path)
{
    return bm_spill_is_saved(path, BM_SPILL_SETS) || bm_spill_is_saved(path, BM_SPILL_RUN);
}

/* Is `path`, relative to the folder, still a name of the open file `fd`? */
static bool has_name(int fd, int folder, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && fstatat(folder, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Read the line of a holder. *len becomes the length of the line, which is 0 in a new holder.
 * Returns false if the file is no holder, or belongs to another user. */
static bool read_line(int fd, char line[LINE_BYTES], size_t *len)
{
    struct stat info;
    *len = 0;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
           info.st_size < (off_t)LINE_BYTES &&
           bm_pread_all(fd, line, (size_t)info.st_size, 0, len) == 0 &&
           (*len == 0 || (*len > strlen(HEAD) && memcmp(line, HEAD, strlen(HEAD)) == 0));
}

static bool write_line(int fd, const char *work)
{
    struct stat info;
    char line[LINE_BYTES], folder[PATH_MAX];
    const char *slash = strrchr(work, '/');
    const int folder_len = slash == NULL ? 0 : slash == work ? 1 : (int)(slash - work);
    if (slash == NULL || strlen(work) >= sizeof folder)
        return false;
    snprintf(folder, sizeof folder, "%.*s", folder_len, work);
    if (stat(folder, &info) != 0)
        return false;
    const int len = snprintf(line, sizeof line, HEAD "%" PRIu64 " %" PRIu64 " %s",
                             (uint64_t)info.st_dev, (uint64_t)info.st_ino, work);
    return bm_pwrite_all(fd, line, (size_t)len, 0) == 0 && ftruncate(fd, len) == 0;
}

/* --- holding --- */

/* Create or open a holder, and lock it. Returns its file descriptor. -1: opening or locking failed,
 * the file is no holder of this user, or another process keeps it locked. */
static int open_locked(const char *path)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    char line[LINE_BYTES];
    size_t len;
    for (int i = 0; i < TRIES; i++) {
        const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (fd < 0)
            return -1;
        const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0, other = errno != EWOULDBLOCK;
        if (locked && has_name(fd, AT_FDCWD, path) && read_line(fd, line, &len))
            return fd;
        const bool ours = !locked || !has_name(fd, AT_FDCWD, path);
        close(fd);
        if ((!locked && other) || !ours)
            return -1;
        nanosleep(&pause, NULL);
    }
    return -1;
}

/* The path of the holder of the sets at `sets`. The caller frees it. NULL: the path `sets` is too
 * short, or no memory is left. */
static char *holder_of(const char *sets)
{
    const size_t len = strlen(sets);
    char *path = NULL;
    if (len >= strlen(SETS))
        (void)bm_string_format(&path, NULL, "%.*s" HOLDER, (int)(len - strlen(SETS)), sets);
    return path;
}

bm_sets_holder *bm_sets_holder_open(const char *sets, const char *work)
{
    bm_sets_holder *holder = NULL;
    if (bm_new(&holder, 1, NULL) != BM_OK)
        return NULL;
    *holder = (bm_sets_holder){.fd = -1, .path = holder_of(sets)};
    if (holder->path != NULL)
        holder->fd = open_locked(holder->path);
    if (holder->fd >= 0 && write_line(holder->fd, work))
        return holder;
    bm_sets_holder_close(holder, holder->fd < 0);
    return NULL;
}

void bm_sets_holder_close(bm_sets_holder *holder, bool stays)
{
    if (holder == NULL)
        return;
    if (!stays && has_name(holder->fd, AT_FDCWD, holder->path))
        (void)unlink(holder->path);
    if (holder->fd >= 0)
        close(holder->fd);
    bm_free_all(holder->path, holder);
}

/* If no job has locked the holder, open and lock it, and read its line. Returns its file
 * descriptor. -1: a job has locked it, it no longer exists, or the file is no holder of this
 * user. */
static int open_unheld(int folder, const char *path, char line[LINE_BYTES], size_t *len)
{
    const int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, folder, path) &&
                   read_line(fd, line, len)))
        return fd;
    close(fd);
    return -1;
}

void bm_sets_holder_remove(const char *sets)
{
    char *path = holder_of(sets), line[LINE_BYTES];
    size_t len;
    const int fd = path != NULL ? open_unheld(AT_FDCWD, path, line, &len) : -1;
    if (fd >= 0) {
        (void)unlink(path);
        close(fd);
    }
    bm_free(path);
}

/* --- sweeping --- */

/* Was the work directory named in the line removed? True only if the folder that contained it is
 * still the recorded one. Changes the line. `hash`: the hash in the name of the holder. */
static bool is_gone(char *line, uint64_t hash)
{
    struct stat info;
    char *at = line + strlen(HEAD);
    const uint64_t device = strtoull(at, &at, 10), number = strtoull(at, &at, 10);
    const char *work = at + 1;
    if (at[0] != ' ' || work[0] != '/' || XXH3_64bits(work, strlen(work)) != hash)
        return false;
    if (fstatat(AT_FDCWD, work, &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return false;
    char *slash = strrchr(at, '/');
    slash[slash == work ? 1 : 0] = '\0';
    return stat(work, &info) == 0 && info.st_dev == device && info.st_ino == number;
}

/* Unless `needed`, remove the sets, if the file is one of sets. If no sets exist afterwards, remove
 * the holder too. The caller has locked the holder. */
static void remove_both(int folder, const char *temp_dir, const char *holder, bool needed)
{
    char *sets = NULL;
    const int len = (int)(strlen(holder) - strlen(HOLDER));
    bool there = true;
    if (bm_string_format(&sets, NULL, "%s/%.*s" SETS, temp_dir, len, holder) == BM_OK) {
        if (!needed && bm_sets_are_saved(sets))
            (void)unlink(sets);
        if (bm_look_at(AT_FDCWD, sets, AT_SYMLINK_NOFOLLOW, &there, NULL, NULL) == BM_OK && !there)
            (void)unlinkat(folder, holder, 0);
    }
    bm_free(sets);
}

static void sweep_one(int folder, const char *temp_dir, const char *name, uint64_t hash)
{
    char line[LINE_BYTES];
    size_t len;
    const int fd = open_unheld(folder, name, line, &len);
    if (fd < 0)
        return;
    line[len] = '\0';
    if (len == 0 || is_gone(line, hash)) /* 0: the job was killed before it wrote the line */
        remove_both(folder, temp_dir, name, len == 0);
    close(fd);
}

void bm_sets_holder_sweep(const char *temp_dir)
{
    const size_t prefix = strlen(BM_OUT_STATE_PREFIX);
    DIR *dir = opendir(temp_dir);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        char *end = NULL;
        if (strncmp(name, BM_OUT_STATE_PREFIX, prefix) != 0)
            continue;
        const uint64_t hash = strtoull(name + prefix, &end, 16);
        if (end == name + prefix + HASH_CHARS && strcmp(end, HOLDER) == 0)
            sweep_one(dirfd(dir), temp_dir, name, hash);
    }
    closedir(dir);
}
