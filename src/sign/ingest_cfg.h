/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_cfg.h -- what the files of the ingest, and those who call it, pass to each other: a batch
 * of documents, the order to read, and where the time went. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <bandmill/job.h>

#include "base/clock.h"
#include "base/column.h"
#include "base/meter.h"
#include "devices/device_set.h"
#include "input/batch_source.h"
#include "model/batches.h"
#include "model/ids.h"
#include "sign/budget.h"
#include "text/shingler.h"

/* ingest_times -- where the time of an ingest went. */

/* In seconds of all threads together. */
typedef struct bm_ingest_times {
    double elapsed;
    double read;    /* reading and decompressing, one thread at a time */
    double fill;    /* reading by position what others are not kept from reading: workers */
    double text;    /* parsing, normalising, shingling: workers */
    double sign;    /* on the native CPU: workers */
    double device;  /* submitting to devices and waiting for them: device workers */
    double deliver; /* the ordered end, one thread at a time */
    double enter;   /* rows and ids to the document table: any thread */
    double put;     /* copies a delivered batch to its place: any thread */
    double wait; /* workers: for input, for a place in the ring, for a place in a device's queue */
    double idle; /* device workers: for work */
    uint32_t workers, device_workers;
} bm_ingest_times;

/* Add the seconds since *mark to *sum, and set *mark to now. */
static inline void bm_ingest_lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

/* The stage that was busy for the greatest share of the time it could have been: "read", "text",
 * "sign", "device", "deliver", "enter" or "put". */
const char *bm_ingest_bottleneck(const bm_ingest_times *times);

typedef struct bm_ingest_doc {
    bm_doc_row row;
    uint64_t id_hash;
    uint64_t place;          /* of its record in the file (record.h) */
    size_t id_begin, id_len; /* in bm_ingest_batch.ids */
    size_t keep_key_len;     /* in bm_ingest_batch.keep_keys, one after the other */
} bm_ingest_doc;

/* Of a document without an id what its row would say. */
typedef struct bm_nameless_text {
    uint64_t bytes, hash; /* as in bm_doc_row */
} bm_nameless_text;

/* The capacity of the arrays of a batch, in elements. */
typedef struct bm_ingest_capacity {
    size_t docs, skipped, n_shingles, content, words, keys, by_id, by_content, texts;
} bm_ingest_capacity;

/* Arrays that a device fills for texts beside words and keys, n_docs each. */
typedef struct bm_ingest_made {
    uint32_t *n_shingles;
    bm_hash128 *content;
} bm_ingest_made;

/* The memory that a batch with a document longer than a batch may use (ingest.c). */
typedef struct bm_ingest_share {
    uint64_t cost; /* of the share of batches; 0: a batch like others */
    bool alone;    /* nothing else is in flight, and it may use ... */
    uint64_t free; /* ... so many bytes */
} bm_ingest_share;

/* A batch's place in reading order. */
typedef struct bm_ingest_turn {
    uint64_t sequence;        /* 0, 1, 2 ... */
    uint64_t bytes_read;      /* of the inputs, as stored, up to its end */
    uint64_t first_doc;       /* the number of its first document (bm_ingest_in_place) */
    size_t first_row;         /* of the table, once it is reserved, or the sink has it */
    bool has_rows;            /* reserved */
    bool claimed;             /* for the sink (bm_ingest_early) */
    bool all_put;             /* all batches before it are put: it is placed again */
    bm_device_worker *device; /* the device that signed it, until the result is checked; NULL: it is
                               * checked */
    uint64_t first_text;      /* where its ids begin in the table's text, once they are reserved */
    bm_doc_sums sums;         /* its row of the table */
    uint64_t n_shingles;      /* in all */
    uint64_t longest;         /* bytes of its longest text */
    bm_ingest_share share;
    bm_content_place place; /* after its last record, where ingest_cfg.places asks for it */
} bm_ingest_turn;

/* Places of an ingest that is sealed as it goes. */
typedef struct bm_ingest_places {
    bm_content_place check; /* known: the inputs must be as they were, up to here */
    bm_content_place last;  /* filled: after the last delivered batch */
    bool sink_failed;       /* filled: not the inputs */
} bm_ingest_places;

/* Documents of a batch by the shards of their hashes. */
typedef struct bm_ingest_shard_list {
    uint32_t *docs; /* of shard 0, then of shard 1 … */
    uint32_t begin[BM_DOC_SHARDS + 1];
} bm_ingest_shard_list;

