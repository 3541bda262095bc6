/* work_seal.c -- when a stage is sealed, and the order of writing: data first, the line last. */
#include "pipeline/work_seal.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "io/json_write.h"
#include "pipeline/corpus_save.h"
#include "pipeline/saved_match.h"
#include "pipeline/work_identity.h"
#include "pipeline/work_line.h"

#define SEAL_FOLD   20.0                 /* seconds of work for one of sealing */
#define SEAL_LEAST  10.0                 /* seconds */
#define EDGE_BYTES  16u                  /* of an edge, or of a document's group */
#define TIMED_BYTES (UINT64_C(32) << 20) /* less tells nothing of the rate */

bm_saved_docs bm_work_docs(const bm_work *work)
{
    bm_run *run = work->run;
    return (bm_saved_docs){
        .docs = &run->docs, .counts = &run->counts, .corpus = work->corpus, .inputs = run->inputs};
}

/* --- documents --- */

/* Between two batches everything speaks of the same documents. */
static bool is_consistent(const bm_work *work)
{
    const bm_run *run = work->run;
    return run->docs.n == run->counts.documents && run->docs.n_skipped == run->counts.skipped &&
           (work->corpus == NULL || work->corpus->n == run->docs.n);
}

static bool docs_sealed(const bm_work *work)
{
    const bm_work_sealed *s = &work->sealed;
    return s->docs_records > 0 && s->docs == work->run->docs.n &&
           s->skipped == work->run->docs.n_skipped && s->complete == work->read_all;
}

static bm_status open_state(bm_work *work, const char *name, bm_spill_kind kind,
                            bm_spill_file **out, bm_error *err)
{
    char *path = NULL;
    bm_status status = bm_out_dir_state_path(work->dir, name, &path, err);
    if (status == BM_OK)
        status = bm_spill_open(bm_out_dir_work(work->dir), kind, BM_WORK_BUFFER, out, err);
    if (status == BM_OK)
        status = bm_spill_keep(*out, path, err);
    bm_free(path);
    return status;
}

/* The journal and the file of documents, at the first seal. */
static bm_status open_files(bm_work *work, bm_error *err)
{
    char *path = NULL;
    bm_buf line = {0};
    bm_status status = BM_OK;
    if (work->docs_file == NULL)
        status = open_state(work, BM_WORK_DOCS, BM_SPILL_ROWS, &work->docs_file, err);
    if (status != BM_OK || work->journal != NULL)
        return status;
    status = bm_out_dir_state_path(work->dir, BM_OUT_JOURNAL, &path, err);
    if (status == BM_OK)
        status = bm_journal_create(path, &work->journal, err);
    if (status == BM_OK)
        status = bm_work_identity_add(work->run, work->journal, err);
    bool beside = work->run->job->temp_dir == NULL;
    if (status == BM_OK)
        status = bm_buf_add_text(&line, beside ? BM_WORK_SETS_BESIDE : BM_WORK_SETS_AT, err);
    if (status == BM_OK && !beside)
        status = bm_tsv_escape(&line, (bm_str){work->sets_path, strlen(work->sets_path)}, err);
    if (status == BM_OK)
        status = bm_buf_end(&line, err);
    if (status == BM_OK)
        status = bm_journal_add(work->journal, line.data, err);
    bm_buf_reset(&line);
    bm_free(path);
    return status;
}

static bm_status write_documents(bm_work *work, bm_work_sealed *s, bm_error *err)
{
    bm_saved_docs what = bm_work_docs(work);
    bm_status status = work->flush != NULL ? work->flush(work->flush_ctx, err) : BM_OK;
    if (status == BM_OK && work->corpus != NULL)
        status = bm_corpus_save_sets(work->corpus, work->sets_path, err);
    if (status == BM_OK)
        status = bm_docs_save(&what, (size_t)work->sealed.docs, (size_t)work->sealed.skipped,
                              work->read_all, work->docs_file, err);
    if (status != BM_OK)
        return status;
    s->docs = work->run->docs.n;
    s->skipped = work->run->docs.n_skipped;
    s->complete = work->read_all;
    s->docs_bytes = bm_spill_bytes(work->docs_file);
    s->docs_records = bm_spill_records(work->docs_file);
    if (work->corpus != NULL) {
        s->sets_bytes = work->corpus->files.saved_bytes;
        s->sets_records = work->corpus->files.saved_records;
    }
    return BM_OK;
}

static bm_status seal_documents(bm_work *work, bm_error *err)
{
    char line[BM_WORK_LINE_BYTES];
    bm_work_sealed s = work->sealed;
    bm_status status = open_files(work, err);
    if (status == BM_OK)
        status = write_documents(work, &s, err);
    if (status != BM_OK)
        return status;
    bm_work_line_of_documents(&s, line);
    status = bm_journal_add(work->journal, line, err);
    if (status == BM_OK)
        work->sealed = s;
    return status;
}

