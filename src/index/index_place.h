/* index_place.h -- an index as a place: opened for its job, made beside, put in place. */
#ifndef BM_INDEX_INDEX_PLACE_H
#define BM_INDEX_INDEX_PLACE_H

#include "output/out_dir.h"
#include "job/job_context.h"
#include "store/store.h"

/* As an output that `force` replaces. */
extern const bm_out_kind bm_index_kind;

/* How the memory of a job is shared, beside what reading and signing take. */
typedef struct bm_index_shares {
    uint64_t store;  /* for what the store sorts and merges */
    uint64_t gather; /* for each of the two batches that are gathered */
    uint64_t search; /* for what a search finds */
} bm_index_shares;
bm_index_shares bm_index_share(uint64_t memory);

/* What the store is opened with; it asks the job's meter whether to stop. */
bm_store_cfg bm_index_store_cfg(bm_job_context *job, bm_store_mode mode);

/* `path`, or where it leads to if it is a link: `cap` bytes of `out`. BM_ERR_IO: nothing is there. BM_ERR_FORMAT:
 * something else than an index is. */
bm_status bm_index_find(const char *path, char *out, size_t cap, bm_error *err);

/* A new index that is made in a work directory beside its place. */
typedef struct bm_index_work {
    bm_out_dir *dir;
    char *folder; /* where its files are made */
    int old;      /* the index that it replaces, locked; -1: none */
} bm_index_work;

/* `replaces`: an index may stand there. BM_ERR_LOCKED: another process writes to it, or makes this one.
 * `lock`: hold the one that stands there (who has opened it for writing holds it already). */
bm_status bm_index_work_open(const bm_settings *settings, bool replaces, bool lock,
                             bm_index_work *out, bm_error *err);
void bm_index_work_close(bm_index_work *work); /* {0} with old -1 is fine */

#endif
