/* checkpoint_state.h -- what a checkpoint knows of itself, and the names of its files.
 *
 *     OUTPUT.partial/ .bandmill-journal     what the job is, then a line for each saved stage (journal.h)
 *                     .bandmill-documents   rows, ids, columns (checkpoint_documents.h)
 *                     .bandmill-sets        shingle sets (corpus_save.h); with --temp-dir there,
 *                                           as .bandmill-HASH-sets, HASH of the output's path
 *                     .bandmill-matches     edges or groups (checkpoint_matches.h)
 *                     signatures.npy …      of sign: their first rows are saved with the documents
 */
#ifndef BM_CHECKPOINT_CHECKPOINT_STATE_H
#define BM_CHECKPOINT_CHECKPOINT_STATE_H

#include "output/out_dir.h"
#include "job/job_context.h"
#include "match/match.h"
#include "spill/journal.h"

#define BM_CHECKPOINT_DOCS   BM_OUT_STATE_PREFIX "documents"
#define BM_CHECKPOINT_SETS   BM_OUT_STATE_PREFIX "sets"
#define BM_CHECKPOINT_MATCH  BM_OUT_STATE_PREFIX "matches"
#define BM_CHECKPOINT_BUFFER ((size_t)1 << 20)

/* Lines of the journal, beside those of checkpoint_identity.h and checkpoint_line.h: where the sets
 * lie (a path, escaped as in a TSV file, or "." for BM_CHECKPOINT_SETS in the work directory); and
 * that the outputs are whole and the checkpoint is being removed. */
#define BM_CHECKPOINT_SETS_AT     "sets\t"
#define BM_CHECKPOINT_SETS_BESIDE BM_CHECKPOINT_SETS_AT "."
#define BM_CHECKPOINT_ENDING      "ending"
#define BM_CHECKPOINT_BROKEN      "broken" /* an input, behind the place that was sealed last */

/* The arrays of sign whose first rows are saved with the documents. */
typedef enum bm_checkpoint_array {
    BM_ARRAY_SIGNATURES,
    BM_ARRAY_CONTENT,
    BM_ARRAY_BAND_KEYS,
    BM_N_CHECKPOINT_ARRAYS
} bm_checkpoint_array;

/* XXH3 128 of these rows, all zero for an array that the job has not. */
typedef struct bm_array_sums {
    bm_hash128 of[BM_N_CHECKPOINT_ARRAYS];
    bool known; /* false: an earlier version has sealed them */
} bm_array_sums;

/* How far the journal says the job has come. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* rows, skipped records */
    bool complete;          /* all inputs were read */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched;
    uint64_t match_bytes, match_records;
    bm_content_place place; /* behind the last of the documents */
    bool broken;            /* an input was broken behind it, and may be repaired there */
    bm_array_sums sums;
    bm_array_sums
        next_sums; /* a line that says the sums of the documents which the next line names */
} bm_checkpoint_saved;

typedef struct bm_checkpoint {
    bm_job_context *job;
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Before documents are saved: bring the arrays that the job itself has written to the system, and
     * say their sums. */
    bm_status (*flush)(void *ctx, bm_array_sums *sums, bm_error *err);
    void *flush_ctx;
    bool can_save;    /* false: inputs that cannot be read again, or saving failed */
    bm_summary *done; /* the job was done before, and this is its summary; NULL: it was not */
    bool loading;     /* what an earlier job saved is being loaded: it stays whatever happens */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bool sets_beside; /* it lies in the work directory, and not in --temp-dir */
    bm_checkpoint_saved saved;
    bool reading;    /* documents are being ingested */
    bool read_all;   /* all documents were ingested */
    bm_match *match; /* once it has run */
    double last;     /* when something was last saved */
    double rate;     /* bytes a second that saving writes */
    double every;    /* seconds between two, as asked for; less than 0: where it is worth it */
} bm_checkpoint;

#endif
