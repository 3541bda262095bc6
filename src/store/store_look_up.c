/* SPDX-License-Identifier: Apache-2.0 */
/* store_look_up.c -- views: see store_view.h.
 *
 * A key is looked up in each run that has the table: the first keys of the pieces show in which
 * piece it must be, and the piece is then searched. Documents whose bit in `removed` is set are
 * skipped.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "base/bisect.h"
#include "store/store_writer.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/piece.h"
#include "store/store_filter.h"

/* --- open and close --- */

/* Set v->removed to the bits of removed documents. If the writer `w` has removed documents, its
 * bits are copied. Otherwise the bits are in the map of the file, or v->removed stays NULL because
 * no document was removed. */
static bm_status map_removed(bm_store_view *v, const bm_writer *w, bm_error *err)
{
    const bm_snapshot *s = &v->snapshot;
    const bm_piece_ref *ref = bm_snapshot_piece(s, &(bm_piece_key){.kind = BM_PIECE_REMOVED});
    if (w != NULL && w->removed != NULL) {
        BM_TRY(bm_new(&v->bits, w->removed_bytes, err));
        memcpy(v->bits, w->removed, w->removed_bytes);
        v->removed = v->bits;
        v->removed_bytes = w->removed_bytes;
    } else if (s->state.counts.removed > 0) {
        bm_piece_head head;
        if (ref == NULL || !bm_piece_check(ref->bytes, ref->size, BM_PIECE_REMOVED) ||
            !bm_piece_head_of(ref->bytes, ref->size, BM_PIECE_REMOVED, &head) ||
            head.n != s->state.counts.removed)
            return bm_snapshot_damaged(s, err, "what was removed");
        v->removed = ref->bytes + BM_PIECE_HEAD_BYTES;
        v->removed_bytes = ref->size - BM_PIECE_HEAD_BYTES;
    }
    return BM_OK;
}

