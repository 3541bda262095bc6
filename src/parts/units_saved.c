/* SPDX-License-Identifier: Apache-2.0 */
/* units_saved.c -- saves what a job has found in parts of documents, and loads it. The checkpoint
 * stores it as additional data (job/checkpoint_state.h).
 *
 *     lines, paragraphs     bm_unit_doc.filled of each document; a list of the runs of by_hash
 *                           (the file with these runs is kept)
 *     spans                 the filter (only in the first save); bm_unit_doc.filled of each
 *                           document; the K-grams
 *     near-duplicate units  the place of each unit, in the checkpoint of the job of units
 *
 * A save appends what is new. However, a list of runs and the numbers of the job replace those of
 * earlier saves. The places of documents are not saved, because loading adds up the lengths of
 * their texts.
 *
 * Tests: tests/cli/cases/units_resume.sh, tests/scale/killed.py */
#include "parts/units_state.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define BLOCK_BYTES ((size_t)1 << 18) /* most bytes of elements in a record */

/* The contents of a record. */
typedef enum saved_kind {
    SAVED_FILTER = 1, /* the filter's words (uint64_t); `more` is the shift */
    SAVED_DOCS,       /* bm_unit_doc.filled of each document (uint64_t); here and below, `more` is
                       * unused */
    SAVED_RUNS,       /* all runs (bm_saved_run) */
    SAVED_GRAMS,      /* bm_span_gram */
    SAVED_PLACES,     /* places of units (uint64_t) */
    SAVED_NUMBERS     /* saved_numbers, a saved_counts for each rule that reads a field, and the
                       * names of the first document's fields */
} saved_kind;

typedef struct saved_head {
    uint64_t mark; /* BM_CHECKPOINT_MORE */
    uint64_t kind, first, more;
} saved_head;

typedef struct saved_numbers {
    uint64_t docs, units, placed; /* number of documents; number of their units; number of documents
                                   * whose units have places */
} saved_numbers;

typedef struct saved_counts {
    uint64_t absent, missing, other, unlisted; /* see bm_keep_counts */
} saved_counts;

/* --- saving --- */

static bm_status add_record(bm_spill_file *file, const saved_head *head, const void *data,
                            size_t len, bm_buf *buf, bm_error *err)
{
    buf->len = 0;
    BM_TRY(bm_buf_add(buf, head, sizeof *head, err));
    if (len > 0)
        BM_TRY(bm_buf_add(buf, data, len, err));
    return bm_spill_add(file, buf->data, buf->len, NULL, err);
}

/* Save elements of a list from head.first to `end` - 1, a block of them in each record. */
static bm_status add_list(bm_spill_file *file, saved_head head, const void *list, uint64_t end,
                          size_t bytes, bm_buf *buf, bm_error *err)
{
    const uint64_t most = BLOCK_BYTES / bytes;
    for (uint64_t n; head.first < end; head.first += n) {
        n = end - head.first < most ? end - head.first : most;
        BM_TRY(add_record(file, &head, (const char *)list + head.first * bytes, (size_t)n * bytes,
                          buf, err));
    }
    return BM_OK;
}

static uint64_t filter_words(unsigned shift)
{
    return UINT64_C(1) << (64 - shift);
}

static bm_status add_docs(bm_units *u, bm_spill_file *file, bm_buf *buf, bm_error *err)
{
    const bm_unit_doc *docs = u->docs.data;
    bm_buf filled = {0};
    bm_status status = BM_OK;
    for (uint64_t at = u->saved.docs, n; at < u->n_docs; at += n) {
        n = u->n_docs - at < BLOCK_BYTES / 8 ? u->n_docs - at : BLOCK_BYTES / 8;
        filled.len = 0;
        for (uint64_t i = at; i < at + n; i++)
            BM_TRY_OUT(bm_buf_add(&filled, &docs[i].filled, sizeof docs[i].filled, err));
        BM_TRY_OUT(add_record(file, &(saved_head){BM_CHECKPOINT_MORE, SAVED_DOCS, at, 0},
                              filled.data, filled.len, buf, err));
    }
out:
    bm_buf_reset(&filled);
    return status;
}

static bm_status save_lists(bm_units *u, bm_spill_file *file, bm_buf *buf, bm_error *err)
{
    saved_head head = {.mark = BM_CHECKPOINT_MORE};
    if (u->spans && !u->saved.filter) {
        head = (saved_head){head.mark, SAVED_FILTER, 0, u->filter.shift};
        BM_TRY(add_list(file, head, u->filter.words, filter_words(u->filter.shift),
                        sizeof *u->filter.words, buf, err));
    }
    if (!u->pairs)
        BM_TRY(add_docs(u, file, buf, err));
    if (u->by_hash != NULL) {
        head = (saved_head){head.mark, SAVED_RUNS, 0, 0};
        BM_TRY(add_record(file, &head, u->saved.runs.data, u->saved.runs.len, buf, err));
    }
    head = (saved_head){head.mark, SAVED_GRAMS, u->saved.grams, 0};
    BM_TRY(add_list(file, head, u->grams.column.data, u->grams.n, sizeof(bm_span_gram), buf, err));
    head = (saved_head){head.mark, SAVED_PLACES, u->saved.places, 0};
    return add_list(file, head, u->places.data, u->n_places, sizeof(uint64_t), buf, err);
}

