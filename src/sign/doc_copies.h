/* SPDX-License-Identifier: Apache-2.0 */
/* doc_copies.h -- while documents are read, finds those that are copies of earlier documents.
 *
 * Documents are copies of each other if their numbers of shingles are equal, and all 128 bits of
 * their content hashes are equal. 64 of these bits include a second hash of another kind
 * (model/stream_hash.h). The first of the copies in input order is the representative of all
 * others. Hash tables find its row. Each shard of content hashes (bm_doc_shard) has its own hash
 * table.
 *
 * Copies are found by the ingest or by a sink:
 *
 *     ingest, before a batch is placed    bm_doc_copies_fill on any thread, then
 *                                         bm_doc_copies_enter for each shard, batches in order
 *     sink, when it places a batch        bm_doc_copies_note, then bm_doc_copies_find
 *
 * The ingest finds the copies of batches that the sink allows (bm_ingest_early), while it enters
 * ids into tables that are divided into shards too. The owner of a bm_doc_copies allocates the
 * arrays, and makes room for a row before the row is noted. Elements of the arrays never move. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/column.h"
#include "base/hash_table.h"
#include "model/ids.h"
#include "model/stream_hash.h"
#include "sign/ingest_cfg.h"

typedef struct bm_doc_copies {
    bool wanted;     /* false: no document counts as a copy, and there are no content hashes */
    bool given_keys; /* band keys are given, so documents without shingles may be candidates */
    /* Three borrowed arrays with an element per document. */
    uint32_t *sizes;     /* number of distinct shingles */
    uint32_t *rep;       /* the representative, which may be the document itself */
    uint8_t *skip;       /* 1: the document is a copy or empty, so it is never a candidate */
    bm_hash128 *content; /* content hash of each document */
    bm_column content_column;
    /* Content hashes were read with signatures. Texts that are read again must have the same. */
    bool given;
    bm_hash_table shards[BM_DOC_SHARDS]; /* content hash -> row of the first document with it */
    size_t n;                            /* number of distinct content hashes */
} bm_doc_copies;                         /* {0} is empty */

/* Mark n rows from `first` on as documents that are no copies. Documents without shingles are
 * marked to be skipped, unless band keys are given. Sizes must be set. */
void bm_doc_copies_begin(const bm_doc_copies *copies, size_t first, size_t n);
/* Store sizes and content hashes of the first n documents of the batch in the rows from `first`,
 * and call bm_doc_copies_begin for these rows. Any thread. */
void bm_doc_copies_note(const bm_doc_copies *copies, const bm_ingest_batch *batch, size_t first,
                        size_t n);
/* Note a batch whose rows are reserved, and prepare it for bm_doc_copies_enter. Any thread. */
void bm_doc_copies_fill(const bm_doc_copies *copies, bm_ingest_batch *batch);
/* Find the copies among the documents of one shard, and count them in batch->copies. Each shard may
 * be used by one thread at a time, and must receive batches in order. BM_ERR_NOMEM. */
bm_status bm_doc_copies_enter(bm_doc_copies *copies, bm_ingest_batch *batch, uint32_t shard,
                              bm_error *err);
/* Find the copies among n noted rows from `first` on, and set *out to their number. One
 * thread at a time. BM_ERR_NOMEM. */
bm_status bm_doc_copies_find(bm_doc_copies *copies, size_t first, size_t n, uint64_t *out,
                             bm_error *err);
/* Free the tables, but not the content hashes. */
void bm_doc_copies_drop_tables(bm_doc_copies *copies);
void bm_doc_copies_reset(bm_doc_copies *copies);
