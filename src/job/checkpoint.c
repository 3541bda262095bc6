/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c -- opens, saves, loads and closes a checkpoint, and saves during the ingest.
 * checkpoint_journal.c reads and writes the lines of the journal, checkpoint_columns.c the
 * documents and matches. checkpoint_sets.c finds the file of sets.
 *
 * Tests: tests/cli/cases/ownership.sh, tests/cli/cases/resume.sh, tests/unit/jobs/test_checkpoint.c
 */
#include "job/checkpoint.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "job/report_file.h"
#include "job/sets_holder.h"
#include "model/file_names.h"
#include "output/out_lock.h"
#include "output/out_target.h"
#include "spill/spill_saved.h"

/* === a job that is done ===
 *
 * With `resume`, an earlier run may have completed the job. To find out, the report of the existing
 * output is compared with the job. If the report is damaged or anything differs, the job is not
 * done, and the existing output is treated as in a job without `resume`. */

static bool same_input(const bm_job_context *job, const bm_source *source,
                       const bm_manifest_input *was, bm_status *status, bm_error *err)
{
    struct stat info;
    bool same = false;
    bm_error why = {0};
    if (source->remote != NULL)
        info.st_size = (off_t)source->size;
    if (source->unreadable != NULL || strcmp(source->name, was->file) != 0 ||
        (source->remote == NULL && stat(source->path, &info) != 0) ||
        (uint64_t)info.st_size != was->bytes)
        return false;
    *status = bm_input_is_same(was, source->path, source->remote, &job->callbacks, &same, &why);
    if (*status == BM_ERR_IO)
        *status = BM_OK; /* an unreadable input counts as changed; reading it reports the error */
    else if (*status != BM_OK && err != NULL)
        *err = why;
    return *status == BM_OK && same;
}

static bm_status same_inputs(const bm_job_context *job, const bm_manifest *report, bool *same,
                             bm_error *err)
{
    bm_input_set *set = job->inputs.set;
    const size_t n = bm_input_set_count(set);
    const bm_source *offsets = bm_input_set_offsets(set);
    const bm_manifest_input *offsets_were = bm_manifest_offsets(report);
    bm_status status = BM_OK;
    *same = n == bm_manifest_n_inputs(report) && (offsets == NULL) == (offsets_were == NULL);
    if (*same && offsets != NULL)
        *same = same_input(job, offsets, offsets_were, &status, err);
    for (size_t i = 0; *same && i < n; i++)
        *same = same_input(job, bm_input_set_source(set, i), bm_manifest_input_at(report, i),
                           &status, err);
    return status;
}

/* Set *whole to true if every output that the report lists is a regular file in the directory
 * `target`. */
static bm_status is_whole(const char *target, const bm_manifest *report, bool *whole, bm_error *err)
{
    bm_buf path = {0};
    bm_status status = BM_OK;
    *whole = true;
    for (size_t i = 0; *whole && i < bm_manifest_n_outputs(report); i++) {
        struct stat info;
        path.len = 0;
        BM_TRY_OUT(
            bm_buf_add_format(&path, err, "%s/%s", target, bm_manifest_output_at(report, i)->name));
        BM_TRY_OUT(bm_buf_end(&path, err));
        BM_TRY_OUT(bm_look_at(AT_FDCWD, path.data, AT_SYMLINK_NOFOLLOW, whole, &info, err));
        *whole = *whole && S_ISREG(info.st_mode);
    }
out:
    bm_buf_reset(&path);
    return status;
}

static bm_status compare(const bm_job_context *job, bm_summary **out, bm_error *err)
{
    const char *target = job->settings->output.path;
    bm_manifest *report = NULL;
    bm_error inner = {0};
    bool same = false;
    bm_status status = bm_manifest_open_dir(target, job->settings->memory, &report, &inner);
    if (bm_is_absent(status, &inner) || status == BM_ERR_FORMAT)
        return BM_OK;
    if (status != BM_OK && err != NULL)
        *err = inner;
    BM_TRY(status);
    BM_TRY_OUT(bm_report_is_of(job, report, &same, err));
    if (same)
        BM_TRY_OUT(is_whole(target, report, &same, err));
    if (same)
        BM_TRY_OUT(same_inputs(job, report, &same, err));
    if (same && bm_report_read(job, report, out, &inner) == BM_ERR_NOMEM)
        status = bm_fail_nomem(err, 0);
out:
    bm_manifest_close(report);
    return status;
}

/* If the existing output is the finished output of the same job, set *out to its summary, which the
 * caller owns. Otherwise, set *out to NULL. The report of the output must have the same program,
 * settings and inputs, and all files that it lists must exist. The inputs are compared last,
 * because their digests require reading them. If the job is done, remains of its work directory are
 * removed, unless a running job holds them. BM_ERR_NOMEM, BM_ERR_IO, BM_ERR_CANCELLED. */
