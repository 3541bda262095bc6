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

/* ingest_times -- the times of the steps of an ingest. */

/* Times in seconds. All but `elapsed` are summed over all threads. Worker threads spend `fill`,
 * `text`, `sign` and `wait`; device workers spend `device` and `idle`; any thread spends `enter`
 * and `put`; `read` and `deliver` are spent by one thread at a time. */
typedef struct bm_ingest_times {
    double elapsed;
    double read;    /* reading and decompressing */
    double fill;    /* reading by position, in parallel */
    double text;    /* parsing, normalising, shingling */
    double sign;    /* signing on the native CPU */
    double device;  /* submitting to devices and waiting for them */
    double deliver; /* delivering batches, in order */
    double enter;   /* entering rows and ids into the document table */
    double put;     /* copying delivered batches to their places */
    double wait;    /* waiting for input, a place in the ring, or a place in a device's queue */
    double idle;    /* waiting for work */
    uint32_t workers, device_workers;
} bm_ingest_times;

/* Add the seconds since *mark to *sum, and set *mark to now. */
static inline void bm_ingest_lap(double *sum, double *mark)
{
    double now = bm_clock_seconds();
    *sum += now - *mark;
    *mark = now;
}

/* The step that was busy for the greatest share of the time available to it: "read", "text",
 * "sign", "device", "deliver", "enter" or "put". */
const char *bm_ingest_bottleneck(const bm_ingest_times *times);

typedef struct bm_ingest_doc {
    bm_doc_row row;
    uint64_t id_hash;
    uint64_t place;          /* place of the document's record in the file (record.h) */
    size_t id_begin, id_len; /* position of the document's id in bm_ingest_batch.ids */
    size_t keep_key_len;     /* length of the document's key in bm_ingest_batch.keep_keys, where the
                              * keys of all documents are concatenated */
} bm_ingest_doc;

/* A document without an id: the values that its row would have. */
typedef struct bm_nameless_text {
    uint64_t bytes, hash; /* as in bm_doc_row */
} bm_nameless_text;

/* The capacity of the arrays of a batch, in elements. */
typedef struct bm_ingest_capacity {
    size_t docs, skipped, n_shingles, content, words, keys, by_id, by_content, texts;
} bm_ingest_capacity;

/* Arrays of n_docs elements that a device computes from texts, in addition to words and keys. */
typedef struct bm_ingest_made {
    uint32_t *n_shingles;
    bm_hash128 *content;
} bm_ingest_made;

/* The memory that a batch with a long document may use (ingest.c). */
typedef struct bm_ingest_share {
    uint64_t cost; /* bytes taken from the memory of batches (budget.batches); 0: a usual batch */
    bool alone;    /* no other batch is in flight, and this one may use `free` */
    uint64_t free; /* bytes of memory */
} bm_ingest_share;

/* The place of a batch in reading order, and data that depend on this place. */
typedef struct bm_ingest_turn {
    uint64_t sequence;   /* number of the batch, from 0 */
    uint64_t bytes_read; /* stored bytes of the inputs up to the end of the batch */
    uint64_t first_doc;  /* number of the batch's first document (bm_ingest_in_place) */
    size_t first_row;    /* first row of the batch in the table, once reserved, or in the sink */
    bool has_rows;       /* rows of the table are reserved for the batch */
    bool claimed;        /* the ingest finds the batch's copies early (bm_ingest_early) */
    bool all_put;        /* all earlier batches are put (bm_ingest_sink.place) */
    bm_device_worker *device; /* the device that signed the batch; NULL once it was checked */
    uint64_t first_text;      /* offset of the batch's ids in the table's text, once reserved */
    bm_doc_sums sums;         /* what the batch adds to the table */
    uint64_t n_shingles;      /* shingles of all documents of the batch */
    uint64_t longest;         /* bytes of the longest text of the batch */
    bm_ingest_share share;
    /* place after the batch's last record, if bm_ingest_cfg.places is set */
    bm_content_place place;
} bm_ingest_turn;

/* Places in the inputs, for an ingest whose progress is saved while it runs. */
typedef struct bm_ingest_places {
    bm_content_place check; /* from the caller: up to this place the inputs must be unchanged */
    bm_content_place last;  /* from the ingest: the place after the last delivered batch */
    bool sink_failed;       /* from the ingest: the sink has failed, not the inputs */
} bm_ingest_places;

