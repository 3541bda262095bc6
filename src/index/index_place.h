/* SPDX-License-Identifier: Apache-2.0 */
/* index_place.h -- an index as a place: opened for its job, made beside, put in place. */
#pragma once

#include "job/job_context.h"
#include "output/out_dir.h"
#include "store/store.h"

/* index_settings -- the settings that are fixed when an index is built: to the JSON text in the
 * index (bm_store_facts.settings), and back.
 *
 *     {"schema":1, "tool":"bandmill", "kind":"index", "version":…,
 *      "provenance":{…}, "parameters":{"threshold":…, "recall":…, "store":…}, "plan":{…}}
 *
 * The members are those of a manifest (output/manifest.h). Of the provenance only the settings of
 * cutting and signing are fixed: how the first inputs were read is told, no more. */

#define BM_INDEX_KIND "index" /* of its settings, and of the answer of `info` */

/* The text, for a job with a resolved plan. The caller's (bm_buf_reset), also on failure. */
bm_status bm_index_settings_write(const bm_job_context *job, bm_buf *out, bm_error *err);
/* Facts of a new index; facts->settings borrows `text`. */
bm_store_facts bm_index_facts(const bm_settings *settings, const bm_buf *text);
/* Load what the index at `path` fixes into checked settings: text, sketch, hash, bands, plan,
 * perms_used and store. BM_ERR_FORMAT: this version does not know it (or its Unicode tables are of
 * another version). BM_ERR_USAGE names the field in which the settings asked for something else. */
bm_status bm_index_settings_load(const bm_store_facts *facts, const char *path,
                                 bm_settings *settings, bm_error *err);
/* Words of a signature that are computed: as many as its bands need where only sets are kept. 0:
 * all. */
uint32_t bm_index_perms_used(const bm_settings *settings);

/* As an output that `force` replaces. */
extern const bm_out_kind bm_index_kind;

/* How the memory of a job is shared, beside what reading and signing take. */
typedef struct bm_index_shares {
    uint64_t store;  /* for what the store sorts and merges */
    uint64_t gather; /* for each of the two batches that are gathered */
    uint64_t search; /* for what a search finds */
} bm_index_shares;
bm_index_shares bm_index_share(uint64_t memory);

/* The configuration with which the store is opened; it asks the job's meter whether to stop. */
bm_store_cfg bm_index_store_cfg(bm_job_context *job, bm_store_mode mode);

/* `path`, or where it leads to if it is a link: `cap` bytes of `out`. BM_ERR_IO: nothing is there.
 * BM_ERR_FORMAT: something else than an index is. */
bm_status bm_index_find(const char *path, char *out, size_t cap, bm_error *err);

/* A new index that is made in a work directory beside its place. */
typedef struct bm_index_work {
    bm_out_dir *dir;
    char *folder; /* where its files are made */
    int old;      /* the index that it replaces, locked; -1: none */
} bm_index_work;

/* `replaces`: an index may be there. BM_ERR_LOCKED: another process writes to it, or makes this
 * one. `lock`: hold the one that is there (who has opened it for writing holds it already). */
bm_status bm_index_work_open(const bm_settings *settings, bool replaces, bool lock,
                             bm_index_work *out, bm_error *err);
void bm_index_work_close(bm_index_work *work); /* {0} with old -1 is fine */