static bm_status checkpoint_done(const bm_job_context *job, bm_summary **out, bm_error *err)
{
    const char *target = job->settings->output.path;
    char *work = NULL;
    bool journal = false;
    *out = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_string_format(&work, err, "%.*s.partial", (int)bm_path_plain_len(target), target));
    /* A job removes its journal before the final rename. So if a journal exists, the job is not
     * finished, and the existing output is an older one, which the job was to replace (`force`). */
    BM_TRY_OUT(bm_out_has_journal(AT_FDCWD, work, &journal, err));
    if (!journal)
        BM_TRY_OUT(compare(job, out, err));
    if (*out != NULL)
        bm_out_claim_sweep(work); /* remains exist if a job was killed after its final rename */
out:
    bm_free(work);
    return status;
}

/* === opening === */

#define SHOWN_BYTES 512   /* most bytes of a path in a message */
#define START_RATE  400e6 /* assumed bytes per second of saving, until a save was timed */

/* The files with fixed names that jobs create in the work directory. All of them are listed in the
 * marker at once, which needs only one sync. */
static const char *const names[] = {
    BM_FILE_SIGNATURES, BM_FILE_BAND_KEYS,  BM_FILE_N_SHINGLES, BM_FILE_N_BYTES, BM_FILE_CONTENT,
    BM_FILE_IDS,        BM_FILE_KEPT_IDS,   BM_FILE_SOURCES,    BM_FILE_SKIPPED, BM_FILE_REMOVED,
    BM_FILE_PAIRS,      BM_FILE_GROUPS,     BM_FILE_MANIFEST,   BM_FILE_REPORT,  BM_OUT_JOURNAL,
    BM_CHECKPOINT_DOCS, BM_CHECKPOINT_SETS, BM_CHECKPOINT_MATCH};

/* --- the state of an earlier job --- */

/* What messages call a document of the job. */
static const char *noun(const bm_checkpoint *checkpoint)
{
    return bm_settings_pair_units(checkpoint->owner->settings) ? "part" : "document";
}

/* Remove all saved work and outputs, so that the job starts from the beginning. */
static bm_status begin_anew(bm_checkpoint *checkpoint, bm_error *err)
{
    char *path = NULL;
    bm_journal *journal = checkpoint->journal;
    bm_status status = bm_out_dir_state_path(checkpoint->dir, BM_OUT_JOURNAL, &path, err);
    if (status == BM_OK && journal == NULL &&
        bm_journal_open_in(bm_out_dir_folder(checkpoint->dir), path, &journal, NULL) != BM_OK)
        journal = NULL; /* damaged, so sets in --temp-dir are unknown and stay */
    if (journal != NULL)
        bm_checkpoint_sets_remove_named(checkpoint, journal);
    bm_journal_close(journal);
    checkpoint->journal = NULL;
    bm_free(path);
    if (status == BM_OK)
        status = bm_out_dir_drop_state(checkpoint->dir, err);
    if (status == BM_OK)
        status = bm_out_dir_clear(checkpoint->dir, NULL, 0, err);
    if (status == BM_OK)
        status = bm_checkpoint_sets_remove_stale(checkpoint, err);
    checkpoint->saved = (bm_checkpoint_saved){0};
    checkpoint->loading = status != BM_OK;
    bm_out_dir_preserve(checkpoint->dir, status != BM_OK);
    return status;
}

/* The progress that the journal records. If docs_records is 0, the job cannot be resumed: it was
 * killed before its first checkpoint, or while it removed its checkpoint at the end. */
static bm_checkpoint_saved saved_in(const bm_journal *journal)
{
    bm_checkpoint_saved saved = {0};
    for (size_t i = 0; i < bm_journal_count(journal); i++) {
        const char *line = bm_journal_line(journal, i);
        if (strcmp(line, BM_CHECKPOINT_ENDING) == 0)
            return (bm_checkpoint_saved){0};
        (void)bm_checkpoint_line_read(line, &saved);
    }
    return saved;
}

static bm_status open_journal(bm_checkpoint *checkpoint, bm_error *err)
{
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir, BM_OUT_JOURNAL, &path, err));
    status =
        bm_journal_open_in(bm_out_dir_folder(checkpoint->dir), path, &checkpoint->journal, err);
out:
    bm_free(path);
    return status;
}

/* Open the journal. If it records saved documents, check that it belongs to this job, and read the
 * progress into checkpoint->saved. */
