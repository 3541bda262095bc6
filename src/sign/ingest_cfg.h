/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_cfg.h -- types shared by the files of the ingest and its callers: a batch of documents,
 * the configuration, and times. */
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

/* ingest_times -- how an ingest spent its time. */

/* In seconds; all but `elapsed` are summed over all threads. */
typedef struct bm_ingest_times {
    double elapsed;
    double read;    /* reading and decompressing, one thread at a time */
    double fill;    /* reading by position, in parallel: workers */
    double text;    /* parsing, normalising, shingling: workers */
    double sign;    /* on the native CPU: workers */
    double device;  /* submitting to devices and waiting for them: device workers */
    double deliver; /* the ordered end, one thread at a time */
    double enter;   /* entering rows and ids into the document table: any thread */
    double put;     /* copying a delivered batch to its place: any thread */
    double wait;    /* workers: for input, a place in the ring, or a place in a device's queue */
    double idle;    /* device workers: for work */
    uint32_t workers, device_workers;
} bm_ingest_times;

/* Add the seconds since *mark to *sum, and set *mark to now. */
static inline void bm_ingest_lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

/* The stage that was busy for the greatest share of its available time: "read", "text", "sign",
 * "device", "deliver", "enter" or "put". */
const char *bm_ingest_bottleneck(const bm_ingest_times *times);

typedef struct bm_ingest_doc {
    bm_doc_row row;
    uint64_t id_hash;
    uint64_t place;          /* place of its record in the file (record.h) */
    size_t id_begin, id_len; /* where its id is in bm_ingest_batch.ids */
    size_t keep_key_len;     /* its key in bm_ingest_batch.keep_keys, where keys follow each
                              * other */
} bm_ingest_doc;

/* A document without an id: the values that its row would have. */
typedef struct bm_nameless_text {
    uint64_t bytes, hash; /* as in bm_doc_row */
} bm_nameless_text;

/* The capacity of the arrays of a batch, in elements. */
typedef struct bm_ingest_capacity {
    size_t docs, skipped, n_shingles, content, words, keys, by_id, by_content, texts;
} bm_ingest_capacity;

/* What a device computes from texts in addition to words and keys: n_docs elements each. */
typedef struct bm_ingest_made {
    uint32_t *n_shingles;
    bm_hash128 *content;
} bm_ingest_made;

/* The memory that a batch with a long document may use (ingest.c). */
typedef struct bm_ingest_share {
    uint64_t cost; /* bytes taken from the share of batches; 0: an ordinary batch */
    bool alone;    /* nothing else is in flight, and it may use ... */
    uint64_t free; /* ... this many bytes */
} bm_ingest_share;

/* A batch's place in reading order. */
typedef struct bm_ingest_turn {
    uint64_t sequence;        /* 0, 1, 2 ... */
    uint64_t bytes_read;      /* stored bytes of the inputs up to the end of the batch */
    uint64_t first_doc;       /* the number of its first document (bm_ingest_in_place) */
    size_t first_row;         /* its first row in the table, once reserved, or in the sink */
    bool has_rows;            /* its rows are reserved */
    bool claimed;             /* its copies are found before its turn (bm_ingest_early) */
    bool all_put;             /* all batches before it are put, and it is placed again */
    bm_device_worker *device; /* the device that signed it, until the result is checked; NULL:
                               * checked */
    uint64_t first_text;      /* where its ids begin in the table's text, once reserved */
    bm_doc_sums sums;         /* its contribution to the table */
    uint64_t n_shingles;      /* shingles of all its documents */
    uint64_t longest;         /* bytes of its longest text */
    bm_ingest_share share;
    bm_content_place place; /* after its last record, if ingest_cfg.places is set */
} bm_ingest_turn;

/* Places in the inputs, for an ingest whose progress is saved while it runs. */
typedef struct bm_ingest_places {
    bm_content_place check; /* given: up to here the inputs must be unchanged */
    bm_content_place last;  /* filled: after the last delivered batch */
    bool sink_failed;       /* filled: the failure came from the sink, not from the inputs */
} bm_ingest_places;