/* Sort n documents by shard; hashes are `stride` bytes apart. The list has space for n. */
void bm_ingest_sort_by_shard(const uint64_t *first_hash, size_t stride, size_t n,
                             bm_ingest_shard_list *out);

/* How far the documents of a batch have come into the table. */
typedef struct bm_ingest_entry_state {
    bm_ingest_shard_list ids;
    atomic_uint left;            /* shards that do not have theirs yet */
    atomic_uint_least64_t again; /* the first document that has the id of an earlier row, and that
                                    row (bm_pair_key); UINT64_MAX: none has */
} bm_ingest_entry_state;

/* What the sink knows of a batch that it has claimed, before its turn. */
typedef struct bm_ingest_claim {
    bm_ingest_shard_list contents;
    size_t n_hashed;                                 /* documents with a content hash that counts */
    uint64_t n_sets, set_bytes;                      /* of its sets, if no document were a copy */
    atomic_uint_least64_t copies;                    /* that were found so far, and ... */
    atomic_uint_least64_t copied_sets, copied_bytes; /* ... what that takes off the sums */
} bm_ingest_claim;

typedef struct bm_ingest_batch {
    bm_ingest_turn turn;
    bm_ingest_entry_state entry;
    bm_ingest_claim claim;
    bm_source_batch *raw; /* until it is parsed */
    bm_ingest_doc *docs;
    size_t n_docs;
    bool
        nameless; /* its documents have no ids, and no rows in the table: instead of `docs` there is
                      ... */
    bm_nameless_text *texts; /* of each (bm_ingest_in_place) */
    bm_buf ids;
    bm_buf keep_keys; /* where fields rank documents (input/keep_key.h) */
    bm_buf scanned;   /* what bm_ingest_scan has found in its documents */
    bm_buf parts;     /* bm_ingest_part of the record at hand (bm_ingest_scan.parts) */
    bm_skipped *skipped;
    size_t n_skipped;
    uint64_t n_invalid;
    bm_shingle_batch shingles; /* as_text: of the documents that were left to the host */
    bool as_text;              /* a device is to cut and hash the documents */
    bm_text_batch text;
    bm_ingest_made made; /* as_text */
    uint32_t *words;     /* n_docs rows (bm_device_set.row_uints); NULL where not wanted */
    uint64_t *keys;      /* n_docs * bands */
    bm_ingest_capacity capacity;
    bm_sign_task task;
    bool in_place; /* words and keys are in task.staged, which has the batch's own meanwhile */
    bool shared_with_device; /* a stuck device may read shingles and text for ever: never freed */
    bm_status status;        /* what came after the documents: a bad record, a failure */
    bm_error error;
} bm_ingest_batch; /* {0} is empty */

/* The content hashes of its documents, which are signed. */
static inline const bm_hash128 *bm_ingest_content(const bm_ingest_batch *batch)
{
    return batch->as_text ? batch->made.content : batch->shingles.content;
}

/* The receiver of the ingest's batches. Either call may be NULL: nothing is done. They borrow the
 * batch; its first document is row `first_row` of the table. */
typedef struct bm_ingest_sink {
    /* Called in input order, one batch at a time: counts, and room for the batch. BM_NOT_FOUND
     * (and no error) before anything was done: what this sink holds has to move, so all batches
     * before must be put first. It is called again then, with turn.all_put. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    /* Called for each batch that was placed, for any number of batches at once, in any order: its
     * documents go to their places. Of failures the first in input order counts. */
    bm_status (*put)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    void *ctx;
} bm_ingest_sink; /* {0}: none */

/* For a sink that looks for equal texts among all documents: the document table's shards of ids do
 * the same, so it goes along with them. A batch may be claimed when the table reserves its rows;
 * then `fill` and `enter` come before `place`, and find room in what others fill at the same time.
 * A batch that is not claimed is reserved once all before it are placed, and nothing after it is
 * reserved before it is placed. */