static bm_status read_journal(bm_checkpoint *checkpoint, bm_error *err)
{
    size_t n = 0;
    bm_checkpoint_saved saved = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(open_journal(checkpoint, err));
    saved = saved_in(checkpoint->journal);
    if (saved.docs_records == 0)
        return BM_OK;
    BM_TRY_OUT(bm_checkpoint_identity_check(checkpoint->job, checkpoint->journal, &saved, &n, err));
    for (size_t i = n; i < bm_journal_count(checkpoint->journal); i++) {
        const char *line = bm_journal_line(checkpoint->journal, i);
        if (!bm_checkpoint_line_read(line, &checkpoint->saved))
            BM_TRY_OUT(bm_checkpoint_sets_accept(checkpoint, line, err));
    }
out:
    if (status == BM_ERR_FORMAT && err != NULL && err->file[0] == '\0')
        snprintf(err->file, sizeof err->file, "%s", bm_out_dir_work(checkpoint->dir));
    checkpoint->job->places.check = saved.place;
    return status;
}

/* Discard the work of an earlier job. If documents are saved, this requires `force`, else
 * BM_ERR_USAGE. If the journal is damaged, the work cannot be resumed, and no `force` is needed. */
static bm_status discard(bm_checkpoint *checkpoint, bm_error *err)
{
    const char *where = bm_out_dir_work(checkpoint->dir);
    bm_checkpoint_saved saved = {0};
    bm_error inner = {0};
    bm_status status = open_journal(checkpoint, &inner);
    if (status == BM_OK) {
        saved = saved_in(checkpoint->journal);
    } else if (status != BM_ERR_FORMAT) {
        if (err != NULL)
            *err = inner;
        return status;
    }
    if (saved.docs_records > 0 && !checkpoint->job->settings->output.force)
        return bm_fail_field_at(err, "output", where, 0,
                                "%" PRIu64 " %s%s of an interrupted job %s saved there (`resume` "
                                "continues from there, `force` discards the work)",
                                saved.docs, noun(checkpoint), saved.docs == 1 ? "" : "s",
                                saved.docs == 1 ? "is" : "are");
    bm_meter_log(&checkpoint->job->meter, BM_LOG_WARNING,
                 "%s: the work of an interrupted job starts again%s", where,
                 saved.docs_records > 0 ? ", which discards what was saved" : "");
    return begin_anew(checkpoint, err);
}

static bm_status resume_or_begin(bm_checkpoint *checkpoint, bool found, bool saves, bm_error *err)
{
    bm_meter *meter = &checkpoint->job->meter;
    const char *where = bm_out_dir_work(checkpoint->dir);
    if (!found) {
        if (checkpoint->job->settings->results.resume)
            bm_meter_log(meter, BM_LOG_INFO, "%s: nothing to resume there: starting", where);
        BM_TRY(bm_out_dir_expect(checkpoint->dir, names, sizeof names / sizeof names[0], err));
        return bm_checkpoint_sets_remove_stale(checkpoint, err);
    }
    if (!checkpoint->job->settings->results.resume || !saves)
        return discard(checkpoint, err);
    BM_TRY(read_journal(checkpoint, err));
    if (checkpoint->saved.docs_records != 0)
        return BM_OK;
    bm_meter_log(meter, BM_LOG_INFO, "%s: nothing was saved there: starting", where);
    return begin_anew(checkpoint, err);
}

bm_status bm_checkpoint_open(bm_job_context *job, bool saves, bm_checkpoint *out, bm_error *err)
{
    const bm_settings *settings = job->settings;
    bool found = false;
    *out = (bm_checkpoint){.job = job,
                           .owner = job,
                           .last = bm_clock_seconds(),
                           .rate = START_RATE,
                           .every = settings->resources.checkpoint_seconds};
    /* With `resume`, all jobs check whether they are already done, except jobs that pair
     * signatures: these may have no inputs. */
    const bool looks = saves || !bm_job_does(settings, BM_JOB_MATCHES);
    const bool stays =
        looks && bm_input_set_stays(job->inputs.set) && job->inputs.source->ops->places;
    out->can_save = saves && stays;
    job->wants_places = out->can_save;
    if (settings->results.resume && looks && !stays)
        return bm_fail_field(
            err, "resume",
            "`resume` needs inputs that can be read again (regular files, not standard "
            "input or a pipe)");
    if (settings->results.resume && looks)
        BM_TRY(checkpoint_done(job, &out->done, err));
    if (out->done != NULL) {
        bm_meter_log(&job->meter, BM_LOG_INFO,
                     "%s: the output of this very job is there already: it is done",
                     settings->output.path);
        return BM_OK;
    }
    bm_status status = bm_out_dir_open_again(
        settings->output.path, bm_out_existing_within(settings->output.force, settings->memory),
        &out->dir, &found, err);
    out->loading = found;
    BM_TRY_OUT(status);
    BM_TRY_OUT(bm_checkpoint_sets_find(out, err));
    if (settings->resources.temp_dir != NULL)
        bm_sets_holder_sweep(settings->resources.temp_dir);
    status = resume_or_begin(out, found, saves, err);
out:
    if (status != BM_OK)
        bm_checkpoint_close(out, status, err);
    return status;
}

