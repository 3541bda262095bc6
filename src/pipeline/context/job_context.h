/* job_context.h -- what every job carries from its options to its summary: checked settings, threads,
 * devices, inputs, counts, clock.
 *
 * A job function opens a run, works, and closes it; the steps below are its vocabulary. Not public.
 */
#ifndef BM_CONTEXT_JOB_CONTEXT_H
#define BM_CONTEXT_JOB_CONTEXT_H

#include <bandmill/job.h>

#include "base/pool.h"
#include "io/input/batch_source.h"
#include "io/input/input_set.h"
#include "io/output/out_dir.h"
#include "pipeline/ingest/budget.h"
#include "pipeline/corpus/corpus.h"
#include "pipeline/devices/device_pick.h"
#include "model/doc_table.h"
#include "pipeline/devices/device_set.h"
#include "pipeline/ingest/ingest.h"
#include "base/meter.h"

#define BM_STAGES_MAX 16u

typedef struct bm_stage {
    const char *name;
    double seconds;
} bm_stage;

typedef struct bm_job_context {
    const bm_job *job;
    const char *kind; /* "signatures", "dedup", "pairs", "filter" */
    bm_sketch_options sketch;
    uint32_t perms_used;
    bm_verify verify;  /* settled: never AUTO once inputs are open */
    bm_band_plan plan; /* bands 0: none */
    uint32_t threads;
    uint64_t memory;
    bm_budget budget;    /* how it is shared */
    char temp_dir[4096]; /* --temp-dir, or where the output will be */
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks;  /* that lead to the meter */
    bm_input_set *inputs;    /* NULL: from signatures, without their texts */
    bm_file_names names;     /* of the inputs; the array is the run's */
    const char *hash_name;   /* "xxh3", or "given" */
    bm_batch_source *source; /* of the inputs; NULL where they are */
    bm_device_pick pick;
    bm_device_set device_set;
    bool device_set_open;
    bool texts; /* the job needs no shingle hashes here: devices may make them of the texts */
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* that an earlier run of the job has delivered */
    uint64_t n_resumed;    /* documents that it has left */
    double began, stage_began;
    bm_stage stages[BM_STAGES_MAX];
    size_t n_stages;
    bm_ingest_times ingest_times; /* of the last flow; workers 0: none */
    double verify_seconds;        /* of comparing candidates */
    const bm_corpus *corpus;      /* of the pairing, while there is one: what went to files */
    uint64_t edge_bytes;          /* of edges in files */
    const char *stage;
    /* of the pairs written, BM_HISTOGRAM_BINS; NULL: not counted */
    const uint64_t *similarities;
} bm_job_context;

/* Check every option that needs no file; start threads. BM_ERR_USAGE. */
bm_status bm_job_context_open(const bm_job *job, const char *kind, bm_job_context *out,
                              bm_error *err);
void bm_job_context_close(bm_job_context *run);
/* The plan from threshold, recall, bands, rows, perms; sets sketch.perms where bands and rows
 * settle it. */
bm_status bm_job_context_plan(bm_job_context *run, bm_error *err);
/* Open the inputs; `twice`: stdin must be readable again. Refuses an output that is one of them. */
bm_status bm_job_context_inputs(bm_job_context *run, bool twice, bool output_is_dir, bm_error *err);
bm_status bm_job_context_devices(bm_job_context *run, uint32_t bands, uint32_t rows, bm_error *err);
/* End the stage before, begin this one; NULL only ends. */
void bm_job_context_stage(bm_job_context *run, const char *name, const char *unit);
/* Documents through the flow, into the run's document table and the sink. `sign`: words, keys as
 * wanted. */
bm_status bm_job_context_ingest(bm_job_context *run, bool words, bool keys, bm_ingest_sink sink,
                                void *ctx, bm_error *err);

#endif
