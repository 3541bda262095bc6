/* out_target.h -- what may stand where an output is to go. */
#ifndef BM_IO_OUTPUT_OUT_TARGET_H
#define BM_IO_OUTPUT_OUT_TARGET_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "output/out_ours.h"

/* Directories of ours that have no report, which says itself what they hold. */
typedef struct bm_out_kind {
    const char *not_one;      /* "is not an index" */
    const char *const *files; /* all that may lie in one, ended by NULL */
    bool (*is)(const char *path);
} bm_out_kind;

/* What happens to something that stands there already. A file is replaced if it is a regular file
 * that is empty or begins as ours do (model/file_heads.h); a directory only if it is ours whole
 * (out_ours.h). An empty directory counts as nothing, but for a mount point. */
typedef struct bm_out_existing {
    enum {
        BM_OUT_IS_REFUSED,
        BM_OUT_IS_REPLACED,
        BM_OUT_IS_LOOKED_AT /* not settled yet: a directory may stand there, and stays */
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

/* Of a directory, for a job that has so much memory. */
static inline bm_out_existing bm_out_existing_within(bool force, uint64_t memory)
{
    bm_out_existing existing = bm_out_existing_of(force);
    existing.memory = memory;
    return existing;
}

/* Before a job begins. BM_ERR_USAGE: something stands at `target` that is not to be replaced, or
 * the output is one of the inputs, lies in one or above one. BM_ERR_NOMEM: as bm_out_target_list. Inputs are paths of files and
 * directories ("-": standard input, which may be a file), compared after links are resolved. */
bm_status bm_out_dir_check(const char *target, bm_out_existing existing, const char *const *inputs,
                           size_t n_inputs, bm_error *err);
bm_status bm_out_file_check(const char *target, bm_out_existing existing, const char *const *inputs,
                            size_t n_inputs, bm_error *err);

/* The same, without inputs. */
bm_status bm_out_target_dir(const char *target, bm_out_existing existing, bm_error *err);
bm_status bm_out_target_file(const char *target, bm_out_existing existing, bm_error *err);

/* *out: the absolute path of a target that may not exist: its folder, which may not either, resolved,
 * its name as it is. The caller's to free. */
bm_status bm_out_target_resolve(const char *target, char **out, bm_error *err);
/* Is `inner` equal to `outer` or below it? Both are absolute and resolved. */
bool bm_out_lies_in(const char *inner, const char *outer);

/* The files of the output directory that stands at `target`, which is ours; none of an empty one.
 * BM_ERR_USAGE says why it is not ours; BM_ERR_NOMEM: its report does not fit into a quarter of
 * existing.memory (0: any does). `out` is to be reset in any case. */
bm_status bm_out_target_list(const char *target, bm_out_existing existing, bm_ours *out,
                             bm_error *err);

#endif