bm_job_start bm_checkpoint_start(const bm_checkpoint *checkpoint)
{
    if (!checkpoint->loading)
        return BM_START_DOCUMENTS;
    return checkpoint->saved.complete ? BM_START_RESUMED_WHOLE : BM_START_RESUMED;
}

/* === the file of sets === */

/* The sorter that uses the file of sets; NULL: the job has none, or it was closed. */
static bm_sorted_runs *sorter_of(const bm_checkpoint *checkpoint)
{
    return checkpoint->more.sorter != NULL ? *checkpoint->more.sorter : NULL;
}

/* The open file of sets, of the corpus or of the sorter; NULL: no file is open. */
static const bm_spill_file *sets_file(const bm_checkpoint *checkpoint)
{
    if (checkpoint->corpus != NULL)
        return checkpoint->corpus->sets.file;
    const bm_sorted_runs *sorter = sorter_of(checkpoint);
    return sorter != NULL ? bm_sorted_runs_file(sorter) : NULL;
}

static int sets_folder(const bm_checkpoint *checkpoint)
{
    return checkpoint->sets_beside ? bm_out_dir_folder(checkpoint->dir) : AT_FDCWD;
}

/* Does this job have a file at sets_path? */
static bool sets_lie(bm_checkpoint *checkpoint)
{
    checkpoint->sets_lie = checkpoint->sets_lie || bm_spill_has_name(sets_file(checkpoint));
    return checkpoint->sets_lie;
}

/* Does a save create a file at sets_path? */
static bool saves_sets(const bm_checkpoint *checkpoint)
{
    return checkpoint->corpus != NULL || checkpoint->more.sorter != NULL;
}

static bm_status save_sorter(const bm_checkpoint *checkpoint, bm_error *err)
{
    bm_sorted_runs *sorter = sorter_of(checkpoint);
    bm_buf *runs = checkpoint->more.runs;
    runs->len = 0;
    return sorter != NULL ? bm_sorted_runs_save_in(sorter, sets_folder(checkpoint),
                                                   checkpoint->sets_path, runs, err)
                          : BM_OK;
}

static bm_status save_sets(bm_checkpoint *checkpoint, bm_checkpoint_saved *s, bm_error *err)
{
    if (!saves_sets(checkpoint))
        return BM_OK;
    if (!checkpoint->sets_beside) /* list the path in the marker before the file is created */
        BM_TRY(bm_out_dir_list_outside(checkpoint->dir, checkpoint->sets_path, err));
    bm_checkpoint_sets_hold(checkpoint);
    const bm_status status =
        checkpoint->corpus != NULL
            ? bm_corpus_save_sets(checkpoint->corpus, checkpoint->sets_path, err)
            : save_sorter(checkpoint, err);
    const bool lie = sets_lie(checkpoint);
    BM_TRY(status);
    if (checkpoint->corpus != NULL) {
        s->sets_bytes = checkpoint->corpus->sets.saved.bytes;
        s->sets_records = checkpoint->corpus->sets.saved.records;
    } else if (lie) {
        s->sets_bytes = bm_spill_bytes(sets_file(checkpoint));
        s->sets_records = bm_spill_records(sets_file(checkpoint));
    }
    return BM_OK;
}

static bm_status reopen_sets(bm_checkpoint *checkpoint, bm_error *err)
{
    const bm_checkpoint_saved *s = &checkpoint->saved;
    if (checkpoint->corpus != NULL) {
        bm_checkpoint_sets_hold(checkpoint);
        return bm_corpus_restore_sets(checkpoint->corpus, checkpoint->sets_path, s->sets_bytes,
                                      s->sets_records, err);
    }
    bm_sorted_runs *sorter = sorter_of(checkpoint);
    if (sorter == NULL || s->sets_bytes == 0)
        return BM_OK;
    bm_checkpoint_sets_hold(checkpoint);
    BM_TRY(bm_sorted_runs_reopen_in(sorter, sets_folder(checkpoint),
                                    &(bm_spill_saved){.path = checkpoint->sets_path,
                                                      .kind = BM_SPILL_RUN,
                                                      .bytes = s->sets_bytes,
                                                      .records = s->sets_records},
                                    err));
    checkpoint->sets_lie = true;
    return BM_OK;
}

/* === saving ===
 *
 * Decides when a stage is saved, and saves it. The data of a stage are written first, then its
 * journal line. */

#define SAVE_FOLD   20.0                 /* least seconds of work per second of saving */
#define SAVE_LEAST  10.0                 /* least seconds of work between two checkpoints */
#define EDGE_BYTES  16u                  /* saved per edge; with only_groups, per document */
#define TIMED_BYTES (UINT64_C(32) << 20) /* if fewer are saved, the rate is not measured */

