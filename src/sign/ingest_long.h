/* ingest_long.h -- documents that are longer than a batch, and the memory that they get.
 *
 * What a document needs in the worst case is foreseen from its bytes: the record, its text, joined
 * text, a hash of each shingle and the table that finds the distinct ones.
 *
 *     fits into the share of batches    it waits until so much of the share is free, and then goes
 *                                       its way beside others
 *     else                              it is *alone*: what was read before is delivered first, and
 *                                       nothing is read behind it before it is delivered. All that
 *                                       nobody holds is then its own, and what it really needs is
 *                                       counted while it is shingled
 *     more than that                    BM_ERR_NOMEM, naming the document and what would do
 *
 * The reader is the only one who waits for memory, and those before it only give theirs back: so
 * there is always one who can go on. */
#ifndef BM_INGEST_INGEST_LONG_H
#define BM_INGEST_INGEST_LONG_H

#include "input/long_gate.h"
#include "sign/ingest_order.h"
#include "text/shingler.h"

/* What the batch that is being read was granted; one thread at a time. */
typedef struct bm_ingest_long {
    const bm_ingest_cfg *cfg;
    bm_ingest_order *order;
    uint64_t number; /* of the batch */
    bm_ingest_share share;
    bm_long_gate gate;
} bm_ingest_long;

/* `out` stays where it is: its gate points to it. */
void bm_ingest_long_init(const bm_ingest_cfg *cfg, bm_ingest_order *order, bm_ingest_long *out);
/* Batch number `n` is being read. */
void bm_ingest_long_begin(bm_ingest_long *now, uint64_t n);

/* Bytes that the shingler may use for a document of a batch that is alone, while `held_bytes` of
 * its record are held. */
uint64_t bm_ingest_long_limit(const bm_ingest_share *share, uint64_t held_bytes);
/* BM_ERR_NOMEM: a document would need `needed` bytes beside what others hold. */
bm_status bm_ingest_long_refuse(const bm_ingest_cfg *cfg, const bm_ingest_share *share,
                                const bm_long_record *record, uint64_t needed, bm_error *err);
/* Bytes of a record of so many, with what is read behind it. */
uint64_t bm_ingest_long_held(uint64_t record_bytes);

#endif