/* The progress of entering a batch into the table. */
typedef struct bm_ingest_entry_state {
    bm_doc_shard_list ids;
    atomic_uint left;            /* shards that this batch has not been entered into yet */
    atomic_uint_least64_t again; /* the first document that repeats the id of an earlier row, and
                                  * that row (bm_pair_key); UINT64_MAX: none */
} bm_ingest_entry_state;

/* The copies in a claimed batch (doc_copies.h), all of them found when the batch is placed. */
typedef struct bm_ingest_copies {
    bm_doc_shard_list contents;
    uint64_t n_filled, n_shingles;  /* documents with shingles, and their shingles */
    atomic_uint_least64_t n;        /* documents with shingles that are copies, and ... */
    atomic_uint_least64_t n_copied; /* ... their shingles */
} bm_ingest_copies;

typedef struct bm_ingest_batch {
    bm_ingest_turn turn;
    bm_ingest_entry_state entry;
    bm_ingest_copies copies;
    bm_source_batch *raw; /* until it is parsed */
    bm_ingest_doc *docs;
    size_t n_docs;
    bool nameless; /* its documents have no ids and no rows in the table, and `texts` instead of
                    * `docs` */
    bm_nameless_text *texts; /* one for each document (bm_ingest_in_place) */
    bm_buf ids;
    bm_buf keep_keys; /* if fields rank documents (input/keep_key.h) */
    bm_buf scanned;   /* findings of bm_ingest_scan in its documents */
    bm_buf parts;     /* bm_ingest_part entries of the current record (bm_ingest_scan.parts) */
    bm_skipped *skipped;
    size_t n_skipped;
    uint64_t n_invalid;
    bm_shingle_batch shingles; /* as_text: only of documents that were left to the host */
    bool as_text;              /* a device is to cut and hash the documents */
    bm_text_batch text;
    bm_ingest_made made; /* as_text */
    uint32_t *words;     /* n_docs rows (bm_device_set.row_uints); NULL if not wanted */
    uint64_t *keys;      /* n_docs * bands */
    bm_ingest_capacity capacity;
    bm_sign_task task;
    bool in_place; /* words and keys are the arrays of task.staged, swapped with the batch's own */
    bool shared_with_device; /* a stuck device may read shingles and text for ever: never freed */
    bm_status status;        /* what ended the batch after its documents: a bad record, a failure */
    bm_error error;
} bm_ingest_batch; /* {0} is empty */

/* The content hashes of the documents of a signed batch. */
static inline const bm_hash128 *bm_ingest_content(const bm_ingest_batch *batch)
{
    return batch->as_text ? batch->made.content : batch->shingles.content;
}

/* The receiver of the ingest's batches. Either function may be NULL. They borrow the batch; its
 * first document is row `first_row` of the table. */
typedef struct bm_ingest_sink {
    /* Called in input order, one batch at a time: count the batch and make room for it.
     * BM_NOT_FOUND (and no error), before changing anything: the sink's data has to move, so all
     * batches before must be put first. Then it is called again, with turn.all_put. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    /* Called for each placed batch, for any number of batches at once, in any order: copy its
     * documents to their places. The first failure in input order is reported. */
    bm_status (*put)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    void *ctx;
} bm_ingest_sink; /* {0}: none */

/* For a sink that has to know, when it places a batch, which of its documents are copies of earlier
 * ones. The ingest finds them in `copies` (doc_copies.h) together with the ids, shard by shard. For
 * that the sink must make room in its arrays before the turn of the batch: it claims the batch. A
 * batch that is not claimed is reserved only after all before it are placed, no later batch is
 * reserved until it is placed, and the sink finds its copies itself. */
typedef struct bm_ingest_early {
    /* Make room for the batch in the arrays of `copies`; false: it is not claimed. The document
     * table is about to reserve its rows, from `first_row` on. Called in input order; only the sink
     * may run at the same time. `first`: all batches before it are placed. NULL: every batch is
     * reserved, and none is claimed. */
    bool (*claim)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bool first);
    void *ctx;
    struct bm_doc_copies *copies;
} bm_ingest_early;

