/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_state.h -- the state of a checkpoint, and the names of its files.
 *
 *     OUTPUT.partial/ .bandmill-journal     the identity of the job, then lines for saved stages
 *                     .bandmill-documents   rows, ids, columns
 *                     .bandmill-sets        shingle sets (corpus.h), without --temp-dir
 *                     .bandmill-matches     edges or groups
 *                     signatures.npy …      arrays of `sign`: their first rows are saved with the
 *                                           documents
 *     TEMP_DIR/       .bandmill-HASH-sets   shingle sets, with --temp-dir; HASH is that of the path
 *                                           of OUTPUT.partial
 *                     .bandmill-HASH-holder marks these sets as owned (sets_holder.h) */
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
#include "spill/sorted_runs.h"
#include "spill/spill_file.h"

#define BM_CHECKPOINT_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_CHECKPOINT_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_CHECKPOINT_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_CHECKPOINT_BUFFER ((size_t)1 << 20)

/* More lines of the journal. After BM_CHECKPOINT_SETS_AT comes the path of the file of sets,
 * escaped as in a TSV file, or "." for BM_CHECKPOINT_SETS in the work directory. */
#define BM_CHECKPOINT_SETS_AT     "sets\t"
#define BM_CHECKPOINT_SETS_BESIDE BM_CHECKPOINT_SETS_AT "."
#define BM_CHECKPOINT_ENDING      "ending" /* the outputs are complete: resuming is impossible */
#define BM_CHECKPOINT_BROKEN      "broken" /* an input is broken after the last saved place */

/* The arrays of `sign`. Their first rows are saved with the documents. */
typedef enum bm_checkpoint_array {
    BM_ARRAY_SIGNATURES,
    BM_ARRAY_CONTENT,
    BM_ARRAY_BAND_KEYS,
    BM_N_CHECKPOINT_ARRAYS
} bm_checkpoint_array;

/* Checksums of the saved rows of the arrays. */
typedef struct bm_array_sums {
    bm_hash128 of[BM_N_CHECKPOINT_ARRAYS]; /* XXH3 128; 0: the job does not write this array */
    bool known; /* false: the journal has no sums, as in earlier versions */
} bm_array_sums;

/* The progress of the job, as recorded in the journal. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* saved documents, and saved skipped records */
    bool complete;          /* all inputs were read */
    /* Valid bytes and records of the file of documents and of the file of sets. docs_records 0:
     * nothing is saved. */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched; /* the results of matching are saved */
    uint64_t match_bytes, match_records;
    bm_content_place place; /* place in the inputs after the last saved document */
    bool broken;            /* an input was broken after `place` and may be repaired there */
    bm_array_sums sums;
    bm_array_sums next_sums; /* while lines are read: sums for the next line of documents */
} bm_checkpoint_saved;

/* Data of documents that the table of documents does not contain. They are stored in the file of
 * documents, after the blocks of the documents that were saved at the same time. */
typedef struct bm_checkpoint_more {
    /* Append records to the file. Each begins with BM_CHECKPOINT_MORE, 8 bytes. */
    bm_status (*save)(void *ctx, bm_spill_file *file, bm_error *err);
    /* Load a record. Called when all documents saved before the record are loaded. BM_ERR_FORMAT:
     * the record does not fit these documents. */
    bm_status (*load)(void *ctx, const void *data, size_t len, bm_error *err);
    uint64_t (*unsaved_bytes)(const void *ctx); /* estimated bytes that saving would write now */
    bool (*can_save)(const void *ctx);          /* NULL: always */
    uint64_t (*n_records)(const void *ctx); /* how many records were read; NULL: those of counts */
    /* A sorter whose file lies where a corpus has its sets; NULL: there is none. *sorter is open
     * when saved work is loaded, and NULL once it is closed. Saving it, before `save`, sets `runs`
     * to the list of its runs, which `save` has to store. */
    bm_sorted_runs **sorter;
    bm_buf *runs;
    void *ctx;
} bm_checkpoint_more;

#define BM_CHECKPOINT_MORE UINT64_MAX

typedef struct bm_checkpoint {
    bm_job_context *job;   /* the job whose documents are saved */
    bm_job_context *owner; /* the job that was asked for; `job` may be a part of it */
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Called before documents are saved: passes the rows of the job's arrays to the system, and
     * sets *sums to their checksums. NULL: the job writes no arrays itself. */
    bm_status (*flush)(void *ctx, bm_array_sums *sums, bm_error *err);
    void *flush_ctx;
    bm_checkpoint_more more; /* more.save NULL: the job saves only documents */
    /* False: this kind of job is not saved, the inputs cannot be read again, or saving failed. */
    bool can_save;
    bm_summary *done; /* summary of a job that was already done; else NULL */
    bool loading;     /* saved work is not completely loaded, and must stay if the job fails */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bool sets_beside; /* sets are in the work directory, not in --temp-dir */
    bool sets_lie;    /* the file at sets_path is this job's */
    /* Marks the sets in --temp-dir as owned (sets_holder.h). NULL: there are none, or this
     * failed. */
    struct bm_sets_holder *holder;
    bm_checkpoint_saved saved; /* what the journal records */
    bool reading;              /* documents are being ingested, or the ingest failed */
    bool read_twice;           /* all inputs were read before this pass, so none may be repaired */
    bool read_all;             /* all documents were ingested */
    bm_match *match;           /* set once matching has run or was loaded */
    double last;               /* when the job was last saved (bm_clock_seconds) */
    double rate;               /* measured speed of saving, in bytes per second */
    double every;              /* requested seconds between checkpoints; < 0: automatic */
} bm_checkpoint;

