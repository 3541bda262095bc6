/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_state.h -- the state of a checkpoint, and the names of its files.
 *
 *     OUTPUT.partial/ .bandmill-journal     what the job is, then a line for each saved stage
 *                     .bandmill-documents   rows, ids, columns
 *                     .bandmill-sets        shingle sets (corpus.h); with --temp-dir there, as
 *                                           .bandmill-HASH-sets, HASH of the output's path, and
 *                                           .bandmill-HASH-holder (sets_holder.h)
 *                     .bandmill-matches     edges or groups
 *                     signatures.npy …      arrays of `sign`: their first rows are saved with the
 *                                           documents */
#pragma once

#include <bandmill/job.h>

#include "corpus/corpus.h"
#include "corpus/keep_keys.h"
#include "input/input_set.h"
#include "job/job_context.h"
#include "match/match.h"
#include "model/ids.h"
#include "output/out_dir.h"
#include "spill/journal.h"
#include "spill/spill_file.h"

#define BM_CHECKPOINT_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_CHECKPOINT_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_CHECKPOINT_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_CHECKPOINT_BUFFER ((size_t)1 << 20)

/* More lines of the journal: the place of the sets (a path, escaped as in a TSV file, or "." for
 * BM_CHECKPOINT_SETS in the work directory); and BM_CHECKPOINT_ENDING: the outputs are complete and
 * the checkpoint is being removed. */
#define BM_CHECKPOINT_SETS_AT     "sets\t"
#define BM_CHECKPOINT_SETS_BESIDE BM_CHECKPOINT_SETS_AT "."
#define BM_CHECKPOINT_ENDING      "ending"
#define BM_CHECKPOINT_BROKEN      "broken" /* an input is broken after the last saved place */

/* The arrays of sign; their first rows are saved with the documents. */
typedef enum bm_checkpoint_array {
    BM_ARRAY_SIGNATURES,
    BM_ARRAY_CONTENT,
    BM_ARRAY_BAND_KEYS,
    BM_N_CHECKPOINT_ARRAYS
} bm_checkpoint_array;

/* XXH3 128 of the saved rows of each array; all zero for an array that the job does not write. */
typedef struct bm_array_sums {
    bm_hash128 of[BM_N_CHECKPOINT_ARRAYS];
    bool known; /* false: saved by an earlier version, without sums */
} bm_array_sums;

/* The progress of the job, as recorded in the journal. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* saved rows, and saved skipped records */
    bool complete;          /* all inputs were read */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched;
    uint64_t match_bytes, match_records;
    bm_content_place place; /* place in the inputs after the last saved document */
    bool broken;            /* an input was broken after `place` and may be repaired there */
    bm_array_sums sums;
    bm_array_sums next_sums; /* sums that belong to the next line of documents */
} bm_checkpoint_saved;

/* More data of a job's documents than the table holds. It is stored in the file of documents, after
 * the blocks of documents that are saved with it. */
typedef struct bm_checkpoint_more {
    /* Append records to the file. Each begins with BM_CHECKPOINT_MORE, 8 bytes. */
    bm_status (*save)(void *ctx, bm_spill_file *file, bm_error *err);
    /* Load a record. All documents saved before it have been loaded. BM_ERR_FORMAT: it does not
     * fit. */
    bm_status (*load)(void *ctx, const void *data, size_t len, bm_error *err);
    uint64_t (*unsaved_bytes)(const void *ctx); /* estimated bytes that saving would write now */
    void *ctx;
} bm_checkpoint_more;

#define BM_CHECKPOINT_MORE UINT64_MAX

typedef struct bm_checkpoint {
    bm_job_context *job;
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Called before documents are saved: hand the arrays that the job writes itself to the system,
     * and return their sums. */
    bm_status (*flush)(void *ctx, bm_array_sums *sums, bm_error *err);
    void *flush_ctx;
    bm_checkpoint_more more; /* save NULL: the job saves only documents */
    bool can_save;           /* false if inputs cannot be read again, or if saving failed */
    bm_summary *done;        /* summary of a job that was already done; else NULL */
    bool loading;            /* saved work is being loaded, so it must not be removed */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bool sets_beside;              /* sets are in the work directory, not in --temp-dir */
    struct bm_sets_holder *holder; /* holds sets in --temp-dir; NULL: no sets are held there, or
                                    * holding failed */
    bm_checkpoint_saved saved;
    bool reading;    /* documents are being ingested */
    bool read_all;   /* all documents were ingested */
    bm_match *match; /* the match, once it has run */
    double last;     /* time of the last save */
    double rate;     /* bytes per second that saving writes */
    double every;    /* requested seconds between checkpoints; < 0: automatic */
} bm_checkpoint;

