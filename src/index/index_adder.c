/* index_adder.c -- what becomes of each document of a batch.
 *
 * With `unique` the index answers for a whole batch at once (or as much of it as fits into memory), as it was
 * before the batch; what the batch itself changes is told by index_near.h and index_ids.h.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/cli/cases/index_unique.sh, tests/cli/cases/index_ids.sh */
#include "index/index_adder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/scheme_facts.h"
#include "base/clock.h"
#include "base/error.h"
#include "results/result_tables.h"

#define COMMIT_INPUT   (UINT64_C(64) << 20)
#define COMMIT_SECONDS 10.0
#define SHOWN_ID       200

void bm_index_adder_reset(bm_index_adder *adder)
{
    bm_buf_reset(&adder->input_names);
    bm_index_add_note_reset(&adder->note);
    bm_rows_reset(&adder->rows);
    bm_store_view_close(adder->view);
    bm_index_ids_reset(&adder->ids);
    bm_index_near_reset(&adder->near);
    bm_search_result_reset(&adder->found);
    bm_free(adder->stays);
    *adder = (bm_index_adder){0};
}

/* --- ids --- */

/* Where a document stands, as messages say it; "" where that is not known. */
static void say_place(const bm_index_adder *a, const bm_store_doc *doc, char *out, size_t cap)
{
    bm_buf name = {0};
    const bm_str names = {a->input_names.data, a->input_names.len};
    out[0] = '\0';
    if (bm_index_input_name(names, doc->input, &name, NULL) == BM_OK && name.len > 0) {
        if (doc->line > 0)
            snprintf(out, cap, ", from %.350s:%" PRIu64, name.data, doc->line);
        else
            snprintf(out, cap, ", from %.350s", name.data);
    }
    bm_buf_reset(&name);
}

/* The id of a document is that of another one, which may not be. */
static bm_status repeated(const bm_index_adder *a, const bm_store_doc *doc, bool in_batch,
                          uint32_t who, bm_error *err)
{
    char place[400];
    bm_buf name = {0};
    bm_store_doc other = in_batch ? a->ids.batch->docs[who] : *doc;
    bm_status status = BM_OK;
    BM_TRY_OUT(in_batch ? BM_OK : bm_store_view_doc(a->view, who, &other, err));
    BM_TRY_OUT(bm_index_input_name((bm_str){a->input_names.data, a->input_names.len}, doc->input,
                                   &name, err));
    const int len = (int)(doc->id.len > SHOWN_ID ? SHOWN_ID : doc->id.len);
    say_place(a, &other, place, sizeof place);
    status = bm_fail_at(err, BM_ERR_INPUT, name.len > 0 ? name.data : NULL, doc->line,
                        "the id '%.*s' is in the index already%s (ids must differ; "
                        "`duplicate_ids` skip, replace or number says what becomes of it)",
                        len, doc->id.data, place);
out:
    bm_buf_reset(&name);
    return status;
}

static bm_status nameless(const bm_index_adder *a, const bm_store_doc *doc, bm_error *err)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_input_name((bm_str){a->input_names.data, a->input_names.len}, doc->input,
                                   &name, err));
    status = bm_fail_at(err, BM_ERR_INPUT, name.len > 0 ? name.data : NULL, doc->line,
                        "the id is empty (documents of an index have one)");
out:
    bm_buf_reset(&name);
    return status;
}

/* Document i is to be added; its id may be somebody else's. */
static bm_status take_id(bm_index_adder *a, size_t i, bm_error *err)
{
    const bm_duplicate_ids rule = a->job->settings->input.duplicate_ids;
    bm_store_doc *doc = &a->ids.batch->docs[i];
    bool in_batch;
    uint32_t who, dropped;
    bm_status status = BM_OK;
    if (bm_index_ids_taken(&a->ids, i, &in_batch, &who)) {
        if (rule == BM_DUPLICATE_IDS_NUMBER) {
            status = bm_index_ids_number(&a->ids, doc->id, &doc->id, err);
            a->counts.numbered++;
        } else {
            status = bm_index_ids_drop(&a->ids, i, &dropped, err);
            a->counts.replaced++;
            if (status == BM_OK && dropped != BM_ID_NONE) {
                a->stays[dropped] = false;
                a->counts.added--;
                if (a->job->settings->index.unique)
                    bm_index_near_take_out(&a->near, dropped);
            }
        }
    }
    return status == BM_OK ? bm_index_ids_hold(&a->ids, i, err) : status;
}

/* --- unique --- */

static double threshold_of(const bm_settings *s)
{
    return s->index.threshold > 0 ? s->index.threshold : s->bands.threshold;
}

typedef struct best_match {
    double similarity; /* less than 0: none */
    bool in_batch;
    uint32_t number; /* of the index, or of the batch */
} best_match;

