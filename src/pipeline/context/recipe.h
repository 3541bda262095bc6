/* recipe.h -- the settings that manifests tell of, so that their inputs can be read again in the
 * same way. */
#ifndef BM_CONTEXT_RECIPE_H
#define BM_CONTEXT_RECIPE_H

#include "io/input/input_set.h"
#include "io/output/manifest.h"
#include "pipeline/context/settings.h"

/* Manifests of directories whose documents are read as one, in order; borrowed. */
typedef struct bm_recipe {
    const bm_manifest *const *manifests;
    size_t n;
    const char **paths; /* of their inputs, once settled: names are the manifests' own */
    size_t n_paths;
} bm_recipe;

/* Put input, text and sketch options of the manifests into the settings, which borrow from the
 * recipe until its reset. They must have been read in one way: else BM_ERR_FORMAT naming the field.
 */
bm_status bm_recipe_settle(bm_recipe *recipe, bm_settings *settings, bm_error *err);
void bm_recipe_reset(bm_recipe *recipe);
/* Are all inputs still there, with the sizes they had? */
bool bm_recipe_inputs_there(const bm_recipe *recipe);
/* After reading: are they the same bytes? BM_ERR_FORMAT names the first that changed. */
bm_status bm_recipe_check_inputs(const bm_recipe *recipe, const bm_input_set *inputs,
                                 bm_error *err);

#endif
