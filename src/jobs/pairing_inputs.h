/* SPDX-License-Identifier: Apache-2.0 */
/* pairing_inputs.h -- what `dedup` and `pairs` read beside documents: those that are known already,
 * and directories that `sign` wrote. */
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

/* against -- the documents of a job against those that are known already: of an index, of a
 * directory that `sign` wrote, or documents themselves.
 *
 * Only candidates among the known ones are read: band keys are looked up in the index, and the sets
 * (or words) of the documents found there are compared. Known documents become an index in a file
 * without a name before the job reads its own. So does a directory of signatures, for which sets of
 * candidates are made of its inputs again. */

typedef enum bm_against_kind {
    BM_AGAINST_INDEX,
    BM_AGAINST_SIGNATURES,
    BM_AGAINST_DOCUMENTS
} bm_against_kind;

typedef struct bm_against {
    bm_against_kind kind;
    bm_sign_dir *dir; /* of signatures; else NULL */
    bm_store *store;  /* of an index; else only once it is loaded, like the view */
    bm_store_view *view;
    bm_settings
        known; /* text, sketch and plan of the known ones; of signatures how they were read, too */
    /* Where signatures are known: */
    const bm_manifest *manifest;
    bm_recipe recipe;   /* with the places of the inputs, where sets are made of them again */
    bool may_fall_back; /* exact verification, which nobody asked for */
    bool changed;       /* an input that was read again is not the one that was signed */
    bm_error why;       /* exact verification gave way */
} bm_against;

/* against_open -- the known documents of a job, and what they determine. */

/* Open what settings->pairs.against names, and resolve bands, verification and its state from it,
 * but nothing from documents, which bm_against_read reads.
 * Verification stays AUTO if the known documents are signatures and all their inputs are there: it
 * may be exact. BM_ERR_USAGE: settings that ask for something else; an output that is an input of
 * the signatures. BM_ERR_FORMAT: exact verification was asked for, and an input is missing or has
 * another size. */
bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err);
/* The job is open, and its settings are resolved: read known documents, if they are that, and note
 * in `settings` which they were. */
bm_status bm_against_read(bm_against *against, bm_job_context *job, bm_settings *settings,
                          bm_error *err);
void bm_against_close(bm_against *against); /* NULL is fine */
/* Text and sketch of documents that were not signed before. */
void bm_against_resolve(const bm_against *against, bm_settings *settings);
/* Were documents that were signed before cut and signed as the known ones? Text and sketch are
 * resolved. BM_ERR_FORMAT. */
bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err);
/* The job ended with `status` and *why. Was a changed input of the known documents the cause, and
 * is verification by signature now, since no option forbids it? Then the job may be run again. */
bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why);
/* Log the choices that no option made. */
void bm_against_log(const bm_against *against, bm_meter *meter);

/* against_signed -- signatures of known documents as an index, in a file without a name. */

/* Which documents of the corpus are known, before bm_corpus_end_adding. `known` is filled, with the
 * ids of the known documents found. */
bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err);
/* The similarities that grouping left open: of chained documents to the known one that is kept for
 * them. */
bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err);

/* signature_inputs -- directories that `sign` wrote as the input of dedup and pairs.
 *
 * Words come from signatures.npy, keys are computed here; texts are read again only for exact
 * verification, from the inputs that the manifests name, wherever they are now (job_context.h).
 * Identical documents are known from content_hash.npy, lengths from n_bytes.npy; an older form of
 * directory has neither. Where it was not asked how to verify: exact if every input is there
 * unchanged, else by signature, and a log line names the input. */

typedef struct bm_signature_inputs bm_signature_inputs;

/* Open them, and resolve text, sketch, plan and verification from them; the settings borrow from
 * *out until its close. BM_ERR_FORMAT: provenance that differs; BM_ERR_USAGE: options that do not
 * fit the signatures. */
bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err);
void bm_signature_inputs_close(bm_signature_inputs *inputs); /* NULL is fine */
/* Exact verification is impossible because of *why. Is verification by signature now? False: an
 * option asked for exact verification. */
bool bm_signature_inputs_fall_back(bm_signature_inputs *inputs, bm_settings *settings,
                                   bm_status status, const bm_error *why);
/* Are their inputs read again, for sets, for fields or for the records that are removed? */
static inline bool bm_signature_inputs_reads_texts(const bm_settings *settings)
{
    return bm_verify_reads_sets(settings->pairs.verify) || settings->keep.n_by_field > 0 ||
           bm_settings_write_removed(settings);
}
/* Log the choices that no option made. */
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
/* Reading the texts ended with `status`: was a changed input the cause? As bm_recipe_blame.
 * */
bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err);
/* The texts were read: are they the n_docs documents that were signed? If not, BM_ERR_FORMAT. Adds
 * the counts of entries left out when they were signed. */
bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs, bm_job_context *context,
                                    size_t n_docs, bm_error *err);

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
