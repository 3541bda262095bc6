/* SPDX-License-Identifier: Apache-2.0 */
/* out_target.h -- what an output may replace. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/ids.h"
#include "output/manifest.h"

/* out_state -- the names in a work directory, TARGET.partial.
 *
 *     TARGET.partial/ .bandmill-work     the marker: whose it is, and a list of what is in it
 *                     .bandmill-…        what the job needs to be resumed
 *                     output/            what one rename makes the target
 *
 * The marker and the files of state lie beside the outputs and never among them, so that the marker
 * stays, locked, until the last rename is done. */

#define BM_OUT_STATE_PREFIX ".bandmill-"
/* The saved work of an interrupted job, without which it cannot be resumed. */
#define BM_OUT_JOURNAL BM_OUT_STATE_PREFIX "journal"
/* Marks the directory as ours, and lists its files; locked while its job lives. */
#define BM_OUT_MARKER BM_OUT_STATE_PREFIX "work"
/* The folder of the outputs; during the last steps over an earlier output, that one. */
#define BM_OUT_NEW "output"

/* Is it a name of a file of state, the marker's included? */
static inline bool bm_out_is_state(const char *name)
{
    return strncmp(name, BM_OUT_STATE_PREFIX, sizeof BM_OUT_STATE_PREFIX - 1) == 0;
}

/* out_place -- the steps by which an output gets its name: renaming and syncing. */

/* Bytes of a path without the slashes at its end. */
size_t bm_path_plain_len(const char *path);
/* *out: the folder that `path` lies in, the caller's to free. */
bm_status bm_place_parent(const char *path, char **out, bm_error *err);
bm_status bm_place_sync_folder(const char *path, bm_error *err);
/* Is there anything at `path`, a link included? BM_ERR_IO: it cannot be checked. */
bm_status bm_place_exists(const char *path, bool *there, bm_error *err);
/* Rename a file without replacing anything: BM_ERR_USAGE where `to` is there. */
bm_status bm_place_file(const char *from, const char *to, bm_error *err);
/* The same of the directory `name` in the open folder; an empty directory at `to` is replaced. */
bm_status bm_place_dir(int folder, const char *name, const char *to, bm_error *err);
/* Exchange the directory `name` (new) in the open folder and `to` (old): afterwards the old one is
 * `name`. */
bm_status bm_place_exchange(int folder, const char *name, const char *to, bm_error *err);

/* out_ours -- what in a directory is ours: the one rule by which anything is cleared, replaced or
 * removed.
 *
 *     a work directory, TARGET.partial   is ours by its marker (out_lock.h), which lists what jobs
 *                                        of ours put there, each name before the thing itself
 *     an output                          is ours by its manifest.json or report.json, which lists
 *                                        its files
 *
 * Names alone prove nothing. A listed name is a regular file; a folder is ours where a listed name
 * lies in it. All else is somebody else's: a file that nobody listed, a link or a pipe under a
 * listed name, an empty folder. A directory that holds files of others is neither cleared nor
 * replaced. Otherwise only listed files are removed, through the descriptor of the directory, so
 * that a path that now leads elsewhere harms nobody.
 *
 * Threads: one at a time. */

#define BM_OUT_NAME_BYTES 300u /* of a name in a directory, in messages */

/* Names of files, relative to a directory, with slashes. {0}: none. */
typedef struct bm_ours {
    bm_id_set files;
    bm_id_set folders; /* those above the files, without a slash at their ends */
} bm_ours;

/* Can it be the name of something in a directory? Relative, without empty steps, "." and "..". */
bool bm_ours_is_name(const char *name);
/* List a file. Listed twice is listed once. BM_ERR_NOMEM. */
bm_status bm_ours_add(bm_ours *ours, const char *name, bm_error *err);
/* A folder that is ours even where no listed name lies in it. BM_ERR_NOMEM. */
bm_status bm_ours_add_folder(bm_ours *ours, const char *name, bm_error *err);
bool bm_ours_has(const bm_ours *ours, const char *name);
void bm_ours_reset(bm_ours *ours); /* frees */

/* A directory: its descriptor is borrowed, its path is for messages. */
typedef struct bm_ours_at {
    int folder;
    const char *path;
    bool single; /* a file that has a second name elsewhere (a hard link) is not ours */
} bm_ours_at;

/* Fill `other` with the name of something that is not ours; "": all is. */
bm_status bm_ours_find_other(const bm_ours *ours, bm_ours_at at, char other[BM_OUT_NAME_BYTES],
                             bm_error *err);
/* Is this file, which is ours, to go? `name` is as it is listed. */
typedef bool bm_ours_goes(const void *ctx, const char *name);
/* Remove those that go (`goes` NULL: all) and the folders that are empty then, and nothing else. On
 * failure some are removed. */
bm_status bm_ours_remove(const bm_ours *ours, bm_ours_at at, bm_ours_goes *goes, const void *ctx,
                         bm_error *err);

/* out_parents -- the folders that an output lies in: those that are missing are made, and removed
 * again where the output does not come to be. */

