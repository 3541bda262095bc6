/* store_check.c -- is every byte of an index what it should be?
 *
 * LMDB's own pages are compared when a view opens. Then each piece by itself; then the tables: in each band every document with
 * shingles stands once, in that of ids every document.
 *
 * Tests: tests/unit/store/test_store_damage.c */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/bytes/le_bytes.h"
#include "store/store_note.h"
#include "store/store_view_inside.h"

#define SAY_MOST 100u

typedef struct checker {
    const bm_store_check_cfg *cfg;
    bm_store *store;
    bm_store_view *view;
    pthread_mutex_t mutex;
    unsigned said;
    bm_store_counts found; /* of documents */
    uint8_t *full;         /* a bit a number: it has shingles */
} checker;

static void say(checker *c, const char *format, ...) BM_PRINTF(2, 3);

static void say(checker *c, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&c->mutex);
    if (c->said++ < SAY_MOST && c->cfg->say != NULL)
        c->cfg->say(c->cfg->ctx, text);
    pthread_mutex_unlock(&c->mutex);
}

/* BM_OK where the failure was one of the index, which is said. */
static bm_status say_failure(checker *c, bm_status status, const bm_error *why, bm_error *err)
{
    if (status == BM_OK)
        return BM_OK;
    if (status == BM_ERR_FORMAT)
        say(c, "%s", why->message);
    else if (err != NULL)
        *err = *why;
    return status == BM_ERR_FORMAT ? BM_OK : status;
}

static bool has_bit(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] >> i % 8 & 1) != 0;
}

/* --- pieces --- */