/* checkpoint_identity -- what must be equal for an interrupted job to be resumed: the program, the
 * settings that decide results, and the inputs. Each has lines in the journal:
 *
 *     program   version, digest of the kernels
 *     digests   version of the way in which files are digested (output/digest.h)
 *     form      version of the format of the saved state
 *     setting   "name": value, of each setting that decides results (settings.h)
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *     repaired  index of an input that has changed, and its line as it is now
 *
 * If the job ended because an input was broken after the saved place, this input and later ones may
 * change after that place. The reader compares the bytes before the place with their digest
 * (input/input_digest.h). Once the job has been resumed, the inputs must no longer change.
 *
 * --threads, --memory, --device, --temp-dir, --progress and message options may differ. */

/* Compare the job with the first lines of a journal, and set *n_lines to the number of these lines.
 * `saved`: the progress that the journal records. Repaired inputs are added to the journal.
 * BM_ERR_FORMAT: something differs, which the message names. BM_ERR_IO. */
bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err);

/* Write the lines that bm_checkpoint_identity_check compares to a new journal. */
bm_status bm_checkpoint_identity_write(const bm_job_context *job, bm_journal *journal,
                                       bm_error *err);

/* checkpoint_line -- the journal lines that record the progress of a job.
 *
 *     arrays     checksums of the rows of signatures.npy, content_hash.npy and band_keys.npy, for
 *                the next line of documents; two numbers each
 *     documents  rows, skipped records, 1 if complete, bytes and records of .bandmill-documents,
 *                bytes and records of the file of sets
 *     place      the place in the inputs after the last of these documents: index of the input,
 *                bytes of the input's content before the place, their XXH3 (two numbers)
 *     broken     an input was broken after this place
 *     matched    bytes and records of .bandmill-matches
 *
 * Fields are separated by tabs. A later line replaces an earlier one of its kind, and a line of
 * documents also cancels earlier lines `place`, `broken` and `matched`. */

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
/* If the line is one of progress, update `saved` by it and return true. */
bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved);

/* checkpoint_documents -- a file of the documents that a job has read: rows, ids, counts, and the
 * columns of the corpus. Sets have a file of their own (corpus.h).
 *
 *     record   columns of some documents (spill_saved.h): rows, ends of ids, content hashes or
 *              representatives, places of texts, band keys, ids, ranking keys, and counts; the
 *              last record of each save also has digests of inputs, and skipped records
 *     record   BM_CHECKPOINT_MORE | further data of the documents
 *
 * Integers have the byte order of the host. The journal ensures that only the same version of the
 * program reads the file. Threads: one at a time, while no documents are added. */

/* The parts of a job that are saved and loaded. */
typedef struct bm_checkpoint_documents {
    bm_doc_table *docs;
    bm_counts *counts;
    bm_corpus *corpus;              /* NULL: the job has none */
    bm_keep_keys *keep;             /* NULL: documents have no ranking keys */
    bm_input_set *inputs;           /* used for the digests of fully read inputs */
    bool complete;                  /* used only for saving: all inputs were read */
    const bm_checkpoint_more *more; /* used only for loading */
} bm_checkpoint_documents;

/* Append the documents from `first_doc` on and the skipped records from `first_skipped` on, with
 * the current counts, and flush the file. */
bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err);
/* About how many bytes saving the documents from `first` on would write. */
uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first);
/* Load the documents into an empty table, and into an empty corpus whose sets were restored.
 * BM_ERR_FORMAT: the file is damaged, or is of other inputs. */
bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err);

/* checkpoint_matches -- a file of the results of matching: counts, and edges or groups.
 *
 *     record   columns (spill_saved.h): counts; then edges, or, with only_groups, for some
 *              documents: label, earliest document with an edge, similarity of that edge
 *
 * Integers have the byte order of the host. Threads: one at a time. */

/* Save the results of bm_match_run, and flush the file. */
bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err);
/* Load saved results into match->result, instead of calling bm_match_run. BM_ERR_FORMAT: the file
 * is damaged, or does not fit the documents. */
bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err);

/* checkpoint_sets -- where the file of sets is: in the work directory, or in --temp-dir.
 *
 * A file in --temp-dir is accepted only if four conditions hold: the journal names its path, the
 * marker of the work directory lists the path, the name contains the hash of this work directory's
 * path, and the file begins like a file of sets. So neither a forged journal nor a chosen name can
 * make the job open or remove another file. */

/* Set checkpoint->sets_path for a new job. */
bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err);
/* If a line of an earlier job's journal names a file of sets, set checkpoint->sets_path to it.
 * BM_ERR_FORMAT: the file does not belong to this work directory. */
bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err);
/* Mark sets in --temp-dir as owned (sets_holder.h). Call this before the sets are made or opened.
 * Later calls do nothing. */
void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint);
/* Record in the journal where the sets are. */
bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err);
/* Remove the file of sets, and the holder. */
void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint);
/* Remove the files of sets in --temp-dir that the journal names and that belong to this work
 * directory, with their holders. */
void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal);
/* Remove the sets, and their holder, that an earlier job for this output left at
 * checkpoint->sets_path in --temp-dir. BM_ERR_USAGE: the file there is no file of sets. */
bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err);