static bm_status save(void *ctx, bm_spill_file *file, bm_error *err)
{
    bm_units *u = ctx;
    const saved_numbers numbers = {u->n_docs, u->n_units, u->n_placed};
    const bm_keep_keys *keep = &u->job.context.keep;
    const saved_head head = {BM_CHECKPOINT_MORE, SAVED_NUMBERS, 0, 0};
    bm_buf buf = {0}, last = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(save_lists(u, file, &buf, err));
    BM_TRY_OUT(bm_buf_add(&last, &numbers, sizeof numbers, err));
    for (size_t i = 0; keep->rules != NULL && i < keep->rules->n_by_field; i++) {
        const bm_keep_counts *c = &keep->counts[i];
        const saved_counts counts = {c->absent, c->missing, c->other, c->unlisted};
        BM_TRY_OUT(bm_buf_add(&last, &counts, sizeof counts, err));
    }
    if (keep->names.len > 0)
        BM_TRY_OUT(bm_buf_add(&last, keep->names.data, keep->names.len, err));
    BM_TRY_OUT(add_record(file, &head, last.data, last.len, &buf, err));
    u->saved.filter = u->spans;
    u->saved.docs = u->n_docs;
    u->saved.grams = u->grams.n;
    u->saved.places = u->n_places;
out:
    bm_buf_reset(&buf);
    bm_buf_reset(&last);
    return status;
}

static uint64_t unsaved_bytes(const void *ctx)
{
    const bm_units *u = ctx;
    uint64_t bytes = (u->grams.n - u->saved.grams) * sizeof(bm_span_gram) +
                     (u->n_places - u->saved.places) * sizeof(uint64_t);
    if (!u->pairs)
        bytes += (u->n_docs - u->saved.docs) * sizeof(uint64_t);
    if (u->spans && !u->saved.filter)
        bytes += filter_words(u->filter.shift) * sizeof *u->filter.words;
    return bytes + (u->by_hash != NULL ? bm_sorted_runs_unsaved_bytes(u->by_hash) : 0);
}

/* A save needs the sorter of units, which is closed once the units are grouped. It also needs all
 * units of each document, which are complete only between batches. */
static bool can_save(const void *ctx)
{
    const bm_units *u = ctx;
    const bm_job_context *context = &u->job.context;
    if (u->pairs) /* the job of units must have read exactly the units that have places */
        return u->more_of != NULL && u->more_of->docs.n == u->n_places;
    return context->docs.n == u->n_docs && (u->spans ? u->grams.by_hash : u->by_hash) != NULL;
}

/* --- loading --- */

static bm_status damaged(const char *what, bm_error *err)
{
    return bm_fail(err, BM_ERR_FORMAT, "the saved parts of documents are damaged: %s do not fit",
                   what);
}

static bm_status load_filter(bm_units *u, const saved_head *head, const uint64_t *words, size_t n,
                             bm_error *err)
{
    if (!u->spans || head->more < 24 || head->more > 63 || n > filter_words((unsigned)head->more) ||
        head->first > filter_words((unsigned)head->more) - n)
        return damaged("words of the filter", err);
    if (u->filter.words == NULL) {
        u->filter.shift = (unsigned)head->more;
        BM_TRY(bm_new_zero(&u->filter.words, (size_t)filter_words(u->filter.shift), err));
    }
    if (u->filter.shift != head->more)
        return damaged("words of the filter", err);
    memcpy(u->filter.words + head->first, words, n * sizeof *words);
    u->saved.filter = true;
    return BM_OK;
}

static bm_status load_docs(bm_units *u, uint64_t first, const uint64_t *filled, size_t n,
                           bm_error *err)
{
    const bm_doc_table *table = &u->job.context.docs;
    if (u->pairs || first != u->n_docs || n > table->n - first)
        return damaged("documents", err);
    BM_TRY(bm_column_grow(&u->docs, (u->n_docs + n + 1) * sizeof(bm_unit_doc),
                          u->settings->temp_dir, err));
    bm_unit_doc *docs = u->docs.data;
    for (size_t i = 0; i < n; i++) {
        docs[u->n_docs] = (bm_unit_doc){u->place, filled[i]};
        u->place += (uint64_t)bm_doc_table_row(table, u->n_docs++)->text_bytes + 1;
    }
    docs[u->n_docs].begin = u->place;
    u->saved.docs = u->n_docs;
    return BM_OK;
}

static bm_status load_grams(bm_units *u, uint64_t first, const bm_span_gram *grams, size_t n,
                            bm_error *err)
{
    if (!u->spans || first != u->grams.n)
        return damaged("K-grams", err);
    for (size_t i = 0; i < n; i++) {
        if (grams[i].from > u->place || grams[i].len > u->place - grams[i].from)
            return damaged("K-grams", err);
        BM_TRY(bm_span_grams_add(&u->grams, &grams[i], err));
    }
    u->saved.grams = u->grams.n;
    return BM_OK;
}