typedef struct bm_ingest_early {
    /* May the batch be claimed? The table is about to reserve its rows, from `first_row` on. In
     * input order; nothing else is called meanwhile but the sink, `fill` and `enter`. `first`: all
     * before it are placed, else it is claimed after others. NULL: every batch is reserved, and
     * none is claimed. */
    bool (*claim)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bool first);
    /* The rows of a claimed batch; any number at once. */
    void (*fill)(void *ctx, bm_ingest_batch *batch);
    /* What belongs to one shard, after `fill`: for each shard the batches in order, one at a
     * time. */
    bm_status (*enter)(void *ctx, bm_ingest_batch *batch, uint32_t shard, bm_error *err);
    void *ctx;
} bm_ingest_early;

/* Columns that get the words and keys of all documents side by side: these are computed where they
 * stay, at the number of each document (turn.first_doc). The ingest makes room as batches are read.
 * Records become documents or end the ingest, so that the number of a batch's first document is
 * known when the batch is read. The native CPU signs, and records without ids of their own get
 * none: a batch of these is nameless. words NULL: words and keys are the batch's own. */
typedef struct bm_ingest_in_place {
    bm_column *words, *keys; /* keys: NULL where they are not wanted */
} bm_ingest_in_place;

/* Asked after each batch: where it is due, `fn` is called once all before it has been put, and
 * before the sink gets another one. is_due NULL: not wanted. */
typedef struct bm_ingest_pause {
    bool (*is_due)(void *ctx);
    void (*fn)(void *ctx);
    void *ctx;
} bm_ingest_pause;

/* Asked about a long document while nothing is in flight: how many bytes are free? Where that is
 * less than `wanted`, memory is reclaimed by moving data to files. NULL: all but the rows of
 * documents. */
typedef struct bm_ingest_reclaim {
    bm_status (*fn)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *ctx;
} bm_ingest_reclaim;

/* Called for each batch as soon as its documents are shingles, with their counts, by the thread
 * that made them: any number of them at once, in any order. It may change hashes and offsets. NULL:
 * not wanted. */
typedef struct bm_ingest_weigh {
    bm_status (*fn)(void *ctx, bm_shingle_batch *shingles, bm_error *err);
    void *ctx;
} bm_ingest_weigh;

/* For who looks at the texts and needs no sets: in place of shingling, `document` is called for
 * each record, by the thread that parses it. It adds one document to the batch's shingles, which
 * may be empty, and appends its findings to `batch->scanned`; the number of the document is
 * batch->n_docs. Each worker has a lane of its own. document NULL: not wanted. */
/* A document that is a part of a record. */
typedef struct bm_ingest_part {
    uint64_t bytes, text_hash; /* as in bm_doc_row */
} bm_ingest_part;

typedef struct bm_ingest_scan {
    bm_status (*open)(void *ctx, void **lane, bm_error *err);
    bm_status (*document)(void *lane, bm_shingler *shingler, const bm_record *record,
                          bm_ingest_batch *batch, bm_error *err);
    void (*close)(void *lane); /* NULL is fine */
    void *ctx;
    /* The documents are parts of records: `document` adds any number of them to the batch's
     * shingles, and as many to `batch->parts`. They are signed by the native CPU or by devices as
     * others are; their ids differ and say nothing. */
    bool parts;
} bm_ingest_scan;

typedef struct bm_ingest_cfg {
    bm_batch_source *source;
    const bm_input_options *input; /* what to do about bad records */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the fast paths; NULL: the best here */
    uint32_t threads, batch_docs;
    const bm_budget *budget; /* bounds the size of batches; NULL: nothing does */
    /* So many records at the beginning of the inputs were delivered by an earlier run: bad ones
     * that were skipped count, header rows and blank lines do not. They are read again, for digests
     * and bytes_read, but neither parsed nor delivered. */
    uint64_t skip_records;
    bm_ingest_places *places;  /* NULL: not wanted, for they cost a hash of all bytes read */
    bm_device_set *device_set; /* NULL: nothing is signed */
    bool want_words, want_keys;
    bool
        hashes_of_long; /* of documents longer than a batch, whatever devices are given of others */
    bm_meter *meter;
    /* NULL: rows and ids are the sink's own, which looks whether ids differ, and of bad records
     * that are skipped no list is kept: the first few are reported. The sink also gets a batch that
     * fails (see its status): its documents before the failure are not signed, but may have an
     * earlier error. */
    bm_doc_table *docs;
    bm_counts *counts;
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_reclaim reclaim;
    bm_ingest_weigh weigh;
    bm_ingest_scan scan;
    bm_ingest_times *times; /* filled; NULL: not wanted */
} bm_ingest_cfg;