/* The answers of the index to document i, which is the k-th of those that it was asked about. */
static void best_of_index(const bm_index_adder *a, size_t k, best_match *best)
{
    for (uint64_t at = a->found.begin[k]; at < a->found.begin[k + 1]; at++) {
        if (bm_index_ids_is_gone(&a->ids, a->found.list[at].number))
            continue;
        *best = (best_match){a->found.list[at].similarity, false, a->found.list[at].number};
        return;
    }
}

static void best_of_batch(bm_index_adder *a, size_t i, best_match *best)
{
    size_t other;
    double similarity;
    bool in_batch;
    uint32_t who;
    const bool replaces = a->job->settings->input.duplicate_ids == BM_DUPLICATE_IDS_REPLACE &&
                          bm_index_ids_taken(&a->ids, i, &in_batch, &who) && in_batch;
    if (bm_index_near_best(&a->near, i, replaces ? who : SIZE_MAX, &other, &similarity) &&
        similarity > best->similarity)
        *best = (best_match){similarity, true, (uint32_t)other};
}

static bm_status write_row(bm_index_adder *a, size_t i, const best_match *best, bm_error *err)
{
    bm_store_doc target = a->ids.batch->docs[best->in_batch ? best->number : i];
    BM_TRY(best->in_batch ? BM_OK : bm_store_view_doc(a->view, best->number, &target, err));
    const bm_pair_line line = {.id_a = a->ids.batch->docs[i].id,
                               .id_b = target.id,
                               .measure = BM_MEASURE_JACCARD,
                               .similarity = best->similarity};
    BM_TRY(a->job->settings->results.json ? bm_answer_line_add_json(&a->rows.buf, &line, err)
                                          : bm_pair_line_add(&a->rows.buf, &line, err));
    return bm_rows_flush(&a->rows, false, err);
}

/* --- a batch --- */

/* Document i; with `unique` the k-th that the index was asked about. */
static bm_status take_doc(bm_index_adder *a, size_t i, size_t k, bm_error *err)
{
    const bm_settings *s = a->job->settings;
    const bm_store_doc *doc = &a->ids.batch->docs[i];
    best_match best = {.similarity = -1};
    bool in_batch;
    uint32_t who;
    const bool taken = bm_index_ids_taken(&a->ids, i, &in_batch, &who);
    a->stays[i] = false;
    if (doc->id.len == 0)
        return nameless(a, doc, err);
    if (taken && s->input.duplicate_ids == BM_DUPLICATE_IDS_ERROR)
        return repeated(a, doc, in_batch, who, err);
    if (taken && s->input.duplicate_ids == BM_DUPLICATE_IDS_SKIP) {
        a->counts.passed_over++;
        return BM_OK;
    }
    if (s->index.unique) {
        best_of_index(a, k, &best);
        best_of_batch(a, i, &best);
    }
    if (best.similarity >= 0) {
        a->counts.matched++;
        return write_row(a, i, &best, err);
    }
    BM_TRY(take_id(a, i, err));
    a->stays[i] = true;
    a->counts.added++;
    if (s->index.unique)
        bm_index_near_add(&a->near, i);
    return BM_OK;
}

/* Ask the index about the documents from `begin` on, as many as fit. */
static bm_status search(bm_index_adder *a, const bm_gathered *batch, size_t begin, bm_error *err)
{
    const bm_settings *s = a->job->settings;
    const bool replaces = s->input.duplicate_ids == BM_DUPLICATE_IDS_REPLACE;
    const size_t n = batch->n - begin;
    uint32_t *n_shingles = bm_alloc(n, sizeof *n_shingles);
    bm_str *ids = bm_alloc(n, sizeof *ids);
    bm_status status = BM_OK;
    BM_TRY_OUT(n_shingles != NULL && ids != NULL ? BM_OK : bm_fail_nomem(err, n * 20));
    for (size_t i = 0; i < n; i++) {
        n_shingles[i] = batch->docs[begin + i].n_shingles;
        ids[i] = batch->docs[begin + i].id;
    }
    const bm_search_cfg cfg = {.view = a->view,
                               .facts = bm_store_facts_of(a->store),
                               .word_bytes = bm_scheme_word_bytes(s->sketch.scheme),
                               .pool = a->job->pool,
                               .threshold = threshold_of(s),
                               .top = replaces ? 0 : 1,
                               .skip_same_id = replaces,
                               .memory = a->search_memory};
    const bm_search_batch asked = {.n = n,
                                   .keys = batch->keys + begin * a->shape.bands,
                                   .n_shingles = n_shingles,
                                   .sets = a->shape.sets ? batch->sets + begin : NULL,
                                   .words =
                                       a->shape.sets ? NULL : batch->words + begin * a->shape.words,
                                   .ids = ids};
    status = bm_search_run(&cfg, &asked, &a->found, err);
out:
    bm_free(n_shingles);
    bm_free(ids);
    return status;
}

