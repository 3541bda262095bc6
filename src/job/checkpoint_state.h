/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_state.h -- what a checkpoint knows of itself, and the names of its files.
 *
 *     OUTPUT.partial/ .bandmill-journal     what the job is, then a line for each saved stage
 *                     .bandmill-documents   rows, ids, columns
 *                     .bandmill-sets        shingle sets (corpus.h); with --temp-dir there, as
 *                                           .bandmill-HASH-sets, HASH of the output's path, and
 *                                           .bandmill-HASH-holder (sets_holder.h)
 *                     .bandmill-matches     edges or groups
 *                     signatures.npy …      of sign: their first rows are saved with the documents
 */
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

/* More lines of the journal: the place of the sets (a path, escaped as in a TSV file, or "."
 * for BM_CHECKPOINT_SETS in the work directory); and that the outputs are complete and the
 * checkpoint is being removed. */
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

/* XXH3 128 of these rows, all zero for an array that the job has not. */
typedef struct bm_array_sums {
    bm_hash128 of[BM_N_CHECKPOINT_ARRAYS];
    bool known; /* false: an earlier version saved them */
} bm_array_sums;

/* The progress of the job in the journal. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* rows, skipped records */
    bool complete;          /* all inputs were read */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched;
    uint64_t match_bytes, match_records;
    bm_content_place place; /* after the last of the documents */
    bool broken;            /* an input was broken after it, and may be repaired there */
    bm_array_sums sums;
    bm_array_sums next_sums; /* a line with the sums of the documents that the next line counts */
} bm_checkpoint_saved;

/* Data of a job's documents beside the table, in records of the file of documents, after the blocks
 * of documents that are saved with them. */
typedef struct bm_checkpoint_more {
    /* Append records that begin with BM_CHECKPOINT_MORE, 8 bytes. */
    bm_status (*save)(void *ctx, bm_spill_file *file, bm_error *err);
    /* A record, once all documents are loaded that were saved before it. BM_ERR_FORMAT: it does not
     * fit. */
    bm_status (*load)(void *ctx, const void *data, size_t len, bm_error *err);
    uint64_t (*unsaved_bytes)(const void *ctx); /* that saving would write now, about */
    void *ctx;
} bm_checkpoint_more;

#define BM_CHECKPOINT_MORE UINT64_MAX

typedef struct bm_checkpoint {
    bm_job_context *job;
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Before documents are saved: bring the arrays that the job itself has written to the system,
     * and say their sums. */
    bm_status (*flush)(void *ctx, bm_array_sums *sums, bm_error *err);
    void *flush_ctx;
    bm_checkpoint_more more; /* save NULL: the job has no more than documents */
    bool can_save;           /* false: inputs that cannot be read again, or saving failed */
    bm_summary *done; /* the job was done before, and this is its summary; NULL: it was not */
    bool loading;     /* what an earlier job saved is being loaded: it stays whatever happens */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bool sets_beside; /* it lies in the work directory, and not in --temp-dir */
    struct bm_sets_holder
        *holder; /* of sets in --temp-dir; NULL: none were saved, or not possible */
    bm_checkpoint_saved saved;
    bool reading;    /* documents are being ingested */
    bool read_all;   /* all documents were ingested */
    bm_match *match; /* once it has run */
    double last;     /* when something was last saved */
    double rate;     /* bytes a second that saving writes */
    double every;    /* seconds between two, as asked for; less than 0: where it is worth it */
} bm_checkpoint;

/* checkpoint_identity -- what must be the same for an interrupted job to be resumed: the program,
 * the settings that decide results, the inputs.
 *
 *     program   version, digest of the kernels
 *     digests   how files are digested (output/digest.h)
 *     setting   "name": value, of each setting that decides results (settings.h)
 *     input     name, bytes, time of the last change, XXH3 64 of the first and last 64 KiB
 *     repaired  which input, and its line as it is now
 *
 * If the job ended because an input was broken after the saved place, the inputs may change from
 * that place on: a reader compares the bytes before the place with their digest
 * (input/input_digest.h). From then on they must stay as they are.
 *
 * --threads, --memory, --device, --temp-dir, --progress and options of messages are not among
 * them. */

/* Compare with the first lines of a journal; *n_lines of them. `saved`: the checkpoint that it
 * describes. Repaired inputs are noted in it. BM_ERR_FORMAT names what differs; BM_ERR_IO. */
bm_status bm_checkpoint_identity_check(const bm_job_context *job, bm_journal *journal,
                                       const bm_checkpoint_saved *saved, size_t *n_lines,
                                       bm_error *err);

/* Add those lines to a new journal. */
bm_status bm_checkpoint_identity_write(const bm_job_context *job, bm_journal *journal,
                                       bm_error *err);

/* checkpoint_line -- the lines of the journal that say how far a job has come.
 *
 *     documents  rows, skipped, complete, bytes and records of .bandmill-documents, the same of
 *                sets
 *     arrays     sums of the rows of signatures.npy, content_hash.npy, band_keys.npy, which belong
 *                to the documents of the next line; two numbers each
 *     place      input, bytes of its content, their XXH3: after the last of these documents
 *     broken     an input was broken after the place
 *     matched    bytes and records of .bandmill-matches
 *
 * Fields are parted by tabs; a later line replaces an earlier one of its kind. */

