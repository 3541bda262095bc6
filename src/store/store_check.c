/* SPDX-License-Identifier: Apache-2.0 */
/* store_check.c -- checks every byte of an index.
 *
 * Opening a view checks LMDB's own pages. Then each piece is checked by itself. Then the tables are
 * checked: each document must be exactly once in the table of ids, and each document with shingles
 * exactly once in the table of each band.
 *
 * Tests: tests/unit/store/test_store_damage.c, tests/unit/store/test_store_model.c */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/ids.h"
#include "store/piece.h"
#include "store/store_filter.h"
#include "store/store_runs.h"
#include "store/store_write.h"

#define SAY_MOST 100u

typedef struct checker checker;
typedef bm_status check_fn(checker *c, size_t i, bm_error *err);

struct checker {
    const bm_store_check_cfg *cfg;
    bm_store *store;
    bm_store_view *view;
    pthread_mutex_t mutex;
    unsigned said;
    bm_store_counts found; /* sums over documents */
    uint8_t *full;         /* one bit for each number: 1 if the document has shingles */
    bool documents_right;  /* no defect of documents or of removals was reported */
    check_fn *fn;          /* called on several threads, for each item of a step */
};

static void report(checker *c, const char *format, ...) BM_PRINTF(2, 3);

static void report(checker *c, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&c->mutex);
    if (c->said++ < SAY_MOST && c->cfg->report != NULL)
        c->cfg->report(c->cfg->ctx, text);
    pthread_mutex_unlock(&c->mutex);
}

/* If `status` is BM_ERR_FORMAT, report a defect of the index and return BM_OK. Other failures are
 * returned, with *err set. */
static bm_status report_failure(checker *c, bm_status status, const bm_error *why, bm_error *err)
{
    if (status == BM_OK)
        return BM_OK;
    if (status == BM_ERR_FORMAT)
        report(c, "%s", why->message);
    else if (err != NULL)
        *err = *why;
    return status == BM_ERR_FORMAT ? BM_OK : status;
}

static bool has_bit(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] >> i % 8 & 1) != 0;
}

/* --- pieces --- */

/* Check that the set can be decoded. Decoding also checks its order. */
static bm_status check_set(checker *c, const bm_store_doc *doc, bm_error *err)
{
    bm_error why = {0};
    uint64_t *set = NULL;
    BM_TRY(bm_new(&set, doc->n_shingles, err));
    const bm_status status = bm_store_doc_set(doc, set, &why);
    bm_free(set);
    return report_failure(c, status, &why, err);
}

static bm_status check_doc(checker *c, uint32_t number, const bm_store_doc *doc, bm_error *err)
{
    const bm_store_facts *facts = &c->store->facts;
    bm_error why = {0};
    uint32_t found = 0;
    uint64_t next_id = c->view->snapshot.state.counts.next_id;
    if (doc->n_shingles > 0)
        __atomic_fetch_or(&c->full[number / 8], (uint8_t)(1u << number % 8), __ATOMIC_RELAXED);
    if (facts->kind == BM_STORE_SIGNATURES && doc->body.len != facts->words * (size_t)4)
        report(c, "document %" PRIu32 " has another number of words", number);
    bm_next_id_pass(&next_id, doc->id);
    if (next_id != c->view->snapshot.state.counts.next_id)
        report(c, "the id of document %" PRIu32 " may be given once more", number);
    bm_status status = facts->kind == BM_STORE_SETS ? check_set(c, doc, err) : BM_OK;
    if (status != BM_OK || bm_store_view_removed(c->view, number))
        return status;
    status = bm_store_view_id(c->view, doc->id, &found, &why);
    if (status == BM_NOT_FOUND || (status == BM_OK && found != number)) {
        report(c, "document %" PRIu32 " is not found under its id", number);
        return BM_OK;
    }
    return report_failure(c, status, &why, err);
}

static bm_status check_documents(checker *c, size_t i, bm_error *err)
{
    bm_document_piece piece;
    bm_store_counts sums = {0};
    bm_error why = {0};
    bm_status status = bm_snapshot_documents(&c->view->snapshot, i, &piece, &why);
    if (status != BM_OK)
        return report_failure(c, status, &why, err);
    for (uint64_t n = piece.head.first; status == BM_OK && n <= piece.head.last; n++) {
        bm_store_doc doc;
        (void)bm_document_piece_again(&piece, (uint32_t)n, &doc); /* the piece was validated */
        status = check_doc(c, (uint32_t)n, &doc, err);
        if (bm_store_view_removed(c->view, (uint32_t)n))
            continue;
        sums.empty += doc.n_shingles == 0;
        sums.unreadable += bm_store_doc_is_unreadable(&doc);
        sums.short_docs += bm_store_doc_is_short(&doc);
        sums.shingles += doc.n_shingles;
        sums.text_bytes += doc.text_bytes;
    }
    pthread_mutex_lock(&c->mutex);
    c->found.empty += sums.empty;
    c->found.unreadable += sums.unreadable;
    c->found.short_docs += sums.short_docs;
    c->found.shingles += sums.shingles;
    c->found.text_bytes += sums.text_bytes;
    pthread_mutex_unlock(&c->mutex);
    bm_snapshot_read(&c->view->snapshot.pieces.list[i]);
    return status;
}

