/* SPDX-License-Identifier: Apache-2.0 */
/* world_folder.h -- a temporary folder: made under a name that nothing else has, and removed with
 * all that it holds. Nothing runs `rm`: two more processes would double a short test. */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Makes a folder below `root`, NULL: below TMPDIR or /tmp, and writes its path. */
static inline bool world_folder_make(const char *root, char *path, size_t cap)
{
    if (root == NULL && (root = getenv("TMPDIR")) == NULL)
        root = "/tmp";
    const int len = snprintf(path, cap, "%s/bandmill-test-XXXXXX", root);
    return len > 0 && (size_t)len < cap && mkdtemp(path) != NULL;
}

static inline int world_folder_remove_one(const char *path, const struct stat *info, int type,
                                          struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

/* Removes a file, or a folder and all below it. Does not follow links. Returns 0 also if the path
 * does not exist. */
static inline int world_folder_remove(const char *path)
{
    const int rc = nftw(path, world_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc == 0 || errno == ENOENT ? 0 : -1;
}
