/* checkpoint.h -- the checkpoint of a job that can be interrupted and gone on with.
 *
 *     OUTPUT.partial/ .bandmill-journal     what the job is, then a line a saved stage (journal.h)
 *                     .bandmill-documents   rows, ids, columns (checkpoint_documents.h)
 *                     .bandmill-sets        shingle sets (corpus_save.h); with --temp-dir there,
 *                                           as .bandmill-HASH-sets, HASH of the output's path
 *                     .bandmill-matches     edges or groups (checkpoint_matches.h)
 *                     signatures.npy …      of sign: their first rows are saved with the documents
 *
 * A stage is saved by one line of the journal, written when all it speaks of is with the system:
 * a process may be killed at any time, and the line says how much of each file counts. Nothing is
 * synced: after a crash of the machine what is missing is found by checksums and lengths, and
 * refused.
 *
 * When: at the first signal whatever it costs; else once the seconds of checkpoint since the last seal
 * are 20 times what sealing is foreseen to take, and 10 at least. So a job of some seconds writes
 * nothing at all, and none spends more than about a twentieth of its time.
 * BANDMILL_SEAL_SECONDS=N saves every N seconds of checkpoint instead, 0 after each batch.
 *
 * Threads: one at a time, as the ordered end of the flow is. */
#ifndef BM_CHECKPOINT_CHECKPOINT_H
#define BM_CHECKPOINT_CHECKPOINT_H

#include "io/output/out_dir.h"
#include "pipeline/match/match.h"
#include "pipeline/context/job_context.h"
#include "pipeline/checkpoint/checkpoint_documents.h"
#include "spill/journal.h"

/* How far the journal says the job has come. */
typedef struct bm_checkpoint_saved {
    uint64_t docs, skipped; /* rows, skipped records */
    bool complete;          /* all inputs were read */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched;
    uint64_t match_bytes, match_records;
} bm_checkpoint_saved;

typedef struct bm_checkpoint {
    bm_job_context *job;
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Before documents are saved: bring what the job itself has written to the system. */
    bm_status (*flush)(void *ctx, bm_error *err);
    void *flush_ctx;
    bool can_save; /* false: inputs that cannot be read again, or a seal failed */
    bool loading;  /* an earlier job's checkpoint is being taken up: it stays whatever happens */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bm_checkpoint_saved saved;
    bool read_all;   /* the flow has ended */
    bm_match *match; /* once it has run */
    double last;     /* when checkpoint was last saved */
    double rate;     /* bytes a second that sealing writes */
    double every;    /* seconds between two, as asked for; less than 0: where it is worth it */
} bm_checkpoint;

/* Open the output directory. With job->resume the checkpoint that lies there is checked against the job,
 * whose inputs are open and whose settings are settled; without, it is cleared. `saves`: this kind
 * of job can be saved. BM_ERR_FORMAT: what lies there is of another job, and stays;
 * BM_ERR_USAGE, BM_ERR_LOCKED, BM_ERR_IO. On failure nothing is to be closed. */
bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err);
/* Take up what was saved: documents and counts into the run and `corpus` (empty; NULL: none).
 * Nothing saved: BM_OK. */
bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err);
/* bm_job_context_ingest over what was not read yet, sealing now and then. */
bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_wish *wish,
                               bm_error *err);
/* bm_match_run, or what it found before; saved where that is worth it. */
bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err);
/* Remove state, rename into place. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err);
/* `status` and `err`: how the job ended. Work that may be gone on with is saved (if it was
 * cancelled), kept and said, in `err` where it was cancelled; else it is removed. {0} is fine. */
void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err);

#endif
