/* work.h -- the work of a job that can be interrupted and gone on with.
 *
 *     OUTPUT.partial/ .bandmill-journal     what the job is, then a line a sealed stage (journal.h)
 *                     .bandmill-documents   rows, ids, columns (saved_docs.h)
 *                     .bandmill-sets        shingle sets (corpus_save.h); with --temp-dir there,
 *                                           as .bandmill-HASH-sets, HASH of the output's path
 *                     .bandmill-matches     edges or groups (saved_match.h)
 *                     signatures.npy …      of sign: their first rows are sealed with the documents
 *
 * A stage is sealed by one line of the journal, written when all it speaks of is with the system:
 * a process may be killed at any time, and the line says how much of each file counts. Nothing is
 * synced: after a crash of the machine what is missing is found by checksums and lengths, and
 * refused.
 *
 * When: at the first signal whatever it costs; else once the seconds of work since the last seal
 * are 20 times what sealing is foreseen to take, and 10 at least. So a job of some seconds writes
 * nothing at all, and none spends more than about a twentieth of its time.
 * BANDMILL_SEAL_SECONDS=N seals every N seconds of work instead, 0 after each batch.
 *
 * Threads: one at a time, as the ordered end of the flow is. */
#ifndef BM_PIPELINE_WORK_H
#define BM_PIPELINE_WORK_H

#include "io/out_dir.h"
#include "pipeline/match.h"
#include "pipeline/run.h"
#include "pipeline/saved_docs.h"
#include "spill/journal.h"

/* How far the journal says the job has come. */
typedef struct bm_work_sealed {
    uint64_t docs, skipped; /* rows, skipped records */
    bool complete;          /* all inputs were read */
    uint64_t docs_bytes, docs_records, sets_bytes, sets_records;
    bool matched;
    uint64_t match_bytes, match_records;
} bm_work_sealed;

typedef struct bm_work {
    bm_run *run;
    bm_out_dir *dir;
    bm_corpus *corpus; /* NULL: the job has none */
    /* Before documents are sealed: bring what the job itself has written to the system. */
    bm_status (*flush)(void *ctx, bm_error *err);
    void *flush_ctx;
    bool can_seal; /* false: inputs that cannot be read again, or a seal failed */
    bool loading;  /* an earlier job's work is being taken up: it stays whatever happens */
    bm_journal *journal;
    bm_spill_file *docs_file;
    char *sets_path;
    bm_work_sealed sealed;
    bool read_all;   /* the flow has ended */
    bm_match *match; /* once it has run */
    double last;     /* when work was last sealed */
    double rate;     /* bytes a second that sealing writes */
    double every;    /* BANDMILL_SEAL_SECONDS; negative: not given */
} bm_work;

/* Open the output directory. With job->resume the work that lies there is checked against the run,
 * whose inputs are open and whose settings are settled; without, it is cleared. `seals`: this kind
 * of job can be sealed. BM_ERR_FORMAT: what lies there is of another job, and stays;
 * BM_ERR_USAGE, BM_ERR_LOCKED, BM_ERR_IO. On failure nothing is to be closed. */
bm_status bm_work_open(bm_run *run, bool seals, bm_work *out, bm_error *err);
/* Take up what was sealed: documents and counts into the run and `corpus` (empty; NULL: none).
 * Nothing sealed: BM_OK. */
bm_status bm_work_load(bm_work *work, bm_corpus *corpus, bm_error *err);
/* bm_run_flow over what was not read yet, sealing now and then. */
bm_status bm_work_flow(bm_work *work, bool words, bool keys, bm_flow_sink sink, void *ctx,
                       bm_error *err);
/* bm_match_run, or what it found before; sealed where that is worth it. */
bm_status bm_work_match(bm_work *work, bm_match *match, bm_error *err);
/* Remove state, rename into place. */
bm_status bm_work_commit(bm_work *work, bm_error *err);
/* `status` and `err`: how the job ended. Work that may be gone on with is sealed (if it was
 * cancelled), kept and said, in `err` where it was cancelled; else it is removed. {0} is fine. */
void bm_work_close(bm_work *work, bm_status status, bm_error *err);

#endif