static bm_status check_set(checker *c, const bm_store_doc *doc, bm_error *err)
{
    bm_error why = {0};
    uint64_t *set = NULL;
    BM_TRY(bm_new(&set, doc->n_shingles, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_doc_set(doc, set, &why));
    for (uint32_t i = 1; i < doc->n_shingles; i++) {
        if (set[i] <= set[i - 1]) {
            say(c, "the set of \"%.*s\" is not in order", (int)doc->id.len, doc->id.data);
            break;
        }
    }
out:
    bm_free(set);
    return say_failure(c, status, &why, err);
}

static bm_status check_doc(checker *c, uint32_t number, const bm_store_doc *doc, bm_error *err)
{
    const bm_store_facts *facts = &c->store->facts;
    bm_error why = {0};
    uint32_t found = 0;
    if (doc->n_shingles > 0)
        __atomic_fetch_or(&c->full[number / 8], (uint8_t)(1u << number % 8), __ATOMIC_RELAXED);
    if (facts->kind == BM_STORE_SIGNATURES && doc->body.len != facts->words * (size_t)4)
        say(c, "document %" PRIu32 " has another number of words", number);
    bm_status status = facts->kind == BM_STORE_SETS ? check_set(c, doc, err) : BM_OK;
    if (status != BM_OK || bm_store_view_removed(c->view, number))
        return status;
    status = bm_store_view_id(c->view, doc->id, &found, &why);
    if (status == BM_NOT_FOUND || (status == BM_OK && found != number)) {
        say(c, "document %" PRIu32 " is not found under its id", number);
        return BM_OK;
    }
    return say_failure(c, status, &why, err);
}

static bm_status check_documents(checker *c, const bm_piece_ref *ref, uint64_t end, bm_error *err)
{
    bm_document_piece piece;
    bm_store_counts sums = {0};
    bm_status status = BM_OK;
    if (!bm_document_piece_open(ref->bytes, ref->size, &piece) ||
        !bm_document_piece_valid(&piece) || piece.head.first != ref->key.number ||
        piece.head.last + 1 != end) {
        say(c, "the piece of documents from %" PRIu32 " on is damaged", ref->key.number);
        return BM_OK;
    }
    for (uint64_t n = ref->key.number; status == BM_OK && n < end; n++) {
        bm_store_doc doc;
        if (!bm_document_piece_at(&piece, (uint32_t)n, &doc)) {
            say(c, "document %" PRIu64 " is damaged", n);
            continue;
        }
        status = check_doc(c, (uint32_t)n, &doc, err);
        if (bm_store_view_removed(c->view, (uint32_t)n))
            continue;
        sums.empty += doc.n_shingles == 0;
        sums.shingles += doc.n_shingles;
        sums.text_bytes += doc.text_bytes;
    }
    pthread_mutex_lock(&c->mutex);
    c->found.empty += sums.empty;
    c->found.shingles += sums.shingles;
    c->found.text_bytes += sums.text_bytes;
    pthread_mutex_unlock(&c->mutex);
    return status;
}

static void check_range(checker *c, const bm_piece_ref *ref)
{
    const bm_state *state = &c->view->snapshot.state;
    const uint64_t first = ref->key.number * BM_STORE_RANGE;
    bm_piece_head head;
    uint64_t n = 0;
    bool right = ref->size == BM_REMOVED_PIECE &&
                 bm_piece_check(ref->bytes, ref->size, BM_PIECE_REMOVED) &&
                 bm_piece_head_of(ref->bytes, ref->size, BM_PIECE_REMOVED, &head);
    for (uint64_t i = 0; right && i < BM_STORE_RANGE; i++)
        if (has_bit(ref->bytes + BM_PIECE_HEAD_BYTES, i)) {
            n++;
            right = first + i < state->counts.next_number;
        }
    if (!right || head.first != first || head.n != n ||
        state->ranges[bm_state_range(state, ref->key.number)].removed != n)
        say(c, "what was removed from number %" PRIu64 " on is damaged", first);
}

static void check_note(checker *c, const bm_piece_ref *ref)
{
    bm_str name, bytes;
    if (!bm_piece_check(ref->bytes, ref->size, BM_PIECE_NOTE) ||
        !bm_store_note_read(ref, &name, &bytes) || bm_note_name_hash(name) != ref->key.first)
        say(c, "a note is damaged");
}

static void check_postings(checker *c, const bm_piece_ref *ref)
{
    bm_posting_piece piece;
    if (!bm_posting_piece_open(ref->bytes, ref->size, NULL, &piece) ||
        piece.head.first != ref->key.first || !bm_posting_piece_valid(&piece) ||
        bm_posting_piece_at(&piece, 0).number != ref->key.number)
        say(c, "a piece of postings of run %" PRIu64 ", table %" PRIu32 " is damaged", ref->key.run,
            ref->key.band);
}

static bm_status check_range_of_pieces(void *ctx, uint32_t thread, size_t begin, size_t end,
                                       bm_error *err)
{
    checker *c = ctx;
    const bm_snapshot *s = &c->view->snapshot;
    bm_status status = BM_OK;
    (void)thread;
    for (size_t i = begin; status == BM_OK && i < end; i++) {
        const bm_piece_ref *ref = &s->pieces.list[i];
        const bool last = i + 1 >= s->notes; /* of documents */
        if (ref->key.table == BM_KEY_DOCUMENTS)
            status = check_documents(c, ref, last ? s->state.counts.next_number : ref[1].key.number,
                                     err);
        else if (ref->key.table == BM_KEY_REMOVED)
            check_range(c, ref);
        else if (ref->key.table == BM_KEY_NOTE)
            check_note(c, ref);
        else if (ref->key.table == BM_KEY_POSTINGS)
            check_postings(c, ref);
        bm_snapshot_read(ref);
    }
    return status;
}

/* --- tables --- */

/* The postings of a piece: each of a document, none twice. false: that was said. */
static bool mark_piece(checker *c, const bm_posting_piece *piece, uint8_t *seen, uint32_t table)
{
    const uint64_t next = c->view->snapshot.state.counts.next_number;
    for (size_t i = 0; i < piece->head.n; i++) {
        const uint32_t number = bm_posting_piece_at(piece, i).number;
        if (number >= next || has_bit(seen, number)) {
            say(c, "table %" PRIu32 ": document %" PRIu32 " %s", table, number,
                number >= next ? "is not there" : "stands in it twice");
            return false;
        }
        seen[number / 8] |= (uint8_t)(1u << number % 8);
    }
    return true;
}

/* The pieces of a table in one run: in order, and as many entries as the state says. */
static bool mark_run(checker *c, size_t run, uint32_t table, uint8_t *seen)
{
    const bm_snapshot *s = &c->view->snapshot;
    size_t n;
    const bm_piece_ref *refs = bm_snapshot_table(s, run, table, &n);
    uint64_t entries = 0;
    bm_posting last = {0, 0};
    for (size_t i = 0; i < n; i++) {
        bm_posting_piece piece;
        if (!bm_posting_piece_open(refs[i].bytes, refs[i].size, NULL, &piece) ||
            !mark_piece(c, &piece, seen, table))
            return false;
        const bm_posting first = bm_posting_piece_at(&piece, 0);
        if (i > 0 &&
            (first.key < last.key || (first.key == last.key && first.number <= last.number)))
            say(c, "table %" PRIu32 ": its pieces are not in order", table);
        last = bm_posting_piece_at(&piece, piece.head.n - 1);
        entries += piece.head.n;
    }
    if (n > 0 && entries != s->state.runs[run].entries)
        say(c, "table %" PRIu32 ": another number of entries", table);
    return true;
}

static bm_status check_tables(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    checker *c = ctx;
    const bm_state *state = &c->view->snapshot.state;
    const uint64_t next = state->counts.next_number;
    (void)thread;
    for (size_t table = begin; table < end; table++) {
        uint8_t *seen = bm_alloc_zero((size_t)(next / 8 + 1), 1);
        bool right = true;
        if (seen == NULL)
            return bm_fail_nomem(err, (size_t)(next / 8 + 1));
        for (size_t run = 0; right && run < state->n_runs; run++)
            right = mark_run(c, run, (uint32_t)table, seen);
        for (uint64_t n = 0; right && n < next; n++)
            if (has_bit(seen, n) != (table == state->facts.bands || has_bit(c->full, n))) {
                say(c, "table %zu: document %" PRIu64 " %s", table, n,
                    has_bit(seen, n) ? "has no shingles" : "is missing");
                right = false;
            }
        bm_free(seen);
    }
    return BM_OK;
}

/* --- all --- */

static bm_status in_parallel(checker *c, size_t n, bm_pool_range_fn fn, bm_error *err)
{
    return c->cfg->pool == NULL ? fn(c, 0, 0, n, err)
                                : bm_pool_for(c->cfg->pool, (bm_pool_split){n, 1}, fn, c, err);
}

static bm_status check_all(checker *c, bm_error *err)
{
    const bm_state *state = &c->view->snapshot.state;
    const bm_store_counts *want = &state->counts;
    BM_TRY(in_parallel(c, c->view->snapshot.pieces.n, check_range_of_pieces, err));
    if (c->said == 0 && (c->found.empty != want->empty || c->found.shingles != want->shingles ||
                         c->found.text_bytes != want->text_bytes))
        say(c, "the sums of its documents are others than its state says");
    if (c->said == 0)
        BM_TRY(in_parallel(c, (size_t)state->facts.bands + 1, check_tables, err));
    return BM_OK;
}

bm_status bm_store_check(const char *dir, const bm_store_check_cfg *cfg, bm_error *err)
{
    const bm_store_cfg open = {.mode = BM_STORE_READ};
    checker c = {.cfg = cfg};
    bm_error why = {0};
    pthread_mutex_init(&c.mutex, NULL);
    bm_status status = bm_store_open(dir, &open, &c.store, &why);
    if (status == BM_OK)
        status = bm_store_view_open(c.store, &c.view, &why);
    if (status != BM_OK) {
        status = say_failure(&c, status, &why, err);
    } else {
        const size_t bytes = (size_t)(bm_store_view_counts(c.view).next_number / 8 + 1);
        c.full = bm_alloc_zero(bytes, 1);
        status = c.full == NULL ? bm_fail_nomem(err, bytes) : check_all(&c, err);
    }
    bm_free(c.full);
    bm_store_view_close(c.view);
    bm_store_close(c.store);
    pthread_mutex_destroy(&c.mutex);
    if (status == BM_OK && c.said > 0)
        status = bm_fail_at(err, BM_ERR_FORMAT, dir, 0, "the index is damaged");
    return status;
}
