/* recipe.h -- the job that a manifest tells of, so that its inputs can be read again in the same
 * way. */
#ifndef BM_CONTEXT_RECIPE_H
#define BM_CONTEXT_RECIPE_H

#include <bandmill/job.h>

#include "io/input/input_set.h"
#include "io/output/manifest.h"

typedef struct bm_recipe {
    bm_job job;         /* the caller's job with inputs, text and sketch options of the manifests */
    const char **paths; /* what job.input.paths points at; names are the manifests' */
    size_t n_paths;
} bm_recipe;

/* From one or more manifests, in order; they must have been read in one way (else BM_ERR_FORMAT
 * naming the field). Borrows the manifests until reset. */
bm_status bm_recipe_make(const bm_job *job, const bm_manifest *const *manifests, size_t n,
                         bm_recipe *out, bm_error *err);
void bm_recipe_reset(bm_recipe *recipe);
/* Are all inputs still there, with the sizes they had? */
bool bm_recipe_inputs_there(const bm_manifest *const *manifests, size_t n);
/* After reading: are they the same bytes? BM_ERR_FORMAT names the first that changed. */
bm_status bm_recipe_check_inputs(const bm_manifest *const *manifests, size_t n,
                                 const bm_input_set *inputs, bm_error *err);

#endif
