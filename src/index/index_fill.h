/* index_fill.h -- what build and add have in common: documents of the job's inputs into an open
 * store. */
#ifndef BM_INDEX_INDEX_FILL_H
#define BM_INDEX_INDEX_FILL_H

#include "index/index_adder.h"
#include "job/job_steps.h"
#include "job/recipe.h"
#include "results/sign_dir.h"

/* index_sources -- the inputs of directories that `sign` wrote as those of a job. */

typedef struct bm_index_sources {
    const bm_manifest **manifests; /* of the directories, borrowed */
    bm_recipe recipe;
} bm_index_sources; /* {0}; reset */

/* Resolve how documents were read, cut and signed: the settings get this and where the inputs are
 * now, and borrow from *out; the job is one over documents. BM_ERR_USAGE: another way to read was
 * asked for, or an output is an input. BM_ERR_FORMAT: an input is missing, or its bytes differ. */
bm_status bm_index_sources_resolve(bm_sign_dir *const *dirs, size_t n, bm_settings *settings,
                                   bm_index_sources *out, bm_error *err);
void bm_index_sources_reset(bm_index_sources *sources);

/* index_signed -- directories that `sign` wrote as the documents of an index: their rows, where it
 * keeps signatures; where it keeps sets, the inputs that were signed, which are read again as they
 * were. */

typedef struct bm_index_signed {
    bm_sign_dir **dirs;
    size_t n_open;
    size_t n; /* whose rows are documents; 0: the job's inputs are, which may be theirs */
    bm_index_sources sources; /* their inputs, which are read again */
} bm_index_signed;            /* {0}; close */

/* Open the inputs where they are such directories, and settle by them how documents are signed: as
 * asked, or as the index has it (`path`, whose settings were taken; NULL: a new one). BM_ERR_USAGE:
 * some are and some are not; fields that ask for something else. BM_ERR_FORMAT: they were not
 * signed alike; of an index of sets, an input is missing or not what it was (all are looked at, and
 * compared, before anything is done). */
bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err);
void bm_index_signed_close(bm_index_signed *dirs);
/* All their documents through the adder. */
bm_status bm_index_signed_run(const bm_index_signed *dirs, bm_index_adder *adder,
                              uint64_t full_bytes, bm_error *err);

typedef struct bm_index_fill {
    bm_job *job;
    bm_store *store;
    const bm_index_signed *dirs; /* instead of documents; NULL, or n 0: none */
    bool commits; /* as it goes, with a note how far it came; else once, at the end */
} bm_index_fill;

/* Inputs and devices are open, where they are documents that are not followed. Reads all, adds,
 * commits; what was done is added to the job's counts, also after a failure. */
bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err);
/* Count the documents of the index, for the report. */
bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err);

/* index_follow -- unique documents that come a line at a time, each answered before the next is
 * waited for. */

/* Lines of standard input through an adder whose job is unique, until there are no more, or
 * something fails; commits when it is due, while nothing comes too, but not at the end. */
bm_status bm_index_follow_run(bm_index_adder *adder, bm_error *err);

#endif
