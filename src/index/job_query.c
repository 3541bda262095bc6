/* SPDX-License-Identifier: Apache-2.0 */
/* job_query.c -- looks up documents in an index. The index exists already, or is made for the call
 * from other documents.
 *
 *     index, or targets -> view
 *     queries -> ingest -> batches of thousands -> search -> rows
 *     or, with `follow`: a line -> rows, a line -> rows ...
 *
 * Memory: the batches of the ingest, two batches of queries, and the results of one batch. The
 * index itself is mapped from its file.
 *
 * Tests: tests/cli/cases/query.sh, tests/cli/cases/query_follow.sh,
 *        tests/reference/test_query.py, tests/unit/jobs/test_public_api_query.c */
#include <bandmill/index.h>

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "index/index_feed.h"
#include "index/index_of_documents.h"
#include "index/index_place.h"
#include "index/search.h"
#include "index/signed_lines.h"
#include "input/batch_source.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "job/rows.h"
#include "job/settings.h"
#include "model/scheme_facts.h"
#include "results/result_tables.h"
#include "results/sign_dir.h"
#include "store/store_view.h"

/* === answer rows ===
 *
 * The id of an answer is read from the index only when its row is written. Its page is in memory by
 * then, because the document's set was just read from the same page. */

typedef struct answer_rows {
    bm_rows *rows;
    const bm_store_view *view;
    bm_meter *meter;
    bm_measure measure;
    bool json;          /* write rows as JSON Lines */
    uint64_t n_rows;    /* written so far */
    uint64_t n_matched; /* queries with a row */
} answer_rows;

#define ROWS_A_QUESTION 4096u /* rows between two checks whether to stop */

static bm_status answer_rows_begin(answer_rows *out, bm_error *err)
{
    return out->json ? BM_OK
                     : bm_table_begin(&out->rows->buf, bm_table_of_answers(out->measure), err);
}

/* Write the answers of document i of the result. `query` is the id of this document. */
static bm_status answer_rows_add(answer_rows *out, const bm_search_result *result, size_t i,
                                 bm_str query, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint64_t k = result->begin[i]; status == BM_OK && k < result->begin[i + 1]; k++) {
        const bm_answer *answer = &result->list[k];
        bm_store_doc doc;
        if (out->n_rows % ROWS_A_QUESTION == 0)
            status = bm_meter_check(out->meter, err);
        if (status == BM_OK)
            status = bm_store_view_doc(out->view, answer->number, &doc, err);
        if (status != BM_OK)
            break;
        const bm_pair_line line = {.id_a = query,
                                   .id_b = doc.id,
                                   .measure = out->measure,
                                   .similarity = answer->similarity};
        status = out->json ? bm_answer_line_add_json(&out->rows->buf, &line, err)
                           : bm_pair_line_add(&out->rows->buf, &line, err);
        out->n_rows++;
    }
    out->n_matched += result->begin[i + 1] > result->begin[i];
    return status;
}

/* Called after all queries. If the index has filters, log the number of queries that did not use
 * them and read every document. */
static void answer_rows_end(const answer_rows *out, const bm_search_result *result)
{
    if (result->read_all > 0 && bm_store_view_filters(out->view) > 0)
        bm_meter_log(out->meter, BM_LOG_INFO,
                     "the filters of the index would have cost more than they save for %llu of the "
                     "queries (many at once, short ones, or a low threshold): its %llu documents "
                     "were scanned",
                     (unsigned long long)result->read_all,
                     (unsigned long long)bm_store_view_counts(out->view).documents);
}

/* === query source ===
 *
 * The index to search. Either other processes may change it during the search, or it was made for
 * this call. */

typedef struct query_source {
    char *path; /* NULL: the index is unnamed */
    bm_store *store;
    bm_store_view *view;
    double looked; /* time of the last check for a newer commit */
} query_source;    /* {0} is closed */

#define LOOK_SECONDS 0.25

static const bm_store_cfg reads = {.mode = BM_STORE_READ, .look_ups = true};

static void query_source_close(query_source *source)
{
    bm_store_view_close(source->view);
    bm_store_close(source->store);
    bm_free(source->path);
    *source = (query_source){0};
}