static bm_status load_places(bm_units *u, uint64_t first, const uint64_t *loaded, size_t n,
                             bm_error *err)
{
    const bm_unit_doc *docs = u->docs.data;
    if (!u->pairs || first != u->n_places)
        return damaged("places", err);
    BM_TRY(
        bm_column_grow(&u->places, (u->n_places + n) * sizeof *loaded, u->settings->temp_dir, err));
    uint64_t *places = u->places.data;
    for (size_t i = 0; i < n; i++) {
        if (loaded[i] >= docs[u->n_docs].begin ||
            (u->n_places > 0 && loaded[i] <= places[u->n_places - 1]))
            return damaged("places", err);
        places[u->n_places++] = loaded[i];
    }
    u->saved.places = u->n_places;
    return BM_OK;
}

static bm_status load_counts(bm_keep_keys *keep, size_t n_docs, const char *data, size_t len,
                             bm_error *err)
{
    if (keep->rules == NULL)
        return len == 0 ? BM_OK : damaged("counts", err);
    if (len / sizeof(saved_counts) < keep->rules->n_by_field)
        return damaged("counts", err);
    for (size_t i = 0; i < keep->rules->n_by_field; i++) {
        saved_counts counts;
        memcpy(&counts, data + i * sizeof counts, sizeof counts);
        keep->counts[i].absent = counts.absent;
        keep->counts[i].missing = counts.missing;
        keep->counts[i].other = counts.other;
        keep->counts[i].unlisted = counts.unlisted;
    }
    const size_t at = keep->rules->n_by_field * sizeof(saved_counts);
    keep->n = n_docs;
    keep->names.len = 0;
    return len > at ? bm_buf_add(&keep->names, data + at, len - at, err) : BM_OK;
}

static bm_status load_numbers(bm_units *u, const char *data, size_t len, bm_error *err)
{
    saved_numbers n;
    if (len < sizeof n)
        return damaged("numbers", err);
    memcpy(&n, data, sizeof n);
    if (n.docs != u->n_docs || n.placed > u->n_docs)
        return damaged("numbers", err);
    u->n_units = n.units;
    u->n_placed = (size_t)n.placed;
    if (u->pairs) { /* the other numbers are counted again after loading */
        u->job.context.stats.n_resumed = n.placed;
        return BM_OK;
    }
    return load_counts(&u->job.context.keep, u->n_docs, data + sizeof n, len - sizeof n, err);
}

static bm_status load(void *ctx, const void *data, size_t len, bm_error *err)
{
    static const size_t bytes[] = {
        [SAVED_FILTER] = sizeof(uint64_t),   [SAVED_DOCS] = sizeof(uint64_t),
        [SAVED_RUNS] = sizeof(bm_saved_run), [SAVED_GRAMS] = sizeof(bm_span_gram),
        [SAVED_PLACES] = sizeof(uint64_t),   [SAVED_NUMBERS] = 1};
    bm_units *u = ctx;
    saved_head head = {0};
    if (len >= sizeof head)
        memcpy(&head, data, sizeof head);
    if (head.kind < SAVED_FILTER || head.kind > SAVED_NUMBERS)
        return damaged("records", err);
    const char *const list = (const char *)data + sizeof head;
    const size_t n = (len - sizeof head) / bytes[head.kind];
    if (n * bytes[head.kind] != len - sizeof head)
        return damaged("lengths", err);
    switch ((saved_kind)head.kind) {
    case SAVED_FILTER:
        return load_filter(u, &head, (const void *)list, n, err);
    case SAVED_DOCS:
        return load_docs(u, head.first, (const void *)list, n, err);
    case SAVED_RUNS:
        return u->by_hash != NULL ? bm_sorted_runs_restore(u->by_hash, (const void *)list, n, err)
                                  : damaged("runs", err);
    case SAVED_GRAMS:
        return load_grams(u, head.first, (const void *)list, n, err);
    case SAVED_PLACES:
        return load_places(u, head.first, (const void *)list, n, err);
    case SAVED_NUMBERS:
        return load_numbers(u, list, n, err);
    }
    return BM_OK;
}

bm_status bm_units_check_loaded(const bm_units *u, const bm_job_context *context, bm_error *err)
{
    const uint64_t n = u->pairs ? u->n_places : u->n_docs;
    return n == context->docs.n ? BM_OK : damaged("numbers", err);
}

/* The number of records that were read by the job that saves the places of units. */
static uint64_t n_records(const void *ctx)
{
    const bm_units *u = ctx;
    return u->n_placed + u->more_of->counts.skipped;
}

bm_checkpoint_more bm_units_more(bm_units *u, const bm_job_context *of)
{
    u->more_of = of;
    return (bm_checkpoint_more){.save = save,
                                .load = load,
                                .unsaved_bytes = unsaved_bytes,
                                .can_save = can_save,
                                .n_records = u->pairs ? n_records : NULL,
                                .sorter = u->pairs || u->spans ? NULL : &u->by_hash,
                                .runs = &u->saved.runs,
                                .ctx = u};
}
