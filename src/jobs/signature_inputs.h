/* signature_inputs.h -- directories that `sign` wrote as the input of dedup and pairs.
 *
 * Words come from signatures.npy, keys are computed here; texts are read again only for exact
 * verification, from the inputs that the manifests name, wherever they are now (job_context.h).
 * Identical documents are known from content_hash.npy, lengths from n_bytes.npy; an older form of
 * directory has neither. Where it was not asked how to verify: exact if every input is there as it
 * was, else by signature, and a line says which is not. */
#pragma once

#include "corpus/corpus.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "model/ids.h"
#include "results/sign_dir.h"

typedef struct bm_signature_inputs bm_signature_inputs;

/* Are the inputs such directories? Some are and some are not: BM_ERR_USAGE. */
bm_status bm_signature_inputs_are(const bm_settings *settings, bool *out, bm_error *err);
/* Open them, and resolve text, sketch, plan and verification from them; the settings borrow from
 * *out until its close. BM_ERR_FORMAT: provenance that differs; BM_ERR_USAGE: options that do not
 * fit the signatures. */
bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err);
void bm_signature_inputs_close(bm_signature_inputs *inputs); /* NULL is fine */
/* Exact verification cannot be had, as *why says: is it by signature now, which nobody has to have
 * asked for? False: no. */
bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why);
/* Are their inputs read again, for sets, for fields or for the records that are removed? */
static inline bool bm_signature_inputs_reads_texts(const bm_settings *settings)
{
    return bm_verify_reads_sets(settings->pairs.verify) || settings->keep.n_by_field > 0 ||
           bm_settings_write_removed(settings);
}
/* Log what was resolved where nobody asked for it. */
void bm_signature_inputs_log(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter);
/* Do all of them have content hashes? */
bool bm_signature_inputs_know_identical(const bm_signature_inputs *inputs);
/* Bytes that their manifests take. */
uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs);
/* Words and keys of all documents into the corpus. */
bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err);
/* Ids and sizes of all documents into the job's table, where texts are not read, with the inputs
 * that they came from; their lines are not known. Of records that were skipped, all. */
bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err);
/* Reading the texts ended with `status`: is it that an input is not what it was? As
 * bm_recipe_blame.
 */
bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err);
/* The texts were read: are they those that were signed, n_docs documents? Else BM_ERR_FORMAT. */
bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, size_t n_docs, bm_error *err);

/* signature_inputs_state -- directories of signatures as the files see them that load from them:
 * signature_inputs.c and signature_inputs.c. */

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool may_fall_back; /* exact verification, which nobody asked for */
    bm_error why;       /* why it did */
    bool no_content;    /* one of them is of an older form, without content hashes: */
    size_t older;       /* this one */
    uint64_t bytes;     /* that the manifests take */
};

/* Where no texts are read, the longest document is known from n_bytes.npy only: BM_ERR_FORMAT, one
 * of them has none. */
bm_status bm_signature_inputs_check_keep(const bm_signature_inputs *inputs, const bm_settings *s,
                                         bm_error *err);