/* Open the last commit of the index at `path`, and load its fixed settings (index_place.h). */
static bm_status query_source_open(const char *path, bm_settings *settings, query_source *out,
                                   bm_error *err)
{
    char real[PATH_MAX];
    *out = (query_source){.looked = bm_clock_seconds()};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_find(path, real, sizeof real, err));
    if ((out->path = bm_strdup(real)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, sizeof real));
    BM_TRY_OUT(bm_store_open(out->path, &reads, &out->store, err));
    BM_TRY_OUT(bm_index_settings_load(bm_store_facts_of(out->store), path, settings, err));
    status = bm_store_view_open(out->store, &out->view, err);
out:
    if (status != BM_OK)
        query_source_close(out);
    return status;
}

/* Called if compact, or a new build, has put another index at source->path. Open that index, and
 * close the old one. BM_ERR_FORMAT: its settings differ, and the old one stays open. */
static bm_status open_again(query_source *source, bool *moved, bm_error *err)
{
    query_source next = {.looked = source->looked};
    const bm_store_facts *now = bm_store_facts_of(source->store);
    BM_TRY(bm_store_open(source->path, &reads, &next.store, err));
    const bm_store_facts *then = bm_store_facts_of(next.store);
    const bool same = then->kind == now->kind && then->settings.len == now->settings.len &&
                      memcmp(then->settings.data, now->settings.data, now->settings.len) == 0;
    bm_status status = same ? bm_store_view_open(next.store, &next.view, err)
                            : bm_fail_at(err, BM_ERR_FORMAT, source->path, 0,
                                         "another index has taken its place, with other settings");
    if (status == BM_OK) {
        next.path = source->path;
        source->path = NULL;
        query_source_close(source);
        *source = next;
        *moved = true;
    } else {
        query_source_close(&next);
    }
    return status;
}

/* Switch to the last commit, or to the index that has replaced this one. An unnamed index does not
 * change, and others are checked at most once in LOOK_SECONDS. *moved: the view has changed. If the
 * newer commit or index cannot be opened, the old view remains. Only BM_ERR_NOMEM is returned as an
 * error. */
static bm_status query_source_refresh(query_source *source, bool *moved, bm_error *err)
{
    const double now = bm_clock_seconds();
    bm_store_view *view = NULL;
    bm_error why = {0};
    bm_status status = BM_OK;
    *moved = false;
    if (source->path == NULL || now - source->looked < LOOK_SECONDS)
        return BM_OK;
    source->looked = now;
    if (bm_store_is_replaced(source->store)) {
        status = open_again(source, moved, &why);
    } else if (!bm_store_view_is_last(source->view)) {
        status = bm_store_view_open(source->store, &view, &why);
        if (status == BM_OK) {
            bm_store_view_close(source->view);
            source->view = view;
            *moved = true;
        }
    }
    if (status != BM_ERR_NOMEM)
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}

/* === query documents ===
 *
 * The feed (index_feed.h) delivers batches; the documents of a batch are looked up together.
 *
 * Larger batches are faster, because more keys of a batch are in the same piece of the index and
 * the sets are read closer together. While all threads look up a batch, the next one is read and
 * signed.
 *
 * If several queries of a search are identical, only the first is looked up and the others get its
 * answers, unless skip_same_id is set. The table of all queries (bm_doc_table) stays in memory, as
 * in other jobs, to check that ids differ. */

#define FULL_INPUT ((uint64_t)64 << 20)

typedef struct query_documents {
    bm_job_context *job; /* a job with open inputs and devices */
    const bm_search_cfg *search;
    answer_rows *rows;
    uint64_t gather; /* memory for each of the two batches */
} query_documents;

typedef struct asker {
    const query_documents *query;
    bm_search_result found;
    uint32_t *n_shingles; /* for each document of the batch */
    bm_str *ids;
    uint32_t *same;      /* for the documents of one search: bm_search_batch.same */
    bm_hash_table table; /* finds the documents of one search by content */
    size_t cap_n_shingles, cap_ids, cap_same;
} asker;

/* Add the batch to the job's table of documents, which checks that ids differ, or numbers them. The
 * batch keeps the ids as they were read. a->ids[] gets the ids of the table. */
