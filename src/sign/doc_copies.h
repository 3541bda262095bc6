/* SPDX-License-Identifier: Apache-2.0 */
/* doc_copies.h -- finds the documents that are copies of earlier ones, while they are read.
 *
 * Documents are copies if their numbers of shingles and all 128 bits of their content hashes are
 * equal; 64 of these bits include a hash of another kind (model/stream_hash.h). The first one in
 * input order is the representative of the others. Hash tables, one for each shard of content
 * hashes (bm_doc_shard), find its row.
 *
 *     the ingest, before the turn of a batch    bm_doc_copies_fill on any thread, then
 *                                               bm_doc_copies_enter by shard, batches in order
 *     a sink, in the turn of a batch            bm_doc_copies_note, then bm_doc_copies_find
 *
 * The ingest does the first for batches that the sink allows (bm_ingest_early), beside the entering
 * of ids, which goes by shards too. The owner makes the arrays, and makes room in them before a row
 * is noted; elements never move. */
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
    bool wanted;         /* false: no document counts as a copy, and there are no content hashes */
    bool given_keys;     /* documents without shingles may be candidates, since they have keys */
    uint32_t *sizes;     /* of each document: number of distinct shingles; borrowed, like ... */
    uint32_t *rep;       /* the first document with the same content, maybe itself, and ... */
    uint8_t *skip;       /* non-zero if it is a copy or empty, and so never a candidate */
    bm_hash128 *content; /* content hash of each document */
    bm_column content_column;
    /* content hashes came with signatures: texts that are read again must have the same */
    bool given;
    bm_hash_table shards[BM_DOC_SHARDS]; /* content hash -> row of the first document with it */
    size_t n;                            /* number of distinct content hashes */
} bm_doc_copies;                         /* {0} is empty */

/* Let n rows from `first`, whose sizes are set, be documents that are no copies. */
void bm_doc_copies_begin(const bm_doc_copies *copies, size_t first, size_t n);
/* Store sizes and content hashes of the first n documents of the batch in the rows from `first`,
 * and call bm_doc_copies_begin for these rows. Any thread. */
void bm_doc_copies_note(const bm_doc_copies *copies, const bm_ingest_batch *batch, size_t first,
                        size_t n);
/* Note a batch that has rows, and prepare it for bm_doc_copies_enter. Any thread. */
void bm_doc_copies_fill(const bm_doc_copies *copies, bm_ingest_batch *batch);
/* Find the copies among the documents of one shard, and count them in batch->copies. For each shard
 * one thread at a time, and batches in order. BM_ERR_NOMEM. */
bm_status bm_doc_copies_enter(bm_doc_copies *copies, bm_ingest_batch *batch, uint32_t shard,
                              bm_error *err);
/* Find the copies among n noted rows from `first`, and set *out to their number. One thread at a
 * time. BM_ERR_NOMEM. */
bm_status bm_doc_copies_find(bm_doc_copies *copies, size_t first, size_t n, uint64_t *out,
                             bm_error *err);
/* Free the tables, but not the content hashes. */
void bm_doc_copies_drop_tables(bm_doc_copies *copies);
void bm_doc_copies_reset(bm_doc_copies *copies);
