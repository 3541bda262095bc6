/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_stages.h -- the stages of an ingest: reading, parsing, cutting, signing. */
#pragma once

#include "input/raw_batch.h"
#include "model/batches.h"
#include "sign/ingest_cfg.h"
#include "sign/ingest_order.h"
#include "text/set_shingler.h"
#include "text/shingler.h"
#include "text/unit_text.h"

/* ingest_entries -- the shingles of texts that are entries of dictionaries, each made once by a
 * worker: a file of a few kB may have a long text in every row.
 *
 *     slots    entry -> document          one for all entries whose numbers end alike: the last of
 *                                         them
 *     made     documents of a batch       until they would take more than `most_bytes`; then all
 *                                         begins anew
 *
 * Whoever has no dictionaries pays for nothing. */

typedef struct bm_ingest_entry {
    uint64_t number; /* bm_record.entry; 0: none */
    uint32_t doc;    /* of `made` */
    bool is_short;   /* it was counted so */
} bm_ingest_entry;

typedef struct bm_ingest_entries {
    size_t most_bytes;
    bm_ingest_entry *slots; /* NULL while there was no entry */
    bm_shingle_batch made;
    uint64_t n_short; /* of a batch, before the document that was asked for last */
} bm_ingest_entries;  /* but for most_bytes, {0} has none */

/* ingest_parse -- a worker's own: from a raw batch to documents with their shingles. */

/* The scratch of one worker. */
typedef struct bm_ingest_worker {
    const bm_ingest_cfg *cfg;
    bm_batch_parser *parser;
    bm_hash64_fn *hash;     /* of texts, for the document table; NULL: there are none */
    bm_shingler *shingler;  /* NULL where the source has no texts */
    void *lane;             /* of cfg->scan; else NULL */
    bm_set_shingler sets;   /* of shingle hashes that were read */
    bm_ingest_batch *batch; /* being filled by the parser's callback */
    bm_ingest_entries entries;
    size_t joined; /* 1 + the document that is joined and not yet hashed; 0: there is none */
    uint64_t joined_entry; /* of its record */
} bm_ingest_worker;

/* ingest_long -- documents that are longer than a batch, and the memory that they get.
 *
 * The memory that a document needs in the worst case is computed from its bytes: the record, its
 * text, joined text, a hash of each shingle and the table that finds the distinct ones.
 *
 *     fits into the share of batches    it waits until so much of the share is free, and then goes
 *                                       its way beside others
 *     else                              it is *alone*: everything before it is delivered first, and
 *                                       nothing more is read until it is delivered itself. It may
 *                                       then use all memory that no other batch holds, and its real
 *                                       need is counted while it is shingled
 *     more than that                    BM_ERR_NOMEM, naming the document and what would do
 *
 * The reader is the only one who waits for memory, and those before it only give theirs back: so
 * there is always one who can go on. */

/* The memory granted to the batch that is being read; one thread at a time. */
typedef struct bm_ingest_long {
    const bm_ingest_cfg *cfg;
    bm_ingest_order *order;
    uint64_t number; /* of the batch */
    bm_ingest_share share;
    bm_long_gate gate;
} bm_ingest_long;

/* ingest_text -- batches that go to a device as texts: filled, checked, finished, or turned into
 * hashes after all. */
