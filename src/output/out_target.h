/* SPDX-License-Identifier: Apache-2.0 */
/* out_target.h -- the target of an output: the rules for replacing files, the decision which files
 * are ours, and the renames. */
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
 *     TARGET.partial/ .bandmill-work     the marker: shows that the directory is ours, and lists
 *                                        the files in it
 *                     .bandmill-…        files of state, from which a killed job is resumed
 *                     output/            the outputs: one rename makes this folder the target
 *
 * The marker and the files of state are beside the folder of outputs, not in it. So the marker can
 * stay, locked, until the last rename is done. */

#define BM_OUT_STATE_PREFIX ".bandmill-"
/* The saved work of an interrupted job, without which it cannot be resumed. */
#define BM_OUT_JOURNAL BM_OUT_STATE_PREFIX "journal"
/* The marker. It makes the directory ours, and lists the files in the directory. It is locked while
 * the job runs. */
#define BM_OUT_MARKER BM_OUT_STATE_PREFIX "work"
/* The folder of outputs. After the new output was exchanged with an earlier output, this folder is
 * that earlier output. */
#define BM_OUT_NEW "output"

/* Is `name` a file of state, or the marker? */
static inline bool bm_out_is_state(const char *name)
{
    return strncmp(name, BM_OUT_STATE_PREFIX, sizeof BM_OUT_STATE_PREFIX - 1) == 0;
}

/* out_place -- renames an output to its target, and syncs. */

/* The length of a path without the slashes at its end. */
size_t bm_path_plain_len(const char *path);
/* Set *out to the path of the folder that contains `path`; the caller frees it. */
bm_status bm_place_parent(const char *path, char **out, bm_error *err);
bm_status bm_place_sync_folder(const char *path, bm_error *err);
/* Is there anything at `path`, even only a link? BM_ERR_IO: it cannot be checked. */
bm_status bm_place_exists(const char *path, bool *there, bm_error *err);
/* Rename a file without replacing anything: BM_ERR_USAGE if `to` exists. */
bm_status bm_place_file(const char *from, const char *to, bm_error *err);
/* Rename the directory `name` in the open folder. An empty directory at `to` is replaced;
 * BM_ERR_USAGE if anything else is there. */
bm_status bm_place_dir(int folder, const char *name, const char *to, bm_error *err);
/* Exchange the new `name` in the open folder and the old `to`. They are two files or two
 * directories. */
bm_status bm_place_exchange(int folder, const char *name, const char *to, bm_error *err);

/* out_ours -- decides which files in a directory are ours. A file is ours if a job of bandmill made
 * it. Only such files may be removed or replaced.
 *
 *     a work directory, TARGET.partial   is ours by its marker (out_lock.h), which lists each file
 *                                        before a job of ours makes it
 *     an output                          is ours by its manifest.json or report.json, which lists
 *                                        its files
 *
 * Names alone prove nothing. A file is ours if it is listed and a regular file; a folder is ours if
 * a listed name is in it. Everything else belongs to other people: a file that is not listed, a
 * link or a pipe with a listed name, an empty folder. A directory that has anything of other people
 * is neither cleared nor replaced. In any other directory only listed files are removed. They are
 * removed through the descriptor of the directory, so it does no harm if its path now leads
 * elsewhere.
 *
 * Threads: one at a time. */

#define BM_OUT_NAME_BYTES 300u /* size of a name in a directory, as shown in messages */

/* Names of files, relative to a directory, with slashes. {0}: an empty list. */
typedef struct bm_ours {
    bm_id_set files;
    bm_id_set folders; /* all folders above the files, with no slash at the end */
} bm_ours;

/* May a file in a directory have this name? It must be relative, and no part between slashes may be
 * empty, "." or "..". */
bool bm_ours_is_name(const char *name);
/* List a file; listing it again changes nothing. BM_ERR_NOMEM. */
bm_status bm_ours_add(bm_ours *ours, const char *name, bm_error *err);
/* List a folder as ours, even if it contains no listed file. BM_ERR_NOMEM. */
bm_status bm_ours_add_folder(bm_ours *ours, const char *name, bm_error *err);
bool bm_ours_has(const bm_ours *ours, const char *name);
void bm_ours_reset(bm_ours *ours); /* frees */

/* A directory to compare with a list. */
typedef struct bm_ours_at {
    int folder;       /* the directory's descriptor; borrowed */
    const char *path; /* for messages */
    bool single;      /* a file with a second name (a hard link) is not ours */
} bm_ours_at;

/* Set `other` to the name of something in the directory that is not ours. "": everything is
 * ours. */
bm_status bm_ours_find_other(const bm_ours *ours, bm_ours_at at, char other[BM_OUT_NAME_BYTES],
                             bm_error *err);
/* Is this listed file to be removed? `name` is its name in the list. */
typedef bool bm_ours_goes(const void *ctx, const char *name);
/* Remove those of our files that `goes` selects (NULL: all of them), and then our folders that are
 * empty. On failure some may be removed. */
bm_status bm_ours_remove(const bm_ours *ours, bm_ours_at at, bm_ours_goes *goes, const void *ctx,
                         bm_error *err);

/* out_parents -- makes the missing folders above an output, and removes them again if the output
 * does not succeed. */

/* A folder that this job made. */
typedef struct bm_out_parent {
    char *path; /* owned */
    dev_t device;
    ino_t node;
} bm_out_parent;

