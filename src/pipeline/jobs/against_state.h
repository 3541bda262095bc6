/* against_state.h -- what against_open.c opens and against.c asks. */
#ifndef BM_JOBS_AGAINST_STATE_H
#define BM_JOBS_AGAINST_STATE_H

#include "io/arrays/sign_dir.h"
#include "pipeline/context/settings.h"
#include "store/store_view.h"

struct bm_against {
    bm_sign_dir *dir; /* NULL: an index */
    bm_store *store;  /* of signatures only once they are loaded, like the view */
    bm_store_view *view;
    bm_settings known; /* text, sketch and plan of the known ones */
};

#endif