static bm_status check_filter(checker *c, size_t i, bm_error *err)
{
    bool right;
    BM_TRY(bm_store_filter_check(&c->view->snapshot, i, &right, err));
    if (!right)
        report(c, "filter %zu of documents is damaged", i);
    return BM_OK;
}

/* Check that the number of set bits is the number of removed documents, and that all of them are
 * below next_number. */
static void check_removed(checker *c)
{
    const bm_store_counts *counts = &c->view->snapshot.state.counts;
    uint64_t n = 0, last = 0;
    for (uint64_t i = 0; i < 8 * (uint64_t)c->view->removed_bytes; i++)
        if (has_bit(c->view->removed, i)) {
            n++;
            last = i;
        }
    if (n != counts->removed || (n > 0 && last >= counts->next_number))
        report(c, "what was removed is damaged");
}

/* --- tables --- */

typedef struct marking {
    const checker *checker;
    uint32_t table;
    uint8_t *seen; /* one bit for each number */
} marking;

/* Check that a posting names a document that the index has or had, and that no other posting of the
 * table names the same document. */
static bm_status mark(void *ctx, bm_posting posting, bm_error *err)
{
    marking *m = ctx;
    const uint32_t number = posting.number;
    const bool there = number < m->checker->view->snapshot.state.counts.next_number;
    if (!there || has_bit(m->seen, number))
        return bm_fail(err, BM_ERR_FORMAT, "table %" PRIu32 ": document %" PRIu32 " %s", m->table,
                       number, there ? "stands in it twice" : "is not there");
    m->seen[number / 8] |= (uint8_t)(1u << number % 8);
    return BM_OK;
}

/* Check every piece of a table. If documents_right, also check that the table has an entry for each
 * document that should have one, and no other entries. */
static bm_status check_table(checker *c, size_t table, bm_error *err)
{
    const bm_state *state = &c->view->snapshot.state;
    const uint64_t next = state->counts.next_number;
    marking m = {c, (uint32_t)table, NULL};
    bm_error why = {0};
    BM_TRY(bm_new_zero(&m.seen, (size_t)(next / 8 + 1), err));
    bm_status status = bm_postings_each(&c->view->snapshot, NULL, m.table, mark, &m, &why);
    for (uint64_t n = 0; c->documents_right && status == BM_OK && n < next; n++)
        if (has_bit(m.seen, n) != (table == state->facts.bands || has_bit(c->full, n)))
            status = bm_fail(&why, BM_ERR_FORMAT, "table %" PRIu32 ": document %" PRIu64 " %s",
                             m.table, n, has_bit(m.seen, n) ? "has no shingles" : "is missing");
    bm_free(m.seen);
    return report_failure(c, status, &why, err);
}

/* --- all --- */

static bm_status check_range(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    checker *c = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        BM_TRY(c->fn(c, i, err));
    return BM_OK;
}

static bm_status in_parallel(checker *c, size_t n, check_fn *fn, bm_error *err)
{
    c->fn = fn;
    return c->cfg->pool == NULL
               ? check_range(c, 0, 0, n, err)
               : bm_pool_for(c->cfg->pool, (bm_pool_split){n, 1}, check_range, c, err);
}

static bm_status check_all(checker *c, bm_error *err)
{
    const bm_state *state = &c->view->snapshot.state;
    const bm_store_counts *want = &state->counts;
    check_removed(c);
    BM_TRY(in_parallel(c, c->view->snapshot.postings, check_documents, err));
    if (c->said == 0 &&
        (c->found.empty != want->empty || c->found.shingles != want->shingles ||
         c->found.unreadable != want->unreadable || c->found.short_docs != want->short_docs ||
         c->found.text_bytes != want->text_bytes))
        report(c, "the sums of its documents are others than its state says");
    c->documents_right = c->said == 0;
    BM_TRY(in_parallel(c, bm_store_view_filters(c->view), check_filter, err));
    return in_parallel(c, (size_t)state->facts.bands + 1, check_table, err);
}

bm_status bm_store_check(const char *dir, const bm_store_check_cfg *cfg, bm_error *err)
{
    const bm_store_cfg open = {.mode = BM_STORE_READ};
    checker c = {.cfg = cfg};
    bm_error why = {0};
    pthread_mutex_init(&c.mutex, NULL);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_open(dir, &open, &c.store, &why));
    if (cfg->linked != NULL)
        *cfg->linked = bm_store_place_is_linked(&c.store->place);
    BM_TRY_OUT(bm_store_view_open(c.store, &c.view, &why));
    BM_TRY_OUT(
        bm_new_zero(&c.full, (size_t)(bm_store_view_counts(c.view).next_number / 8 + 1), &why));
    status = check_all(&c, &why);
out:
    status = report_failure(&c, status, &why, err);
    bm_free(c.full);
    bm_store_view_close(c.view);
    bm_store_close(c.store);
    pthread_mutex_destroy(&c.mutex);
    if (status == BM_OK && c.said > 0)
        status = bm_fail_at(err, BM_ERR_FORMAT, dir, 0, "the index is damaged");
    return status;
}

