/* engine.h -- the devices of a job: the native CPU, and a lane for each OpenCL device.
 *
 * Every batch that comes back from a lane is checked: one document in 1,024 (at least one a batch,
 * spread over it) is signed again by the scalar reference, from its text if that is what the device
 * got. A lane that fails or answers wrong is
 * dead: its batches are signed on the CPU when the device was chosen by `auto`, else the job ends
 * with BM_ERR_DEVICE. Results never depend on who signed what.
 *
 * Threads: bm_engine_sign_cpu may be called by any number of threads; a lane belongs to one. */
#ifndef BM_PIPELINE_ENGINE_H
#define BM_PIPELINE_ENGINE_H

#include <stdatomic.h>

#include <bandmill/types.h>

#include "backend/backend.h"
#include "pipeline/device_pick.h"
#include "pipeline/meter.h"
#include "pipeline/text_path.h"
#include "sketch/scheme.h"
#include "text/shingler.h"

typedef struct bm_lane {
    bm_backend *backend;
    bm_device_info info;
    bool dead;
    uint64_t n_docs;       /* that it signed */
    bm_shingler *shingler; /* where texts go to devices: to check them, or do without them */
    bm_shingle_batch checked;
} bm_lane;

typedef struct bm_engine {
    bm_text_path path; /* what the lanes get */
    bm_meter *meter;
    bm_backend *cpu;        /* always open: chosen, or what a dead lane falls back on */
    bool use_cpu;           /* the native CPU was chosen */
    atomic_ullong cpu_docs; /* that it signed */
    bool fallback;
    bm_lane *lanes;
    size_t n_lanes;
    bm_scheme_params params; /* of the words in use, for checks */
    uint32_t bands, rows, perms_used;
    char names[512]; /* of the devices, for people */
} bm_engine;

typedef struct bm_engine_cfg {
    const bm_device_pick *pick;
    bm_sketch_options sketch;
    uint32_t perms_used; /* 0: all */
    uint32_t bands, rows;
    const bm_text_options *text; /* devices may be given texts to be cut so; NULL: hashes only */
    uint32_t threads;            /* that make hashes on the host */
    const char *cpu, *cache_dir;
    bm_meter *meter;
} bm_engine_cfg;

bm_status bm_engine_open(const bm_engine_cfg *cfg, bm_engine *out, bm_error *err);
void bm_engine_close(bm_engine *engine);
size_t bm_engine_batch_hashes(const bm_engine *engine); /* what a batch should hold about */
bm_status bm_engine_sign_cpu(bm_engine *engine, bm_sign_task *task, bm_error *err);
/* Compare a sample of a finished task with the reference: BM_ERR_DEVICE on the first difference. */
bm_status bm_engine_check(const bm_engine *engine, bm_lane *lane, const bm_sign_task *task,
                          bm_error *err);
/* A lane's call failed with `status`: BM_OK and the lane is dead where the CPU may take over, else
 * the error. */
bm_status bm_engine_lane_failed(bm_engine *engine, bm_lane *lane, bm_status status, bm_error *err);

#endif
