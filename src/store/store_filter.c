/* SPDX-License-Identifier: Apache-2.0 */
/* store_filter.c -- see store_filter.h.
 *
 * Tests: tests/unit/store/test_store_filter.c */
#include "store/store_filter.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

bool bm_store_filter_open(const bm_snapshot *s, const bm_piece_ref *ref, bm_filter_piece *out)
{
    return bm_filter_piece_open(ref->bytes, ref->size, out) && out->head.first == ref->key.number &&
           out->head.last < s->state.counts.next_number;
}

uint64_t bm_store_filters_end(const bm_snapshot *s)
{
    uint64_t end = 0;
    for (size_t i = s->filters; i < s->after_filters; i++) {
        bm_filter_piece piece;
        if (s->pieces.list[i].key.number != end ||
            !bm_store_filter_open(s, &s->pieces.list[i], &piece))
            break;
        end = piece.head.last + 1;
    }
    return end;
}

static bm_status put(bm_store_filters *f, bm_error *err)
{
    const bm_piece_key key = {
        .kind = BM_PIECE_FILTER, .run = f->state->next_run++, .number = f->next.first};
    void *piece = NULL;
    size_t size = 0;
    BM_TRY(bm_filter_writer_plan(&f->next, &size, err));
    BM_TRY(bm_store_env_put(f->env, &key, size, &piece, err));
    bm_filter_writer_write(&f->next, piece);
    bm_filter_writer_begin(&f->next, f->next.first + f->next.n);
    return BM_OK;
}

bm_status bm_store_filters_add(bm_store_filters *f, const bm_store_doc *doc, bm_error *err)
{
    if (f->none)
        return BM_OK;
    BM_TRY(bm_filter_writer_add(&f->next, (const uint8_t *)doc->body.data, doc->n_shingles, err));
    return bm_filter_writer_is_full(&f->next) ? put(f, err) : BM_OK;
}

/* Read the document of this number in the file, removed or not. Returns false if it is damaged. */
static bool read_doc(const bm_snapshot *s, uint32_t number, bm_store_doc *out)
{
    const bm_piece_ref *ref = bm_snapshot_docs(s, number);
    bm_document_piece piece;
    return ref != NULL && bm_document_piece_open(ref->bytes, ref->size, &piece) &&
           piece.head.first == ref->key.number && number <= piece.head.last &&
           bm_document_piece_at(&piece, number, out) &&
           out->body.len == bm_set_code_size(out->n_shingles);
}

bm_status bm_store_filters_begin(bm_store_filters *f, const bm_snapshot *s, bm_error *err)
{
    const uint64_t first = bm_store_filters_end(s);
    bm_filter_writer_begin(&f->next, (uint32_t)first);
    for (uint64_t n = first; !f->none && n < s->state.counts.next_number; n++) {
        bm_store_doc doc;
        if (!read_doc(s, (uint32_t)n, &doc))
            return bm_snapshot_damaged(s, err, "a piece of documents");
        BM_TRY(bm_store_filters_add(f, &doc, err));
    }
    return BM_OK;
}

bm_status bm_store_filter_check(const bm_snapshot *s, size_t i, bool *right, bm_error *err)
{
    const bm_piece_ref *ref = &s->pieces.list[s->filters + i];
    bm_filter_writer w = {.first = ref->key.number};
    bm_filter_piece piece, before;
    uint8_t *bytes = NULL;
    size_t size = 0;
    bm_status status = BM_OK;
    *right =
        bm_store_filter_open(s, ref, &piece) &&
        (i == 0 ? w.first == 0
                : bm_store_filter_open(s, ref - 1, &before) && before.head.last + 1 == w.first);
    for (uint64_t n = w.first; *right && n <= piece.head.last; n++) {
        bm_store_doc doc;
        *right = read_doc(s, (uint32_t)n, &doc);
        if (*right)
            BM_TRY_OUT(
                bm_filter_writer_add(&w, (const uint8_t *)doc.body.data, doc.n_shingles, err));
    }
    if (!*right)
        goto out;
    BM_TRY_OUT(bm_filter_writer_plan(&w, &size, err));
    BM_TRY_OUT(bm_new(&bytes, size, err));
    bm_filter_writer_write(&w, bytes);
    *right = size == ref->size && memcmp(bytes, ref->bytes, size) == 0;
out:
    bm_free(bytes);
    bm_filter_writer_reset(&w);
    return status;
}
