/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tree.h -- the files of a directory, kept in memory: to write them again, and to compare.
 * Header only. */
#pragma once

#include <dirent.h>
#include <errno.h>

#include "base/memory.h"
#include "fuzz_folder.h"

#define N_FILES 16u

typedef struct file {
    char name[256];
    bm_buf bytes;
} file;

typedef struct folder {
    char path[FUZZ_PATH];
    file files[N_FILES];
    size_t n;
    bool touched; /* the file may have changed */
} folder;

static inline void reset_folder(folder *f)
{
    for (size_t i = 0; i < f->n; i++)
        bm_buf_reset(&f->files[i].bytes);
    f->n = 0;
}

static inline int by_name(const void *a, const void *b)
{
    return strcmp(((const file *)a)->name, ((const file *)b)->name);
}

static inline const char *path_in(const folder *f, const char *name, char out[FUZZ_PATH])
{
    CHECK((size_t)snprintf(out, FUZZ_PATH, "%s/%s", f->path, name) < FUZZ_PATH);
    return out;
}

static inline void read_one(folder *f, const char *name, const struct stat *info)
{
    char path[FUZZ_PATH];
    CHECK(f->n < N_FILES);
    file *to = &f->files[f->n++];
    memset(to, 0, sizeof *to);
    CHECK((size_t)snprintf(to->name, sizeof to->name, "%s", name) < sizeof to->name);
    const int fd = open(path_in(f, name, path), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && bm_buf_reserve(&to->bytes, (size_t)info->st_size + 1, NULL) == BM_OK);
    to->bytes.len = (size_t)read(fd, to->bytes.data, (size_t)info->st_size);
    close(fd);
}

/* `below`: a subdirectory with a slash at the end, or "". */
static inline void read_below(folder *f, const char *below)
{
    char path[FUZZ_PATH];
    DIR *dir = opendir(path_in(f, below, path));
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat info;
        char name[512];
        snprintf(name, sizeof name, "%.200s%s", below, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(info.st_mode))
            read_below(f, strcat(name, "/"));
        else if (S_ISREG(info.st_mode))
            read_one(f, name, &info);
    }
    closedir(dir);
}

/* Reads all files of the directory and its subdirectories, sorted by name; none if it does not
 * exist. */
static inline void read_folder(folder *f)
{
    reset_folder(f);
    read_below(f, "");
    qsort(f->files, f->n, sizeof f->files[0], by_name);
}

/* Restores the directory. */
static inline void restore(folder *f)
{
    char path[FUZZ_PATH];
    if (!f->touched)
        return;
    world_folder_remove(f->path);
    CHECK(mkdir(f->path, 0700) == 0);
    for (size_t i = 0; i < f->n; i++) {
        char *slash = strrchr(strcpy(path, f->files[i].name), '/'), below[FUZZ_PATH];
        if (slash != NULL) { /* only one level deep */
            *slash = '\0';
            CHECK(mkdir(path_in(f, path, below), 0700) == 0 || errno == EEXIST);
        }
        fuzz_write(path_in(f, f->files[i].name, path), f->files[i].bytes.data,
                   f->files[i].bytes.len);
    }
    f->touched = false;
}
