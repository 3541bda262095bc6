/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h -- takes settings from manifests, so that the inputs listed there can be read again in
 * the same way. */
#pragma once

#include "input/input_set.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "output/manifest.h"

/* The inputs of one or more directories, as one sequence of documents. The caller sets the first
 * three members. bm_recipe_find sets `paths` and `offsets`, and bm_recipe_apply all others. */
typedef struct bm_recipe {
    const bm_manifest *const *manifests; /* the manifests of the directories; borrowed */
    size_t n;
    const char *only;                 /* name of the only input to read; NULL: all are read */
    const bm_manifest_input **inputs; /* point into the manifests or to `joined` */
    const char **names;               /* the name of each input */
    const bm_manifest **sources; /* the first manifest that lists the input; NULL: manifests[0] */
    /* Inputs that manifests list in parts; the parts of one input may be in several manifests.
     * `parts`: the memory for the parts of all these inputs. */
    bm_manifest_input *joined;
    bm_manifest_part *parts;
    char **paths; /* the path of each input, once found */
    size_t n_inputs;
    char *offsets; /* path of the file of offsets for arrays of hashes, once found */
} bm_recipe;

/* Set *out to true if the inputs are directories that `sign` wrote. BM_ERR_USAGE: only some of the
 * inputs are such directories. */
bm_status bm_recipe_are_signed(const bm_settings *settings, bool *out, bm_error *err);
/* Set the input, text and sketch options of the settings to those recorded in the manifests, and
 * the paths to the names of the inputs. The settings borrow from the recipe and the manifests until
 * bm_recipe_reset. BM_ERR_FORMAT: the inputs of different manifests were read in different ways, or
 * this version does not know a value. The message names the field. */
bm_status bm_recipe_apply(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* From one manifest, take only the settings for cutting and signing documents: text and sketch
 * options, and the name of the hash (borrowed from the manifest). BM_ERR_FORMAT: this version does
 * not know a value; the message names it. */
bm_status bm_recipe_signed(const bm_manifest *manifest, bm_settings *settings, bm_error *err);
/* Find the inputs (bm_input_find), and set the paths in the settings. BM_ERR_IO: an input is
 * missing. BM_ERR_FORMAT: an input has another size, only some parts of it are listed, or the job
 * had no files that can be read again. The message names the first such input. */
bm_status bm_recipe_find(bm_recipe *recipe, bm_settings *settings, bm_error *err);
/* Find only the file of offsets of inputs in format `hashes`. For other formats, this does nothing.
 * bm_recipe_find calls this. */
bm_status bm_recipe_find_offsets(bm_recipe *recipe, bm_settings *settings, bm_error *err);
void bm_recipe_reset(bm_recipe *recipe);
/* The last input of `before` and the first input of `manifest` may be adjacent parts of one file.
 * Returns whether they are. If so, a recipe joins them to one input. */
bool bm_manifest_continues(const bm_manifest *before, const bm_manifest *manifest);
/* After the inputs were read, check that they have the recorded bytes. BM_ERR_FORMAT: the message
 * names the first input that has changed. */
bm_status bm_recipe_check_inputs(const bm_recipe *recipe, bm_input_set *inputs, bm_error *err);
/* Before the inputs are read, digest the files found by bm_recipe_find, and check that they have
 * the recorded bytes. BM_ERR_FORMAT: the message names the first file that has changed. BM_ERR_IO:
 * a file cannot be read. */
bm_status bm_recipe_check_files(const bm_recipe *recipe, const bm_callbacks *callbacks,
                                bm_error *err);
/* Reading the inputs has failed with `status` and *err. If a changed input may be the reason, check
 * the bytes of all inputs. If an input has changed, return BM_ERR_FORMAT, with a message that names
 * the input; else return `status` and leave *err. `inputs` NULL: the inputs were never opened, and
 * nothing is checked. */
bm_status bm_recipe_blame(const bm_recipe *recipe, bm_input_set *inputs,
                          const bm_callbacks *callbacks, bm_status status, bm_error *err);

/* recipe_ingest -- reads the documents of a recipe's inputs again, in addition to the job's own
 * inputs. */

/* Read the inputs of the recipe, at recipe->paths, with the threads and the memory of the job. Of
 * the settings `read`, `input`, `text` and recorded.offsets_name are used; of the request, only
 * `sink`, `early` and `reclaim`. The sink receives only shingle hashes, in the order of the inputs.
 * The settings `read` decide whether bad records are skipped; skipped records are not reported. At
 * the end, the bytes of the inputs are checked. BM_ERR_FORMAT: the message names the first input
 * that has changed. */
bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_request *request, bm_error *err);
