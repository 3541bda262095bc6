/* store_copy.c -- an index without what was removed from it.
 *
 * The documents that are there get new numbers in the same order, so that the entries of a table, merged from all runs, are in
 * order again with the new ones. A new number is the old less those removed before it: a count for each 512 bits, and their bits.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/posting_stream.h"
#include "store/run_writer.h"
#include "store/store_note.h"
#include "store/store_view_inside.h"
#include "store/store_write.h"

#define COUNTED 512u

typedef struct renumber {
    const bm_store_view *view;
    uint32_t *before; /* removed before number i * COUNTED */
} renumber;

static bm_status count_removed(renumber *r, bm_error *err)
{
    const uint64_t n = r->view->snapshot.state.counts.next_number;
    uint32_t removed = 0;
    BM_TRY(bm_new(&r->before, (size_t)(n / COUNTED + 1), err));
    for (uint64_t i = 0; i < n; i++) {
        if (i % COUNTED == 0)
            r->before[i / COUNTED] = removed;
        removed += bm_store_view_removed(r->view, (uint32_t)i);
    }
    return BM_OK;
}

static uint32_t new_number(const renumber *r, uint32_t number)
{
    uint32_t removed = r->before[number / COUNTED];
    const uint8_t *bits = r->view->removed[number / BM_STORE_RANGE];
    const uint32_t begin = number / COUNTED * COUNTED % (uint32_t)BM_STORE_RANGE;
    const uint32_t end = number % (uint32_t)BM_STORE_RANGE;
    for (uint32_t i = begin; bits != NULL && i < end; i += 8) {
        unsigned byte = bits[i / 8];
        if (end - i < 8)
            byte &= (1u << (end - i)) - 1;
        removed += (uint32_t)__builtin_popcount(byte);
    }
    return number - removed;
}

static bm_status copy_documents(const bm_store_view *view, bm_store *to, bm_error *err)
{
    const bm_snapshot *s = &view->snapshot;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < s->notes; i++) {
        const bm_piece_ref *ref = &s->pieces.list[i];
        bm_document_piece piece;
        status = bm_store_go_on(s->store, err);
        if (status == BM_OK &&
            (!bm_document_piece_open(ref->bytes, ref->size, &piece) ||
             !bm_document_piece_valid(&piece) || piece.head.first != ref->key.number ||
             piece.head.last >= s->state.counts.next_number))
            status = bm_snapshot_damaged(s, err, "a piece of documents");
        for (uint64_t n = ref->key.number; status == BM_OK && n <= piece.head.last; n++) {
            bm_store_doc doc;
            if (bm_store_view_removed(view, (uint32_t)n))
                continue;
            status = bm_document_piece_at(&piece, (uint32_t)n, &doc)
                         ? bm_writer_document(to, &doc, err)
                         : bm_snapshot_damaged(s, err, "a piece of documents");
        }
        bm_snapshot_read(ref);
    }
    return status;
}

static bm_status copy_table(const renumber *r, bm_posting_runs runs, bm_run_writer *out,
                            bm_error *err)
{
    const uint64_t next = r->view->snapshot.state.counts.next_number;
    bm_posting_stream stream = {0};
    bm_posting posting;
    bm_status status = bm_posting_stream_open(&r->view->snapshot, runs, out->table, &stream, err);
    while (status == BM_OK && (status = bm_posting_stream_next(&stream, &posting, err)) == BM_OK) {
        if (posting.number >= next)
            status = bm_snapshot_damaged(&r->view->snapshot, err, "a posting of no document");
        else if (!bm_store_view_removed(r->view, posting.number))
            status = bm_run_writer_add(
                out, (bm_posting){posting.key, new_number(r, posting.number)}, err);
    }
    bm_posting_stream_close(&stream);
    return status == BM_NOT_FOUND ? bm_run_writer_end_table(out, err) : status;
}

/* All runs into one of the bands, and one of the ids. */
static bm_status copy_tables(const renumber *r, bm_posting_runs runs, bm_store *to, bm_error *err)
{
    const uint32_t bands = to->facts.bands;
    bm_run_writer out;
    bm_status status = BM_OK;
    for (uint32_t kind = 0; status == BM_OK && kind < 2; kind++) {
        const uint32_t n_tables = kind == 0 ? bands : 1;
        bm_run_writer_begin(to, kind == 0 ? 0 : bands, n_tables, &out);
        for (uint32_t t = 0; status == BM_OK && t < n_tables; t++)
            status = copy_table(r, runs, &out, err);
        if (status == BM_OK)
            status = bm_run_writer_end(&out, err);
        bm_run_writer_reset(&out);
    }
    return status;
}

/* Those that a writer has changed are in the view by themselves. */
static bool is_pending(const bm_store_view *view, const char *name)
{
    for (size_t i = 0; i < view->n_notes; i++)
        if (strcmp(view->notes[i].name, name) == 0)
            return true;
    return false;
}

static bm_status copy_notes(const bm_store_view *view, bm_store *to, bm_error *err)
{
    const bm_snapshot *s = &view->snapshot;
    for (size_t i = 0; i < view->n_notes; i++) {
        const bm_writer_note *note = &view->notes[i];
        BM_TRY(bm_store_note(to, note->name, (bm_str){note->bytes, note->len}, err));
    }
    for (size_t i = s->notes; i < s->postings; i++) {
        const bm_piece_ref *ref = &s->pieces.list[i];
        bm_str name, bytes;
        char text[BM_NOTE_NAME_MAX + 1];
        if (!bm_piece_check(ref->bytes, ref->size, BM_PIECE_NOTE) ||
            !bm_store_note_read(ref, &name, &bytes) || name.len > BM_NOTE_NAME_MAX)
            return bm_snapshot_damaged(s, err, "a note");
        memcpy(text, name.data, name.len);
        text[name.len] = '\0';
        if (!is_pending(view, text))
            BM_TRY(bm_store_note(to, text, bytes, err));
    }
    return BM_OK;
}

bm_status bm_store_copy(bm_store *from, bm_store *to, bm_error *err)
{
    BM_TRY(bm_writer_ready(to, err));
    if (to->writer->state.counts.next_number != 0 || to->facts.bands != from->facts.bands ||
        to->facts.kind != from->facts.kind || to->facts.words != from->facts.words)
        return bm_fail(err, BM_ERR_INTERNAL, "a copy into an index of another kind");
    renumber r = {0};
    bm_store_view *view = NULL;
    size_t *all = NULL, n = 0;
    BM_TRY(bm_store_view_open(from, &view, err));
    r.view = view;
    bm_status status = count_removed(&r, err);
    n = view->snapshot.state.n_runs;
    all = bm_alloc(n, sizeof *all);
    if (status == BM_OK && all == NULL)
        status = bm_fail_nomem(err, n * sizeof *all);
    for (size_t i = 0; all != NULL && i < n; i++)
        all[i] = i;
    if (status == BM_OK)
        status = copy_documents(view, to, err);
    if (status == BM_OK)
        status = copy_tables(&r, (bm_posting_runs){all, n}, to, err);
    if (status == BM_OK)
        status = copy_notes(view, to, err);
    bm_free(all);
    bm_free(r.before);
    bm_store_view_close(view);
    return bm_writer_failed(to, status, err);
}
