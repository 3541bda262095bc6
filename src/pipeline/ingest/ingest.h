/* ingest.h -- from inputs to signed documents, on several threads, in input order.
 *
 *     reader (one at a time, whichever worker is free) -> parse + shingle (workers) -> sign
 * (worker, or a device's device_worker)
 *         -> ordered end: document table, then the job's sink
 *
 * A worker takes the next raw batch under a lock, parses and shingles it while it is in cache,
 * signs it on the CPU or hands it to a device_worker's queue, and delivers it. Batches are delivered in
 * reading order whoever made them: an early one waits in a ring of `window` places, and the reader
 * stops while the ring is full, which bounds the memory. The first failure in input order is the
 * one that is reported. */
#ifndef BM_INGEST_INGEST_H
#define BM_INGEST_INGEST_H

#include <bandmill/job.h>

#include "io/input/hash_input.h"
#include "io/input/input_set.h"
#include "io/input/reader.h"
#include "model/shingle_batch.h"
#include "model/text_batch.h"
#include "pipeline/ingest/budget.h"
#include "model/doc_table.h"
#include "pipeline/devices/device_set.h"
#include "base/meter.h"

typedef struct bm_ingest_doc {
    bm_doc_row row;
    uint64_t id_hash;
    size_t id_begin, id_len; /* in bm_ingest_batch.ids */
} bm_ingest_doc;

typedef struct bm_ingest_batch {
    uint64_t sequence, bytes_read;
    bm_raw_batch *raw;
    bm_buf hash_offsets, hash_values; /* of `hashes` inputs, as read */
    uint64_t first_doc;               /* likewise: number of the first document */
    size_t passed_over; /* so many records at its beginning were delivered by an earlier run */
    bm_ingest_doc *docs;
    size_t n_docs, cap_docs;
    bm_buf ids;
    bm_skipped *skipped;
    size_t n_skipped, cap_skipped;
    uint64_t n_invalid;
    bm_shingle_batch shingles; /* as_text: of the documents that were left to the host */
    bool as_text;              /* a device is to cut and hash the documents */
    bm_text_batch text;
    uint32_t *n_shingles; /* as_text: filled by the device, n_docs */
    size_t cap_n_shingles;
    uint32_t *words; /* n_docs * perms in use; NULL where not wanted */
    uint64_t *keys;  /* n_docs * bands */
    size_t cap_words, cap_keys;
    bm_sign_task task;
    bool left;        /* a stuck device may read shingles and text: they are never freed */
    bm_status status; /* what came after the documents: a bad record, a failure */
    bm_error error;
} bm_ingest_batch;

/* Called in input order, one at a time; the batch's first document is row `first_row`. Borrows the
 * batch. */
typedef bm_status (*bm_ingest_sink)(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                                    bm_error *err);

/* Where the time went, in seconds of all threads together. */
typedef struct bm_ingest_times {
    double elapsed;
    double read;    /* reading and decompressing, one thread at a time */
    double text;    /* parsing, normalising, shingling: workers */
    double sign;    /* on the native CPU: workers */
    double device;  /* submitting to devices and waiting for them: device_workers */
    double deliver; /* the ordered end, one thread at a time */
    double
        wait; /* workers: for input, for a place in the ring, for room in a device_worker's queue */
    double idle; /* device_workers: for work */
    uint32_t workers, device_workers;
} bm_ingest_times;

/* The stage that was busy for the greatest share of the time it could have been: "read", "text",
 * "sign", "device" or "deliver". */
const char *bm_ingest_bottleneck(const bm_ingest_times *times);

typedef struct bm_ingest_cfg {
    const bm_input_options *input;
    const bm_text_options *text;
    const char *cpu;
    uint32_t threads, batch_docs;
    const bm_budget *budget; /* bounds the size of batches; NULL: nothing does */
    bm_input_set *inputs;
    bm_hash_input *hashes; /* instead of reading documents; NULL: none */
    /* So many records at the beginning of the inputs were delivered by an earlier run (bad ones
     * that were skipped count, header rows and blank lines do not; of `hashes`, documents). They
     * are read again, for digests and bytes_read, but neither parsed nor delivered. */
    uint64_t skip_records;
    bm_device_set *device_set; /* NULL: nothing is signed */
    bool want_words, want_keys;
    bm_meter *meter;
    bm_doc_table *docs;
    bm_counts *counts;
    bm_ingest_sink sink; /* NULL: none */
    void *sink_ctx;
    bm_ingest_times *times; /* filled; NULL: not wanted */
} bm_ingest_cfg;

/* BM_ERR_FORMAT: the inputs hold fewer than skip_records records. BM_ERR_CANCELLED, at the next
 * batch, passed over or not. Else what reading, parsing, signing and the sink end with. */
bm_status bm_ingest_run(const bm_ingest_cfg *cfg, bm_error *err);

#endif
