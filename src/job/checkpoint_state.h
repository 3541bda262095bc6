/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_state.h -- the state of a checkpoint, and the names of its files.
 *
 *     OUTPUT.partial/ .bandmill-journal     the identity of the job, then lines for saved stages
 *                     .bandmill-documents   rows, ids, columns
 *                     .bandmill-sets        shingle sets (corpus.h), without --temp-dir
 *                     .bandmill-matches     edges or groups
 *                     signatures.npy …      output arrays of `sign`, with the rows of the saved
 *                                           documents
 *     TEMP_DIR/       .bandmill-HASH-sets   shingle sets, with --temp-dir; HASH is the hash of the
 *                                           path of OUTPUT.partial
 *                     .bandmill-HASH-holder marks .bandmill-HASH-sets as owned (sets_holder.h) */
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

/* Journal lines other than those of bm_checkpoint_line. BM_CHECKPOINT_SETS_AT is followed by the
 * path of the file of sets, escaped as in a TSV file. The path "." means BM_CHECKPOINT_SETS in the
 * work directory. */
#define BM_CHECKPOINT_SETS_AT     "sets\t"
#define BM_CHECKPOINT_SETS_BESIDE BM_CHECKPOINT_SETS_AT "."
#define BM_CHECKPOINT_ENDING      "ending" /* the outputs are complete; the job is not resumed */
#define BM_CHECKPOINT_BROKEN      "broken" /* an input is broken after the last saved place */

/* The output arrays of `sign`. A checkpoint includes the rows of the saved documents. */
typedef enum bm_checkpoint_array {
    BM_ARRAY_SIGNATURES,
    BM_ARRAY_CONTENT,
    BM_ARRAY_BAND_KEYS,
    BM_N_CHECKPOINT_ARRAYS
} bm_checkpoint_array;

/* Checksums of the saved rows of the arrays. */
typedef struct bm_array_sums {
    bm_hash128 of[BM_N_CHECKPOINT_ARRAYS]; /* XXH3 128; 0: the job does not write this array */
    bool known; /* false: the journal has no sums, because an earlier version wrote it */
} bm_array_sums;

/* The progress of the job, as recorded in the journal. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* saved documents, and saved skipped records */
    bool complete;          /* all inputs were read */
    /* The valid bytes and records of the file of documents, and of the file of sets. If
     * docs_records is 0, nothing is saved. */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched; /* the results of matching are saved */
    uint64_t match_bytes, match_records;
    bm_content_place place; /* place in the inputs after the last saved document */
    bool broken;            /* an input was broken after `place`, and may be repaired from there */
    bm_array_sums sums;
    bm_array_sums next_sums; /* read from the journal; used when the next documents line is read */
} bm_checkpoint_saved;

/* Additional data of a job that the table of documents does not contain. Each save appends them to
 * the file of documents, after the documents. */
typedef struct bm_checkpoint_more {
    /* Append records to the file. Each begins with BM_CHECKPOINT_MORE, 8 bytes. */
    bm_status (*save)(void *ctx, bm_spill_file *file, bm_error *err);
    /* Load a record. All documents saved before the record are loaded by then. BM_ERR_FORMAT: the
     * record does not fit these documents. */
    bm_status (*load)(void *ctx, const void *data, size_t len, bm_error *err);
    uint64_t (*unsaved_bytes)(const void *ctx); /* estimated bytes that saving would write now */
    bool (*can_save)(const void *ctx);          /* NULL: always */
    uint64_t (*n_records)(const void *ctx);     /* records read so far; NULL: job->counts.records */
    /* The sorter that owns the file of sets in a job without a corpus; NULL: none. *sorter is open
     * when saved work is loaded, and NULL once the sorter is closed. A checkpoint saves the sorter
     * before it calls `save`, and sets `runs` to the list of its runs. `save` must store that
     * list. */
    bm_sorted_runs **sorter;
    bm_buf *runs;
    void *ctx;
} bm_checkpoint_more;

#define BM_CHECKPOINT_MORE UINT64_MAX

typedef struct bm_checkpoint {
    bm_job_context *job;   /* the job whose documents are saved */
    bm_job_context *owner; /* the job that the user started; `job` may be an inner job of it */
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Called before documents are saved. Passes the rows of the job's arrays to the operating
     * system, and sets *sums to the checksums of these rows. NULL: the job writes no arrays. */
    bm_status (*flush)(void *ctx, bm_array_sums *sums, bm_error *err);
    void *flush_ctx;
    bm_checkpoint_more more; /* more.save NULL: the job saves only documents */
    /* False: this kind of job cannot be saved, its inputs cannot be read again, or an earlier save
     * failed. */
    bool can_save;
    bm_summary *done; /* the summary, if an earlier run has completed the job; else NULL */
    bool loading;     /* saved work is not fully loaded, and must stay if the job fails now */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bool sets_beside; /* sets_path is in the work directory, not in --temp-dir */
    bool sets_lie;    /* a file exists at sets_path, and it belongs to this job */
    /* Marks the sets in --temp-dir as owned (sets_holder.h). NULL: no sets are there, or marking
     * them failed. */
    struct bm_sets_holder *holder;
    bm_checkpoint_saved saved; /* the progress that the journal records */
    bool reading;              /* documents are being ingested, or the ingest failed */
    bool read_twice;           /* an earlier pass read all inputs, so none may be repaired now */
    bool read_all;             /* all documents were ingested */
    bm_match *match;           /* set once matching has run or was loaded */
    double last;               /* when the job was last saved (bm_clock_seconds) */
    double rate;               /* measured speed of saving, in bytes per second */
    double every;              /* requested seconds between checkpoints; < 0: automatic */
} bm_checkpoint;