static bm_checkpoint_documents documents_of(const bm_checkpoint *checkpoint)
{
    bm_job_context *job = checkpoint->job;
    return (bm_checkpoint_documents){
        .docs = &job->docs,
        .counts = &job->counts,
        .corpus = checkpoint->corpus,
        .keep = job->keep.rules != NULL && !job->keep.counts_only ? &job->keep : NULL,
        .inputs = job->inputs.set,
        .complete = checkpoint->read_all,
        .more = &checkpoint->more};
}

/* --- documents --- */

/* Do table, counts and corpus have the same number of documents? True unless a batch is being
 * added. */
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

/* Open the journal and the file of documents, if they are not open. */
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
    BM_TRY_OUT(bm_checkpoint_identity_write(checkpoint->owner, checkpoint->journal, err));
    if (saves_sets(checkpoint))
        status = bm_checkpoint_sets_add_line(checkpoint, err);
out:
    bm_free(path);
    return status;
}

static bm_status write_documents(bm_checkpoint *checkpoint, bm_checkpoint_saved *s, bm_error *err)
{
    bm_checkpoint_documents what = documents_of(checkpoint);
    if (checkpoint->flush != NULL)
        BM_TRY(checkpoint->flush(checkpoint->flush_ctx, &s->sums, err));
    BM_TRY(save_sets(checkpoint, s, err));
    BM_TRY(bm_checkpoint_documents_save(&what, (size_t)checkpoint->saved.docs,
                                        (size_t)checkpoint->saved.skipped, checkpoint->docs_file,
                                        err));
    if (checkpoint->more.save != NULL) {
        BM_TRY(checkpoint->more.save(checkpoint->more.ctx, checkpoint->docs_file, err));
        BM_TRY(bm_spill_flush(checkpoint->docs_file, err));
    }
    s->docs = checkpoint->job->docs.n;
    s->skipped = checkpoint->job->docs.n_skipped;
    s->complete = checkpoint->read_all;
    s->docs_bytes = bm_spill_bytes(checkpoint->docs_file);
    s->docs_records = bm_spill_records(checkpoint->docs_file);
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
    /* Write the checksums of the arrays before the documents line. If the process were killed
     * between them in the other order, the arrays would not be checked. */
    if (checkpoint->flush != NULL) {
        bm_checkpoint_line_write(BM_LINE_ARRAYS, &s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &s, line);
    BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    if (s.place.known) {
        bm_checkpoint_line_write(BM_LINE_PLACE, &s, line);
        BM_TRY(bm_journal_add(checkpoint->journal, line, err));
    }
    checkpoint->saved = s;
    bm_keep_keys_forget(&checkpoint->job->keep);
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
    bm_checkpoint_line_write(BM_LINE_MATCH, &checkpoint->saved, line);
    status = bm_journal_add(checkpoint->journal, line, err);
    checkpoint->saved.matched = status == BM_OK;
out:
    bm_spill_close(file);
    return status;
}

/* --- when to save --- */

static bool anything_to_save(const bm_checkpoint *checkpoint)
{
    const bm_checkpoint_more *more = &checkpoint->more;
    bool docs = !docs_saved(checkpoint) &&
                (checkpoint->corpus == NULL || bm_corpus_can_save(checkpoint->corpus)) &&
                (more->can_save == NULL || more->can_save(more->ctx)) && is_consistent(checkpoint);
    bool match = checkpoint->match != NULL && !checkpoint->saved.matched &&
                 (docs || docs_saved(checkpoint)) && checkpoint->read_all;
    return checkpoint->can_save && (docs || match) && checkpoint->job->docs.n > 0;
}

static uint64_t bytes_to_write(const bm_checkpoint *checkpoint)
{
    bm_checkpoint_documents what = documents_of(checkpoint);
    uint64_t bytes = 0;
    if (!docs_saved(checkpoint)) {
        bytes += bm_checkpoint_documents_unsaved_bytes(&what, (size_t)checkpoint->saved.docs);
        if (checkpoint->corpus != NULL)
            bytes += bm_corpus_unsaved_bytes(checkpoint->corpus);
        if (checkpoint->more.save != NULL)
            bytes += checkpoint->more.unsaved_bytes(checkpoint->more.ctx);
    }
    if (checkpoint->match != NULL)
        bytes += EDGE_BYTES * (checkpoint->match->settings.only_groups
                                   ? checkpoint->job->docs.n
                                   : checkpoint->match->result.counts.edges);
    return bytes;
}

static bool is_due(const bm_checkpoint *checkpoint)
{
    const double seconds = bm_clock_seconds() - checkpoint->last;
    if (!checkpoint->can_save)
        return false;
    if (checkpoint->every >= 0)
        return seconds >= checkpoint->every;
    return seconds >= SAVE_LEAST &&
           seconds >= SAVE_FOLD * (double)bytes_to_write(checkpoint) / checkpoint->rate;
}

static bm_status save_stages(bm_checkpoint *checkpoint, bm_error *err)
{
    BM_TRY(bm_out_dir_check_claim(checkpoint->dir, err));
    if (!docs_saved(checkpoint))
        BM_TRY(save_documents(checkpoint, err));
    if (checkpoint->match != NULL && !checkpoint->saved.matched)
        BM_TRY(save_match(checkpoint, err));
    return BM_OK;
}

/* Save unsaved results, however long this takes. If saving fails, the failure is logged, and the
 * job continues, but saves nothing from now on. */
static void save_now(bm_checkpoint *checkpoint)
{
    bm_error err = {0};
    if (!anything_to_save(checkpoint))
        return;
    uint64_t bytes = bytes_to_write(checkpoint);
    double began = bm_clock_seconds();
    bm_meter_detour(&checkpoint->job->meter, BM_STAGE_SEAL, checkpoint->job->docs.n);
    bm_status status = save_stages(checkpoint, &err);
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
    checkpoint->can_save = checkpoint->job->keep.saves = false;
    bm_keep_keys_forget(&checkpoint->job->keep);
    bm_meter_log(&checkpoint->job->meter, BM_LOG_WARNING,
                 "the work cannot be saved, so it could not be resumed from here: %s%s%s", err.file,
                 err.file[0] != '\0' ? ": " : "", err.message);
}

static void save_if_due(bm_checkpoint *checkpoint)
{
    if (is_due(checkpoint))
        save_now(checkpoint);
}

/* If the job failed with `status` because an input is broken after the saved place, record in the
 * journal that the input may be repaired from that place on. */
static void note_broken(bm_checkpoint *checkpoint, bm_status status)
{
    bm_checkpoint_saved *s = &checkpoint->saved;
    const bool input = status == BM_ERR_INPUT || status == BM_ERR_IO;
    if (input && !checkpoint->read_twice && checkpoint->reading &&
        !checkpoint->job->places.sink_failed && s->place.known && !s->complete && !s->broken &&
        checkpoint->journal != NULL)
        s->broken = bm_journal_add(checkpoint->journal, BM_CHECKPOINT_BROKEN, NULL) == BM_OK;
}

void bm_checkpoint_save_ended(bm_checkpoint *checkpoint, bm_status status)
{
    const bool mendable = status == BM_ERR_INPUT || status == BM_ERR_IO || status == BM_ERR_NOMEM;
    if (status == BM_ERR_CANCELLED ||
        (mendable && checkpoint->reading && !checkpoint->job->places.sink_failed &&
         (checkpoint->saved.docs_records > 0 || /* saved before, or much work would be lost */
          bm_clock_seconds() - checkpoint->last >=
              (checkpoint->every >= 0 ? checkpoint->every : SAVE_LEAST))))
        save_now(checkpoint);
    note_broken(checkpoint, status);
}

/* === lending the checkpoint to an inner job === */

void bm_checkpoint_lend(bm_checkpoint *from, bm_job_context *job, bm_checkpoint *to)
{
    *to = *from;
    *from = (bm_checkpoint){0};
    to->job = job;
    if (to->dir == NULL)
        return;
    job->wants_places = to->can_save;
    job->places.check = to->saved.place;
}

void bm_checkpoint_take_back(bm_checkpoint *from, bm_checkpoint *to)
{
    (void)sets_lie(from);
    *to = *from;
    *from = (bm_checkpoint){0};
    if (to->dir == NULL)
        return;
    to->job = to->owner;
    to->corpus = NULL;
    to->match = NULL;
    to->more = (bm_checkpoint_more){0};
    to->can_save = to->reading = false;
}

/* === loading === */

/* Reopen a file of saved state, with the length that the journal records: the file of documents if
 * `kind` is BM_SPILL_ROWS, else the file of matches. */
static bm_status reopen(const bm_checkpoint *checkpoint, bm_spill_kind kind, bm_spill_file **out,
                        bm_error *err)
{
    const bm_checkpoint_saved *s = &checkpoint->saved;
    bool docs = kind == BM_SPILL_ROWS;
    char *path = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_out_dir_state_path(checkpoint->dir,
                                     docs ? BM_CHECKPOINT_DOCS : BM_CHECKPOINT_MATCH, &path, err));
    status =
        bm_spill_reopen_in(bm_out_dir_folder(checkpoint->dir),
                           &(bm_spill_saved){.path = path,
                                             .kind = kind,
                                             .bytes = docs ? s->docs_bytes : s->match_bytes,
                                             .records = docs ? s->docs_records : s->match_records},
                           BM_CHECKPOINT_BUFFER, out, err);
out:
    bm_free(path);
    return status;
}

