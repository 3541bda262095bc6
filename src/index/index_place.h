/* SPDX-License-Identifier: Apache-2.0 */
/* index_place.h -- the directory of an index: finds it, loads its settings, and makes a new index
 * beside an old one, which the new index then replaces. */
#pragma once

#include "job/job_context.h"
#include "output/out_dir.h"
#include "store/store.h"

/* index_settings -- writes the settings that are fixed when an index is built as the JSON text in
 * the index (bm_store_facts.settings), and reads them back.
 *
 *     {"schema":1, "tool":"bandmill", "kind":"index", "version":…,
 *      "provenance":{…}, "parameters":{"threshold":…, "recall":…, "store":…}, "plan":{…}}
 *
 * The members are those of a manifest (output/manifest.h). Of the provenance, only the settings for
 * cutting and signing bind later jobs. How the first inputs were read is recorded, but does not
 * bind them. */

#define BM_INDEX_KIND "index" /* the kind of file, as in the settings and in the output of `info` */

/* Write the text of the settings. The plan of the job must be resolved. The caller resets `out`,
 * also on failure. */
bm_status bm_index_settings_write(const bm_job_context *job, bm_buf *out, bm_error *err);
/* Return the facts of a new index; facts->settings borrows `text`. */
bm_store_facts bm_index_facts(const bm_settings *settings, const bm_buf *text);
/* Load the settings that the index at `path` fixes (text, sketch, hash, bands, plan, perms_used and
 * store) into `settings`, which must have been checked. BM_ERR_FORMAT: the index has a setting that
 * this version does not know, or was made with other Unicode tables. BM_ERR_USAGE: the settings
 * contradict the index; the error names the field. */
bm_status bm_index_settings_load(const bm_store_facts *facts, const char *path,
                                 bm_settings *settings, bm_error *err);
/* The number of signature words to compute; 0: all. If the index keeps sets, only the words of the
 * bands are needed. */
uint32_t bm_index_perms_used(const bm_settings *settings);

/* How an output path is recognized as an index, which `force` may replace. */
extern const bm_out_kind bm_index_kind;

/* How a job divides its memory for work on an index. Reading and signing get the rest. */
typedef struct bm_index_shares {
    uint64_t store;  /* memory for sorting and merging in the store */
    uint64_t gather; /* for each of the two batches of gathered documents */
    uint64_t search; /* memory for the results of a search */
} bm_index_shares;
bm_index_shares bm_index_share(uint64_t memory);

/* The configuration for opening a store, with a `cancelled` that asks whether the job was. */
bm_store_cfg bm_index_store_cfg(bm_job_context *job, bm_store_mode mode);

/* Copy `path` to `out` (`cap` bytes). If `path` is a symbolic link, copy the real path instead.
 * BM_ERR_IO: nothing exists at `path`. BM_ERR_FORMAT: what exists there is not an index. */
bm_status bm_index_find(const char *path, char *out, size_t cap, bm_error *err);

/* A new index, made in a work directory beside the output path. */
typedef struct bm_index_work {
    bm_out_dir *dir;
    char *folder; /* work directory of the new index */
    int old;      /* descriptor of the index to be replaced, locked; -1: there is none */
} bm_index_work;

/* Begin a new index for settings->output.path. `replaces`: the new index may replace an existing
 * one. `lock`: lock the existing index. A caller that has it open for writing may pass false.
 * BM_ERR_LOCKED: another process writes to the existing index, or is making a new index here. */
bm_status bm_index_work_open(const bm_settings *settings, bool replaces, bool lock,
                             bm_index_work *out, bm_error *err);
void bm_index_work_close(bm_index_work *work); /* does nothing to {.old = -1} */
