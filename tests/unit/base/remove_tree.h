/* SPDX-License-Identifier: Apache-2.0 */
/* remove_tree.h -- removes a file, or a folder and all below it, without running rm: starting two
 * more processes would double the time of a short test. Header only. */
#ifndef BM_TESTS_REMOVE_TREE_H
#define BM_TESTS_REMOVE_TREE_H

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

/* Returns 0 also if the path does not exist. Does not follow links. */
static inline int remove_tree(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT ? 0 : -1;
}

#endif