static bm_status assign_ids(asker *a, const bm_gathered *batch, bm_error *err)
{
    bm_job_context *job = a->query->job;
    bm_doc_table *docs = &job->docs;
    const size_t first = docs->n;
    BM_TRY(bm_grow_array(&a->n_shingles, &a->cap_n_shingles, batch->n, err));
    BM_TRY(bm_grow_array(&a->ids, &a->cap_ids, batch->n, err));
    for (size_t i = 0; i < batch->n; i++) {
        const bm_store_doc *doc = &batch->docs[i];
        const bm_doc_row row = {.line = doc->line,
                                .text_bytes = doc->text_bytes,
                                .file = doc->input,
                                .n_shingles = doc->n_shingles};
        const bm_doc_id id = {doc->id, XXH3_64bits(doc->id.data, doc->id.len)};
        BM_TRY(bm_doc_table_add(docs, &row, id,
                                bm_batch_source_file(job->inputs.source, doc->input), err));
        a->n_shingles[i] = doc->n_shingles;
    }
    for (size_t i = 0; i < batch->n; i++) /* from here on the table does not grow, so pointers into
                                             it stay valid */
        a->ids[i] = bm_doc_table_id(docs, first + i);
    return BM_OK;
}

static uint64_t hash_of(const bm_store_doc *doc, uint64_t seed)
{
    return seed == 0 ? doc->content.lo : bm_hash_seeded(doc->content.lo, doc->content.hi, seed);
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return hash_of((const bm_store_doc *)owner + number, seed);
}

static bool is_identical(const void *owner, uint32_t number, const void *key)
{
    const bm_store_doc *other = (const bm_store_doc *)owner + number, *doc = key;
    return doc->content.lo == other->content.lo && doc->content.hi == other->content.hi &&
           doc->n_shingles == other->n_shingles;
}

/* For each of n documents, set a->same[] to the first document identical to it, possibly itself.
 * *any: at least one document is identical to an earlier one. */
static bm_status find_same(asker *a, const bm_store_doc *docs, size_t n, bool *any, bm_error *err)
{
    *any = false;
    BM_TRY(bm_grow_array(&a->same, &a->cap_same, n, err));
    BM_TRY(bm_hash_table_clear(&a->table, n, err));
    for (uint32_t i = 0; i < n; i++) {
        BM_TRY(bm_hash_table_reserve(&a->table, hash_again, docs, err));
        const uint64_t hash = hash_of(&docs[i], a->table.seed);
        const size_t at = bm_hash_table_find(&a->table, hash, is_identical, docs, &docs[i]);
        if (bm_hash_table_is_free(&a->table, at))
            bm_hash_table_put(&a->table, at, hash, i);
        a->same[i] = bm_hash_table_number(&a->table, at);
        *any = *any || a->same[i] != i;
    }
    return BM_OK;
}

/* Search for the documents from `first` on, as many as fit into memory, and write their answers. */
static bm_status search_from(asker *a, const bm_gathered *batch, size_t first, bm_error *err)
{
    const query_documents *q = a->query;
    const bm_store_facts *facts = q->search->facts;
    const bool sets = facts->kind == BM_STORE_SETS;
    bool any = false;
    bm_search_batch asked = {.n = batch->n - first,
                             .keys = batch->keys + first * facts->bands,
                             .n_shingles = a->n_shingles + first,
                             .sets = sets ? batch->sets + first : NULL,
                             .words = sets ? NULL : batch->words + first * facts->words,
                             .ids = a->ids + first,
                             .unsorted = sets ? batch->hashes : NULL};
    bm_status status = BM_OK;
    if (!q->search->skip_same_id)
        status = find_same(a, batch->docs + first, asked.n, &any, err);
    asked.same = any ? a->same : NULL;
    if (status == BM_OK)
        status = bm_search_run(q->search, &asked, &a->found, err);
    for (size_t i = 0; status == BM_OK && i < a->found.n; i++) {
        status = answer_rows_add(q->rows, &a->found, any ? a->same[i] : i, a->ids[first + i], err);
        if (status == BM_OK)
            status = bm_rows_flush(q->rows->rows, false, err);
    }
    return status;
}

static bm_status answer_batch(void *ctx, bm_gathered *batch, bm_error *err)
{
    asker *a = ctx;
    BM_TRY(assign_ids(a, batch, err));
    for (size_t first = 0; first < batch->n; first += a->found.n)
        BM_TRY(search_from(a, batch, first, err));
    return BM_OK;
}

/* Read and look up all queries, and write their rows. The job's counts are updated even after a
 * failure. */
