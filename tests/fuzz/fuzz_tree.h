/* fuzz_tree.h -- a directory that is known file by file: kept in memory, written again, compared.
 * Header only. */
#ifndef TEST_FUZZ_TREE_H
#define TEST_FUZZ_TREE_H

#include <dirent.h>

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
    bool touched; /* it may not be as it was */
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

/* All files that lie in it, by name; none where it is not there. */
static inline void read_folder(folder *f)
{
    DIR *dir = opendir(f->path);
    reset_folder(f);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat info;
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        CHECK(f->n < N_FILES);
        file *to = &f->files[f->n++];
        memset(to, 0, sizeof *to);
        snprintf(to->name, sizeof to->name, "%s", entry->d_name);
        const int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && bm_buf_reserve(&to->bytes, (size_t)info.st_size + 1, NULL) == BM_OK);
        to->bytes.len = (size_t)read(fd, to->bytes.data, (size_t)info.st_size);
        close(fd);
    }
    closedir(dir);
    qsort(f->files, f->n, sizeof f->files[0], by_name);
}

static inline const char *path_in(const folder *f, const char *name, char out[FUZZ_PATH])
{
    CHECK((size_t)snprintf(out, FUZZ_PATH, "%s/%s", f->path, name) < FUZZ_PATH);
    return out;
}

/* The directory as it was. */
static inline void restore(folder *f)
{
    char path[FUZZ_PATH];
    if (!f->touched)
        return;
    fuzz_remove(f->path);
    CHECK(mkdir(f->path, 0700) == 0);
    for (size_t i = 0; i < f->n; i++)
        fuzz_write(path_in(f, f->files[i].name, path), f->files[i].bytes.data,
                   f->files[i].bytes.len);
    f->touched = false;
}

#endif