#define BM_CHECKPOINT_LINE_BYTES 256u /* with its NUL */

typedef enum bm_checkpoint_line {
    BM_LINE_DOCUMENTS,
    BM_LINE_ARRAYS,
    BM_LINE_PLACE,
    BM_LINE_MATCH,
    BM_N_LINES
} bm_checkpoint_line;

void bm_checkpoint_line_write(bm_checkpoint_line line, const bm_checkpoint_saved *saved,
                              char out[BM_CHECKPOINT_LINE_BYTES]);
/* Is it one of these? Then `saved` holds its contents, too. */
bool bm_checkpoint_line_read(const char *line, bm_checkpoint_saved *saved);

/* checkpoint_documents -- the documents that a job has read, in a file: rows, ids, counts, and the
 * columns of the corpus (but for sets, corpus.h).
 *
 *     record   columns of some documents (spill_saved.h): rows, ends of ids, content hashes or
 *              representatives, places of texts, band keys, ids, keys that rank; counts; in the
 *              last one digests of the inputs and skipped records
 *     record   BM_CHECKPOINT_MORE | what the job has of them beside the table
 *
 * Integers as they lie in memory: the file is for the same program on the same machine, which the
 * journal makes sure of. Threads: one at a time, while nobody adds. */

/* The parts of a job that are saved, and into which they are loaded again. */
typedef struct bm_checkpoint_documents {
    bm_doc_table *docs;
    bm_counts *counts;
    bm_corpus *corpus;              /* NULL: the job has none */
    bm_keep_keys *keep;             /* NULL: documents have no keys that rank them */
    bm_input_set *inputs;           /* for the digests of inputs that were read to their ends */
    bool complete;                  /* for saving: all inputs were read */
    const bm_checkpoint_more *more; /* for loading */
} bm_checkpoint_documents;

/* Append the documents from `first_doc` and the skipped records from `first_skipped` on, with the
 * counts as they are. Flushes. */
bm_status bm_checkpoint_documents_save(const bm_checkpoint_documents *what, size_t first_doc,
                                       size_t first_skipped, bm_spill_file *file, bm_error *err);
/* Bytes that saving the documents from `first` on would write, about. */
uint64_t bm_checkpoint_documents_unsaved_bytes(const bm_checkpoint_documents *what, size_t first);
/* Into an empty table and corpus (with restored sets). BM_ERR_FORMAT: the files differ from the
 * checkpoint. */
bm_status bm_checkpoint_documents_load(const bm_checkpoint_documents *what,
                                       const bm_spill_file *file, bm_error *err);

/* checkpoint_matches -- what matching found, in a file: counts, and edges or groups.
 *
 *     record   columns (spill_saved.h): counts; edges, or with only_groups labels, edges to
 *              earlier documents and their similarities        (integers of the host)
 *
 * Threads: one at a time. */

/* After bm_match_run; flushes. */
bm_status bm_checkpoint_matches_save(bm_match *match, bm_spill_file *file, bm_error *err);
/* Instead of bm_match_run, with the same fields filled in. BM_ERR_FORMAT: the files differ from the
 * checkpoint. */
bm_status bm_checkpoint_matches_load(bm_match *match, const bm_spill_file *file, bm_error *err);

/* checkpoint_sets -- where the file of sets lies: in the work directory, or in --temp-dir.
 *
 * A path in --temp-dir is believed only if four things agree: the journal names it, the marker of
 * the work directory lists it, its name belongs to this work directory, and the file begins as such
 * a file does. So neither a journal that somebody else wrote nor a name that somebody else chose
 * can lead anywhere else. */

/* Fill checkpoint->sets_path for a job that begins. */
bm_status bm_checkpoint_sets_find(bm_checkpoint *checkpoint, bm_error *err);
/* A line of an earlier job's journal: where it names a file of sets, that is checkpoint->sets_path
 * now. BM_ERR_FORMAT: it names something that is not this work directory's. */
bm_status bm_checkpoint_sets_accept(bm_checkpoint *checkpoint, const char *line, bm_error *err);
/* Hold sets in --temp-dir, which are about to be made or opened. Again is fine. */
void bm_checkpoint_sets_hold(bm_checkpoint *checkpoint);
/* Note in the journal where it lies. */
bm_status bm_checkpoint_sets_add_line(bm_checkpoint *checkpoint, bm_error *err);
/* Remove the file of sets. */
void bm_checkpoint_sets_remove(bm_checkpoint *checkpoint);
/* Remove the files in --temp-dir that lines of the journal name, of this work directory. */
void bm_checkpoint_sets_remove_named(const bm_checkpoint *checkpoint, const bm_journal *journal);
/* Remove what an earlier job for this output left at checkpoint->sets_path in --temp-dir.
 * BM_ERR_USAGE where it is no file of ours. */
bm_status bm_checkpoint_sets_remove_stale(const bm_checkpoint *checkpoint, bm_error *err);