static bm_status query_documents_run(const query_documents *query, bm_error *err)
{
    bm_job_context *job = query->job;
    const bm_store_facts *facts = query->search->facts;
    asker a = {.query = query};
    bm_index_feed feed = {.job = job,
                          .shape = {.sets = facts->kind == BM_STORE_SETS,
                                    .bands = facts->bands,
                                    .words = facts->words,
                                    .unsorted = true},
                          .full_bytes = query->gather,
                          .full_input = FULL_INPUT,
                          .sink = answer_batch,
                          .sink_ctx = &a};
    bm_status status = BM_OK;
    BM_TRY_OUT(answer_rows_begin(query->rows, err));
    status = bm_index_feed_run(&feed, err);
out:
    job->counts.candidates = a.found.candidates;
    job->counts.verified = a.found.verified;
    job->counts.not_compared = a.found.not_compared;
    bm_meter_log(&job->meter, BM_LOG_DEBUG, "comparing took %llu steps",
                 (unsigned long long)a.found.steps);
    answer_rows_end(query->rows, &a.found);
    bm_search_result_reset(&a.found);
    bm_free_all(a.n_shingles, a.ids, a.same);
    bm_hash_table_reset(&a.table);
    return status == BM_OK ? bm_rows_flush(query->rows->rows, true, err) : status;
}

/* === query follow ===
 *
 * For each line: read, sign, look up, write, flush.
 *
 * Everything is done on one thread (signed_lines.h). The rows of a line, followed by an empty line,
 * are written with one call. The empty line tells the reader that no more rows follow for this
 * query. */

typedef struct follower {
    bm_job_context *job;
    query_source *source;
    bm_search_cfg search; /* query_follow sets `pool`; answer_line sets `view` and `facts` */
    answer_rows *rows;
    bm_search_result result; /* {0} at first; the caller resets it */
} follower;

typedef struct state {
    follower *follow;
    bm_signed_lines lines;
} state;

static bm_status answer_line(void *ctx, const bm_record *record, bm_error *err)
{
    const state *s = ctx;
    follower *f = s->follow;
    const bm_doc_signer *signer = &s->lines.signer;
    const bm_str id = record->id;
    bool moved;
    const bm_search_batch asked = {.n = 1,
                                   .keys = signer->keys,
                                   .n_shingles = signer->n_shingles,
                                   .sets = signer->sets,
                                   .words = signer->words,
                                   .ids = &id};
    bm_status status = query_source_refresh(f->source, &moved, err);
    f->search.view = f->rows->view = f->source->view;
    if (moved)
        f->search.facts = bm_store_facts_of(f->source->store);
    if (status == BM_OK)
        status = bm_search_run(&f->search, &asked, &f->result, err);
    return status == BM_OK ? answer_rows_add(f->rows, &f->result, 0, id, err) : status;
}

static bm_status answer_lines(state *s, bm_error *err)
{
    bm_rows *rows = s->follow->rows->rows;
    bm_line_got got = BM_LINE_RECORD;
    for (;;) {
        BM_TRY(bm_signed_lines_next(&s->lines, answer_line, s, &got, err));
        if (got == BM_LINE_END)
            break;
        BM_TRY(bm_buf_add(&rows->buf, "\n", 1, err));
        BM_TRY(bm_rows_flush(rows, true, err));
    }
    return BM_OK;
}

/* Answer lines until the end of standard input (BM_OK), until the reader of the answers closes the
 * pipe (BM_ERR_PIPE), or until something else fails. */
static bm_status query_follow(follower *follow, bm_error *err)
{
    state s = {.follow = follow};
    follow->search.pool = NULL;
    bm_job_context_reserve(follow->job, follow->search.memory);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signed_lines_open(follow->job, follow->search.facts->kind == BM_STORE_SIGNATURES,
                                    &follow->job->callbacks, &s.lines, err));
    status = answer_lines(&s, err);
out:
    bm_signed_lines_close(&s.lines);
    return status;
}

/* === query targets ===
 *
 * If documents are given instead of an index, an unnamed index is made of them. */

/* Resolve the plan of the job's settings, read the target documents, and add them to an unnamed
 * index, as `index build` would. */
