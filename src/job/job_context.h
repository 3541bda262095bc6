/* SPDX-License-Identifier: Apache-2.0 */
/* job_context.h -- the resources and the state of a running job: its settings (which do not
 * change), threads, devices, inputs, documents and counts.
 *
 * The steps of a job, which job/job_steps.h runs in this order:
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
    bm_input_set *set;       /* NULL: the job reads only signatures, no texts */
    bm_file_names names;     /* the context owns the arrays */
    bm_batch_source *source; /* reads `set`; NULL if `set` is NULL */
    /* The inputs in the manifests of the signatures; used only if `set` is NULL. Borrowed. */
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
    const bm_corpus *corpus;      /* has the counts of spilled bytes; NULL: no pairing */
    uint64_t edge_bytes;          /* bytes of edges in temporary files */
    uint64_t n_resumed;           /* documents loaded from the checkpoint of an interrupted job */
    /* The written pairs, counted in BM_HISTOGRAM_BINS bins of similarity; NULL: not counted. */
    const uint64_t *similarities;
} bm_job_stats;

/* Counts of the comparison with known documents (--against). */
typedef struct bm_job_against {
    uint64_t documents;            /* known documents */
    uint64_t candidates, verified; /* pairs of a document and a known document */
    uint64_t not_compared; /* upper bound of the pairs left out because of crowded buckets */
    uint64_t found;        /* known documents that reach the threshold with some document */
    bm_id_kind ids;        /* type of the ids, if an index recorded it; else BM_IDS_UNTYPED */
    /* The job that read the test sets of `overlap`; else NULL. Borrowed. */
    const struct bm_job_context *items;
} bm_job_against;

typedef struct bm_job_context {
    const bm_settings *settings;
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks; /* callbacks that call the meter */
    bm_budget budget;       /* division of the memory: first made without devices, then with them */
    uint64_t taken;         /* bytes of budget.fixed that are reserved by bm_job_context_reserve */
    uint64_t ahead;         /* bytes of budget.batches that are for data decompressed ahead */
    bm_job_inputs inputs;
    bm_job_devices devices;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* records that an interrupted job already processed */
    bm_ingest_places places;
    bool wants_places; /* the ingest must fill `places` */
    bm_stage_clock clock;
    bm_job_stats stats;
    bm_keep_keys keep; /* used if fields rank documents */
    bm_job_against against;
    struct bm_df_table *frequencies; /* made by bm_job_weights_count; NULL: no weights */
} bm_job_context;

struct bm_checkpoint;
struct bm_checkpoint_more;

/* The source of an inner job whose documents are parts of an outer job's documents. The inner job
 * finds the parts by reading the inputs of the outer job again. */
typedef struct bm_part_source {
    bm_job_context *of;               /* the outer job; its inputs are open */
    struct bm_checkpoint *checkpoint; /* of the outer job, which lends it to the inner job */
    /* Set *out to the data that the outer job adds to the checkpoint. `job`: the inner job. */
    void (*more)(void *ctx, const bm_job_context *job, struct bm_checkpoint_more *out);
    bm_ingest_scan scan; /* finds parts; scan.parts is true */
    /* Called for each batch in input order, before the sink receives the batch. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, bm_error *err);
    /* Set `id` to the id of the document that `part` belongs to, and *from to the position of the
     * part in that document. */
    bm_status (*name)(void *ctx, size_t part, bm_buf *id, uint64_t *from, bm_error *err);
    bool only_equal; /* find only parts with equal shingles; nothing is signed */
    void *ctx;
} bm_part_source;

/* Open a job: start its threads and its meter. `settings` is borrowed until close. On failure
 * nothing needs to be closed. */
bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err);
void bm_job_context_close(bm_job_context *job);
/* Check each output. It is refused if it is one of the inputs, another output, or an address; if it
 * exists and may not be replaced (out_target.h); or if its file system has no free space. `inputs`:
 * n paths of inputs, which need not be open. Lists, offsets and known documents that the settings
 * name count as inputs too. */
bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err);
/* Open the inputs, and check the outputs (bm_job_context_check_outputs) before and after. If
 * standard input is read more than once, it is copied to a file. */
bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err);
/* Reserve bytes of the memory limit until the end of the job. Documents cannot use them. */
void bm_job_context_reserve(bm_job_context *job, uint64_t bytes);
/* Reserve memory for the decoders of `set` and for data decompressed ahead. BM_ERR_NOMEM: the
 * windows of the decoders do not fit. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err);
/* The format of the inputs, once they are open. */
bm_format bm_job_context_format(const bm_job_context *job);
/* Choose the devices. Later calls do nothing. */
bm_status bm_job_context_pick(bm_job_context *job, bm_error *err);
/* Instead of storing shingle sets, does the job make the sets of candidates again from the texts?
 * If so, the host needs no shingle hashes. */
bool bm_job_context_makes_again(const bm_job_context *job);
/* Choose and open the devices, and divide the memory again, now with buffers for the devices. If
 * `keys`, the devices make band keys by the plan of the settings, else only the words of
 * signatures. */
bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err);
/* End the current stage and begin stage `name`; NULL: only end the current one. */
void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit);

/* What an ingest delivers, and to which sink (ingest_cfg.h). */
typedef struct bm_ingest_request {
    bool words, keys;    /* words: deliver signatures; keys: deliver band keys */
    bool hashes_of_long; /* see ingest_cfg.h */
    bool no_table;       /* documents are passed only to the sink, not added to the job's table */
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_scan scan;
    /* See bm_ingest_reclaim. `ctx` is reclaim_ctx. */
    bm_status (*reclaim)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *reclaim_ctx;
} bm_ingest_request;