bm_status bm_store_view_open(bm_store *store, bm_store_view **out, bm_error *err)
{
    const bm_writer *w = store->writer;
    if (w != NULL) {
        BM_TRY(bm_writer_ready(store, err));
        BM_TRY(bm_writer_flush(store, err));
    }
    bm_store_view *v = NULL;
    BM_TRY(bm_new_zero(&v, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_snapshot_open(store, w != NULL ? &w->state : NULL, &v->snapshot, err));
    BM_TRY_OUT(map_removed(v, w, err));
    for (unsigned i = 0; i < BM_STORE_NOTES; i++) {
        const bm_str note = v->snapshot.state.notes[i];
        BM_TRY_OUT(bm_buf_add(&v->notes[i], note.data, note.len, err));
    }
    const size_t n_pieces = v->snapshot.after_filters - v->snapshot.postings;
    BM_TRY_OUT(bm_new_zero(&v->compared, n_pieces * BM_POSTING_COMPARED, err));
    status =
        bm_new_zero(&v->docs_compared, (size_t)(v->snapshot.state.counts.next_number / 8 + 1), err);
out:
    if (status == BM_OK)
        *out = v;
    else
        bm_store_view_close(v);
    return status;
}

void bm_store_view_close(bm_store_view *v)
{
    if (v == NULL)
        return;
    bm_snapshot_close(&v->snapshot);
    for (unsigned i = 0; i < BM_STORE_NOTES; i++)
        bm_buf_reset(&v->notes[i]);
    bm_free_all(v->bits, v->compared, v->docs_compared, v);
}

/* Long-lived readers call this often, so it reads only the record of the last commit. If the record
 * cannot be read, return true, because the caller will call again. An unnamed index has no record,
 * so its views are always the last. */
bool bm_store_view_is_last(const bm_store_view *v)
{
    const bm_snapshot *s = &v->snapshot;
    bm_store_record newest = {0};
    const bool last = s->store->place.dir < 0 ||
                      bm_store_record_read(&s->store->place, &newest, NULL) != BM_OK ||
                      newest.commit <= s->state.commit;
    bm_store_record_reset(&newest);
    return last;
}

bm_store_counts bm_store_view_counts(const bm_store_view *v)
{
    const bm_snapshot *s = &v->snapshot;
    bm_store_counts counts = s->state.counts;
    const uint64_t used = (s->pages.last_page + 1 - s->pages.n_free) * s->pages.page_bytes;
    counts.runs = 0;
    for (size_t i = 0; i < s->state.n_runs; i++)
        counts.runs += s->state.runs[i].first_table == 0;
    counts.file_bytes = s->file_bytes;
    counts.free_bytes = s->file_bytes > used ? s->file_bytes - used : 0;
    return counts;
}

/* --- postings --- */

bool bm_store_view_removed(const bm_store_view *v, uint32_t number)
{
    return number / 8 < v->removed_bytes && (v->removed[number / 8] >> number % 8 & 1) != 0;
}

/* One key of a bm_store_ask, with its index there (`asked`) and the limit `most`. */
typedef struct ask_key {
    uint64_t key;
    uint32_t asked, most;
} ask_key;

#define KEYS_AHEAD 8u /* entries are prefetched this many keys ahead of the look-up */

/* A table of one run. Keys must be sought in ascending order. */
typedef struct table_walk {
    const bm_store_view *view;
    const bm_piece_ref *refs;
    size_t n, at;           /* number of pieces; index of the piece in which the last key was
                               sought */
    bm_posting_piece piece; /* the open piece, refs[opened] */
    size_t opened;          /* SIZE_MAX: no piece is open */
} table_walk;

static bm_status open_piece(table_walk *t, size_t at, bm_error *err)
{
    const bm_piece_ref *ref = &t->refs[at];
    const bm_snapshot *s = &t->view->snapshot;
    if (t->opened == at)
        return BM_OK;
    const size_t number = (size_t)(ref - s->pieces.list) - s->postings;
    if (!bm_posting_piece_open(ref->bytes, ref->size,
                               t->view->compared + number * BM_POSTING_COMPARED, &t->piece) ||
        t->piece.head.first != ref->key.first)
        return bm_snapshot_damaged(s, err, "a piece of postings");
    t->opened = at;
    return BM_OK;
}

/* Find the first entry of the piece with a key >= `key`. */
static bm_status find_entry(const table_walk *t, uint64_t key, size_t *i, bm_error *err)
{
    *i = bm_posting_piece_find(&t->piece, key);
    return *i != BM_POSTING_DAMAGED
               ? BM_OK
               : bm_snapshot_damaged(&t->view->snapshot, err, "a block of postings");
}

/* Read entry i, after checking the sum of its block. */
static bm_status read_entry(const table_walk *t, size_t i, bm_posting *out, bm_error *err)
{
    if (!bm_posting_piece_whole_at(&t->piece, i))
        return bm_snapshot_damaged(&t->view->snapshot, err, "a block of postings");
    *out = bm_posting_piece_at(&t->piece, i);
    return BM_OK;
}

/* Set t->at to the last piece whose first key is less than `key`, because the first entries with
 * this key may be in it. If there is no such piece, t->at stays the same. Keys must be sought in
 * ascending order. */
static void seek(table_walk *t, uint64_t key)
{
    bm_bisect b = {t->at + 1, t->n};
    while (b.low < b.high)
        bm_bisect_go(&b, t->refs[bm_middle(&b)].key.first < key);
    t->at = b.low - 1;
}

static bm_status add_hit(const bm_store_view *v, bm_store_hits *hits, bm_store_hit hit,
                         bm_error *err)
{
    if (hit.number >= v->snapshot.state.counts.next_number)
        return bm_snapshot_damaged(&v->snapshot, err, "a posting of no document");
    if (bm_store_view_removed(v, hit.number))
        return BM_OK;
    if (hits->n == hits->cap) {
        BM_TRY(bm_grow_array(&hits->list, &hits->cap, hits->n + 1, err));
    }
    hits->list[hits->n++] = hit;
    return BM_OK;
}

/* From entry i of piece `at` on, count the entries of the key whose documents were not removed. If
 * no document of the index was removed, only the end of the key's entries is searched for, and no
 * entry is read. */
static bm_status count_rest(table_walk *t, size_t at, size_t i, uint64_t key, uint64_t *n,
                            bm_error *err)
{
    const bm_store_view *v = t->view;
    for (*n = 0; at < t->n && t->refs[at].key.first <= key; at++, i = 0) {
        size_t end = 0;
        BM_TRY(open_piece(t, at, err));
        if (key == UINT64_MAX)
            end = t->piece.head.n;
        else
            BM_TRY(find_entry(t, key + 1, &end, err));
        if (v->removed_bytes == 0) {
            *n += end > i ? end - i : 0;
            continue;
        }
        for (; i < end; i++) {
            bm_posting p;
            BM_TRY(read_entry(t, i, &p, err));
            *n += p.number < v->snapshot.state.counts.next_number &&
                  !bm_store_view_removed(v, p.number);
        }
    }
    return BM_OK;
}

static bm_status add_rest(table_walk *t, size_t at, size_t i, ask_key ask, bm_store_hits *hits,
                          bm_error *err)
{
    uint64_t n = 0;
    BM_TRY(count_rest(t, at, i, ask.key, &n, err));
    if (n > 0)
        BM_TRY(bm_grow_array(&hits->rest, &hits->cap_rest, hits->n_rest + 1, err));
    if (n > 0)
        hits->rest[hits->n_rest++] = (bm_store_rest){ask.asked, (uint32_t)n};
    return BM_OK;
}

/* Find the entries of a key, which may continue in later pieces. If ask.most is not 0, entries
 * after that many documents are only counted. t->at stays at the first of these pieces, because the
 * next key may be equal. */
static bm_status find_key(table_walk *t, ask_key ask, bm_store_hits *hits, bm_error *err)
{
    const size_t before = hits->n, most = ask.most == 0 ? SIZE_MAX : ask.most;
    seek(t, ask.key);
    for (size_t at = t->at; at < t->n && t->refs[at].key.first <= ask.key; at++) {
        size_t i = 0;
        BM_TRY(open_piece(t, at, err));
        BM_TRY(find_entry(t, ask.key, &i, err));
        for (; i < t->piece.head.n; i++) {
            bm_posting posting;
            BM_TRY(read_entry(t, i, &posting, err));
            if (posting.key != ask.key)
                return BM_OK;
            if (hits->n - before == most)
                return add_rest(t, at, i, ask, hits, err);
            BM_TRY(add_hit(t->view, hits, (bm_store_hit){ask.asked, posting.number}, err));
            if (hits->n - before > hits->most_of_a_key)
                hits->most_of_a_key = hits->n - before;
        }
    }
    return BM_OK;
}

bm_status bm_store_view_find(const bm_store_view *v, const bm_store_ask *ask, bm_store_hits *hits,
                             bm_error *err)
{
    for (size_t run = 0; run < v->snapshot.state.n_runs; run++) {
        table_walk t = {.view = v, .opened = SIZE_MAX};
        t.refs = bm_snapshot_table(&v->snapshot, run, ask->table, &t.n);
        for (size_t i = 0; t.n > 0 && i < ask->n; i++) {
            if (t.opened < t.n && i + KEYS_AHEAD < ask->n)
                bm_posting_piece_expect(&t.piece, ask->keys[i + KEYS_AHEAD]);
            BM_TRY(find_key(&t, (ask_key){ask->keys[i], (uint32_t)i, ask->most}, hits, err));
        }
    }
    return BM_OK;
}

/* --- documents --- */

/* Read the document of a number below next_number, removed or not. Its sum is checked only the
 * first time that the view reads it. */
static bm_status read_doc(const bm_store_view *v, uint32_t number, bm_store_doc *out, bm_error *err)
{
    const bm_piece_ref *ref = bm_snapshot_docs(&v->snapshot, number);
    bm_document_piece piece;
    uint8_t *compared = &v->docs_compared[number / 8];
    const uint8_t bit = (uint8_t)(1u << number % 8);
    const bool again = (__atomic_load_n(compared, __ATOMIC_RELAXED) & bit) != 0;
    if (ref == NULL || !bm_document_piece_open(ref->bytes, ref->size, &piece) ||
        piece.head.first != ref->key.number || number > piece.head.last ||
        !(again ? bm_document_piece_again(&piece, number, out)
                : bm_document_piece_at(&piece, number, out)))
        return bm_snapshot_damaged(&v->snapshot, err, "a piece of documents");
    if (!again)
        __atomic_fetch_or(compared, bit, __ATOMIC_RELAXED);
    return BM_OK;
}

bm_status bm_store_view_doc(const bm_store_view *v, uint32_t number, bm_store_doc *out,
                            bm_error *err)
{
    if (number >= v->snapshot.state.counts.next_number || bm_store_view_removed(v, number))
        return BM_NOT_FOUND;
    return read_doc(v, number, out, err);
}

void bm_store_view_expect(const bm_store_view *v, uint32_t number, bool there)
{
    const bm_piece_ref *ref = bm_snapshot_docs(&v->snapshot, number);
    if (ref != NULL)
        bm_document_piece_expect(ref->bytes, ref->size, number - ref->key.number, there);
}

bm_status bm_store_view_id(const bm_store_view *v, bm_str id, uint32_t *number, bm_error *err)
{
    const uint64_t key = XXH3_64bits(id.data, id.len);
    const bm_store_ask ask = {v->snapshot.state.facts.bands, &key, 1, 0};
    bm_store_hits hits = {0};
    bm_status status = bm_store_view_find(v, &ask, &hits, err);
    bool found = false;
    for (size_t i = 0; status == BM_OK && !found && i < hits.n; i++) {
        bm_store_doc doc;
        status = read_doc(v, hits.list[i].number, &doc, err);
        found =
            status == BM_OK && doc.id.len == id.len && memcmp(doc.id.data, id.data, id.len) == 0;
        if (found)
            *number = hits.list[i].number;
    }
    bm_free(hits.list);
    return status == BM_OK && !found ? BM_NOT_FOUND : status;
}

bm_status bm_store_doc_set(const bm_store_doc *doc, uint64_t *hashes, bm_error *err)
{
    if (bm_set_code_read((const uint8_t *)doc->body.data, doc->body.len, doc->n_shingles, hashes))
        return BM_OK;
    return bm_fail(err, BM_ERR_FORMAT, "the index is damaged: the set of \"%.*s\"",
                   (int)(doc->id.len < 200 ? doc->id.len : 200), doc->id.data);
}

bm_status bm_store_doc_words(const bm_store_doc *doc, uint32_t *words, uint32_t n, bm_error *err)
{
    if (doc->body.len != n * (size_t)4)
        return bm_fail(err, BM_ERR_FORMAT, "the index is damaged: the words of \"%.*s\"",
                       (int)(doc->id.len < 200 ? doc->id.len : 200), doc->id.data);
    for (uint32_t i = 0; i < n; i++)
        words[i] = bm_le32_get((const uint8_t *)doc->body.data + 4 * (size_t)i);
    return BM_OK;
}

/* --- filters --- */

size_t bm_store_view_filters(const bm_store_view *v)
{
    return v->snapshot.after_filters - v->snapshot.filters;
}

void bm_store_view_unfiltered(const bm_store_view *v, uint8_t *bits)
{
    const bm_snapshot *s = &v->snapshot;
    for (uint64_t n = bm_store_filters_end(s); n < s->state.counts.next_number; n++)
        bits[n / 8] |= (uint8_t)(1u << n % 8);
}

/* A query reads most of a filter, so the whole filter is checked at once. */
bm_status bm_store_view_filter(const bm_store_view *v, size_t filter, const bm_filter_ask *asks,
                               size_t n_asks, uint8_t *bits, bm_error *err)
{
    const bm_snapshot *s = &v->snapshot;
    const bm_piece_ref *ref = &s->pieces.list[s->filters + filter];
    uint8_t *compared = &v->compared[(s->filters + filter - s->postings) * BM_POSTING_COMPARED];
    bm_filter_piece piece;
    const bool again = __atomic_load_n(compared, __ATOMIC_RELAXED) != 0;
    if (!again)
        bm_snapshot_expect(ref);
    if ((!again && !bm_piece_check(ref->bytes, ref->size, BM_PIECE_FILTER)) ||
        !bm_store_filter_open(s, ref, &piece))
        return bm_snapshot_damaged(s, err, "a filter");
    __atomic_store_n(compared, 1, __ATOMIC_RELAXED);
    bm_filter_piece_find(&piece, asks, n_asks, bits);
    return BM_OK;
}

/* --- notes --- */

bm_str bm_store_view_note(const bm_store_view *v, bm_store_note_kind note)
{
    return (bm_str){v->notes[note].data, v->notes[note].len};
}