static bm_status query_targets_open(bm_job_context *job, bm_settings *settings, query_source *out,
                                    bm_error *err)
{
    bm_input_options input = settings->input;
    bm_unnamed_index index;
    *out = (query_source){0};
    BM_TRY(bm_settings_plan(settings, err));
    input.paths = settings->index.query.targets;
    input.n_paths = settings->index.query.n_targets;
    input.files_from = NULL;
    input.files_from_nul = false;
    BM_TRY(bm_index_of_documents(job, settings, &input, &index, err));
    settings->perms_used = index.perms_used;
    out->store = index.store;
    out->view = index.view;
    return BM_OK;
}

typedef struct query_query {
    bm_settings *settings;
    bm_job job;
    query_source source;
    bm_search_cfg search;
    bm_rows rows;
    answer_rows answers;
    struct rusage before;
} query_query;

/* --- the index to search, and the threshold --- */

static bm_status check_measure(query_query *q, bm_error *err)
{
    if (q->search.measure == BM_MEASURE_JACCARD)
        return BM_OK;
    if (q->search.facts->kind != BM_STORE_SETS)
        return bm_fail_field(err, "measure",
                             "`measure` containment needs sets, the index %s keeps signatures",
                             q->source.path);
    if (q->source.path != NULL && bm_store_view_filters(q->source.view) == 0)
        bm_meter_log(&q->job.context.meter, BM_LOG_INFO,
                     "the index has no table for containment: its %llu documents are scanned",
                     (unsigned long long)bm_store_view_counts(q->source.view).documents);
    return BM_OK;
}

static bm_status check_verify(const query_query *q, bm_error *err)
{
    const bm_verify verify = q->settings->pairs.verify;
    const bool sets = q->search.facts->kind == BM_STORE_SETS;
    if (verify == BM_VERIFY_AUTO || (verify == BM_VERIFY_EXACT) == sets)
        return BM_OK;
    return bm_fail_field(err, "verify",
                         sets ? "`verify` signature contradicts the index %s (it keeps sets)"
                              : "`verify` exact contradicts the index %s (it keeps "
                                "signatures: answers are estimates)",
                         q->source.path);
}

/* Choose the threshold of the search. If it differs from the threshold of the plan, and bands are
 * used, log which share of the pairs the bands find at this threshold. */
static void choose_threshold(query_query *q)
{
    bm_settings *s = q->settings;
    const double own = s->bands.threshold, asked = s->index.query.answers.threshold;
    q->search.threshold = asked > 0 ? asked : own;
    if (q->search.threshold == own)
        return;
    if (q->search.measure == BM_MEASURE_CONTAINMENT) {
        s->bands.threshold = q->search.threshold;
        return;
    }
    const double recall = bm_band_probability(s->plan.bands, s->plan.rows, q->search.threshold);
    bm_meter_log(&q->job.context.meter, BM_LOG_INFO,
                 "the bands were chosen for `threshold` %g: they find %.1f %% of the pairs at %g",
                 own, 100 * recall, q->search.threshold);
    s->bands.threshold = s->plan.threshold = q->search.threshold;
    s->plan.predicted_recall = recall;
}

static bm_status open_source(query_query *q, bm_error *err)
{
    bm_settings *s = q->settings;
    const bm_query_settings *asked = &s->index.query;
    BM_TRY(asked->index != NULL ? query_source_open(asked->index, s, &q->source, err)
                                : query_targets_open(&q->job.context, s, &q->source, err));
    q->search = (bm_search_cfg){.view = q->source.view,
                                .facts = bm_store_facts_of(q->source.store),
                                .word_bytes = bm_scheme_value_bytes(s->sketch.scheme),
                                .pool = q->job.context.pool,
                                .measure = s->pairs.measure,
                                .top = asked->answers.top,
                                .skip_same_id = asked->answers.skip_same_id,
                                .first = BM_SEARCH_FIRST,
                                .memory = bm_index_share(s->memory).search};
    choose_threshold(q);
    BM_TRY(check_verify(q, err));
    s->pairs.verify =
        q->search.facts->kind == BM_STORE_SETS ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE;
    return check_measure(q, err);
}

/* --- the rows --- */

static bm_status open_rows(query_query *q, bm_error *err)
{
    const bm_settings *s = q->settings;
    q->rows = (bm_rows){.write = s->results.write, .write_ctx = s->results.write_ctx};
    q->answers = (answer_rows){.rows = &q->rows,
                               .view = q->source.view,
                               .meter = &q->job.context.meter,
                               .measure = s->pairs.measure,
                               .json = s->results.json && s->output.path == NULL};
    if (s->output.path == NULL)
        return BM_OK;
    return bm_out_file_open(s->output.path, bm_out_existing_within(s->output.force, s->memory),
                            &q->rows.file, err);
}

