/* SPDX-License-Identifier: Apache-2.0 */
/* pairing_inputs.h -- the inputs of `dedup` and `pairs` other than documents: known documents, and
 * directories that `sign` wrote. */
#pragma once

#include <bandmill/types.h>

#include "corpus/corpus.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "match/edges.h"
#include "match/match.h"
#include "model/ids.h"
#include "results/sign_dir.h"
#include "spill/spill_file.h"
#include "store/store_view.h"

/* against -- compares the documents of a job with known documents. These are given as an index, as
 * a directory that `sign` wrote, or as plain documents.
 *
 * The band keys of the job's documents are looked up in an index of the known documents. Only known
 * documents found there are read, and their sets (or the words of their signatures) are compared.
 * For plain documents, the index is built in an unnamed file before the job reads its own
 * documents. For a directory of signatures, an unnamed index is built too; the sets of its
 * candidates are made again from its inputs. */

typedef enum bm_against_kind {
    BM_AGAINST_INDEX,
    BM_AGAINST_SIGNATURES,
    BM_AGAINST_DOCUMENTS
} bm_against_kind;

typedef struct bm_against {
    bm_against_kind kind;
    bm_sign_dir *dir; /* directory of signatures, or NULL */
    bm_store *store;  /* the index; NULL until it is built */
    bm_store_view *view;
    /* Text, sketch and plan of the known documents; for signatures, also the settings for reading
     * their inputs. */
    bm_settings known;
    /* The members below are used only if the known documents are signatures. */
    const bm_manifest *manifest;
    bm_recipe recipe;   /* includes the paths of inputs that are read again */
    bool may_fall_back; /* no option requests exact verification */
    bool changed;       /* an input that was read again differs from the signed one */
    bm_error why;       /* the reason why exact verification was given up */
} bm_against;

/* against_open -- opens the known documents of a job, and resolves the settings that they
 * determine. */

/* Open the paths in settings->pairs.against. An index or signatures resolve the bands, the
 * verification and against_state; plain documents resolve nothing, and are read by bm_against_read.
 * If the known documents are signatures and all their inputs exist, verification can stay
 * BM_VERIFY_AUTO, since it may become exact. BM_ERR_USAGE: the settings contradict the known
 * documents, or an output is an input of the signatures. BM_ERR_FORMAT: exact verification was
 * requested, but an input is missing or has another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
/* Call this after the job is open and its settings are resolved. If the known documents are plain
 * documents, reads them and builds their index; else does nothing. */
bm_status bm_against_read(bm_against *against, bm_job_context *job, bm_settings *settings,
                          bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Copy the text and sketch settings, and the name of the hash, from an index or signatures. Call
 * this for a job whose documents are not signed yet. Does nothing for plain documents. */
void bm_against_resolve(const bm_against *against, bm_settings *settings);
/* Check that the job's documents are cut and signed like the known documents. Text and sketch must
 * be resolved. BM_ERR_FORMAT: they differ. Plain documents are not checked, because the job signs
 * them itself. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* Call this after the job has ended with `status` and *why. If the cause is a changed input of the
 * known documents, and no option requests exact verification, this switches to verification by
 * signature, and returns true: the job may be run again. */
bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why);
/* Log a fall-back to verification by signature. */
void bm_against_log(const bm_against *against, bm_meter *meter);

/* against_signed -- searches the known documents, and compares documents of the job with them. */

/* Find the documents of the corpus that are similar to known documents. Fills `known`, including
 * the ids of the known documents found. Call this before bm_corpus_end_adding. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* Compute the similarities that grouping has not computed: those between a chained document and the
 * known document that is kept in its place. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);

/* signature_inputs -- directories that `sign` wrote, as the input of `dedup` and `pairs`.
 *
 * The words of signatures are read from signatures.npy, and band keys are computed from the words.
 * If texts are needed, they are read again from the inputs that the manifests list, after these
 * inputs are found (job_context.h). Identical documents are found by content_hash.npy, and lengths
 * are read from n_bytes.npy; directories of older versions have neither file. If no option sets the
 * verification, it is exact if all inputs exist and are unchanged; else it is by signature, and a
 * log line names the input. */

typedef struct bm_signature_inputs bm_signature_inputs;

/* Open the directories, and resolve text, sketch, plan and verification from them. The settings
 * borrow from *out until *out is closed. BM_ERR_FORMAT: the directories were made with different
 * settings. BM_ERR_USAGE: options do not fit the signatures. */
bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err);
void bm_signature_inputs_close(bm_signature_inputs *inputs); /* NULL is fine */
/* Call this after exact verification has failed with `status` and *why. Switches to verification by
 * signature, and returns true. If this is not allowed or cannot help, returns false and changes
 * nothing. */
bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why);
/* Are the inputs of the signatures read again? They are read for sets, for fields that rank
 * documents, or to write removed records. */
static inline bool bm_signature_inputs_reads_texts(const bm_settings *settings)
{
    return bm_verify_reads_sets(settings->pairs.verify) || settings->keep.n_by_field > 0 ||
           bm_settings_write_removed(settings);
}
/* Log the choices that were made without an option. */
void bm_signature_inputs_log(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter);
/* Do all directories have content hashes? */
bool bm_signature_inputs_know_identical(const bm_signature_inputs *inputs);
/* Bytes of memory that the manifests take. */
uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs);
/* Add the words and band keys of all documents to the corpus. */
bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err);
/* Add all documents and skipped records to the job's table, without reading texts. A document has
 * its id, its sizes and its input; its line is unknown. */
bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err);
/* Call this after reading the texts failed with `status`. If a changed input is the cause, returns
 * an error that names this input; see bm_recipe_blame. */
bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err);
/* Call this after the texts were read. BM_ERR_FORMAT: they are not the n_docs documents that were
 * signed. Also adds the counts of directory entries that were left out when the inputs were
 * signed. */
bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs, bm_job_context *context,
                                    size_t n_docs, bm_error *err);

/* signature_inputs_state -- the members of bm_signature_inputs (signature_inputs.c). */

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool may_fall_back; /* verification may still change from exact to by signature */
    bm_error why;       /* the reason why verification changed to by signature */
    bool no_content;    /* a directory of an older version has no content hashes */
    size_t older;       /* index of the first directory without content hashes */
    uint64_t bytes;     /* memory that the manifests take */
};