/* checkpoint_identity -- the identity of a job, which must be unchanged when an interrupted job is
 * resumed: the program, the settings that decide results, and the inputs. Its lines in the journal:
 *
 *     program   version, digest of the kernels
 *     digests   version of the method by which files are digested (output/digest.h)
 *     form      version of the format of the saved state
 *     setting   "name": value; one line for each setting that decides results (settings.h)
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *     repaired  index of an input that has changed, then its new input line
 *
 * If the job ended because an input was broken after the saved place, the user may repair the
 * inputs from that place on. The reader compares the bytes before the place with their digest
 * (input/input_digest.h). Once the job has been resumed, the inputs must no longer change.
 *
 * --threads, --memory, --device, --temp-dir, --progress and message options may differ. */

/* Compare the job with the identity at the beginning of the journal, and set *n_lines to the number
 * of lines compared. `saved`: the progress that the journal records. A line is added to the journal
 * for each repaired input. BM_ERR_FORMAT: a line differs; the message names the difference.
 * BM_ERR_IO. */
bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err);

/* Write the lines that bm_checkpoint_identity_check compares to a new journal. */
bm_status bm_checkpoint_identity_write(const bm_job_context *job, bm_journal *journal,
                                       bm_error *err);

/* checkpoint_line -- the journal lines that record the progress of a job.
 *
 *     arrays     checksums of the rows of signatures.npy, content_hash.npy and band_keys.npy, two
 *                numbers each; valid together with the next `documents` line
 *     documents  rows, skipped records, 1 if complete, bytes and records of .bandmill-documents,
 *                bytes and records of the file of sets
 *     place      the place in the inputs after the last saved document: index of the input, bytes
 *                of the input's content before the place, the XXH3 of these bytes (two numbers)
 *     broken     an input was broken after this place
 *     matched    bytes and records of .bandmill-matches
 *
 * Fields are separated by tabs. Of several lines of one kind, the last is valid. A `documents` line
 * also cancels earlier lines `place`, `broken` and `matched`. */

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
/* If the line records progress, update *saved from it and return true. */
bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved);

/* checkpoint_documents -- a file of the documents that a job has read: rows, ids, counts, and the
 * columns of the corpus. Sets have a file of their own (corpus.h).
 *
 *     record   columns of some documents (spill_saved.h): rows, ends of ids, content hashes or
 *              representatives, places of texts, band keys, ids, ranking keys, and counts. The
 *              last record of each save also has digests of inputs, and skipped records.
 *     record   BM_CHECKPOINT_MORE | additional data of the job (bm_checkpoint_more)
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

/* Append to the file: the documents from number `first_doc` on, the skipped records from number
 * `first_skipped` on, and the current counts. Then flush the file. */
bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err);
/* Estimated bytes that saving the documents from number `first` on would write. */
uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first);
/* Load the documents into a table and a corpus. Both must be empty, but the sets of the corpus must
 * be restored before. BM_ERR_FORMAT: the file is damaged, or belongs to other inputs. */
bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err);

/* checkpoint_matches -- a file of the results of matching: counts, and edges or groups.
 *
 *     record   columns (spill_saved.h): counts; then edges. With only_groups, instead of edges, for
 *              some documents: label of the group, earliest document that has an edge to this
 *              document, similarity of that edge
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
 * marker of the work directory lists the path, the file name contains the hash of the path of the
 * work directory, and the file begins like a file of sets. So an attacker who forges the journal or
 * chooses a file name cannot make the job open or remove an unrelated file. */

/* Set checkpoint->sets_path for a new job. */
bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err);
/* If the journal line, written by an earlier job, names a file of sets, set checkpoint->sets_path
 * to this file. BM_ERR_FORMAT: the file does not belong to this work directory. */
bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err);
/* If the sets are in --temp-dir, mark them as owned (sets_holder.h). Call this before the file of
 * sets is created or opened. Later calls do nothing. */
void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint);
/* Record in the journal where the sets are. */
bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err);
/* Remove the file of sets, and its holder. */
void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint);
/* For each file of sets in --temp-dir that the journal names: if it belongs to this work directory,
 * remove it and its holder. */
void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal);
/* If checkpoint->sets_path is in --temp-dir, remove the file of sets and the holder that an earlier
 * job with this output left there. BM_ERR_USAGE: the file at this path is no file of sets. */
bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err);