/* The progress of entering a batch into the table. */
typedef struct bm_ingest_entry_state {
    bm_doc_shard_list ids;
    atomic_uint left;            /* number of shards into which the batch is not entered yet */
    atomic_uint_least64_t again; /* the pair (bm_pair_key) of the first document with the id of an
                                  * earlier row, and this row; UINT64_MAX: no id is repeated */
} bm_ingest_entry_state;

/* Counts of a claimed batch (doc_copies.h). They are complete when the batch is placed. */
typedef struct bm_ingest_copies {
    bm_doc_shard_list contents;
    uint64_t n_filled, n_shingles;  /* number of documents with shingles; sum of their shingles */
    atomic_uint_least64_t n;        /* number of copies with shingles */
    atomic_uint_least64_t n_copied; /* sum of the shingles of the copies */
} bm_ingest_copies;

typedef struct bm_ingest_batch {
    bm_ingest_turn turn;
    bm_ingest_entry_state entry;
    bm_ingest_copies copies;
    bm_source_batch *raw; /* NULL once the batch is parsed */
    bm_ingest_doc *docs;
    size_t n_docs;
    bool nameless; /* documents have no ids and no rows in the table; `texts` replaces `docs` */
    bm_nameless_text *texts; /* one for each document (bm_ingest_in_place) */
    bm_buf ids;
    bm_buf keep_keys; /* ranking keys, if fields rank documents (input/keep_key.h) */
    bm_buf scanned;   /* findings of bm_ingest_scan in the documents */
    bm_buf parts;     /* bm_ingest_part entries of the current record (bm_ingest_scan.parts) */
    bm_skipped *skipped;
    size_t n_skipped;
    uint64_t n_invalid;
    bm_shingle_batch shingles; /* if as_text, only of documents that are left to the host */
    bool as_text;              /* a device cuts and hashes the texts of the documents */
    bm_text_batch text;
    bm_ingest_made made; /* used if as_text */
    uint32_t *words;     /* n_docs rows (bm_device_set.row_uints); NULL if not wanted */
    uint64_t *keys;      /* n_docs * bands */
    bm_ingest_capacity capacity;
    bm_sign_task task;
    bool in_place; /* words and keys are the arrays of task.staged, swapped with the batch's own */
    bool shared_with_device; /* shingles and text are never freed: a stuck device may read them */
    bm_status status;        /* the failure that ended the batch after its documents, or BM_OK */
    bm_error error;
} bm_ingest_batch; /* {0} is empty */

/* The content hashes of the documents of a signed batch. */
static inline const bm_hash128 *bm_ingest_content(const bm_ingest_batch *batch)
{
    return batch->as_text ? batch->made.content : batch->shingles.content;
}

/* The receiver of the ingest's batches. Both functions borrow the batch, and may be NULL. The first
 * document of the batch is row `first_row` of the table. */
typedef struct bm_ingest_sink {
    /* Called in input order, one batch at a time: count the batch, and make room for it. If the
     * data of the sink must move to make room, all earlier batches must be put first: then `place`
     * changes nothing, and returns BM_NOT_FOUND without an error. Once the earlier batches are put,
     * it is called again, with turn.all_put. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    /* Called for each placed batch, in any order, and for several batches at once: copy the
     * documents to their places. The first failure in input order is reported. */
    bm_status (*put)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err);
    void *ctx;
} bm_ingest_sink; /* {0}: none */

/* For a sink that, when it places a batch, must know which of its documents are copies of earlier
 * documents. The ingest finds these copies by `copies` (doc_copies.h), shard by shard, together
 * with repeated ids. To allow this for a batch, the sink claims it: it makes room for the batch in
 * its arrays before the batch is placed. If the sink does not claim a batch, the batch is reserved
 * only after all earlier batches are placed, no later batch is reserved until it is placed, and the
 * sink itself finds its copies. */
typedef struct bm_ingest_early {
    /* Claim the batch: make room for it in the arrays of `copies`. False: the batch is not claimed.
     * Called in input order, just before the document table reserves the batch's rows, from
     * `first_row` on. Only the sink may run at the same time. `first`: all earlier batches are
     * placed. NULL: all batches are reserved early, and none is claimed. */
    bool (*claim)(void *ctx, const bm_ingest_batch *batch, size_t first_row, bool first);
    void *ctx;
    struct bm_doc_copies *copies;
} bm_ingest_early;

