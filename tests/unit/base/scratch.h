/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h -- a directory of its own for each test, and files in it. Header only. */
#ifndef BM_TESTS_SCRATCH_H
#define BM_TESTS_SCRATCH_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/base/remove_tree.h"

typedef struct scratch {
    char root[256];
    char path[16][512]; /* ring of the paths returned by scratch_at */
    unsigned next;
} scratch;

static inline void scratch_open(scratch *s)
{
    const char *tmp = getenv("TMPDIR");
    memset(s, 0, sizeof *s);
    snprintf(s->root, sizeof s->root, "%s/bm-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(s->root));
}

static inline void scratch_close(scratch *s)
{
    cr_assert_eq(remove_tree(s->root), 0);
}

/* ROOT/name, valid for 16 calls. */
static inline const char *scratch_at(scratch *s, const char *name)
{
    char *path = s->path[s->next++ % 16];
    size_t root = strlen(s->root), len = strlen(name);
    cr_assert_lt(root + len + 1, sizeof s->path[0]);
    memcpy(path, s->root, root);
    path[root] = '/';
    memcpy(path + root + 1, name, len + 1);
    return path;
}

static inline void scratch_put(scratch *s, const char *name, const void *data, size_t len)
{
    FILE *file = fopen(scratch_at(s, name), "wb");
    cr_assert_not_null(file, "%s", name);
    cr_assert_eq(fwrite(data, 1, len, file), len);
    cr_assert_eq(fclose(file), 0);
}

static inline void scratch_put_text(scratch *s, const char *name, const char *text)
{
    scratch_put(s, name, text, strlen(text));
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

#endif