/* Read all documents in a pass before the main pass, and pass them only to the scan and the sink of
 * the request. The table and the counts of the job do not change, and skipped records are not
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
#define BM_STAGE_COUNT   "count" /* for each shingle, count the documents that have it */
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
    BM_START_SIGNATURES_AND_TEXTS, /* signatures, then texts, which are read again */
    BM_START_RESUMED,              /* an interrupted job has read some of the documents */
    BM_START_RESUMED_WHOLE         /* an interrupted job has read all documents */
} bm_job_start;

/* Pass the stages of the job to the meter, each with an estimate of its share of the time. Call
 * this once inputs and settings are known. */
void bm_job_context_plan(bm_job_context *job, bm_job_start start);

/* record_budget -- the memory limit of passes that hold only one long record at a time (the second
 * pass of `dedup`, the passes of `filter`, and followed lines), and of tables read from a
 * directory.
 *
 * A record longer than a batch needs memory for its bytes and for the bytes read after it. Parsing
 * needs memory for copies of its text as well, and shingling for joined text and hashes. The ingest
 * does not use this limit: it processes many records at once, and has a gate of its own. */

typedef struct bm_record_budget {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* the most copies of a record's text that exist at once */
    bool shingles;             /* records are shingled while they are in memory */
    bm_long_gate gate;         /* to be passed to a batch source in bm_batch_limits.gate */
} bm_record_budget;

/* What a pass does with records. */
typedef enum bm_record_use {
    BM_RECORDS_SPLIT, /* finds only the bounds of records */
    BM_RECORDS_PARSED,
    BM_RECORDS_SHINGLED /* parsed, and shingled one by one */
} bm_record_use;

/* `out` must not move in memory, because out->gate points to it. */
void bm_record_budget_init(const bm_job_context *job, bm_record_use use, bm_record_budget *out);
/* The bytes that the shingler may use while a record of record_bytes is in memory. 0: there is no
 * limit; a limit is at least 1. */
uint64_t bm_record_budget_left(const bm_record_budget *budget, uint64_t record_bytes);
/* Return BM_ERR_NOMEM, since the record does not fit into memory. The message names a sufficient
 * `memory`. `shingling`: additional bytes that are needed while the record is shingled. */
bm_status bm_record_budget_refuse(const bm_record_budget *budget, const bm_long_record *record,
                                  uint64_t shingling, bm_error *err);

/* Read the open inputs on this thread, and call `fn` for each record. Records are parsed but not
 * shingled. One batch is in memory at a time. Before each batch *enough is checked, and reading
 * ends once it is true. `enough` NULL: all batches are read. */
bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err);

/* Set *out to the bytes that tables read from a directory may take; 0: no limit. BM_ERR_NOMEM:
 * settings->memory is too small for any work; the message names the minimum. */
bm_status bm_table_budget(const bm_settings *settings, uint64_t *out, bm_error *err);
/* Return BM_ERR_NOMEM for tables that would take `bytes`. The message calls the tables `what`, and
 * names a sufficient `memory`. */
bm_status bm_table_budget_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                                 bm_error *err);

/* input_finder -- finds an input file that a manifest lists. */

typedef struct bm_input_places {
    const char *manifest;          /* path of the manifest */
    const char *sources;           /* a directory to search, from the caller; may be NULL */
    const bm_callbacks *callbacks; /* called while digests are computed; may be NULL */
} bm_input_places;

/* Set *path to the path of the input; the caller frees it with bm_free. NAME is the name of the
 * input in the manifest. These places are searched for a file of the recorded size, in this order:
 *
 *     NAME itself (if relative, in the current directory)
 *     the path at which the job read the input
 *     NAME in the directory of the manifest, and in the parent of that directory
 *     sources/NAME, then the same with the leading directories of NAME dropped one by one
 *     the recorded path of the input relative to the directory of the manifest
 *
 * If several different files have the recorded size, the first file with the recorded digest is
 * chosen; if none has it, the first file. If NAME is an address, or if the job could not read the
 * input, NAME is returned without a search. BM_ERR_IO: not found. BM_ERR_FORMAT: only files of
 * another size exist, or the input was standard input. */
bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err);

/* Set *same to true if the file at `path`, or `remote` (see bm_stored_open), has the recorded
 * bytes. If the input was read in parts, only these parts are digested, else the whole file.
 * `callbacks` may be NULL. BM_ERR_IO, BM_ERR_INPUT (no regular file), BM_ERR_NOMEM,
 * BM_ERR_CANCELLED. */
bm_status bm_input_is_same(const bm_manifest_input *input, const char *path, bm_remote *remote,
                           const bm_callbacks *callbacks, bool *same, bm_error *err);

/* job_weights -- the pass over the inputs that weights need. It counts, for each shingle, the
 * documents that have the shingle.
 *
 * The pass runs before the main pass, on all threads, and reads the inputs as the main pass does.
 * If an input changes between the two passes, the job fails (input/input_bytes.c). */

/* Run this pass if the job weighs documents. The table of counts is stored in the job, for
 * bm_job_context_ingest; the number of documents and the digest of the counts are stored in
 * settings->recorded.weighed. Call this once the inputs are open. BM_ERR_FORMAT: `weighed` already
 * has different values, from a manifest. */
bm_status bm_job_weights_count(bm_job_context *job, bm_error *err);