static bm_status take_docs(bm_index_adder *a, const bm_gathered *batch, bm_error *err)
{
    const bool unique = a->job->settings->index.unique;
    if (unique) {
        a->near.threshold = threshold_of(a->job->settings);
        BM_TRY(bm_index_near_begin(&a->near, batch, batch->n, &a->shape, err));
    }
    for (size_t i = 0, begin = 0, end = unique ? 0 : batch->n; i < batch->n; i++) {
        if (i == end) {
            begin = i;
            BM_TRY(search(a, batch, begin, err));
            end = begin + a->found.n;
        }
        BM_TRY(take_doc(a, i, i - begin, err));
    }
    return BM_OK;
}

/* What stays goes into the index, what is replaced out of it. */
static bm_status write_batch(bm_index_adder *a, bm_gathered *batch, bm_error *err)
{
    uint32_t first;
    bm_status status = BM_OK;
    if (a->ids.n_gone > 0)
        status = bm_store_remove(a->store, a->ids.gone, a->ids.n_gone, err);
    bm_gathered_drop(batch, &a->shape, a->stays);
    const bm_store_batch added = {.n = batch->n,
                                  .docs = batch->docs,
                                  .sets = batch->sets,
                                  .words = batch->words,
                                  .keys = batch->keys};
    return status == BM_OK && batch->n > 0 ? bm_store_add(a->store, &added, &first, err) : status;
}

static double seconds_between(const bm_index_adder *a)
{
    const double wanted = a->job->settings->resources.checkpoint_seconds;
    return wanted >= 0 ? wanted : COMMIT_SECONDS;
}

static bm_status commit(bm_index_adder *a, bm_error *err)
{
    const bm_str names = {a->input_names.data, a->input_names.len};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_flush(&a->rows, true, err));
    if (names.len > 0)
        BM_TRY_OUT(bm_store_note(a->store, BM_NOTE_INPUTS, names, err));
    if (a->commits.on)
        BM_TRY_OUT(bm_index_add_note_save(&a->note, a->job, &a->place, a->store, err));
    status = bm_store_commit(a->store, err);
out:
    a->commits.due = bm_clock_seconds() + seconds_between(a);
    a->commits.input = 0;
    a->counts.commits += status == BM_OK;
    return status;
}

bool bm_index_adder_is_due(const bm_index_adder *a)
{
    return a->commits.on &&
           (a->commits.input >= COMMIT_INPUT || bm_clock_seconds() >= a->commits.due);
}

bm_status bm_index_adder_take(void *ctx, bm_gathered *batch, bm_error *err)
{
    bm_index_adder *a = ctx;
    const bm_store_facts *facts = bm_store_facts_of(a->store);
    const uint64_t records = batch->records + a->skipped_records, input = batch->input_bytes;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_grow_array(&a->stays, &a->cap_stays, batch->n, err));
    BM_TRY_OUT(bm_store_view_open(a->store, &a->view, err));
    BM_TRY_OUT(bm_index_ids_begin(&a->ids, a->view, facts->bands, batch, err));
    BM_TRY_OUT(take_docs(a, batch, err));
    /* else its ids were what was to be looked at */
    if (!batch->broken)
        BM_TRY_OUT(bm_index_adder_end_batch(a, batch, err));
out:
    bm_store_view_close(a->view);
    a->view = NULL;
    if (status != BM_OK || batch->broken)
        return status;
    a->place = (bm_index_add_place){records, batch->place};
    a->commits.input += input;
    return bm_index_adder_is_due(a) ? commit(a, err) : bm_rows_flush(&a->rows, true, err);
}

bm_status bm_index_adder_begin_batch(bm_index_adder *a, const bm_gathered *batch, size_t most,
                                     bm_error *err)
{
    const bm_store_facts *facts = bm_store_facts_of(a->store);
    BM_TRY(bm_grow_array(&a->stays, &a->cap_stays, most, err));
    a->near.threshold = threshold_of(a->job->settings);
    BM_TRY(bm_store_view_open(a->store, &a->view, err));
    BM_TRY(bm_index_ids_begin(&a->ids, a->view, facts->bands, batch, err));
    return bm_index_near_begin(&a->near, batch, most, &a->shape, err);
}

bm_status bm_index_adder_take_one(bm_index_adder *a, const bm_gathered *batch, bm_error *err)
{
    const size_t i = batch->n - 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_index_ids_look_up(&a->ids, i, err));
    BM_TRY_OUT(search(a, batch, i, err));
    status = take_doc(a, i, 0, err);
out:
    a->commits.input += batch->input_bytes;
    return status;
}

bm_status bm_index_adder_end_batch(bm_index_adder *a, bm_gathered *batch, bm_error *err)
{
    bm_store_view_close(a->view); /* its documents are named in rows no more */
    a->view = NULL;
    return write_batch(a, batch, err);
}

void bm_index_adder_begin_commits(bm_index_adder *adder)
{
    adder->commits =
        (bm_index_commits){.on = true, .due = bm_clock_seconds() + seconds_between(adder)};
}

bm_status bm_index_adder_finish(bm_index_adder *adder, bm_error *err)
{
    return commit(adder, err);
}
