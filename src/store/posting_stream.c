/* posting_stream.c -- see posting_stream.h.
 *
 * Tests: tests/unit/store/test_store_model.c */
#include "store/posting_stream.h"

#include "base/error.h"
#include "base/memory.h"

static bool before(const bm_posting_source *a, const bm_posting_source *b)
{
    return a->head.key != b->head.key ? a->head.key < b->head.key : a->head.number < b->head.number;
}

static void sink(bm_posting_stream *stream, size_t i)
{
    const bm_posting_source moved = stream->sources[i];
    for (size_t child; (child = 2 * i + 1) < stream->n; i = child) {
        if (child + 1 < stream->n && before(&stream->sources[child + 1], &stream->sources[child]))
            child++;
        if (!before(&stream->sources[child], &moved))
            break;
        stream->sources[i] = stream->sources[child];
    }
    stream->sources[i] = moved;
}

static bm_status open_piece(const bm_snapshot *snapshot, bm_posting_source *source, bm_error *err)
{
    const bm_piece_ref *ref = &source->refs[source->at];
    BM_TRY(bm_store_go_on(snapshot->store, err));
    if (!bm_posting_piece_open(ref->bytes, ref->size, NULL, &source->piece) ||
        source->piece.head.first != ref->key.first || !bm_posting_piece_valid(&source->piece) ||
        bm_posting_piece_at(&source->piece, 0).number != ref->key.number)
        return bm_snapshot_damaged(snapshot, err, "a piece of postings");
    source->next = 1;
    source->head = bm_posting_piece_at(&source->piece, 0);
    return BM_OK;
}

bm_status bm_posting_stream_open(const bm_snapshot *snapshot, bm_posting_runs runs, uint32_t table,
                                 bm_posting_stream *out, bm_error *err)
{
    bm_posting_stream stream = {snapshot, bm_alloc(runs.n, sizeof *stream.sources), 0};
    if (stream.sources == NULL)
        return bm_fail_nomem(err, runs.n * sizeof *stream.sources);
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < runs.n; i++) {
        bm_posting_source source = {0};
        source.refs = bm_snapshot_table(snapshot, runs.list[i], table, &source.n);
        if (source.n == 0)
            continue;
        status = open_piece(snapshot, &source, err);
        stream.sources[stream.n++] = source;
    }
    for (size_t i = stream.n / 2; status == BM_OK && i-- > 0;)
        sink(&stream, i);
    if (status == BM_OK)
        *out = stream;
    else
        bm_posting_stream_close(&stream);
    return status;
}

bm_status bm_posting_stream_next(bm_posting_stream *stream, bm_posting *out, bm_error *err)
{
    if (stream->n == 0)
        return BM_NOT_FOUND;
    bm_posting_source *first = stream->sources;
    *out = first->head;
    if (first->next < first->piece.head.n) {
        first->head = bm_posting_piece_at(&first->piece, first->next++);
    } else {
        bm_snapshot_read(&first->refs[first->at]);
        if (++first->at < first->n) {
            BM_TRY(open_piece(stream->snapshot, first, err));
        } else {
            *first = stream->sources[--stream->n];
        }
    }
    if (stream->n > 1)
        sink(stream, 0);
    return BM_OK;
}

void bm_posting_stream_close(bm_posting_stream *stream)
{
    bm_free(stream->sources);
    *stream = (bm_posting_stream){0};
}
