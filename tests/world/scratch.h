/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h -- a directory of its own for each test, and files in it. */
#pragma once

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/world/world_folder.h"

#define SCRATCH_PATHS 64u

typedef struct scratch {
    char root[256];
    char path[SCRATCH_PATHS][512]; /* ring of the paths returned by scratch_at */
    unsigned next;
} scratch;

static inline scratch scratch_open(void)
{
    scratch s = {.next = 0};
    cr_assert(world_folder_make(NULL, s.root, sizeof s.root));
    return s;
}

static inline void scratch_close(scratch *s)
{
    cr_assert_eq(world_folder_remove(s->root), 0);
}

/* The type of a variable that is closed where its block ends: SCRATCH s = scratch_open(); */
#define SCRATCH scratch __attribute__((cleanup(scratch_close)))

/* ROOT/name, valid for SCRATCH_PATHS calls. */
static inline const char *scratch_at(scratch *s, const char *name)
{
    char *path = s->path[s->next++ % SCRATCH_PATHS];
    size_t root = strlen(s->root), len = strlen(name);
    cr_assert_lt(root + len + 1, sizeof s->path[0]);
    memcpy(path, s->root, root);
    path[root] = '/';
    memcpy(path + root + 1, name, len + 1);
    return path;
}

/* Opens the file for writing; fclose closes it. */
static inline FILE *scratch_write(scratch *s, const char *name)
{
    FILE *file = fopen(scratch_at(s, name), "wb");
    cr_assert_not_null(file, "%s", name);
    return file;
}

/* Writes the file, and returns its path as scratch_at does. */
static inline const char *scratch_put(scratch *s, const char *name, const void *data, size_t len)
{
    FILE *file = scratch_write(s, name);
    cr_assert_eq(fwrite(data, 1, len, file), len);
    cr_assert_eq(fclose(file), 0);
    return s->path[(s->next - 1) % SCRATCH_PATHS];
}

static inline const char *scratch_put_text(scratch *s, const char *name, const char *text)
{
    return scratch_put(s, name, text, strlen(text));
}

static inline void scratch_folder(scratch *s, const char *name)
{
    cr_assert_eq(mkdir(scratch_at(s, name), 0777), 0, "%s", name);
}

/* The content of the file, with a terminating NUL. The caller frees it. */
static inline char *scratch_get(scratch *s, const char *name, size_t *len)
{
    FILE *file = fopen(scratch_at(s, name), "rb");
    cr_assert_not_null(file, "%s", name);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *data = malloc((size_t)size + 1);
    cr_assert_not_null(data);
    cr_assert_eq(fread(data, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    data[size] = '\0';
    if (len != NULL)
        *len = (size_t)size;
    return data;
}

static inline bool scratch_holds(scratch *s, const char *name, const char *text)
{
    size_t len;
    char *data = scratch_get(s, name, &len);
    bool same = len == strlen(text) && memcmp(data, text, len) == 0;
    free(data);
    return same;
}

static inline bool scratch_has(scratch *s, const char *name)
{
    struct stat info;
    return lstat(scratch_at(s, name), &info) == 0;
}

/* The number of names in a directory, without . and .. */
static inline size_t scratch_count(scratch *s, const char *name)
{
    DIR *folder = opendir(scratch_at(s, name));
    size_t n = 0;
    cr_assert_not_null(folder);
    for (struct dirent *item; (item = readdir(folder)) != NULL;)
        n += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
    closedir(folder);
    return n;
}
