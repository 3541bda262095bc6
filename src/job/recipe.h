/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h -- takes settings from manifests, so that their inputs can be read again in the same
 * way. */
#pragma once

#include "input/input_set.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "output/manifest.h"

/* Manifests of directories, read as one sequence of documents. The manifests are borrowed. */
typedef struct bm_recipe {
    const bm_manifest *const *manifests;
    size_t n;
    const char *only;                 /* name of the only input that is read; NULL: all */
    const bm_manifest_input **inputs; /* set once the recipe is resolved; point into the manifests
                                       * or `joined` */
    const char **names;               /* the inputs' names */
    const bm_manifest **sources;      /* per input, its first manifest; NULL: the only one */
    bm_manifest_input *joined;        /* files read in parts; `parts` has all their parts */
    bm_manifest_part *parts;
    char **paths; /* paths of the inputs, once found */
    size_t n_inputs;
    char *offsets; /* path of the offsets of arrays of hashes, once found */
} bm_recipe;

/* Set *out: are the inputs directories that `sign` wrote? BM_ERR_USAGE: only some of them are. */
bm_status bm_recipe_are_signed(const bm_settings *settings, bool *out, bm_error *err);
/* Put input, text and sketch options of the manifests and the names of the inputs into the
 * settings, which borrow from the recipe until its reset. BM_ERR_FORMAT: the manifests' inputs were
 * not all read in the same way; the message names the field. */
bm_status bm_recipe_apply(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* Take only how one manifest's documents are cut and signed: text and sketch options, and the name
 * of the hash (borrowed from the manifest). BM_ERR_FORMAT names a value that this version does not
 * know. */
bm_status bm_recipe_signed(const bm_manifest *manifest, bm_settings *settings, bm_error *err);
/* Find the inputs (job_context.h), and put their paths into the settings. BM_ERR_IO, BM_ERR_FORMAT:
 * an input is missing or has another size; the message names the first such input. */
bm_status bm_recipe_find(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* Find only the offsets of arrays of hashes; for other inputs do nothing. */
bm_status bm_recipe_find_offsets(bm_recipe *recipe, bm_settings *settings, bm_error *err);
void bm_recipe_reset(bm_recipe *recipe);
/* Does the first input of a manifest continue the file in which the last input of `before` ends? If
 * so, the two are one input of a recipe. */
bool bm_manifest_continues(const bm_manifest *before, const bm_manifest *manifest);
/* Call after reading. BM_ERR_FORMAT unless the inputs have the recorded bytes; the message names
 * the first input that changed. */
bm_status bm_recipe_check_inputs(const bm_recipe *recipe, bm_input_set *inputs, bm_error *err);
/* Call before reading: check the inputs found by bm_recipe_find as bm_recipe_check_inputs does.
 * BM_ERR_IO: a file cannot be read. */
bm_status bm_recipe_check_files(const bm_recipe *recipe, const bm_callbacks *callbacks,
                                bm_error *err);
/* Call after reading the inputs ended with `status` and *err. If a changed input may be the cause,
 * checks the bytes of all inputs. If one changed, returns BM_ERR_FORMAT and names it, else
 * `status`. `inputs` NULL: they were never opened. */
bm_status bm_recipe_blame(const bm_recipe *recipe, bm_input_set *inputs,
                          const bm_callbacks *callbacks, bm_status status, bm_error *err);

/* recipe_ingest -- reads the documents of a recipe's inputs again; these are not the job's own
 * inputs. */

/* Read the inputs of the recipe, at recipe->paths, by the settings `read` (input, text,
 * recorded.offsets_name), with the threads and the memory of the job. The sink receives only
 * shingle hashes, in the order of the inputs; request->words and request->keys are ignored. Records
 * that were skipped are skipped again, without a report. At the end the bytes are checked:
 * BM_ERR_FORMAT names the first changed input. */
bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_request *request, bm_error *err);