/* --- matches --- */

static bm_status seal_match(bm_work *work, bm_error *err)
{
    char line[BM_WORK_LINE_BYTES];
    bm_spill_file *file = NULL;
    bm_status status = open_state(work, BM_WORK_MATCH, BM_SPILL_RUN, &file, err);
    if (status == BM_OK)
        status = bm_match_save(work->match, file, err);
    if (status == BM_OK) {
        work->sealed.match_bytes = bm_spill_bytes(file);
        work->sealed.match_records = bm_spill_records(file);
        bm_work_line_of_match(&work->sealed, line);
        status = bm_journal_add(work->journal, line, err);
        work->sealed.matched = status == BM_OK;
    }
    bm_spill_close(file);
    return status;
}

/* --- when --- */

static bool anything_to_seal(const bm_work *work)
{
    bool docs = !docs_sealed(work) && (work->corpus == NULL || bm_corpus_can_save(work->corpus)) &&
                is_consistent(work);
    bool match = work->match != NULL && !work->sealed.matched && (docs || docs_sealed(work)) &&
                 work->read_all;
    return work->can_seal && (docs || match) && work->run->docs.n > 0;
}

static uint64_t bytes_to_write(const bm_work *work)
{
    bm_saved_docs what = bm_work_docs(work);
    uint64_t bytes = 0;
    if (!docs_sealed(work)) {
        bytes += bm_docs_unsaved_bytes(&what, (size_t)work->sealed.docs);
        if (work->corpus != NULL)
            bytes += bm_corpus_unsaved_bytes(work->corpus);
    }
    if (work->match != NULL)
        bytes += EDGE_BYTES *
                 (work->match->only_groups ? work->run->docs.n : work->match->n_edges_found);
    return bytes;
}

static bool is_due(const bm_work *work, double now)
{
    double seconds = now - work->last;
    if (work->every >= 0)
        return seconds >= work->every;
    return seconds >= SEAL_LEAST &&
           seconds >= SEAL_FOLD * (double)bytes_to_write(work) / work->rate;
}

static bm_status seal(bm_work *work, bm_error *err)
{
    bm_status status = BM_OK;
    if (!docs_sealed(work))
        status = seal_documents(work, err);
    if (status == BM_OK && work->match != NULL && !work->sealed.matched)
        status = seal_match(work, err);
    return status;
}

void bm_work_seal_now(bm_work *work)
{
    bm_error err = {0};
    if (!anything_to_seal(work))
        return;
    uint64_t bytes = bytes_to_write(work);
    double began = bm_clock_seconds();
    bm_status status = seal(work, &err);
    work->last = bm_clock_seconds();
    if (bytes >= TIMED_BYTES)
        work->rate = (double)bytes / (work->last - began + 1e-6);
    if (status == BM_OK) {
        bm_meter_log(&work->run->meter, BM_LOG_DEBUG, "sealed %" PRIu64 " documents%s in %.2f s",
                     work->sealed.docs, work->sealed.matched ? " and their matches" : "",
                     work->last - began);
        return;
    }
    work->can_seal = false;
    bm_meter_log(&work->run->meter, BM_LOG_WARNING,
                 "the work cannot be sealed, so that it could not be resumed from here: %s%s%s",
                 err.file, err.file[0] != '\0' ? ": " : "", err.message);
}

void bm_work_seal_if_due(bm_work *work)
{
    if (work->can_seal && is_due(work, bm_clock_seconds()))
        bm_work_seal_now(work);
}

/* --- the flow --- */

typedef struct sealing_sink {
    bm_work *work;
    bm_flow_sink sink;
    void *ctx;
} sealing_sink;

static bm_status on_batch(void *ctx, const bm_flow_batch *batch, size_t first_row, bm_error *err)
{
    const sealing_sink *s = ctx;
    bm_status status = s->sink(s->ctx, batch, first_row, err);
    s->work->loading = false; /* from here on it is this job's work */
    if (status == BM_OK)
        bm_work_seal_if_due(s->work);
    return status;
}

bm_status bm_work_flow(bm_work *work, bool words, bool keys, bm_flow_sink sink, void *ctx,
                       bm_error *err)
{
    sealing_sink s = {work, sink, ctx};
    if (work->read_all)
        return BM_OK;
    work->run->skip_records = work->run->counts.records;
    bm_status status = bm_run_flow(work->run, words, keys, on_batch, &s, err);
    if (status != BM_OK)
        return status;
    work->loading = false;
    work->read_all = true;
    bm_work_seal_if_due(work);
    return BM_OK;
}
