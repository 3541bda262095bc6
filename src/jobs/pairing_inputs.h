/* SPDX-License-Identifier: Apache-2.0 */
/* pairing_inputs.h -- what `dedup` and `pairs` read besides documents: known documents, and
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

/* against -- compares the documents of a job with known documents: those of an index, those of a
 * directory that `sign` wrote, or documents themselves.
 *
 * Only candidates among the known documents are read: band keys are looked up in an index, and the
 * sets (or words) of the documents found there are compared. Known documents that are given as
 * documents are made into an index in an unnamed file before the job reads its own documents. A
 * directory of signatures is made into such an index too; the sets of its candidates are made again
 * from its inputs. */

typedef enum bm_against_kind {
    BM_AGAINST_INDEX,
    BM_AGAINST_SIGNATURES,
    BM_AGAINST_DOCUMENTS
} bm_against_kind;

typedef struct bm_against {
    bm_against_kind kind;
    bm_sign_dir *dir; /* directory of signatures, or NULL */
    bm_store *store;  /* the index. If it must be built, store and view are NULL until then */
    bm_store_view *view;
    /* text, sketch and plan of the known documents; for signatures also how they were read */
    bm_settings known;
    /* If the known documents are signatures: */
    const bm_manifest *manifest;
    bm_recipe recipe;   /* includes the paths of inputs that are read again */
    bool may_fall_back; /* no option asks for exact verification */
    bool changed;       /* an input that was read again differs from the signed one */
    bm_error why;       /* why exact verification was given up */
} bm_against;

/* against_open -- opens the known documents of a job, and resolves the settings that they
 * determine. */

/* Open the paths in settings->pairs.against, and resolve the bands, the verification and
 * against_state from them. Plain documents resolve nothing; bm_against_read reads them.
 * Verification stays AUTO (it may be exact) if the known documents are signatures and all their
 * inputs exist. BM_ERR_USAGE: settings that contradict the known documents, or an output that is an
 * input of the signatures. BM_ERR_FORMAT: exact verification was requested, and an input is missing
 * or has another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
/* Call this after the job is open and its settings are resolved. If the known documents are plain
 * documents, reads them and builds their index. */
bm_status bm_against_read(bm_against *against, bm_job_context *job, bm_settings *settings,
                          bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* For a job whose documents are not signed yet: copy the settings of the text and of the sketch,
 * and the name of the hash, from the known documents. */
void bm_against_resolve(const bm_against *against, bm_settings *settings);
/* Check that documents signed before were cut and signed like the known ones. Text and sketch must
 * be resolved. BM_ERR_FORMAT: they differ. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* Call this after the job ended with `status` and *why. If the cause is a changed input of the
 * known documents, and no option requests exact verification, switches to verification by
 * signature. Returns true if the job may be run again. */
bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why);
/* Log a fall-back to verification by signature. */
void bm_against_log(const bm_against *against, bm_meter *meter);

/* against_signed -- searches the known documents, and compares documents of the job with them. */

/* Find the documents of the corpus that are similar to known ones, before bm_corpus_end_adding.
 * Fills `known`, including the ids of the known documents found. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* Compute the similarities that grouping left open: those of chained documents to the known
 * document kept for them. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);

/* signature_inputs -- directories that `sign` wrote, as the input of `dedup` and `pairs`.
 *
 * Words are read from signatures.npy; keys are computed from them. Texts are read again only for
 * exact verification, from the inputs that the manifests name, at their present paths
 * (job_context.h). Identical documents are found by content_hash.npy, and lengths are read from
 * n_bytes.npy; directories of older versions have neither. If no option sets the verification, it
 * is exact if every input exists unchanged; else it is by signature, and a log line names the
 * input. */

typedef struct bm_signature_inputs bm_signature_inputs;

/* Open the directories, and resolve text, sketch, plan and verification from them. The settings
 * borrow from *out until it is closed. BM_ERR_FORMAT: the directories were made in different ways.
 * BM_ERR_USAGE: options that do not fit the signatures. */
bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err);
void bm_signature_inputs_close(bm_signature_inputs *inputs); /* NULL is fine */
/* Exact verification has failed with `status` because of *why: switch to verification by signature.
 * Returns false, and changes nothing, if that is not allowed or cannot help. */
bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why);
/* Are the inputs of the signatures read again: for sets, for fields, or to write removed
 * records? */
static inline bool bm_signature_inputs_reads_texts(const bm_settings *settings)
{
    return bm_verify_reads_sets(settings->pairs.verify) || settings->keep.n_by_field > 0 ||
           bm_settings_write_removed(settings);
}
/* Log the choices that no option made. */
void bm_signature_inputs_log(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter);
/* Do all directories have content hashes? */
bool bm_signature_inputs_know_identical(const bm_signature_inputs *inputs);
/* Bytes of memory that the manifests take. */
uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs);
/* Add the words and keys of all documents to the corpus. */
bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err);
/* If texts are not read: add ids and sizes of all documents to the job's table, with the inputs
 * that they came from (their lines are unknown), and the rows of skipped records. */
bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err);
/* Reading the texts ended with `status`. If a changed input was the cause, returns an error that
 * names it; see bm_recipe_blame. */
bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err);
/* Call this after the texts were read. BM_ERR_FORMAT unless they are the n_docs documents that were
 * signed. Adds the counts of entries that were left out of folders when the inputs were signed. */
bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs, bm_job_context *context,
                                    size_t n_docs, bm_error *err);

/* signature_inputs_state -- the state behind bm_signature_inputs (signature_inputs.c). */

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool may_fall_back; /* no option asks for exact verification */
    bm_error why;       /* why verification is by signature, if it fell back */
    bool no_content;    /* a directory of an older version has no content hashes */
    size_t older;       /* index of the first such directory */
    uint64_t bytes;     /* memory that the manifests take */
};