/* === store copy ===
 *
 * Copies an index without its removed documents.
 *
 * The remaining documents keep their order and get new numbers. So the entries of a table, merged
 * from all runs, stay in order. The new number of a document is its old number minus the number of
 * removed documents before it. The removed documents before every 64th document are counted once
 * (copying.before). The bits from there up to the document are added to this count. */

typedef struct copying {
    const bm_store_view *view;
    bm_store *to;
    uint32_t *before; /* before[i]: how many documents before number i * 64 were removed */
    bm_run_writer *out;
} copying;

/* The bits of numbers 64 * i … 64 * i + 63; 1: removed. */
static uint64_t bits_at(const bm_store_view *view, size_t i)
{
    uint8_t bytes[8] = {0};
    if (8 * i < view->removed_bytes)
        memcpy(bytes, view->removed + 8 * i,
               view->removed_bytes - 8 * i < 8 ? view->removed_bytes - 8 * i : 8);
    return bm_le64_get(bytes);
}

static bm_status count_removed(copying *c, bm_error *err)
{
    const size_t n = (size_t)(c->view->snapshot.state.counts.next_number / 64 + 1);
    uint32_t removed = 0;
    BM_TRY(bm_new(&c->before, n, err));
    for (size_t i = 0; i < n; i++) {
        c->before[i] = removed;
        removed += (uint32_t)__builtin_popcountll(bits_at(c->view, i));
    }
    return BM_OK;
}

static bm_status copy_posting(void *ctx, bm_posting p, bm_error *err)
{
    const copying *c = ctx;
    const bm_snapshot *s = &c->view->snapshot;
    if (p.number >= s->state.counts.next_number)
        return bm_snapshot_damaged(s, err, "a posting of no document");
    const uint64_t bits = bits_at(c->view, p.number / 64), bit = UINT64_C(1) << p.number % 64;
    if (bits & bit)
        return BM_OK;
    p.number -= c->before[p.number / 64] + (uint32_t)__builtin_popcountll(bits & (bit - 1));
    return bm_run_add(c->out, p, err);
}

static bm_status copy_table(void *ctx, uint32_t table, bm_run_writer *out, bm_error *err)
{
    copying *c = ctx;
    c->out = out;
    return bm_postings_each(&c->view->snapshot, NULL, table, copy_posting, c, err);
}

static bm_status copy_documents(const copying *c, bm_error *err)
{
    const bm_snapshot *s = &c->view->snapshot;
    for (size_t i = 0; i < s->postings; i++) {
        bm_document_piece piece;
        BM_TRY(bm_snapshot_documents(s, i, &piece, err));
        for (uint64_t n = piece.head.first; n <= piece.head.last; n++) {
            bm_store_doc doc;
            if (bm_store_view_removed(c->view, (uint32_t)n))
                continue;
            (void)bm_document_piece_again(&piece, (uint32_t)n, &doc); /* the piece was validated */
            BM_TRY(bm_writer_document(c->to, &doc, err));
        }
        bm_snapshot_read(&s->pieces.list[i]);
    }
    return BM_OK;
}

/* Copy the kind of ids and the next id. If an id was ever given to a document, it may not be given
 * again, not even after the document was removed. */
static void copy_ids(copying *c)
{
    const bm_store_counts from = bm_store_view_counts(c->view);
    bm_store_counts *to = &c->to->writer->state.counts;
    const uint64_t least =
        from.next_id != BM_NEXT_ID_UNKNOWN ? from.next_id : from.next_number; /* earlier versions
                                                                                 used document
                                                                                 numbers as ids */
    to->next_id = to->next_id < least ? least : to->next_id;
    to->ids = from.ids;
}

static bm_status copy_all(copying *c, bm_error *err)
{
    const uint32_t bands = c->to->facts.bands;
    BM_TRY(count_removed(c, err));
    BM_TRY(copy_documents(c, err));
    BM_TRY(bm_run_write(c->to, 0, bands, copy_table, c, err));
    BM_TRY(bm_run_write(c->to, bands, 1, copy_table, c, err));
    for (unsigned i = 0; i < BM_STORE_NOTES; i++)
        BM_TRY(bm_writer_note(c->to->writer, i, bm_store_view_note(c->view, i), err));
    copy_ids(c);
    return BM_OK;
}

bm_status bm_store_copy(bm_store *from, bm_store *to, bm_error *err)
{
    BM_TRY(bm_writer_ready(to, err));
    if (to->writer->state.counts.next_number != 0 || to->facts.bands != from->facts.bands ||
        to->facts.kind != from->facts.kind || to->facts.words != from->facts.words)
        return bm_fail(err, BM_ERR_INTERNAL, "a copy into an index of another kind");
    bm_store_view *view = NULL;
    BM_TRY(bm_store_view_open(from, &view, err));
    copying c = {.view = view, .to = to};
    const bm_status status = copy_all(&c, err);
    bm_free(c.before);
    bm_store_view_close(view);
    return bm_writer_failed(to, status, err);
}
