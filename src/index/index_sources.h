/* index_sources.h -- the inputs of directories that `sign` wrote as those of a job. */
#ifndef BM_INDEX_INDEX_SOURCES_H
#define BM_INDEX_INDEX_SOURCES_H

#include "results/sign_dir.h"
#include "job/recipe.h"

typedef struct bm_index_sources {
    const bm_manifest **manifests; /* of the directories, borrowed */
    bm_recipe recipe;
} bm_index_sources; /* {0}; reset */

/* What is cut and signed is settled. The settings get how documents of the directories were read, and where their
 * inputs are now, and borrow from *out: the job is one over documents. BM_ERR_USAGE: another way to read was asked for, or an
 * output is an input. BM_ERR_FORMAT: an input is missing, or its bytes differ. */
bm_status bm_index_sources_settle(bm_sign_dir *const *dirs, size_t n, bm_settings *settings,
                                  bm_index_sources *out, bm_error *err);
void bm_index_sources_reset(bm_index_sources *sources);

#endif
