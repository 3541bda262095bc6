/* SPDX-License-Identifier: Apache-2.0 */
/* job_context.h -- the resources and the state of a running job: its settings (which do not
 * change), threads, devices, inputs, documents and counts.
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

/* The durations of the stages of a job. */
typedef struct bm_stage_clock {
    double began, stage_began; /* when the job and the running stage began (bm_clock_seconds) */
    time_t date;               /* when the job began, as calendar time */
    const char *stage;         /* the running stage; NULL: no stage is running */
    bm_stage stages[BM_STAGES_MAX]; /* the stages that have ended */
    size_t n_stages;
} bm_stage_clock;

typedef struct bm_job_inputs {
    bm_input_set *set;       /* NULL: only signatures are read, not their texts */
    bm_file_names names;     /* the context owns the arrays */
    bm_batch_source *source; /* reads `set`; NULL if `set` is NULL */
    /* Used if `set` is NULL: the inputs that the manifests of the signatures list. Borrowed. */
    const struct bm_recipe *recorded;
} bm_job_inputs;

typedef struct bm_job_devices {
    bm_device_pick pick;
    bm_device_set set;
    bool open;
} bm_job_devices;

/* Statistics of the work, for the report. */
typedef struct bm_job_stats {
    bm_ingest_times ingest_times; /* times of the last ingest; workers 0: there was no ingest */
    double verify_seconds;        /* time spent comparing candidates */
    const bm_corpus *corpus;      /* for the bytes that the corpus spilled; NULL: no pairing */
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
    uint64_t found;        /* known documents that reach the threshold with some document */
    bm_id_kind ids;        /* type of the ids, if an index recorded it; else UNTYPED */
    /* The job that read the test sets of `overlap`; else NULL. Borrowed. */
    const struct bm_job_context *items;
} bm_job_against;

typedef struct bm_job_context {
    const bm_settings *settings;
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks; /* these forward to the meter */
    bm_budget budget;       /* division of the memory; made at open, and again with the devices */
    uint64_t taken;         /* part of budget.fixed: reserved for things other than documents */
    uint64_t ahead;         /* part of budget.batches: for data decompressed ahead */
    bm_job_inputs inputs;
    bm_job_devices devices;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* records that an interrupted job already processed */
    bm_ingest_places places;
    bool wants_places; /* the ingest is to fill `places` */
    bm_stage_clock clock;
    bm_job_stats stats;
    bm_keep_keys keep; /* used if fields rank documents */
    bm_job_against against;
    struct bm_df_table *frequencies; /* made by bm_job_weights_count; NULL: no weights */
} bm_job_context;

struct bm_checkpoint;
struct bm_checkpoint_more;

/* A source of documents that are parts of another job's documents. The parts are found by reading
 * the inputs of that job again. */
typedef struct bm_part_source {
    bm_job_context *of;               /* the other job, whose inputs are open */
    struct bm_checkpoint *checkpoint; /* of the other job; lent to the job of parts, `job` */
    /* Set *out to the data that the other job adds to the checkpoint. */
    void (*more)(void *ctx, const bm_job_context *job, struct bm_checkpoint_more *out);
    bm_ingest_scan scan; /* finds parts; scan.parts is true */
    /* Called for each batch in input order, before the sink gets the batch. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, bm_error *err);
    /* Set `id` to the id of the document that `part` belongs to, and *from to the position of the
     * part in that document. */
    bm_status (*name)(void *ctx, size_t part, bm_buf *id, uint64_t *from, bm_error *err);
    bool only_equal; /* only parts with equal shingles are wanted; nothing is signed */
    void *ctx;
} bm_part_source;

/* Open a job: start its threads and its meter. `settings` is borrowed until close. On failure
 * nothing needs to be closed. */
bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err);
void bm_job_context_close(bm_job_context *job);
/* Refuse an output that is one of the inputs, is another output, is an address, or may not be
 * replaced (out_target.h), or for which there is no free space. `inputs`: n paths of inputs, which
 * need not be open. Lists, offsets and known documents that the settings name count as inputs. */
bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err);
/* Open the inputs, and check the outputs (bm_job_context_check_outputs) before and after. If
 * standard input is read more than once, it is copied to a file. */
bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err);
/* Reserve bytes until the end of the job, so that documents cannot use them. */
void bm_job_context_reserve(bm_job_context *job, uint64_t bytes);
/* Reserve memory for the decoders of `set` and for data decompressed ahead. BM_ERR_NOMEM: the
 * windows of the decoders do not fit. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err);
/* The format of the inputs, once they are open. */
bm_format bm_job_context_format(const bm_job_context *job);
/* Choose the devices. Later calls do nothing. */
bm_status bm_job_context_pick(bm_job_context *job, bm_error *err);
/* Does the job make the shingle sets of candidates again from the texts, instead of storing sets?
 * If so, the host needs no hashes. */
bool bm_job_context_makes_again(const bm_job_context *job);
/* Choose and open the devices, and divide the memory again with them. `keys`: the devices make band
 * keys by the plan of the settings; else only the words of signatures. */
bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err);
/* End the current stage and begin stage `name`; NULL: only end the current one. */
void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit);