/* Columns for the words and keys of all documents: signing writes them directly to their final
 * place, given by the number of each document (turn.first_doc). The ingest makes room as batches
 * are read. A record becomes a document or ends the ingest, so the number of a batch's first
 * document is known when the batch is read. The native CPU signs. Records without ids of their own
 * get none: a batch of these is nameless. words NULL: each batch has its own words and keys. */
typedef struct bm_ingest_in_place {
    bm_column *words, *keys; /* keys: NULL if not wanted */
} bm_ingest_in_place;

/* Called after each batch is placed. True: call it again, with all_put, once all batches so far are
 * put and before the sink gets another one; what it returns then has no meaning. NULL: not
 * wanted. */
typedef struct bm_ingest_pause {
    bool (*fn)(void *ctx, bool all_put);
    void *ctx;
} bm_ingest_pause;

/* Called for a long document while nothing is in flight: how many bytes are free? If they are fewer
 * than `wanted`, memory is reclaimed by moving data to files. NULL: all memory is free except the
 * rows of documents. */
typedef struct bm_ingest_reclaim {
    bm_status (*fn)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *ctx;
} bm_ingest_reclaim;

/* A document that is a part of a record. */
typedef struct bm_ingest_part {
    uint64_t bytes, text_hash; /* as in bm_doc_row */
} bm_ingest_part;

/* For callers that examine texts and need no sets: instead of shingling, `document` is called for
 * each record, by the thread that parses it. It adds one document to the batch's shingles, which
 * may be empty, and appends its findings to `batch->scanned`; the number of the document is
 * batch->n_docs. Each worker has a lane of its own: *lane is NULL at the worker's first call, which
 * may open one, and `close` closes it when the worker ends. document NULL: not wanted. */
typedef struct bm_ingest_scan {
    bm_status (*document)(void *ctx, void **lane, bm_shingler *shingler, const bm_record *record,
                          bm_ingest_batch *batch, bm_error *err);
    void (*close)(void *lane); /* NULL is fine */
    void *ctx;
    /* Documents are parts of records: `document` adds any number of them to the batch's shingles,
     * and as many entries to `batch->parts`. They are signed like other documents; their ids are
     * distinct but have no meaning. */
    bool parts;
    const bm_keep_rules *keep; /* of parts: rules by which they are ranked, each by its own length;
                                * NULL: none */
} bm_ingest_scan;

typedef struct bm_ingest_cfg {
    bm_batch_source *source;
    const bm_input_options *input; /* how to treat bad records */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the fast paths; NULL: the best here */
    uint32_t threads, batch_docs;
    const bm_budget *budget; /* bounds the size of batches; NULL: no bound */
    /* The number of records at the beginning of the inputs that an earlier run delivered, including
     * skipped bad records, without header rows and blank lines. They are read again, for digests
     * and bytes_read, but neither parsed nor delivered. */
    uint64_t skip_records;
    bm_ingest_places *places;  /* NULL: not wanted; they cost a hash of all bytes read */
    bm_device_set *device_set; /* NULL: nothing is signed */
    bool want_words, want_keys;
    bool hashes_of_long; /* documents longer than a batch are hashed by the CPU, even if devices get
                         * texts of others */
    bm_meter *meter;
    /* NULL: the sink stores rows and ids and checks that ids are distinct, and skipped bad records
     * are not listed: only the first few are reported. The sink also gets a batch that fails (see
     * its status): its documents before the failure are not signed, but may contain an earlier
     * error. */
    bm_doc_table *docs;
    bm_counts *counts;
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_reclaim reclaim;
    /* Documents get the weights of their shingles, before they are signed; NULL: none */
    const struct bm_df_table *weights;
    bm_ingest_scan scan;
    bm_ingest_times *times; /* filled; NULL: not wanted */
} bm_ingest_cfg;
