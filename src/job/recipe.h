/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h -- the settings in manifests, with which their inputs can be read again in the same way.
 */
#pragma once

#include "input/input_set.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "output/manifest.h"

/* Manifests of directories, read as one sequence of documents; borrowed. */
typedef struct bm_recipe {
    const bm_manifest *const *manifests;
    size_t n;
    const char *only; /* the name of the one input that is read; NULL: all are */
    const bm_manifest_input *
        *inputs;        /* of all of them, once resolved: the manifests' own, or `joined`; */
    const char **names; /* their names, */
    const bm_manifest **sources; /* and the manifest that names each (of several the first); NULL:
                                    the one that there is */
    bm_manifest_input *joined;   /* files that were read in parts, and all their parts */
    bm_manifest_part *parts;
    char **paths; /* where they are, once they are found */
    size_t n_inputs;
    char *offsets; /* of arrays of hashes, once they are found */
} bm_recipe;

/* Are the inputs directories that `sign` wrote? BM_ERR_USAGE: some are and some are not. */
bm_status bm_recipe_are_signed(const bm_settings *settings, bool *out, bm_error *err);
/* Put input, text and sketch options of the manifests into the settings, which borrow from the
 * recipe until its reset, and the names of the inputs. They must have been read in one way: else
 * BM_ERR_FORMAT naming the field. */
bm_status bm_recipe_apply(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* Only how one manifest's documents are cut and signed: text and sketch options, and the name of
 * the hash, which is the manifest's own. BM_ERR_FORMAT names what this version does not know. */
bm_status bm_recipe_signed(const bm_manifest *manifest, bm_settings *settings, bm_error *err);
/* Find the inputs (job_context.h), and put their paths into the settings. BM_ERR_IO or
 * BM_ERR_FORMAT names the first that is missing or has another size. */
bm_status bm_recipe_find(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* The same for the offsets alone, of inputs that are arrays of hashes; of others nothing. */
bm_status bm_recipe_find_offsets(bm_recipe *recipe, bm_settings *settings, bm_error *err);
void bm_recipe_reset(bm_recipe *recipe);
/* Does the first input of a manifest continue the file in which the last of `before` ends? The two
 * are one input of a recipe. */
bool bm_manifest_continues(const bm_manifest *before, const bm_manifest *manifest);
/* After reading: are they the same bytes? BM_ERR_FORMAT names the first that changed. */
bm_status bm_recipe_check_inputs(const bm_recipe *recipe, bm_input_set *inputs, bm_error *err);
/* Before they are read, once they are found: the same. BM_ERR_IO: a file that cannot be read. */
bm_status bm_recipe_check_files(const bm_recipe *recipe, const bm_callbacks *callbacks,
                                bm_error *err);
/* Reading them ended with `status`, and *err says why. If a changed input may be the cause, the
 * bytes of all inputs are checked: BM_ERR_FORMAT in place of `status` names the changed one.
 * `inputs` NULL: they were never opened. */
bm_status bm_recipe_blame(const bm_recipe *recipe, bm_input_set *inputs,
                          const bm_callbacks *callbacks, bm_status status, bm_error *err);

/* recipe_ingest -- the documents of a recipe's inputs, which are not the job's own: read again as
 * they were. */

/* Read the inputs of the recipe, at recipe->paths, by the settings `read` (input, text,
 * recorded.offsets_name), with the threads and the memory of the job. Only shingle hashes come to
 * the sink, in the order of the inputs; request->words and request->keys are not asked for. Records
 * that were skipped are skipped, and not told again. Afterwards their bytes are compared:
 * BM_ERR_FORMAT names the first input that was changed. */
bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_request *request, bm_error *err);
