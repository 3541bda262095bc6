/* SPDX-License-Identifier: Apache-2.0 */
/* text_offload.h -- what devices gain, and whether texts go to them, or hashes that the host makes
 * of them.
 *
 * Text is a byte a shingle on its way, hashes are four, and the host need not make them; but the
 * device then hashes and counts. Devices that are all made of the host's own processors get hashes:
 * no link is spared there, and the host's loops are the faster ones. Elsewhere it depends on the
 * device, the link, the shingles and the threads, so both ways are tried on a fixed text when the
 * devices are opened (a tenth of a second, about), and the faster one is taken for the whole job:
 *
 *     rate of a way = the slower of what the host's threads and what the devices do
 *     of the host   = by the seconds of its processors: to make texts or hashes, and beside the
 *                     device; where one of the devices is made of the host's processors: the two
 *                     one after the other
 *     of a device   = batches in flight, as many as in a job, so that its latency does not count
 *     of the CPU    = native code on all threads at once, which make hashes and sign them
 *
 * A device that shares the host's memory is timed while all threads are at work, since each slows
 * the other down. A device that fails in the trial is treated like one that does not open.
 *
 * bm_device_settings.text_offload may settle the form. The result of a job does not depend on it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/backend.h"

typedef struct bm_text_offload {
    bool able;                                 /* all devices were opened for texts */
    bool taken;                                /* and get them */
    bool own_processors;                       /* they do not, as they are the host's processors */
    bool measured;                             /* the rates below are known: */
    double text_rate, hash_rate;               /* bytes of text a second, through both of: */
    double host_text_rate, host_hash_rate;     /* all threads */
    double device_text_rate, device_hash_rate; /* all devices */
    double cpu_rate;                           /* bytes of text a second without devices */
} bm_text_offload;

/* Resolve BM_OFFLOAD_AUTO for these devices: BM_OFFLOAD_OFF or BM_OFFLOAD_TRIAL. The native CPU
 * accepts no texts and does not count. */
bm_offload bm_text_offload_rule(const bm_device_info *devices, size_t n);

/* A fixed text in both forms, and what the CPU and devices took for each so far. */
typedef struct bm_text_trial bm_text_trial;

typedef struct bm_text_trial_cfg {
    const bm_text_options *text; /* how documents are cut; NULL: the job is given hashes */
    bool texts;                  /* a device can cut them: both ways are tried, else hashes alone */
    uint32_t row_uints, bands;   /* of the devices' tasks: of words, and keys */
    const char *cpu;
    uint32_t threads;   /* of the host */
    bm_backend *native; /* that signs on them; NULL: the CPU's rate is without signing */
} bm_text_trial_cfg;

/* Measures the CPU alone, some milliseconds; `native` is borrowed until close. */
bm_status bm_text_trial_open(const bm_text_trial_cfg *cfg, bm_text_trial **out, bm_error *err);
void bm_text_trial_close(bm_text_trial *trial); /* NULL is fine */
/* Bytes of text a second, or of hashes where the job is given these, of native code on all threads. */
double bm_text_trial_cpu_rate(const bm_text_trial *trial);
/* Try a device, the next one. After a failure it is only good for close. */
bm_status bm_text_trial_run(bm_text_trial *trial, bm_backend *backend, bm_error *err);
/* The rate of the better way with device number i alone. */
double bm_text_trial_rate(const bm_text_trial *trial, size_t i);
/* Forget device number i; those after it move up. */
void bm_text_trial_drop(bm_text_trial *trial, size_t i);
/* Fill `offload` for the devices that had their trial. */
void bm_text_trial_judge(const bm_text_trial *trial, bm_text_offload *offload);
