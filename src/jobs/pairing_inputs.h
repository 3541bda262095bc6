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

/* against -- compares the documents of a job with known documents: those of an index, of a
 * directory that `sign` wrote, or documents themselves.
 *
 * Only candidates among the known ones are read: band keys are looked up in the index, and the sets
 * (or words) of the documents found there are compared. Known documents become an index in an
 * unnamed file before the job reads its own. So does a directory of signatures; the sets of its
 * candidates are made again from its inputs. */

typedef enum bm_against_kind {
    BM_AGAINST_INDEX,
    BM_AGAINST_SIGNATURES,
    BM_AGAINST_DOCUMENTS
} bm_against_kind;

typedef struct bm_against {
    bm_against_kind kind;
    bm_sign_dir *dir; /* directory of signatures; else NULL */
    bm_store *store;  /* the index; if it must be built, NULL until then, like the view */
    bm_store_view *view;
    bm_settings known; /* text, sketch, plan; for signatures also how they were read */
    /* If the known documents are signatures: */
    const bm_manifest *manifest;
    bm_recipe recipe;   /* includes the places of inputs that are read again */
    bool may_fall_back; /* no option asks for exact verification */
    bool changed;       /* an input that was read again differs from the one that was signed */
    bm_error why;       /* why exact verification was given up */
} bm_against;

/* against_open -- opens the known documents of a job, and resolves what they determine. */

/* Open what settings->pairs.against names, and resolve bands, verification and its state from it.
 * Nothing is resolved from plain documents; bm_against_read reads those. Verification stays AUTO
 * (it may be exact) if the known documents are signatures and all their inputs exist. BM_ERR_USAGE:
 * settings that contradict the known documents; an output that is an input of the signatures.
 * BM_ERR_FORMAT: exact verification was asked for, and an input is missing or has another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
/* Call once the job is open and its settings are resolved. If the known documents are plain
 * documents, reads them, and records their inputs in `settings`. */
bm_status bm_against_read(bm_against *against, bm_job_context *job, bm_settings *settings,
                          bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Resolve text and sketch of documents that were not signed before. */
void bm_against_resolve(const bm_against *against, bm_settings *settings);
/* Check that documents signed before were cut and signed like the known ones. Text and sketch are
 * resolved. BM_ERR_FORMAT: they differ. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* Call after the job ended with `status` and *why. If the cause was a changed input of the known
 * documents, and no option asks for exact verification, switches to verification by signature.
 * Returns true if the job may be run again. */
bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why);
/* Log a fall-back to verification by signature. */
void bm_against_log(const bm_against *against, bm_meter *meter);

/* against_signed -- searches the known documents, and compares with them. */

/* Find the documents of the corpus that are similar to known ones. Call before
 * bm_corpus_end_adding. Fills `known`, with the ids of the known documents found. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* Compute the similarities that grouping left open: of each chained document to the known document
 * that is kept for it. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);

/* signature_inputs -- directories that `sign` wrote, as the input of `dedup` and `pairs`.
 *
 * Words come from signatures.npy, keys are computed here; texts are read again only for exact
 * verification, from the inputs that the manifests name, wherever they are now (job_context.h).
 * Identical documents are found by content_hash.npy, lengths come from n_bytes.npy; directories of
 * older versions have neither. If no option sets the verification: exact if every input exists
 * unchanged, else by signature, and a log line names the input. */

typedef struct bm_signature_inputs bm_signature_inputs;

/* Open them, and resolve text, sketch, plan and verification from them; the settings borrow from
 * *out until its close. BM_ERR_FORMAT: the directories were made in different ways; BM_ERR_USAGE:
 * options that do not fit the signatures. */
bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err);
void bm_signature_inputs_close(bm_signature_inputs *inputs); /* NULL is fine */
/* Exact verification is impossible because of *why: switch to verification by signature. Returns
 * false, and changes nothing, if an option asked for exact verification. */
bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why);
/* Are their inputs read again: for sets, for fields or to write removed records? */
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
/* Memory that their manifests take. */
uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs);
/* Add words and keys of all documents to the corpus. */
bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err);
/* If texts are not read: add ids and sizes of all documents to the job's table, with the inputs
 * that they came from (their lines are unknown), and all facts of skipped records. */
bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err);
/* Reading the texts ended with `status`: was a changed input the cause? See bm_recipe_blame. */
bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err);
/* Call after the texts were read: BM_ERR_FORMAT unless they are the n_docs documents that were
 * signed. Adds the counts of entries left out when they were signed. */
bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs, bm_job_context *context,
                                    size_t n_docs, bm_error *err);

/* signature_inputs_state -- the state behind bm_signature_inputs (signature_inputs.c). */

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool may_fall_back; /* no option asks for exact verification */
    bm_error why;       /* why verification fell back to signatures */
    bool no_content;    /* a directory of an older version has no content hashes: */
    size_t older;       /* index of such a directory */
    uint64_t bytes;     /* memory that the manifests take */
};