/* Columns for the words and keys of all documents. Signing writes them directly to their final
 * places, which the number of each document determines (turn.first_doc). This number is known when
 * a batch is read, because each record becomes a document or ends the ingest. The ingest makes room
 * in the columns as it reads batches. Only the native CPU signs. Records without own ids get no
 * ids: their batches are nameless. If `words` is NULL, there are no such columns, and each batch
 * has its own words and keys. */
typedef struct bm_ingest_in_place {
    bm_column *words, *keys; /* keys: NULL if not wanted */
} bm_ingest_in_place;

/* `fn` is called after each batch is placed. If it returns true, the ingest puts all batches placed
 * so far. Then it calls `fn` again with all_put, before it passes another batch to the sink, and
 * ignores the result of this call. NULL: no pauses. */
typedef struct bm_ingest_pause {
    bool (*fn)(void *ctx, bool all_put);
    void *ctx;
} bm_ingest_pause;

/* `fn` is called for a long document while no other batch is in flight. It sets *free to the number
 * of free bytes. If fewer than `wanted` are free, it first moves data to files. NULL: all memory is
 * free except the rows of documents. */
typedef struct bm_ingest_reclaim {
    bm_status (*fn)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *ctx;
} bm_ingest_reclaim;

/* A document that is a part of a record. */
typedef struct bm_ingest_part {
    uint64_t bytes, text_hash; /* as in bm_doc_row */
} bm_ingest_part;

/* For callers that examine texts and need no sets. Instead of shingling a record, the thread that
 * parses it calls `document`. This function adds one document, which may have no shingles, to
 * batch->shingles, and appends its findings to batch->scanned. The number of the document in the
 * batch is batch->n_docs. Each worker has its own lane. In the worker's first call of `document`,
 * *lane is NULL, and the function may set it. When the worker ends, `close` is called for its lane.
 * document NULL: records are shingled as usual. */
typedef struct bm_ingest_scan {
    bm_status (*document)(void *ctx, void **lane, bm_shingler *shingler, const bm_record *record,
                          bm_ingest_batch *batch, bm_error *err);
    void (*close)(void *lane); /* NULL is fine */
    void *ctx;
    /* True: documents are parts of records. `document` adds any number of documents to
     * batch->shingles, and the same number of entries to batch->parts. The parts are signed like
     * other documents. Their ids are distinct, but have no meaning. */
    bool parts;
    const bm_keep_rules *keep; /* rules that rank parts, each part by its own length; NULL: none */
} bm_ingest_scan;

typedef struct bm_ingest_cfg {
    bm_batch_source *source;
    const bm_input_options *input; /* has the rules for bad records */
    const bm_text_options *text;
    const char *cpu; /* instruction set of the native CPU; NULL: the best available */
    uint32_t threads, batch_docs;
    const bm_budget *budget; /* limits the size of batches; NULL: no limit */
    /* The number of records at the beginning of the inputs that an earlier run has delivered. Bad
     * records that were skipped count; header rows and blank lines do not. These records are read
     * again, for digests and bytes_read, but are neither parsed nor delivered. */
    uint64_t skip_records;
    bm_ingest_places *places;  /* filled, at the cost of hashing all bytes read; NULL: not wanted */
    bm_device_set *device_set; /* NULL: nothing is signed */
    bool want_words, want_keys;
    bool hashes_of_long; /* the CPU hashes documents longer than a batch, even if devices receive
                          * the texts of other documents */
    bm_meter *meter;
    /* The document table. NULL: the sink stores rows and ids, and checks that ids are distinct.
     * Then skipped bad records are not listed, and only the first few are reported. Also, the sink
     * receives batches that have failed (batch->status): the documents before the failure are not
     * signed, but may contain an earlier error, such as a repeated id. */
    bm_doc_table *docs;
    bm_counts *counts;
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_reclaim reclaim;
    /* The frequencies from which the shingles of documents are weighted before signing; NULL: no
     * weights. */
    const struct bm_df_table *weights;
    bm_ingest_scan scan;
    bm_ingest_times *times; /* filled; NULL: not wanted */
} bm_ingest_cfg;