/* A folder that was made. */
typedef struct bm_out_parent {
    char *path; /* owned */
    dev_t device;
    ino_t node;
} bm_out_parent;

/* {0}: none. */
typedef struct bm_out_parents {
    bm_out_parent *made; /* a folder is before those in it */
    size_t n, cap;
} bm_out_parents;

/* Make the folders above `target` that are missing, and note them. On failure some may be made:
 * they are noted too. BM_ERR_IO with the code ENOENT also where another job removes them meanwhile.
 */
bm_status bm_out_parents_make(bm_out_parents *parents, const char *target, bm_error *err);
/* That they have their names is on the disk. */
bm_status bm_out_parents_sync(const bm_out_parents *parents, bm_error *err);
/* Remove those that were made, are still the same and empty; and free. */
void bm_out_parents_remove(bm_out_parents *parents);
/* Free; the folders stay. */
void bm_out_parents_reset(bm_out_parents *parents);

/* Directories of ours without a report, which would list their files. */
typedef struct bm_out_kind {
    const char *not_one;      /* "is not an index" */
    const char *const *files; /* all names that may be in one, ended by NULL */
    bm_status (*is)(const char *path, bool *is, bm_error *err); /* BM_ERR_IO: nobody can tell */
} bm_out_kind;

/* How to treat something that is there already. A file is replaced if it is a regular file that
 * is empty or begins as ours do (model/file_names.h); a directory only if it is ours whole
 * (out_target.h). An empty directory counts as nothing, but for a mount point. */
typedef struct bm_out_existing {
    enum {
        BM_OUT_IS_REFUSED,
        BM_OUT_IS_REPLACED,
        BM_OUT_IS_LOOKED_AT /* not decided yet: a directory may be there, and stays */
    } is;
    uint64_t memory;         /* the job's: a quarter of it may go into the old report; 0: any */
    const bm_out_kind *kind; /* of the directory that may be replaced; NULL: one with a report */
} bm_out_existing;

#define BM_OUT_REFUSE  ((bm_out_existing){.is = BM_OUT_IS_REFUSED})
#define BM_OUT_REPLACE ((bm_out_existing){.is = BM_OUT_IS_REPLACED})
#define BM_OUT_LOOK    ((bm_out_existing){.is = BM_OUT_IS_LOOKED_AT})

static inline bm_out_existing bm_out_existing_of(bool force)
{
    return force ? BM_OUT_REPLACE : BM_OUT_REFUSE;
}

/* The rule for a directory, for a job that has so much memory. */
static inline bm_out_existing bm_out_existing_within(bool force, uint64_t memory)
{
    bm_out_existing existing = bm_out_existing_of(force);
    existing.memory = memory;
    return existing;
}

/* Before a job begins. BM_ERR_USAGE: something is at `target` that is not to be replaced, or
 * the output is one of the inputs, lies in one or above one. BM_ERR_NOMEM: as bm_out_target_list.
 * Inputs are paths of files and directories ("-": standard input, which may be a file), compared
 * after links are resolved. */
bm_status bm_out_dir_check(const char *target, bm_out_existing existing, const char *const *inputs,
                           size_t n_inputs, bm_error *err);
bm_status bm_out_file_check(const char *target, bm_out_existing existing, const char *const *inputs,
                            size_t n_inputs, bm_error *err);

/* The same, without inputs. */
bm_status bm_out_target_dir(const char *target, bm_out_existing existing, bm_error *err);
bm_status bm_out_target_file(const char *target, bm_out_existing existing, bm_error *err);

/* The files of the output directory at `target`, if it is ours; none if it is empty. BM_ERR_USAGE:
 * it is not ours, with the reason; BM_ERR_NOMEM: its report does not fit into a quarter of
 * existing.memory (0: any does). `out` is to be reset in any case. */
bm_status bm_out_target_list(const char *target, bm_out_existing existing, bm_ours *out,
                             bm_error *err);

/* out_space -- can anything be written where an output is to go? Asked before inputs are read: a
 * job of hours shall not end at its first file. */

/* BM_ERR_IO: the file system of the folder above `target` (the nearest one that is there) can only
 * be read, or has not even the first blocks of the output free: a file's one, or the list, the
 * tables and the report of a directory. A path that cannot be checked counts as free. */
bm_status bm_out_space_check(const char *target, bool is_dir, bm_error *err);

/* out_apart -- do a job's outputs lie apart from each other? Spelling and links do not matter: a
 * path counts as the folder and the name that it leads to, and an existing file as itself. */

typedef struct bm_out_named {
    const char *path;
    bool is_dir; /* so its work directory is one of the places too */
} bm_out_named;

/* BM_ERR_USAGE: two of the outputs are one, or one lies in another. */
bm_status bm_out_apart(const bm_out_named *outputs, size_t n, bm_error *err);
/* BM_ERR_USAGE: the folder of temporary files is the directory `target`, its work directory, or
 * lies in one of them. A folder that is not there lies nowhere. */
bm_status bm_out_apart_from_temp(const char *target, const char *temp_dir, bm_error *err);
