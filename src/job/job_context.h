/* job_context.h -- what every job carries from its settings to its summary: settings that do not
 * change, threads, devices, inputs, and what has happened so far.
 *
 * The steps of a job, in their order (jobs/job_steps.h walks them):
 *     settings -> open -> inputs -> work directory -> devices -> ingest -> ... -> report -> close
 * Not public. */
#ifndef BM_CONTEXT_JOB_CONTEXT_H
#define BM_CONTEXT_JOB_CONTEXT_H

#include <time.h>

#include "base/meter.h"
#include "base/pool.h"
#include "input/batch_source.h"
#include "input/input_set.h"
#include "model/doc_table.h"
#include "job/settings.h"
#include "corpus/corpus.h"
#include "corpus/keep_keys.h"
#include "devices/device_pick.h"
#include "devices/device_set.h"
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

/* What the report tells of how the work was done. */
typedef struct bm_job_story {
    bm_ingest_times ingest_times; /* of the last ingest; workers 0: none */
    double verify_seconds;        /* of comparing candidates */
    const bm_corpus *corpus;      /* of the pairing, while there is one: what went to files */
    uint64_t edge_bytes;          /* of edges in files */
    uint64_t n_resumed;           /* documents taken from the checkpoint of an interrupted job */
    /* of the pairs written, BM_HISTOGRAM_BINS; NULL: not counted */
    const uint64_t *similarities;
} bm_job_story;

/* What there was to compare with beside the documents themselves. */
typedef struct bm_job_against {
    uint64_t documents;            /* known ones */
    uint64_t candidates, verified; /* pairs of a document and a known one */
    uint64_t not_compared;         /* beyond what a crowded bucket has for a document, at most */
    uint64_t found;                /* known ones that reach the threshold with a document */
} bm_job_against;

typedef struct bm_job_context {
    const bm_settings *settings;
    bm_pool *pool;
    bm_meter meter;
    bm_callbacks callbacks; /* that lead to the meter */
    bm_budget budget;       /* how the memory is shared, as far as devices are known */
    uint64_t taken;         /* of it, and part of budget.fixed: by what is no document */
    uint64_t ahead;         /* of budget.batches, for what is unpacked ahead */
    bm_job_inputs inputs;
    bm_job_devices devices;
    bm_doc_table docs;
    bm_counts counts;
    uint64_t skip_records; /* that an interrupted job has delivered already */
    bm_ingest_places places;
    bool wants_places;
    bm_stage_clock clock;
    bm_job_story story;
    bm_keep_keys keep; /* where fields rank documents */
    bm_job_against against;
    struct bm_df_table *frequencies; /* job_weights.h; NULL: there are no weights */
} bm_job_context;

/* Start threads. `settings` is borrowed until close. On failure nothing is to be closed. */
bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err);
void bm_job_context_close(bm_job_context *job);
/* Refuse an output that is one of the inputs, is another output, or may not be replaced (out_target.h,
 * out_apart.h). `inputs` are the paths as given, before they are opened; the lists, the offsets and what is
 * known, where the settings name them, are among them. */
bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err);
/* Open the inputs, refuse an output that is one of them. Standard input is made readable again
 * where kept documents are copied. */
bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err);
/* Something takes so many bytes for as long as the job goes on, which documents cannot have then. */
void bm_job_context_take(bm_job_context *job, uint64_t bytes);
/* Room for what decoders of these inputs hold at once, and for what they may unpack ahead, from now on. BM_ERR_NOMEM: more than there is. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err);
/* The format of the inputs: settled once they are open. */
bm_format bm_job_context_format(const bm_job_context *job);
/* Choose the devices, if that was not done. */
bm_status bm_job_context_pick(bm_job_context *job, bm_error *err);
/* Open the devices for band keys of the settings' plan; `keys` false: for words alone. */
bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err);
/* End the stage before, begin this one; NULL only ends. */
void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit);

/* What ingesting brings to the sink. */
typedef struct bm_ingest_wish {
    bool words, keys;
    bool no_table; /* documents go to the sink alone, not to the job's table */
    bm_ingest_sink sink;
    void *sink_ctx;
    bm_ingest_put put;
    bm_ingest_pause pause;
    /* As bm_ingest_asked; its ctx is room_ctx. */
    bm_status (*room)(void *ctx, uint64_t wanted, uint64_t *free, bm_error *err);
    void *room_ctx;
} bm_ingest_wish;

/* Documents through the devices into the job's document table and the sink, in input order. */
bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_wish *wish, bm_error *err);

#endif
