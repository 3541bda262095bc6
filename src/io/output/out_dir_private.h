/* out_dir_private.h -- the inside of a bm_out_dir, shared by out_dir*.c only. */
#ifndef BM_IO_OUTPUT_OUT_DIR_PRIVATE_H
#define BM_IO_OUTPUT_OUT_DIR_PRIVATE_H

#include "io/json/json_write.h"
#include "io/output/out_file.h"

typedef struct bm_out_entry { /* a file that was closed */
    char *name;
    int fd; /* -1: closed; opened again for the digest and the sync */
    char hex[BM_SHA256_HEX];
    bool synced, digested;
} bm_out_entry;

struct bm_out_dir {
    char *target, *work, *parent;
    bool force;
    bool work_made; /* the directory is there and ours */
    bool preserves; /* close leaves it there */
    int lock_fd;
    bm_out_entry *entries;
    size_t n, cap;
    unsigned n_held;
    char **folders; /* below work, those above first; synced at commit */
    size_t n_folders, cap_folders;
    bool finished;
    bm_json digests;
};

/* *out: left, middle and right in a row; the caller's. */
bm_status bm_out_join(const char *left, const char *middle, const char *right, char **out,
                      bm_error *err);
/* `path`, a folder below work, is synced at commit too. */
bm_status bm_out_dir_add_folder(bm_out_dir *dir, const char *path, bm_error *err);

/* out_dir_lock.c: make dir->work, or (`again`) take one with a journal over as it is; it is
 * locked. What an earlier job left is cleared otherwise. */
bm_status bm_out_dir_lock(bm_out_dir *dir, bool again, bool *found, bm_error *err);
/* Remove a work directory, its journal first: it is not resumed when only half of it is gone. */
bm_status bm_out_remove_work(const char *work, bm_error *err);

#endif