bm_status bm_checkpoint_load(bm_checkpoint *checkpoint, bm_corpus *corpus, bm_error *err)
{
    bm_job_context *job = checkpoint->job;
    checkpoint->corpus = corpus;
    if (corpus != NULL && checkpoint->sets_beside)
        bm_corpus_sets_in_folder(corpus, bm_out_dir_folder(checkpoint->dir));
    if (!checkpoint->loading)
        return BM_OK;
    bm_job_context_stage(job, BM_STAGE_LOAD, "bytes");
    bm_checkpoint_documents what = documents_of(checkpoint);
    BM_TRY(reopen(checkpoint, BM_SPILL_ROWS, &checkpoint->docs_file, err));
    BM_TRY(reopen_sets(checkpoint, err));
    BM_TRY(bm_checkpoint_documents_load(&what, checkpoint->docs_file, err));
    if ((job->docs.n != checkpoint->saved.docs || job->docs.n_skipped != checkpoint->saved.skipped))
        return bm_fail_at(err, BM_ERR_FORMAT, bm_out_dir_work(checkpoint->dir), 0,
                          "%zu documents are saved, %" PRIu64 " in the journal (start again "
                          "with `force`)",
                          job->docs.n, checkpoint->saved.docs);
    /* Remove the outputs of the interrupted job, except the arrays of `sign`: rows are appended to
     * these. */
    static const char *const arrays[] = {BM_FILE_SIGNATURES, BM_FILE_CONTENT, BM_FILE_BAND_KEYS};
    BM_TRY(bm_out_dir_clear(checkpoint->dir, arrays,
                            corpus == NULL ? sizeof arrays / sizeof arrays[0] : 0, err));
    job->stats.n_resumed = job->docs.n;
    checkpoint->read_all = checkpoint->saved.complete;
    checkpoint->last = bm_clock_seconds();
    bm_meter_log(&job->meter, BM_LOG_INFO, "resuming after %zu %ss%s", job->docs.n,
                 noun(checkpoint),
                 checkpoint->saved.matched    ? ", all that there are, matched"
                 : checkpoint->saved.complete ? ", all that there are"
                                              : "");
    return BM_OK;
}

