/* against.h -- the documents of a job against those that are known already: of an index, or of a
 * directory that `sign` wrote.
 *
 * Only candidates among the known ones are read: band keys are looked up in the index, and the sets
 * (or words) of those found there are compared. A directory of signatures becomes an index in a
 * file without a name first, for which sets of candidates are made of its inputs again. */
#pragma once

#include <bandmill/types.h>

#include "corpus/corpus.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "match/edges.h"
#include "results/sign_dir.h"
#include "spill/spill_file.h"
#include "store/store_view.h"

struct bm_against {
    bm_sign_dir *dir; /* NULL: an index */
    bm_store *store;  /* of signatures only once they are loaded, like the view */
    bm_store_view *view;
    bm_settings
        known; /* text, sketch and plan of the known ones; of signatures how they were read, too */
    /* Where signatures are known: */
    const bm_manifest *manifest;
    bm_recipe recipe;   /* with the places of the inputs, where sets are made of them again */
    bool may_fall_back; /* exact verification, which nobody asked for */
    bool changed;       /* an input that was read again is not the one that was signed */
    bm_error why;       /* exact verification gave way */
};

/* against_open -- the known documents of a job, and what they determine. */

typedef struct bm_against bm_against;

/* Open what settings->pairs.against names, and resolve bands, verification and its state from it.
 * Verification stays AUTO where signatures are known whose inputs are all there: it may be exact.
 * BM_ERR_USAGE: settings that ask for something else; an output that is an input of the signatures.
 * BM_ERR_FORMAT: exact verification was asked for, and an input is missing or has another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Text and sketch of documents that were not signed before. */
void bm_against_resolve(const bm_against *against, bm_settings *settings);
/* Were documents that were signed before cut and signed as the known ones? Text and sketch are
 * resolved. BM_ERR_FORMAT. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* The job ended with `status`, as *why says: was it because an input of the known ones is not what
 * it was, and is verification by signature now, since nobody has asked for it? Then the job may be
 * run again. */
bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why);
/* Log what was resolved where nobody asked for it. */
void bm_against_log(const bm_against *against, bm_meter *meter);

/* against_signed -- signatures of known documents as an index, in a file without a name. */

/* All documents of the corpus, before bm_corpus_end_adding: which are known. `known` is filled,
 * with the ids of those found. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* The similarities that grouping left open: of chained documents to the known one that is kept for
 * them. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);