static bm_status answer_documents(query_query *q, bm_error *err)
{
    const bm_index_shares shares = bm_index_share(q->settings->memory);
    const query_documents documents = {
        .job = &q->job.context, .search = &q->search, .rows = &q->answers, .gather = shares.gather};
    /* If there is little input, starting a device driver takes longer than the work on the CPU. */
    if (bm_device_is_auto(q->settings->device.device) &&
        bm_input_set_total_bytes(q->job.context.inputs.set) < BM_INDEX_FEW_BYTES)
        q->settings->device.device = "cpu";
    BM_TRY(bm_job_begin(&q->job, BM_STEP_DEVICES | BM_STEP_KEYS, err));
    bm_job_context_reserve(&q->job.context, 2 * shares.gather + shares.search);
    bm_job_context_stage(&q->job.context, BM_STAGE_QUERY, "bytes");
    return query_documents_run(&documents, err);
}

static bm_status query_answer_lines(query_query *q, bm_error *err)
{
    follower follow = {
        .job = &q->job.context, .source = &q->source, .search = q->search, .rows = &q->answers};
    bm_status status = query_follow(&follow, err);
    q->job.context.counts.candidates = follow.result.candidates;
    q->job.context.counts.verified = follow.result.verified;
    q->job.context.counts.not_compared = follow.result.not_compared;
    answer_rows_end(&q->answers, &follow.result);
    bm_search_result_reset(&follow.result);
    return status;
}

/* --- the job --- */

static void log_faults(query_query *q)
{
    struct rusage now = {0};
    const double n =
        q->job.context.counts.documents > 0 ? (double)q->job.context.counts.documents : 1;
    getrusage(RUSAGE_SELF, &now);
    bm_meter_log(&q->job.context.meter, BM_LOG_DEBUG,
                 "pages a query: %.2f read from the disk, %.2f found in memory",
                 (double)(now.ru_majflt - q->before.ru_majflt) / n,
                 (double)(now.ru_minflt - q->before.ru_minflt) / n);
}

static bm_status run_steps(query_query *q, bm_error *err)
{
    const bm_query_settings *asked = &q->settings->index.query;
    bm_counts *counts = &q->job.context.counts;
    BM_TRY(bm_sign_dir_refuse(q->settings->input.paths, q->settings->input.n_paths,
                              q->settings->memory, err));
    BM_TRY(bm_sign_dir_refuse(asked->targets, asked->n_targets, q->settings->memory, err));
    if (asked->index != NULL)
        BM_TRY(bm_job_context_check_outputs(q->settings, &asked->index, 1, err));
    if (asked->n_targets > 0)
        BM_TRY(bm_job_context_check_outputs(q->settings, asked->targets, asked->n_targets, err));
    /* The queries' inputs are checked first, because reading the targets may take long. */
    BM_TRY(bm_job_begin(&q->job, asked->follow ? 0 : BM_STEP_INPUTS, err));
    BM_TRY(open_source(q, err));
    BM_TRY(open_rows(q, err));
    getrusage(RUSAGE_SELF, &q->before);
    bm_status status = asked->follow ? query_answer_lines(q, err) : answer_documents(q, err);
    log_faults(q);
    if (q->search.measure == BM_MEASURE_CONTAINMENT)
        q->settings->plan = (bm_band_plan){0}; /* containment uses no bands */
    counts->edges = counts->results.pairs = q->answers.n_rows;
    status = bm_rows_end_in(&q->rows, &q->job.files, status, err);
    return status == BM_OK ? bm_job_finish(&q->job, &(bm_job_ending){.dir = NULL}, err) : status;
}

bm_status bm_job_query(const bm_query_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    query_query q = {.settings = &settings};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_query(options, &settings, err));
    bm_status status = bm_job_open(&settings, &q.job, err);
    if (status == BM_OK) {
        status = run_steps(&q, err);
        query_source_close(&q.source);
        status = bm_job_close(&q.job, status, out);
    }
    bm_settings_reset(&settings);
    if (status == BM_OK && q.answers.n_matched == 0)
        return bm_fail(err, BM_NOT_FOUND, "no document reaches the threshold %g with a query",
                       q.search.threshold);
    return status;
}