/* === ingesting and matching === */

/* The `pause` function of an ingest (bm_ingest_pause). If saving is due, the first call returns
 * true, and the second call saves. */
static bool pause_to_save(void *ctx, bool all_put)
{
    bm_checkpoint *checkpoint = ctx;
    checkpoint->loading = false; /* the saved work is loaded, and a batch was added to it */
    if (all_put)
        save_now(checkpoint);
    return !all_put && is_due(checkpoint);
}

bm_status bm_checkpoint_ingest(bm_checkpoint *checkpoint, const bm_ingest_request *request,
                               bm_error *err)
{
    if (checkpoint->read_all)
        return BM_OK;
    const bm_checkpoint_more *more = &checkpoint->more;
    checkpoint->job->skip_records =
        more->n_records != NULL ? more->n_records(more->ctx) : checkpoint->job->counts.records;
    bm_ingest_request saving = *request;
    saving.pause = (bm_ingest_pause){pause_to_save, checkpoint};
    checkpoint->reading = true;
    BM_TRY(bm_job_context_ingest(checkpoint->job, &saving, err));
    checkpoint->reading = checkpoint->loading = false;
    checkpoint->read_all = true;
    save_if_due(checkpoint);
    return BM_OK;
}

bm_status bm_checkpoint_match(bm_checkpoint *checkpoint, bm_match *match, bm_error *err)
{
    bm_status status;
    if (checkpoint->saved.matched) {
        bm_spill_file *file = NULL;
        status = reopen(checkpoint, BM_SPILL_RUN, &file, err);
        if (status == BM_OK)
            status = bm_checkpoint_matches_load(match, file, err);
        bm_spill_close(file);
    } else {
        status = bm_match_run(match, err);
    }
    if (status != BM_OK)
        return status;
    checkpoint->loading = false; /* all saved work is loaded */
    checkpoint->match = match;
    save_if_due(checkpoint);
    return BM_OK;
}

/* === the end === */

/* The sets in --temp-dir must be removed before the journal, which names them. In the other order,
 * a job killed in between would leave sets that nothing refers to. The job cannot be resumed
 * without its sets, so BM_CHECKPOINT_ENDING is added to the journal before they are removed. */
