/* SPDX-License-Identifier: Apache-2.0 */
/* job_context.h -- what every job holds from its settings to its summary: constant settings,
 * threads, devices, inputs, and the state so far.
 *
 * The steps of a job, in their order (job/job_steps.h runs them):
 *     settings -> open -> inputs -> work directory -> devices -> ingest -> ... -> report -> close
 * Not public. */
#pragma once

#include <time.h>

#include "base/meter.h"
#include "base/threads.h"
#include "corpus/corpus.h"
#include "corpus/keep_keys.h"
#include "devices/device_set.h"
#include "input/batch_source.h"
#include "input/input_set.h"
#include "input/raw_batch.h"
#include "job/settings.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "sign/budget.h"
#include "sign/ingest.h"

#define BM_STAGES_MAX 16u
#define BM_TABLE_NAME "table" /* default name of a table in memory */

typedef struct bm_stage {
    const char *name;
    double seconds;
} bm_stage;

/* The time at which the job and its stage began, and the duration of each stage. */
typedef struct bm_stage_clock {
    double began, stage_began;
    time_t date;       /* time at which the job began */
    const char *stage; /* NULL: no stage is running */
    bm_stage stages[BM_STAGES_MAX];
    size_t n_stages;
} bm_stage_clock;

typedef struct bm_job_inputs {
    bm_input_set *set;                /* NULL: signatures without their texts */
    bm_file_names names;              /* the context owns the arrays */
    bm_batch_source *source;          /* reads `set`; NULL if there is no set */
    const struct bm_recipe *recorded; /* if there is no set: the inputs in manifests; borrowed */
} bm_job_inputs;

typedef struct bm_job_devices {
    bm_device_pick pick;
    bm_device_set set;
    bool open;
} bm_job_devices;

/* Statistics of the work, for the report. */
typedef struct bm_job_stats {
    bm_ingest_times ingest_times; /* times of the last ingest; workers 0: there was no ingest */
    double verify_seconds;        /* seconds of comparing candidates */
    const bm_corpus *corpus;      /* the corpus while pairing, for the bytes it spilled */
    uint64_t edge_bytes;          /* bytes of edges in files */
    uint64_t n_resumed;           /* documents taken from the checkpoint of an interrupted job */
    /* BM_HISTOGRAM_BINS counts of the pairs written; NULL: not counted */
    const uint64_t *similarities;
} bm_job_stats;

/* Counts of the comparison with known documents. */
typedef struct bm_job_against {
    uint64_t documents;            /* known documents */
    uint64_t candidates, verified; /* pairs of a document and a known document */
    uint64_t not_compared; /* upper bound of the pairs left out because of crowded buckets */
    uint64_t found;        /* known documents that reach the threshold with a document */
    bm_id_kind ids;        /* id type, if an index recorded it; else UNTYPED */
    const struct bm_job_context *items; /* borrowed; the job that read the test sets of `overlap`;
                                         * or NULL */
} bm_job_against;

typedef struct bm_job_context {
    const bm_settings *settings;
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks; /* forward to the meter */
    bm_budget budget;       /* the division of the memory, made once devices are known */
    uint64_t taken;         /* part of budget.fixed: reserved for things other than documents */
    uint64_t ahead;         /* part of budget.batches: for data decompressed ahead */
    bm_job_inputs inputs;
    bm_job_devices devices;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* records that an interrupted job already processed */
    bm_ingest_places places;
    bool wants_places;
    bm_stage_clock clock;
    bm_job_stats stats;
    bm_keep_keys keep; /* used if fields rank documents */
    bm_job_against against;
    struct bm_df_table *frequencies; /* bm_job_weights_count; NULL: no weights */
} bm_job_context;

