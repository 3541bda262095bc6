/* SPDX-License-Identifier: Apache-2.0 */
/* job_context.h -- what every job carries from its settings to its summary: constant settings,
 * threads, devices, inputs, and the state so far.
 *
 * The steps of a job, in their order (jobs/job_steps.h walks them):
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
#define BM_TABLE_NAME "table" /* of a table in memory that was given none */

typedef struct bm_stage {
    const char *name;
    double seconds;
} bm_stage;

/* When the job and its stage began, and how long each stage took. */
typedef struct bm_stage_clock {
    double began, stage_began;
    time_t date;       /* when the job began */
    const char *stage; /* NULL: none now */
    bm_stage stages[BM_STAGES_MAX];
    size_t n_stages;
} bm_stage_clock;

typedef struct bm_job_inputs {
    bm_input_set *set;                /* NULL: from signatures, without their texts */
    bm_file_names names;              /* the arrays are the context's */
    bm_batch_source *source;          /* what reads them; NULL where there is no set */
    const struct bm_recipe *recorded; /* without a set: what manifests say of them; borrowed */
} bm_job_inputs;

typedef struct bm_job_devices {
    bm_device_pick pick;
    bm_device_set set;
    bool open;
} bm_job_devices;

/* How the work was done, for the report. */
typedef struct bm_job_stats {
    bm_ingest_times ingest_times; /* of the last ingest; workers 0: none */
    double verify_seconds;        /* of comparing candidates */
    const bm_corpus *corpus;      /* of the pairing, while there is one: what went to files */
    uint64_t edge_bytes;          /* of edges in files */
    uint64_t n_resumed;           /* documents taken from the checkpoint of an interrupted job */
    /* of the pairs written, BM_HISTOGRAM_BINS; NULL: not counted */
    const uint64_t *similarities;
} bm_job_stats;

/* The known documents that there were to compare with. */
typedef struct bm_job_against {
    uint64_t documents;            /* known ones */
    uint64_t candidates, verified; /* pairs of a document and a known one */
    uint64_t not_compared;         /* beyond what a crowded bucket has for a document, at most */
    uint64_t found;                /* known ones that reach the threshold with a document */
    bm_id_kind ids; /* of the known ones, where an index recorded them; else UNTYPED */
    const struct bm_job_context *items; /* has read the test sets of `overlap`; borrowed; NULL:
                                         * none */
} bm_job_against;

typedef struct bm_job_context {
    const bm_settings *settings;
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks; /* that lead to the meter */
    bm_budget budget;       /* how the memory is shared, as far as devices are known */
    uint64_t taken;         /* part of it, and of budget.fixed: held for things that are no
                             * documents */
    uint64_t ahead;         /* of budget.batches, for bytes that are unpacked ahead */
    bm_job_inputs inputs;
    bm_job_devices devices;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* that an interrupted job has delivered already */
    bm_ingest_places places;
    bool wants_places;
    bm_stage_clock clock;
    bm_job_stats stats;
    bm_keep_keys keep; /* where fields rank documents */
    bm_job_against against;
    struct bm_df_table *frequencies; /* job_context.h; NULL: there are no weights */
} bm_job_context;

/* Documents that are parts of the documents of another job, and found in its inputs. */
typedef struct bm_part_source {
    bm_job_context *of;  /* that job: its inputs are open, and read once more */
    bm_ingest_scan scan; /* finds parts; scan.parts is true */
    /* In input order, before the documents of a batch have their places. */
    bm_status (*place)(void *ctx, const bm_ingest_batch *batch, bm_error *err);
    /* The id of the document of the other job that `part` is of, to `id`, and where it begins
     * there. */
    bm_status (*name)(void *ctx, size_t part, bm_buf *id, uint64_t *from, bm_error *err);
    bool only_equal; /* parts with equal shingles are found, and nothing is signed */
    void *ctx;
} bm_part_source;

/* Start threads. `settings` is borrowed until close. On failure nothing is to be closed. */
bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err);
void bm_job_context_close(bm_job_context *job);
/* Refuse an output that is one of the inputs, is another output, or may not be replaced
 * (out_target.h, out_target.h). `inputs` are the paths as given, before they are opened; lists,
 * offsets and known documents are among them, if the settings name such. */
bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err);
/* Open the inputs, refuse an output that is one of them. Standard input is made readable again
 * where kept documents are copied. */
bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err);
/* Reserve so many bytes for something that stays as long as the job; documents cannot have them. */
void bm_job_context_reserve(bm_job_context *job, uint64_t bytes);
/* Room for what decoders of these inputs hold at once, and for what they may unpack ahead, from now
 * on. BM_ERR_NOMEM: more than there is. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err);
/* The format of the inputs, once they are open. */
bm_format bm_job_context_format(const bm_job_context *job);
/* Choose the devices, if that was not done. */
bm_status bm_job_context_pick(bm_job_context *job, bm_error *err);
/* Does the job keep no sets, and make the sets of candidates again from their texts? Then the host
 * needs no hashes. */
bool bm_job_context_makes_again(const bm_job_context *job);
/* Open the devices for band keys of the settings' plan; `keys` false: for words alone. */
bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err);
/* End the stage before, begin this one; NULL only ends. */
void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit);

/* The columns that ingesting brings to the sink. */
typedef struct bm_ingest_request {
    bool words, keys;
    bool hashes_of_long; /* see ingest_cfg.h */
    bool no_table;       /* documents go to the sink alone, not to the job's table */
    bm_ingest_sink sink;
    bm_ingest_early early;
    bm_ingest_in_place in_place;
    bm_ingest_pause pause;
    bm_ingest_scan scan;
    /* As bm_ingest_reclaim; its ctx is reclaim_ctx. */
    bm_status (*reclaim)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *reclaim_ctx;
} bm_ingest_request;

