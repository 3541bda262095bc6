/* signature_inputs_state.h -- directories of signatures as the files see them that load from them:
 * signature_inputs.c and signature_documents.c. */
#ifndef BM_JOBS_SIGNATURE_INPUTS_STATE_H
#define BM_JOBS_SIGNATURE_INPUTS_STATE_H

#include "results/sign_dir.h"
#include "job/recipe.h"

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool may_give_way; /* exact verification, which nobody asked for */
    bm_error why;      /* why it did */
    bool no_content;   /* one of them is of an older form, without content hashes: */
    size_t older;      /* this one */
    uint64_t bytes;    /* that the manifests take */
};

/* Where no texts are read, the longest document is known from n_bytes.npy only: BM_ERR_FORMAT, one
 * of them has none. */
bm_status bm_signature_inputs_check_keep(const bm_signature_inputs *inputs, const bm_settings *s,
                                         bm_error *err);

#endif