/* A source of documents that are parts of another job's documents, found in its inputs. */
typedef struct bm_part_source {
    bm_job_context *of;  /* the other job: its inputs are open, and are read again */
    bm_ingest_scan scan; /* finds parts; scan.parts is true */
    /* Called in input order, before the documents of a batch get their places. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, bm_error *err);
    /* Write the id of the document that `part` belongs to into `id`, and the position of the part
     * in it to *from. */
    bm_status (*name)(void *ctx, size_t part, bm_buf *id, uint64_t *from, bm_error *err);
    bool only_equal; /* find only parts with equal shingles; nothing is signed */
    void *ctx;
} bm_part_source;

/* Start threads. `settings` is borrowed until close. On failure nothing needs to be closed. */
bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err);
void bm_job_context_close(bm_job_context *job);
/* Refuse an output that is one of the inputs, is another output, or may not be replaced
 * (out_target.h). `inputs` are the paths as given, before they are opened; lists, offsets and known
 * documents that the settings name are checked too. */
bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err);
/* Open the inputs, and refuse an output that is one of them. Standard input is copied to a file if
 * it is read more than once. */
bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err);
/* Reserve bytes until the end of the job, so that documents cannot use them. */
void bm_job_context_reserve(bm_job_context *job, uint64_t bytes);
/* Reserve memory for the decoders of these inputs and for data decompressed ahead. BM_ERR_NOMEM: it
 * does not fit. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err);
/* The format of the inputs, once they are open. */
bm_format bm_job_context_format(const bm_job_context *job);
/* Choose the devices, unless that was done before. */
bm_status bm_job_context_pick(bm_job_context *job, bm_error *err);
/* Does the job make the sets of candidates again from their texts, instead of keeping sets? The
 * host then needs no hashes. */
bool bm_job_context_makes_again(const bm_job_context *job);
/* Open the devices: for the band keys of the settings' plan, or, `keys` false, for words only. */
bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err);
/* End the current stage and begin stage `name`; NULL: only end the current one. */
void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit);

/* What an ingest delivers, and to which sink. */
typedef struct bm_ingest_request {
    bool words, keys;
    bool hashes_of_long; /* see ingest_cfg.h */
    bool no_table;       /* documents are passed to the sink only, not to the job's table */
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_scan scan;
    /* See bm_ingest_reclaim; called with reclaim_ctx. */
    bm_status (*reclaim)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *reclaim_ctx;
} bm_ingest_request;

/* Read all documents before the main pass, for the request's scan and sink only: no table, no
 * counts, no reports. */
bm_status bm_job_context_count(bm_job_context *job, const bm_ingest_request *request,
                               bm_error *err);
/* Ingest all documents, in input order: sign them on the devices, and add them to the job's table
 * and the sink. */
bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_request *request,
                                bm_error *err);

/* job_stages -- the stages of a job: their names, and the share of the time that each may take. */

#define BM_STAGE_LOAD    "load" /* load signatures, or the work of an interrupted job */
#define BM_STAGE_READ    "read"
#define BM_STAGE_COUNT   "count" /* count the documents of each shingle */
#define BM_STAGE_SIGN    "sign"
#define BM_STAGE_KNOWN   "known" /* compare documents with known ones */
#define BM_STAGE_MATCH   "match"
#define BM_STAGE_COMPARE "compare" /* the last part of matching all pairs */
#define BM_STAGE_GROUP   "group"
#define BM_STAGE_WRITE   "write"
#define BM_STAGE_COPY    "copy"
#define BM_STAGE_SEAL    "seal"
#define BM_STAGE_QUERY   "query"

/* The state in which a job begins. */
typedef enum bm_job_start {
    BM_START_DOCUMENTS,
    BM_START_SIGNATURES,           /* only signatures */
    BM_START_SIGNATURES_AND_TEXTS, /* the texts are read again */
    BM_START_RESUMED,              /* an interrupted job has read some documents */
    BM_START_RESUMED_WHOLE         /* an interrupted job has read all documents */
} bm_job_start;

/* Tell the meter the stages of the job, once inputs and settings are known. */
void bm_job_context_plan(bm_job_context *job, bm_job_start start);

