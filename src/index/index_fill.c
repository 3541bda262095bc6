/* index_fill.c -- see the header.
 *
 * Tests: tests/cli/cases/index_build.sh, tests/cli/cases/index_add.sh, tests/cli/cases/index_resume.sh */
#include "index/index_fill.h"

#include <inttypes.h>

#include "model/scheme_facts.h"
#include "base/error.h"
#include "results/result_tables.h"
#include "job/job_stages.h"
#include "index/index_feed.h"
#include "index/index_follow.h"
#include "index/index_place.h"

#define FULL_INPUT ((uint64_t)64 << 20)

/* What the adder is told of the index as it is. */
static bm_status look_at_index(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_store_view *view = NULL;
    bm_job_context *job = &fill->job->context;
    bm_index_add_place place = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_open(fill->store, &view, err));
    BM_TRY_OUT(bm_index_inputs_list(job, view, &a->input_names, &a->shape.first_input, err));
    if (fill->commits)
        BM_TRY_OUT(bm_index_add_note_open(job, view, &a->note, &place, err));
out:
    bm_store_view_close(view);
    if (status != BM_OK || !fill->commits)
        return status;
    bm_index_adder_begin_commits(a);
    job->wants_places = a->note.noted;
    job->skip_records = a->skipped_records = place.records;
    job->places.check = place.place;
    a->place = place;
    if (place.records > 0)
        bm_meter_log(&job->meter, BM_LOG_INFO,
                     "going on behind %" PRIu64 " records that are in the index", place.records);
    return BM_OK;
}

static bm_status begin_rows(bm_index_adder *a, const bm_settings *s, bm_error *err)
{
    a->rows.write = s->results.write;
    a->rows.write_ctx = s->results.write_ctx;
    if (!s->index.unique || s->index.follow || s->results.json)
        return BM_OK;
    return bm_buf_add_format(&a->rows.buf, err, "%s\n", bm_table_header(BM_TABLE_ANSWERS));
}

static bm_status read_all(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    const bm_index_shares shares = bm_index_share(job->settings->memory);
    bm_index_feed feed = {.job = job,
                          .shape = a->shape,
                          .full_bytes = shares.gather,
                          .full_input = FULL_INPUT,
                          .due = fill->commits ? &a->commits.due : NULL,
                          .take = bm_index_adder_take,
                          .take_ctx = a};
    if (fill->dirs != NULL && fill->dirs->n > 0)
        return bm_index_signed_run(fill->dirs, a, shares.gather, err);
    return job->settings->index.follow ? bm_index_follow_run(a, err)
                                       : bm_index_feed_run(&feed, err);
}

static bm_status read_and_add(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    bm_job_context_stage(job, BM_STAGE_SIGN, "bytes");
    BM_TRY(read_all(fill, a, err));
    bm_job_context_stage(job, BM_STAGE_WRITE, "files");
    if (a->note.noted) /* all was read */
        a->place = (bm_index_add_place){a->skipped_records + job->counts.records,
                                        job->places.last.known ? job->places.last : a->place.place};
    return bm_index_adder_finish(a, err);
}

bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    const bm_settings *s = job->settings;
    const bm_index_shares shares = bm_index_share(s->memory);
    bm_index_adder a = {.job = job,
                        .store = fill->store,
                        .shape = {.sets = s->index.store == BM_INDEX_SETS,
                                  .bands = s->plan.bands,
                                  .words = bm_scheme_row_uints(s->sketch.scheme, s->sketch.perms),
                                  .word_bytes = bm_scheme_word_bytes(s->sketch.scheme)},
                        .search_memory = shares.search};
    bm_job_context_plan(job, BM_START_DOCUMENTS);
    bm_job_context_take(job,
                        shares.store + 2 * shares.gather + (s->index.unique ? shares.search : 0));
    bm_status status = BM_OK;
    BM_TRY_OUT(look_at_index(fill, &a, err));
    BM_TRY_OUT(begin_rows(&a, s, err));
    status = read_and_add(fill, &a, err);
out:
    job->counts.results.index = a.counts;
    job->counts.candidates = a.found.candidates + a.near.candidates;
    job->counts.verified = a.found.verified + a.near.verified;
    bm_index_adder_reset(&a);
    return status;
}

bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err)
{
    bm_store_view *view = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_open(store, &view, err));
    job->counts.results.index.documents = bm_store_view_counts(view).documents;
out:
    bm_store_view_close(view);
    return status;
}