bm_status bm_checkpoint_commit(bm_checkpoint *checkpoint, bm_error *err)
{
    const bool kept = sets_lie(checkpoint);
    BM_TRY(bm_out_dir_ready(checkpoint->dir, err));
    if (kept && checkpoint->journal != NULL &&
        bm_journal_add(checkpoint->journal, BM_CHECKPOINT_ENDING, NULL) == BM_OK) {
        bm_checkpoint_sets_remove(checkpoint);
        checkpoint->saved = (bm_checkpoint_saved){0};
        checkpoint->can_save = false;
    }
    BM_TRY(bm_out_dir_commit(checkpoint->dir, err));
    if (kept)
        bm_checkpoint_sets_remove(checkpoint);
    return BM_OK;
}

static bool can_resume(bm_status status)
{
    return status == BM_ERR_CANCELLED || status == BM_ERR_INPUT || status == BM_ERR_IO ||
           status == BM_ERR_NOMEM || status == BM_ERR_DEVICE;
}

/* Append `words` to the message. If it becomes too long, the old message is cut to make room. */
static void add_words(bm_error *err, const char *words)
{
    const size_t len = strlen(words);
    size_t at = strnlen(err->message, sizeof err->message - 1);
    if (at + len >= sizeof err->message)
        at = sizeof err->message - 1 - len;
    memcpy(err->message + at, words, len + 1);
}

static void add_repair(bm_error *err, uint64_t n_docs, const char *where)
{
    char words[SHOWN_BYTES + 200];
    snprintf(words, sizeof words,
             "; %" PRIu64 " document%s before it %s saved in %.*s: once it is "
             "repaired, the same command with `resume` continues from there",
             n_docs, n_docs == 1 ? "" : "s", n_docs == 1 ? "is" : "are", (int)SHOWN_BYTES, where);
    add_words(err, words);
}

/* Report how much of a failed job is saved: in *err if the job was cancelled or an input is broken,
 * else as a warning in the log. */
static void report_saved(const bm_checkpoint *checkpoint, bm_status status, bm_error *err)
{
    char kept[SHOWN_BYTES + 200];
    const bm_checkpoint_saved *s = &checkpoint->saved;
    snprintf(kept, sizeof kept,
             "%" PRIu64 " %s%s%s %s saved in %.*s: the same command with `resume` continues "
             "from there",
             s->docs, noun(checkpoint), s->docs == 1 ? "" : "s",
             s->matched    ? " (all of them) and their matches"
             : s->complete ? " (all of them)"
                           : "",
             s->docs == 1 && !s->matched ? "is" : "are", (int)SHOWN_BYTES,
             bm_out_dir_work(checkpoint->dir));
    if (status == BM_ERR_CANCELLED)
        bm_fail(err, status, "interrupted (%s)",
                s->docs_records > 0 ? kept : "nothing was saved, the job would start again");
    else if (s->docs_records > 0 && s->broken && err != NULL)
        add_repair(err, s->docs, bm_out_dir_work(checkpoint->dir));
    else if (s->docs_records > 0)
        bm_meter_log(&checkpoint->job->meter, BM_LOG_WARNING, "%s", kept);
}

void bm_checkpoint_close(bm_checkpoint *checkpoint, bm_status status, bm_error *err)
{
    bool stays = true;
    if (checkpoint->dir != NULL && status != BM_OK && !checkpoint->loading) {
        bm_checkpoint_save_ended(checkpoint, status);
        const bool claimed = bm_out_dir_check_claim(checkpoint->dir, NULL) == BM_OK;
        if (!claimed) /* the work directory was removed or moved: the job cannot be resumed */
            checkpoint->saved = (bm_checkpoint_saved){0};
        stays = can_resume(status) && checkpoint->saved.docs_records > 0;
        bm_out_dir_preserve(checkpoint->dir, stays);
        if (can_resume(status))
            report_saved(checkpoint, status, err);
        /* Another job may have put its own file at sets_path by now. That file must stay. */
        const bm_spill_file *sets = sets_file(checkpoint);
        if (!stays && sets_lie(checkpoint) &&
            (checkpoint->sets_beside || sets == NULL ? claimed : bm_spill_has_its_name(sets)))
            bm_checkpoint_sets_remove(checkpoint);
    } else if (checkpoint->dir != NULL && (status == BM_ERR_CANCELLED || checkpoint->reading)) {
        note_broken(checkpoint, status); /* nothing new to save since the work was loaded */
        if (can_resume(status))
            report_saved(checkpoint, status, err);
    }
    if (checkpoint->loading && status == BM_ERR_FORMAT && err != NULL &&
        strstr(err->message, "`force`") == NULL)
        add_words(err, "; `force` begins anew");
    bm_sets_holder_close(checkpoint->holder, stays);
    bm_journal_close(checkpoint->journal);
    bm_spill_close(checkpoint->docs_file);
    bm_out_dir_close(checkpoint->dir);
    bm_free(checkpoint->sets_path);
    memset(checkpoint, 0, sizeof *checkpoint);
}
