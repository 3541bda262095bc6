/* checkpoint_save.c -- when a stage is saved, and the order of writing: data first, the line last.
 *
 * Tests: tests/unit/jobs/test_checkpoint.c */
#include "job/checkpoint_save.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "json/json_write.h"
#include "job/job_stages.h"
#include "corpus/corpus_save.h"
#include "job/checkpoint_matches.h"
#include "job/checkpoint_identity.h"
#include "job/checkpoint_line.h"
#include "job/checkpoint_sets.h"
#include "spill/spill_saved.h"

#define SAVE_FOLD   20.0                 /* seconds of work for one of saving */
#define SAVE_LEAST  10.0                 /* seconds */
#define EDGE_BYTES  16u                  /* of an edge, or of a document's group */
#define TIMED_BYTES (UINT64_C(32) << 20) /* less tells nothing of the rate */

bm_checkpoint_documents bm_checkpoint_docs(const bm_checkpoint *checkpoint)
{
    bm_job_context *job = checkpoint->job;
    return (bm_checkpoint_documents){.docs = &job->docs,
                                     .counts = &job->counts,
                                     .corpus = checkpoint->corpus,
                                     .keep = job->keep.rules != NULL ? &job->keep : NULL,
                                     .inputs = job->inputs.set,
                                     .complete = checkpoint->read_all};
}

/* --- documents --- */

/* Between two batches everything speaks of the same documents. */
static bool is_consistent(const bm_checkpoint *checkpoint)
{
    const bm_job_context *job = checkpoint->job;
    return job->docs.n == job->counts.documents && job->docs.n_skipped == job->counts.skipped &&
           (checkpoint->corpus == NULL || checkpoint->corpus->n == job->docs.n);
}

static bool docs_saved(const bm_checkpoint *checkpoint)
{
    const bm_checkpoint_saved *s = &checkpoint->saved;
    return s->docs_records > 0 && s->docs == checkpoint->job->docs.n &&
           s->skipped == checkpoint->job->docs.n_skipped && s->complete == checkpoint->read_all;
}

static bm_status open_state(bm_checkpoint *checkpoint, const char *name, bm_spill_kind kind,
                            bm_spill_file **out, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir, name, &path, err));
    BM_TRY_OUT(
        bm_spill_open(bm_out_dir_beside(checkpoint->dir), kind, BM_CHECKPOINT_BUFFER, out, err));
    status = bm_spill_save_in(*out, bm_out_dir_folder(checkpoint->dir), path, err);
out:
    bm_free(path);
    return status;
}

/* The journal and the file of documents, at the first time. */
static bm_status open_files(bm_checkpoint *checkpoint, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    if (checkpoint->docs_file == NULL)
        BM_TRY(
            open_state(checkpoint, BM_CHECKPOINT_DOCS, BM_SPILL_ROWS, &checkpoint->docs_file, err));
    if (checkpoint->journal != NULL)
        return BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir, BM_OUT_JOURNAL, &path, err));
    BM_TRY_OUT(
        bm_journal_create_in(bm_out_dir_folder(checkpoint->dir), path, &checkpoint->journal, err));
    BM_TRY_OUT(bm_checkpoint_identity_add(checkpoint->job, checkpoint->journal, err));
    status = bm_checkpoint_sets_add_line(checkpoint, err);
out:
    bm_free(path);
    return status;
}

static bm_status write_documents(bm_checkpoint *checkpoint, bm_checkpoint_saved *s, bm_error *err)
{
    bm_checkpoint_documents what = bm_checkpoint_docs(checkpoint);
    if (checkpoint->flush != NULL)
        BM_TRY(checkpoint->flush(checkpoint->flush_ctx, &s->sums, err));
    if (checkpoint->corpus != NULL)
        BM_TRY(bm_checkpoint_sets_list(checkpoint, err));
    if (checkpoint->corpus != NULL)
        BM_TRY(bm_corpus_save_sets(checkpoint->corpus, checkpoint->sets_path, err));
    BM_TRY(bm_checkpoint_documents_save(&what, (size_t)checkpoint->saved.docs,
                                        (size_t)checkpoint->saved.skipped, checkpoint->docs_file,
                                        err));
    s->docs = checkpoint->job->docs.n;
    s->skipped = checkpoint->job->docs.n_skipped;
    s->complete = checkpoint->read_all;
    s->docs_bytes = bm_spill_bytes(checkpoint->docs_file);
    s->docs_records = bm_spill_records(checkpoint->docs_file);
    if (checkpoint->corpus != NULL) {
        s->sets_bytes = checkpoint->corpus->sets.saved.bytes;
        s->sets_records = checkpoint->corpus->sets.saved.records;
    }
    return BM_OK;
}

