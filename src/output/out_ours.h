/* out_ours.h -- what in a directory is ours: the one rule by which anything is cleared, replaced or
 * removed.
 *
 *     a work directory, TARGET.partial   is ours by its marker (out_marker.h), which lists what jobs
 *                                        of ours put there, each name before the thing itself
 *     an output                          is ours by its manifest.json or report.json, which lists
 *                                        its files
 *
 * Names alone prove nothing. A name that is listed stands for a regular file; a folder is ours where
 * a listed name lies in it. All else is somebody else's: a file that nobody listed, a link or a pipe
 * under a listed name, an empty folder. A directory that holds anything of somebody else's is
 * neither cleared nor replaced, and of one that is, only what is listed is removed, through its
 * descriptor, so that a path which has come to mean something else harms nobody.
 *
 * Threads: one at a time. */
#ifndef BM_IO_OUTPUT_OUT_OURS_H
#define BM_IO_OUTPUT_OUT_OURS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/manifest.h"
#include "model/id_set.h"

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
/* List the files of an output: those in its manifest, and the manifest. BM_ERR_NOMEM. */
bm_status bm_ours_add_manifest(bm_ours *ours, const bm_manifest *manifest, bm_error *err);

/* A directory: its descriptor is borrowed, its path is for messages. */
typedef struct bm_ours_at {
    int folder;
    const char *path;
    bool single; /* a file that has a second name elsewhere (a hard link) is not ours */
} bm_ours_at;

/* Fill `other` with the name of something that is not ours; "": all is. */
bm_status bm_ours_find_other(const bm_ours *ours, bm_ours_at at, char other[BM_OUT_NAME_BYTES],
                             bm_error *err);
/* Which of the files that are ours are to go? `name` as it is listed. */
typedef bool bm_ours_goes(const void *ctx, const char *name);
/* Remove those that go (`goes` NULL: all) and the folders that are empty then, and nothing else. On
 * failure some are removed. */
bm_status bm_ours_remove(const bm_ours *ours, bm_ours_at at, bm_ours_goes *goes, const void *ctx,
                         bm_error *err);

#endif