/* What an ingest delivers, and to which sink (ingest_cfg.h). */
typedef struct bm_ingest_request {
    bool words, keys;    /* signatures are wanted; band keys are wanted */
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

/* Read all documents before the main pass, and pass them only to the scan and the sink of the
 * request. The table and the counts of the job do not change, and skipped records are not
 * reported. */
bm_status bm_job_context_count(bm_job_context *job, const bm_ingest_request *request,
                               bm_error *err);
/* Ingest all documents, in input order: sign them on the devices, and add them to the job's table
 * and the sink. */
bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_request *request,
                                bm_error *err);

/* job_stages -- the names of the stages of a job, and the plan for the meter. */

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

/* What a job begins with. */
typedef enum bm_job_start {
    BM_START_DOCUMENTS,
    BM_START_SIGNATURES,           /* only signatures, without texts */
    BM_START_SIGNATURES_AND_TEXTS, /* signatures; the texts are read again */
    BM_START_RESUMED,              /* some documents were read by an interrupted job */
    BM_START_RESUMED_WHOLE         /* all documents were read by an interrupted job */
} bm_job_start;

/* Pass the stages of the job, with the guessed share of the time of each, to the meter. Call this
 * once inputs and settings are known. */
void bm_job_context_plan(bm_job_context *job, bm_job_start start);

/* record_budget -- the memory limit of passes that hold one long record at a time (the second pass
 * of `dedup`, the passes of `filter`, and followed lines), and of tables read from a directory.
 *
 * A record longer than a batch needs memory for its bytes and the bytes read after it; if it is
 * parsed, also for copies of its text; if it is shingled, also for joined text and hashes. The
 * ingest does not use this: it has many records in flight, and a gate of its own. */

typedef struct bm_record_budget {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* the most copies of a record's text that exist at once */
    bool shingles;             /* records are shingled while they are in memory */
    bm_long_gate gate;         /* for bm_batch_limits.gate */
} bm_record_budget;

/* What a pass does with records. */
typedef enum bm_record_use {
    BM_RECORDS_SPLIT, /* only finds their bounds */
    BM_RECORDS_PARSED,
    BM_RECORDS_SHINGLED /* parsed, and shingled one by one */
} bm_record_use;

/* `out` must not move: its gate points to it. */
void bm_record_budget_init(const bm_job_context *job, bm_record_use use, bm_record_budget *out);
/* The bytes that the shingler may use while a record of record_bytes is in memory: at least 1; 0:
 * there is no limit. */
uint64_t bm_record_budget_left(const bm_record_budget *budget, uint64_t record_bytes);
/* Return BM_ERR_NOMEM, with a message that names a sufficient `memory`: the record, which takes
 * `shingling` bytes more while it is shingled, does not fit. */
bm_status bm_record_budget_refuse(const bm_record_budget *budget, const bm_long_record *record,
                                  uint64_t shingling, bm_error *err);

/* Read the open inputs on this thread, and call `fn` for each record, which is parsed but not
 * shingled. One batch is in memory at a time. Reading also ends if *enough is true before a batch.
 * `enough` NULL: all batches are read. */
bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err);

/* Set *out to the bytes that tables read from a directory may take; 0: no limit. BM_ERR_NOMEM:
 * settings->memory is too small for any work; the message names the least. */
bm_status bm_table_budget(const bm_settings *settings, uint64_t *out, bm_error *err);
/* Return BM_ERR_NOMEM for tables that would take `bytes`. The message calls the tables `what`, and
 * names a sufficient `memory`. */
bm_status bm_table_budget_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                                 bm_error *err);

/* input_finder -- finds an input file that a manifest lists. */

typedef struct bm_input_places {
    const char *manifest;          /* path of the manifest */
    const char *sources;           /* a directory that the caller gave to search; may be NULL */
    const bm_callbacks *callbacks; /* called while digests are computed; may be NULL */
} bm_input_places;

/* Set *path to the path of the input; the caller frees it with bm_free. These places are searched
 * for a file of the recorded size, in this order:
 *
 *     NAME itself (if relative, in the current directory); the path at which the job read it
 *     NAME in the directory of the manifest, and in the parent of that directory
 *     sources/NAME, then with the leading directories of NAME dropped one by one
 *     the recorded path from the directory of the manifest to the file
 *
 * If several different files have the recorded size, their bytes are compared with the recorded
 * digest, and the first that is equal is chosen; if none is equal, the first file. NAME is returned
 * without a search if it is an address, or if the job could not read the input. BM_ERR_IO: not
 * found. BM_ERR_FORMAT: only files of another size exist, or the input was standard input. */
bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err);

/* Set *same: does the file at `path`, or `remote` (see bm_stored_open), have the recorded bytes?
 * The whole file is digested, or, if the input was read in parts, those parts. `callbacks` may be
 * NULL. BM_ERR_IO, BM_ERR_INPUT (no regular file), BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_input_is_same(const bm_manifest_input *input, const char *path, bm_remote *remote,
                           const bm_callbacks *callbacks, bool *same, bm_error *err);

/* job_weights -- the pass over the inputs that weights need: for each shingle, it counts the
 * documents that have the shingle.
 *
 * The pass runs before the main pass, on all threads, and reads the inputs in the same way. If an
 * input has changed when the main pass reads it, the job fails (input/input_bytes.c). */

/* If the job weighs documents, count the shingles, store the table in the job for
 * bm_job_context_ingest, and store the number of documents and the digest of the counts in
 * settings->recorded.weighed. Call this once the inputs are open. BM_ERR_FORMAT: `weighed` already
 * had values, from a manifest, and they differ. */
bm_status bm_job_weights_count(bm_job_context *job, bm_error *err);