static bm_status save_documents(bm_checkpoint *checkpoint, bm_error *err)
{
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_checkpoint_saved s = checkpoint->saved;
    BM_TRY(open_files(checkpoint, err));
    BM_TRY(write_documents(checkpoint, &s, err));
    s.place = checkpoint->read_all ? (bm_content_place){0} : checkpoint->job->places.last;
    s.broken = false;
    if (checkpoint->flush != NULL) { /* first: documents without their sums would not be compared */
        bm_checkpoint_line_of_arrays(&s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    bm_checkpoint_line_of_documents(&s, line);
    BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    if (s.place.known) {
        bm_checkpoint_line_of_place(&s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    checkpoint->saved = s;
    checkpoint->job->keep.unsaved.len = 0;
    return BM_OK;
}

/* --- matches --- */

static bm_status save_match(bm_checkpoint *checkpoint, bm_error *err)
{
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_spill_file *file = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_state(checkpoint, BM_CHECKPOINT_MATCH, BM_SPILL_RUN, &file, err));
    BM_TRY_OUT(bm_checkpoint_matches_save(checkpoint->match, file, err));
    checkpoint->saved.match_bytes = bm_spill_bytes(file);
    checkpoint->saved.match_records = bm_spill_records(file);
    bm_checkpoint_line_of_match(&checkpoint->saved, line);
    status = bm_journal_add(checkpoint->journal, line, err);
    checkpoint->saved.matched = status == BM_OK;
out:
    bm_spill_close(file);
    return status;
}

/* --- when --- */

static bool anything_to_save(const bm_checkpoint *checkpoint)
{
    bool docs = !docs_saved(checkpoint) &&
                (checkpoint->corpus == NULL || bm_corpus_can_save(checkpoint->corpus)) &&
                is_consistent(checkpoint);
    bool match = checkpoint->match != NULL && !checkpoint->saved.matched &&
                 (docs || docs_saved(checkpoint)) && checkpoint->read_all;
    return checkpoint->can_save && (docs || match) && checkpoint->job->docs.n > 0;
}

static uint64_t bytes_to_write(const bm_checkpoint *checkpoint)
{
    bm_checkpoint_documents what = bm_checkpoint_docs(checkpoint);
    uint64_t bytes = 0;
    if (!docs_saved(checkpoint)) {
        bytes += bm_checkpoint_documents_unsaved_bytes(&what, (size_t)checkpoint->saved.docs);
        if (checkpoint->corpus != NULL)
            bytes += bm_corpus_unsaved_bytes(checkpoint->corpus);
    }
    if (checkpoint->match != NULL)
        bytes += EDGE_BYTES * (checkpoint->match->settings.only_groups
                                   ? checkpoint->job->docs.n
                                   : checkpoint->match->result.counts.edges);
    return bytes;
}

bool bm_checkpoint_is_due(const bm_checkpoint *checkpoint)
{
    const double seconds = bm_clock_seconds() - checkpoint->last;
    if (!checkpoint->can_save)
        return false;
    if (checkpoint->every >= 0)
        return seconds >= checkpoint->every;
    return seconds >= SAVE_LEAST &&
           seconds >= SAVE_FOLD * (double)bytes_to_write(checkpoint) / checkpoint->rate;
}

static bm_status save(bm_checkpoint *checkpoint, bm_error *err)
{
    BM_TRY(bm_out_dir_held(checkpoint->dir, err));
    if (!docs_saved(checkpoint))
        BM_TRY(save_documents(checkpoint, err));
    if (checkpoint->match != NULL && !checkpoint->saved.matched)
        BM_TRY(save_match(checkpoint, err));
    return BM_OK;
}

void bm_checkpoint_save_now(bm_checkpoint *checkpoint)
{
    bm_error err = {0};
    if (!anything_to_save(checkpoint))
        return;
    uint64_t bytes = bytes_to_write(checkpoint);
    double began = bm_clock_seconds();
    bm_meter_aside(&checkpoint->job->meter, BM_STAGE_SEAL, checkpoint->job->docs.n);
    bm_status status = save(checkpoint, &err);
    checkpoint->last = bm_clock_seconds();
    if (bytes >= TIMED_BYTES)
        checkpoint->rate = (double)bytes / (checkpoint->last - began + 1e-6);
    if (status == BM_OK) {
        bm_meter_log(
            &checkpoint->job->meter, BM_LOG_DEBUG, "saved %" PRIu64 " document%s%s in %.2f s",
            checkpoint->saved.docs, checkpoint->saved.docs == 1 ? "" : "s",
            checkpoint->saved.matched ? " and their matches" : "", checkpoint->last - began);
        return;
    }
    checkpoint->can_save = false;
    bm_meter_log(&checkpoint->job->meter, BM_LOG_WARNING,
                 "the work cannot be saved, so it could not be resumed from here: %s%s%s", err.file,
                 err.file[0] != '\0' ? ": " : "", err.message);
}

void bm_checkpoint_save_if_due(bm_checkpoint *checkpoint)
{
    if (bm_checkpoint_is_due(checkpoint))
        bm_checkpoint_save_now(checkpoint);
}

void bm_checkpoint_note_broken(bm_checkpoint *checkpoint, bm_status status)
{
    bm_checkpoint_saved *s = &checkpoint->saved;
    const bool input = status == BM_ERR_INPUT || status == BM_ERR_IO;
    if (input && checkpoint->reading && !checkpoint->job->places.sink_failed && s->place.known &&
        !s->complete && !s->broken && checkpoint->journal != NULL)
        s->broken = bm_journal_add(checkpoint->journal, BM_CHECKPOINT_BROKEN, NULL) == BM_OK;
}

/* Is what the job has done worth being sealed though nobody has asked for it? */
static bool is_worth(const bm_checkpoint *checkpoint)
{
    const double seconds = bm_clock_seconds() - checkpoint->last;
    return checkpoint->saved.docs_records > 0 ||
           seconds >= (checkpoint->every >= 0 ? checkpoint->every : SAVE_LEAST);
}

void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status)
{
    const bool mendable = status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_NOMEM;
    if (status == BM_ERR_CANCELLED ||
        (mendable && checkpoint->reading && !checkpoint->job->places.sink_failed &&
         is_worth(checkpoint)))
        bm_checkpoint_save_now(checkpoint);
    bm_checkpoint_note_broken(checkpoint, status);
}
