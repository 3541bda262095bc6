/* against_state.h -- what against_open.c opens, against_signed.c loads and against.c asks. */
#ifndef BM_JOBS_AGAINST_STATE_H
#define BM_JOBS_AGAINST_STATE_H

#include "results/sign_dir.h"
#include "job/recipe.h"
#include "store/store_view.h"

struct bm_against {
    bm_sign_dir *dir; /* NULL: an index */
    bm_store *store;  /* of signatures only once they are loaded, like the view */
    bm_store_view *view;
    bm_settings
        known; /* text, sketch and plan of the known ones; of signatures how they were read, too */
    /* Of signatures: */
    const bm_manifest *manifest;
    bm_recipe recipe;  /* with the places of the inputs, where sets are made of them again */
    bool may_give_way; /* exact verification, which nobody asked for */
    bool changed;      /* an input that was read again is not the one that was signed */
    bm_error why;      /* exact verification gave way */
};

#endif