/* The folders above an output that this job made. {0}: none. */
typedef struct bm_out_parents {
    bm_out_parent *made; /* a folder comes before the folders in it */
    size_t n, cap;
} bm_out_parents;

/* Make the missing folders above `target`, and add them to the list. After a failure, the list has
 * the folders that were made before it. BM_ERR_IO with the code ENOENT can also mean that another
 * job has just removed one of the folders. */
bm_status bm_out_parents_make(bm_out_parents *parents, const char *target, bm_error *err);
/* Sync the folders' names to the disk. */
bm_status bm_out_parents_sync(const bm_out_parents *parents, bm_error *err);
/* Remove each folder that was made, if it is empty and no other folder has taken its place. Free
 * the list. */
void bm_out_parents_remove(bm_out_parents *parents);
/* Free the list, but do not remove the folders. */
void bm_out_parents_reset(bm_out_parents *parents);

/* A kind of directory of ours that has no report to list its files. */
typedef struct bm_out_kind {
    const char *not_one;      /* for messages: "is not an index" */
    const char *const *files; /* all names that may occur in such a directory, ended by NULL */
    /* *is: is the directory at `path` of this kind? BM_ERR_IO: cannot be checked */
    bm_status (*is)(const char *path, bool *is, bm_error *err);
} bm_out_kind;

/* How to treat an existing target. Only a regular file that is empty or begins like one of ours
 * (model/file_names.h) is replaced. A directory is replaced only if everything in it is ours. An
 * empty directory counts as missing, unless it is a mount point. */
typedef struct bm_out_existing {
    enum {
        BM_OUT_IS_REFUSED,
        BM_OUT_IS_REPLACED,
        BM_OUT_IS_LOOKED_AT /* not decided yet: an existing target is accepted, and not changed */
    } is;
    /* the job's memory limit, of which a quarter may be used to read the old report; 0: no limit */
    uint64_t memory;
    /* the kind of directory that may be replaced; NULL: a directory with a report */
    const bm_out_kind *kind;
} bm_out_existing;

#define BM_OUT_REFUSE  ((bm_out_existing){.is = BM_OUT_IS_REFUSED})
#define BM_OUT_REPLACE ((bm_out_existing){.is = BM_OUT_IS_REPLACED})
#define BM_OUT_LOOK    ((bm_out_existing){.is = BM_OUT_IS_LOOKED_AT})

static inline bm_out_existing bm_out_existing_of(bool force)
{
    return force ? BM_OUT_REPLACE : BM_OUT_REFUSE;
}

/* Like bm_out_existing_of, in a job with a limit of `memory`. */
static inline bm_out_existing bm_out_existing_within(bool force, uint64_t memory)
{
    bm_out_existing existing = bm_out_existing_of(force);
    existing.memory = memory;
    return existing;
}

/* Check a target, a directory or a file, before the job begins. BM_ERR_USAGE: the existing target
 * may not be replaced, or the output is an input, is inside an input, or contains an input.
 * BM_ERR_NOMEM: see bm_out_target_list. Inputs are paths of files and directories ("-": standard
 * input, which may be a file), compared after links are resolved. */
bm_status bm_out_dir_check(const char *target, bm_out_existing existing, const char *const *inputs,
                           size_t n_inputs, bm_error *err);
bm_status bm_out_file_check(const char *target, bm_out_existing existing, const char *const *inputs,
                            size_t n_inputs, bm_error *err);

/* Like bm_out_dir_check and bm_out_file_check, without inputs. */
bm_status bm_out_target_dir(const char *target, bm_out_existing existing, bm_error *err);
bm_status bm_out_target_file(const char *target, bm_out_existing existing, bm_error *err);

/* Set *out, which must be empty, to the list of the files of the output directory at `target`.
 * BM_ERR_USAGE: the directory is not ours; the message gives the reason. BM_ERR_NOMEM: the report
 * of the directory does not fit into a quarter of existing.memory (0: no limit). The caller resets
 * *out in any case. */
bm_status bm_out_target_list(const char *target, bm_out_existing existing, bm_ours *out,
                             bm_error *err);

/* out_space -- checks whether an output can be written at all. This is done before inputs are read,
 * so that a job of many hours does not fail when it writes its first file. */

/* Check the file system of the nearest existing folder above `target`. BM_ERR_IO: it is read-only,
 * or has no space for the first blocks of the output: one block for a file, and four for a
 * directory (marker, two tables, report). BM_OK if the file system does not report its space. */
bm_status bm_out_space_check(const char *target, bool is_dir, bm_error *err);

/* out_apart -- checks that the outputs of a job are separate. The spelling of a path and links in
 * it do not matter: paths are compared by the folder and the name that they lead to. Existing files
 * are compared by device and inode. */

typedef struct bm_out_named {
    const char *path;
    bool is_dir; /* if set, the work directory must be separate too */
} bm_out_named;

/* Check that no two of the n outputs are the same, and that none is inside another. If they are,
 * BM_ERR_USAGE. */
bm_status bm_out_apart(const bm_out_named *outputs, size_t n, bm_error *err);
/* Check `temp_dir`, the folder of temporary files. BM_ERR_USAGE: it is the directory `target` or
 * the work directory of `target`, or it is inside one of these. A folder that does not exist is
 * accepted. */
bm_status bm_out_apart_from_temp(const char *target, const char *temp_dir, bm_error *err);
