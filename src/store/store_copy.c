/* store_copy.c -- an index without what was removed from it.
 *
 * The documents that are there get new numbers in the same order, so that the entries of a table, merged from all runs, are in
 * order again with the new ones. A new number is the old less those removed before it: a count for each 64 bits, and their bits.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/le_bytes.h"
#include "store/store_runs.h"
#include "store/store_write.h"

typedef struct copying {
    const bm_store_view *view;
    bm_store *to;
    uint32_t *before; /* removed before number i * 64 */
    bm_run_writer *out;
} copying;

/* The bits of numbers 64 * i …, 1: removed. */
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
            (void)bm_document_piece_again(&piece, (uint32_t)n, &doc); /* it is valid */
            BM_TRY(bm_writer_document(c->to, &doc, err));
        }
        bm_snapshot_read(&s->pieces.list[i]);
    }
    return BM_OK;
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
