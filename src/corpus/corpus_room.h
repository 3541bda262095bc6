/* corpus_room.h -- room for more documents: columns grow, sets and keys move to files. */
#ifndef BM_CORPUS_CORPUS_ROOM_H
#define BM_CORPUS_CORPUS_ROOM_H

#include "corpus/corpus_parts.h"

typedef struct bm_corpus_more {
    size_t docs;
    uint64_t set_bytes;        /* of their sets, at most */
    uint64_t batch_bytes;      /* of the hashes that come, copies too, which stay for that long */
    uint64_t longest;          /* bytes of their longest text */
    uint64_t input_bytes_read; /* so far, to foresee the files' size */
} bm_corpus_more;

/* Would that move columns, or sets and keys to files? */
bool bm_corpus_moves_for(bm_corpus *corpus, const bm_corpus_more *more);
/* Before documents are added: move to files what would not fit, then make room in every column.
 * BM_ERR_NOMEM where that is not enough; BM_ERR_IO. */
bm_status bm_corpus_make_room(bm_corpus *corpus, const bm_corpus_more *more, bm_error *err);

/* The `room` of an ingest (ingest_cfg.h); ctx is the corpus: sets go to a file where the bytes that
 * are wanted are not free. */
bm_status bm_corpus_room(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);

#endif