/* Read all documents once before, for the request's scan and sink alone: no table, no counts,
 * nothing is reported. */
bm_status bm_job_context_count(bm_job_context *job, const bm_ingest_request *request,
                               bm_error *err);
/* Documents through the devices into the job's document table and the sink, in input order. */
bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_request *request,
                                bm_error *err);

/* job_stages -- the stages of a job: their names, and what share of the job each may take. */

#define BM_STAGE_LOAD    "load" /* signatures, or what an interrupted job has left */
#define BM_STAGE_READ    "read"
#define BM_STAGE_COUNT   "count" /* the number of documents of each shingle */
#define BM_STAGE_SIGN    "sign"
#define BM_STAGE_KNOWN   "known" /* documents are compared with those that are known */
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
    BM_START_SIGNATURES,           /* and nothing else */
    BM_START_SIGNATURES_AND_TEXTS, /* which are read again */
    BM_START_RESUMED,              /* documents, if an interrupted job has read some of them */
    BM_START_RESUMED_WHOLE         /* and if it has read all of them */
} bm_job_start;

/* Say to the meter what stages there will be, once inputs and settings are known. */
void bm_job_context_plan(bm_job_context *job, bm_job_start start);

/* record_budget -- memory for passes that hold one record at a time (the second pass of `dedup`,
 * the passes of `filter`, and followed lines), and for tables that were read from a directory.
 *
 * A record that is longer than a batch takes its own bytes, those that are read after it, copies
 * of its text where it is parsed, and joined text and hashes where it is shingled. The ingest,
 * which has many in flight, has a gate of its own. */

typedef struct bm_record_budget {
    const bm_job_context *job; /* borrowed */
    uint64_t copies;           /* of a record's text at most */
    bool shingles;             /* it is shingled while it is held */
    bm_long_gate gate;         /* for the limits of the source */
} bm_record_budget;

typedef enum bm_record_use {
    BM_RECORDS_SPLIT,
    BM_RECORDS_PARSED,
    BM_RECORDS_SHINGLED /* parsed, and shingled one by one */
} bm_record_use;

/* `out` stays where it is: its gate points to it. */
void bm_record_budget_init(const bm_job_context *job, bm_record_use use, bm_record_budget *out);
/* Bytes that the shingler may use for a record of so many, which is held; 0: any number. */
uint64_t bm_record_budget_left(const bm_record_budget *budget, uint64_t record_bytes);
/* BM_ERR_NOMEM: shingling the record takes `shingling` bytes, more than is left. */
bm_status bm_record_budget_refuse(const bm_record_budget *budget, const bm_long_record *record,
                                  uint64_t shingling, bm_error *err);

/* Read the inputs, which are open, on this thread: each record parsed, its text not cut. One batch,
 * or one record, is in memory. Ends once *enough, which is asked before each batch (NULL: never).
 */
bm_status bm_records_read(bm_job_context *job, bm_record_fn fn, void *ctx, const bool *enough,
                          bm_error *err);

/* Bytes that such tables may take; 0: there is no limit. Names the least `memory` to work with,
 * where there is less. */
bm_status bm_table_budget(const bm_settings *settings, uint64_t *out, bm_error *err);
/* They would take `bytes`: BM_ERR_NOMEM, naming `what` they are and a `memory` that is enough. */
bm_status bm_table_budget_refuse(const bm_settings *settings, const char *what, uint64_t bytes,
                                 bm_error *err);

/* input_finder -- where a file is now that a manifest names. */

typedef struct bm_input_places {
    const char *manifest;          /* its path */
    const char *sources;           /* a directory that the caller knows; NULL: none */
    const bm_callbacks *callbacks; /* while digests are computed; may be NULL */
} bm_input_places;

/* *path is the caller's, to bm_free. Of the places where a file of the recorded size lies, the
 * first that has the recorded bytes, which are looked at only where there are several. The order:
 *
 *     the name as it is (a relative one: in the current directory); where the job read it
 *     NAME in the directory of the manifest, and in the one that holds that directory
 *     sources/NAME, and then without the first directories of the name, one after another
 *     where it lay as seen from the directory of the manifest
 *
 * BM_ERR_IO: it is nowhere. BM_ERR_FORMAT: only files of another size are there, or it was standard
 * input. Both name it. */
bm_status bm_input_find(const bm_manifest_input *input, const bm_input_places *places, char **path,
                        bm_error *err);

/* *same: are the bytes of the file at `path`, or of `remote` (as of bm_stored_open), those that
 * were read? All of them are looked at. `callbacks` may be NULL; BM_ERR_IO, BM_ERR_INPUT (it is no
 * regular file), BM_ERR_NOMEM, BM_ERR_CANCELLED. */
bm_status bm_input_is_same(const bm_manifest_input *input, const char *path, bm_remote *remote,
                           const bm_callbacks *callbacks, bool *same, bm_error *err);

/* job_weights -- the pass over the inputs that weights need: the number of documents of each
 * shingle.
 *
 * It comes before the documents are read for what the job is for, by all threads, and reads the
 * inputs in the same way; an input that is another one the second time ends the job
 * (input/input_bytes.c). */

/* Once the inputs are open: count, and keep the table in the job; from then on
 * bm_job_context_ingest weighs documents. The counts go to settings->weighed; where that already
 * has a digest, which a manifest named, it must be the same: BM_ERR_FORMAT. Nothing happens without
 * weights. */
bm_status bm_job_weights_count(bm_job_context *job, bm_error *err);
