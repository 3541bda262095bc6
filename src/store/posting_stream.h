/* posting_stream.h -- one table of several runs as one list, ascending by key, then number. Each piece is checked whole before
 * one of its entries is given. */
#ifndef BM_STORE_POSTING_STREAM_H
#define BM_STORE_POSTING_STREAM_H

#include "store/store_snapshot.h"

typedef struct bm_posting_source {
    const bm_piece_ref *refs;
    size_t n, at; /* pieces; the one that is read */
    bm_posting_piece piece;
    size_t next; /* entry of it */
    bm_posting head;
} bm_posting_source;

typedef struct bm_posting_stream {
    const bm_snapshot *snapshot;
    bm_posting_source *sources; /* a heap, the least head first */
    size_t n;
} bm_posting_stream;

/* `runs`: places in snapshot->state.runs; those without the table add nothing. {0} before. */
typedef struct bm_posting_runs {
    const size_t *list;
    size_t n;
} bm_posting_runs;
bm_status bm_posting_stream_open(const bm_snapshot *snapshot, bm_posting_runs runs, uint32_t table,
                                 bm_posting_stream *out, bm_error *err);
/* BM_NOT_FOUND at the end. BM_ERR_FORMAT; BM_ERR_CANCELLED. */
bm_status bm_posting_stream_next(bm_posting_stream *stream, bm_posting *out, bm_error *err);
void bm_posting_stream_close(bm_posting_stream *stream);

#endif
