/* SPDX-License-Identifier: Apache-2.0 */
/* text_offload.h -- measures whether devices pay off, and whether they should get texts or hashes
 * made by the host.
 *
 * A text is about one byte per shingle to transfer, hashes are four bytes. With texts the host need
 * not make hashes, but the device must hash and count. If all devices are made of the host's own
 * processors, they get hashes: there is no link to save, and the host's code is faster. Otherwise
 * it depends on the device, the link, the shingles and the threads. So both ways are tried on a
 * fixed text when the devices are opened (about a tenth of a second), and the faster one is used
 * for the whole job:
 *
 *     rate of a way = the lower of the rates of the host's threads and of the devices; if a device
 *                     is made of the host's processors, the rate of both, one after the other
 *     of the host   = from processor time, for making texts or hashes and for driving the device
 *     of a device   = batches in flight, as many as in a job, so that its latency does not count
 *     of the CPU    = native code on all threads at once, making hashes and signing them
 *
 * A device that shares the host's memory is timed while all threads are working, since they slow
 * each other down. A device that fails in the trial is treated like one that does not open.
 *
 * bm_device_settings.text_offload may fix the choice. The result of a job does not depend on it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/backend.h"

typedef struct bm_text_offload {
    bool able;                                 /* all devices were opened for texts, ... */
    bool taken;                                /* ... and get texts */
    bool own_processors;                       /* devices get hashes, as they are made of the host's
                                                  processors */
    bool measured;                             /* the rates below are known */
    double text_rate, hash_rate;               /* bytes of text per second, of host and devices
                                                  together */
    double host_text_rate, host_hash_rate;     /* rates of all threads of the host together */
    double device_text_rate, device_hash_rate; /* rates of all devices together */
    double cpu_rate;                           /* bytes of text per second without devices */
} bm_text_offload;

/* Resolve BM_OFFLOAD_AUTO for these devices, to BM_OFFLOAD_OFF or BM_OFFLOAD_TRIAL. The native CPU
 * takes no texts and does not count. */
bm_offload bm_text_offload_rule(const bm_device_info *devices, size_t n);

/* The trial: a fixed text in both forms, and the times of the CPU and the devices so far. */
typedef struct bm_text_trial bm_text_trial;

typedef struct bm_text_trial_cfg {
    const bm_text_options *text; /* how documents are cut; NULL: the job is given hashes */
    bool texts;                  /* some device can cut them: both ways are tried, else only
                                    hashes */
    uint32_t row_uints, bands;   /* sizes of a document's results: 32-bit words of a signature, and
                                  * keys */
    const char *cpu;
    uint32_t threads;   /* threads of the host */
    bm_backend *native; /* signs on these threads; NULL: the CPU's rate does not include signing */
} bm_text_trial_cfg;

/* Start a trial and measure the CPU alone, which takes some milliseconds. `native` is borrowed
 * until close. */
bm_status bm_text_trial_open(const bm_text_trial_cfg *cfg, bm_text_trial **out, bm_error *err);
void bm_text_trial_close(bm_text_trial *trial); /* NULL is fine */
/* The rate of native code on all threads, in bytes of text per second, or of hashes if the job is
 * given hashes. */
double bm_text_trial_cpu_rate(const bm_text_trial *trial);
/* Try the next device. After a failure the trial can only be closed. */
bm_status bm_text_trial_run(bm_text_trial *trial, bm_backend *backend, bm_error *err);
/* The rate with device i alone, in the faster way. */
double bm_text_trial_rate(const bm_text_trial *trial, size_t i);
/* Forget device i; those after it move up. */
void bm_text_trial_drop(bm_text_trial *trial, size_t i);
/* Fill in `offload` for all devices tried. */
void bm_text_trial_judge(const bm_text_trial *trial, bm_text_offload *offload);