/* checkpoint_identity -- what must be equal for an interrupted job to be resumed: the program, the
 * settings that decide results, the inputs.
 *
 *     program   version, digest of the kernels
 *     digests   how files are digested (output/digest.h)
 *     setting   "name": value, of each setting that decides results (settings.h)
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *     repaired  which input, and its line as it is now
 *
 * If the job ended because an input was broken after the saved place, the inputs may change from
 * that place on; the reader compares the bytes before the place with their digest
 * (input/input_digest.h). Once the job has resumed, they must stay unchanged.
 *
 * --threads, --memory, --device, --temp-dir, --progress and message options may differ. */

/* Compare the job with the first lines of a journal; *n_lines: the number of these lines. `saved`:
 * the checkpoint that the journal describes. Repaired inputs are added to the journal.
 * BM_ERR_FORMAT names what differs; BM_ERR_IO. */
bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err);

/* Write the lines that bm_checkpoint_identity_check compares to a new journal. */
bm_status bm_checkpoint_identity_write(const bm_job_context *job, bm_journal *journal,
                                       bm_error *err);

/* checkpoint_line -- the journal lines that record a job's progress.
 *
 *     documents  rows, skipped, complete, bytes and records of .bandmill-documents, the same of
 *                sets
 *     arrays     sums of the rows of signatures.npy, content_hash.npy, band_keys.npy, for the
 *                documents of the next line; two numbers each
 *     place      input, bytes of its content, their XXH3: after the last of these documents
 *     broken     an input was broken after the place
 *     matched    bytes and records of .bandmill-matches
 *
 * Fields are separated by tabs; a later line replaces an earlier one of its kind. */

#define BM_CHECKPOINT_LINE_BYTES 256u /* including the NUL */

typedef enum bm_checkpoint_line {
    BM_LINE_DOCUMENTS,
    BM_LINE_ARRAYS,
    BM_LINE_PLACE,
    BM_LINE_MATCH,
    BM_N_LINES
} bm_checkpoint_line;

void bm_checkpoint_line_write(bm_checkpoint_line line, const bm_checkpoint_saved *saved,
                              char out[BM_CHECKPOINT_LINE_BYTES]);
/* If this is a line of progress, read it into `saved` and return true. */
bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved);

/* checkpoint_documents -- a file of the documents that a job has read: rows, ids, counts, and the
 * columns of the corpus (except sets, see corpus.h).
 *
 *     record   columns of some documents (spill_saved.h): rows, ends of ids, content hashes or
 *              representatives, places of texts, band keys, ids, ranking keys; counts; in the
 *              last one digests of the inputs and skipped records
 *     record   BM_CHECKPOINT_MORE | further data of the documents
 *
 * Integers have the host's byte order: the file is for the same program on the same machine, which
 * the journal checks. Threads: one at a time, while no documents are added. */

/* The parts of a job that are saved and loaded. */
typedef struct bm_checkpoint_documents {
    bm_doc_table *docs;
    bm_counts *counts;
    bm_corpus *corpus;              /* NULL: the job has none */
    bm_keep_keys *keep;             /* NULL: documents have no ranking keys */
    bm_input_set *inputs;           /* used for the digests of fully read inputs */
    bool complete;                  /* used when saving: all inputs were read */
    const bm_checkpoint_more *more; /* used when loading */
} bm_checkpoint_documents;

/* Append the documents from `first_doc` and the skipped records from `first_skipped` on, with the
 * current counts. Flushes. */
bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err);
/* About how many bytes saving the documents from `first` on would write. */
uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first);
/* Load into an empty table and corpus (with restored sets). BM_ERR_FORMAT: the file does not match
 * the checkpoint. */
bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err);

/* checkpoint_matches -- a file of the results of matching: counts, and edges or groups.
 *
 *     record   columns (spill_saved.h): counts; edges, or with only_groups labels, edges to
 *              earlier documents and their similarities        (integers of the host)
 *
 * Threads: one at a time. */

/* Save the results of bm_match_run. Flushes. */
bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err);
/* Load saved results instead of running bm_match_run; fills the same fields. BM_ERR_FORMAT: the
 * file does not match the checkpoint. */
bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err);

/* checkpoint_sets -- where the file of sets is: in the work directory, or in --temp-dir.
 *
 * A path in --temp-dir is accepted only if four things agree: the journal names it, the marker of
 * the work directory lists it, its name belongs to this work directory, and the file begins like a
 * file of sets. So neither a forged journal nor a chosen name can direct us to another file. */

/* Set checkpoint->sets_path for a new job. */
bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err);
/* If a line of an earlier job's journal names a file of sets, set checkpoint->sets_path to it.
 * BM_ERR_FORMAT: the file does not belong to this work directory. */
bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err);
/* Hold sets in --temp-dir. Call before they are made or opened; repeated calls are allowed. */
void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint);
/* Record in the journal where the sets are. */
bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err);
/* Remove the file of sets. */
void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint);
/* Remove the files of this work directory in --temp-dir that the journal names. */
void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal);
/* Remove the sets that an earlier job for this output left at checkpoint->sets_path in --temp-dir.
 * BM_ERR_USAGE: the file there is not ours. */
bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err);