/* record_budget -- the memory limit of passes that hold one record at a time (the second pass of
 * `dedup`, the passes of `filter`, and followed lines), and of tables read from a directory.
 *
 * A record longer than a batch needs memory for its bytes, the bytes read after it, copies of its
 * text if it is parsed, and joined text and hashes if it is shingled. The ingest has many records
 * in flight and a gate of its own. */

typedef struct bm_record_budget {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* most copies of a record's text */
    bool shingles;             /* records are shingled while they are held */
    bm_long_gate gate;         /* for the limits of the batch source */
} bm_record_budget;

typedef enum bm_record_use {
    BM_RECORDS_SPLIT,
    BM_RECORDS_PARSED,
    BM_RECORDS_SHINGLED /* parsed, and shingled one by one */
} bm_record_use;

/* `out` must not move: its gate points to it. */
void bm_record_budget_init(const bm_job_context *job, bm_record_use use, bm_record_budget *out);
/* Bytes that the shingler may use while a record of record_bytes is held; 0: no limit. */
uint64_t bm_record_budget_left(const bm_record_budget *budget, uint64_t record_bytes);
/* BM_ERR_NOMEM: shingling the record takes `shingling` bytes, more than is left. */
bm_status bm_record_budget_refuse(const bm_record_budget *budget, const bm_long_record *record,
                                  uint64_t shingling, bm_error *err);

/* Read the open inputs on this thread: each record is parsed but not shingled. One batch, or one
 * record, is in memory. Ends when *enough is true before a batch (NULL: never). */
bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err);

/* Set *out to the bytes that tables read from a directory may take; 0: no limit. If memory is too
 * small for any work, the error names the least `memory`. */
bm_status bm_table_budget(const bm_settings *settings, uint64_t *out, bm_error *err);
/* The tables would take `bytes`: BM_ERR_NOMEM, naming `what` they are and a sufficient `memory`. */
bm_status bm_table_budget_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                                 bm_error *err);

/* input_finder -- finds a file that a manifest names. */

typedef struct bm_input_places {
    const char *manifest;          /* path of the manifest */
    const char *sources;           /* a directory to search, given by the caller; NULL: no
                                    * directory */
    const bm_callbacks *callbacks; /* while digests are computed; may be NULL */
} bm_input_places;

/* *path: the first of these places that has a file of the recorded size; if several have one, the
 * first with the recorded bytes. Free it with bm_free. The order:
 *
 *     NAME itself (if relative, in the current directory); the path at which the job read it
 *     NAME in the directory of the manifest, and in the parent of that directory
 *     sources/NAME, then with the leading directories of NAME dropped one by one
 *     the recorded path from the directory of the manifest to the file
 *
 * BM_ERR_IO: not found. BM_ERR_FORMAT: only files of another size exist, or the input was standard
 * input. Both name the file. */
bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err);

/* Set *same: does the file at `path`, or `remote` (see bm_stored_open), have the bytes that were
 * read? The whole file is digested. `callbacks` may be NULL. BM_ERR_IO, BM_ERR_INPUT (no regular
 * file), BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_input_is_same(const bm_manifest_input *input, const char *path, bm_remote *remote,
                           const bm_callbacks *callbacks, bool *same, bm_error *err);

/* job_weights -- the pass over the inputs that weights need: it counts the documents of each
 * shingle.
 *
 * It runs before the main pass, on all threads, and reads the inputs in the same way. An input that
 * has changed by the second pass ends the job (input/input_bytes.c). */

/* Call once the inputs are open. Counts the shingles, and keeps the table in the job, so that
 * bm_job_context_ingest weighs documents. The counts are stored in settings->recorded.weighed.
 * BM_ERR_FORMAT: a manifest named a digest, which differs. Without weights, does nothing. */
bm_status bm_job_weights_count(bm_job_context *job, bm_error *err);
