/* SPDX-License-Identifier: Apache-2.0 */
/* text_offload.h -- measures whether devices pay off, and whether they should receive texts, or
 * hashes made by the host.
 *
 * For each shingle, about one byte of text or four bytes of hashes must be transferred. With texts,
 * the host does not have to make hashes, but the device must hash and count shingles. If all
 * devices are made of the host's own processors, they receive hashes: no transfer is saved, and the
 * host's code is faster. Otherwise the faster form depends on the device, the link, the shingles
 * and the threads. So when devices are opened, both forms are tried on a fixed text (about a tenth
 * of a second), and the faster form is used for the whole job. These rates are compared:
 *
 *     of a form     the lower of the host's rate and the devices' rate; if a device is made of the
 *                   host's processors, the rate of host and device working one after the other
 *     of the host   by processor time, for making texts or hashes and for driving the device
 *     of a device   with as many batches in flight as in a job, so that its latency does not count
 *     of the CPU    native code on all threads at once, making hashes and signing them
 *
 * A device that shares memory with the host is timed while all threads of the host work, because
 * device and threads slow each other down. A device that fails in the trial is treated like one
 * that does not open.
 *
 * bm_device_settings.text_offload can fix the form. The results of a job do not depend on the
 * form. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/backend.h"

typedef struct bm_text_offload {
    bool able;                                 /* all devices were opened for texts */
    bool taken;                                /* devices receive texts */
    bool own_processors;                       /* devices receive hashes, because they are made of
                                                  the host's processors */
    bool measured;                             /* the rates below are known */
    double text_rate, hash_rate;               /* host and devices together, for each form; bytes
                                                  of text per second, like all rates */
    double host_text_rate, host_hash_rate;     /* all threads of the host together */
    double device_text_rate, device_hash_rate; /* all devices together */
    double cpu_rate;                           /* the CPU without devices */
} bm_text_offload;

/* Resolve BM_OFFLOAD_AUTO: to BM_OFFLOAD_TRIAL if any of the n devices is not made of the host's
 * processors, else to BM_OFFLOAD_OFF. */
bm_offload bm_text_offload_rule(const bm_device_info *devices, size_t n);

/* A trial: a fixed text in both forms, and the measured times of the CPU and the devices. */
typedef struct bm_text_trial bm_text_trial;

typedef struct bm_text_trial_cfg {
    const bm_text_options *text; /* options for cutting texts; NULL: the job has given hashes */
    bool texts;                  /* some device can cut texts: try both forms; else only hashes */
    uint32_t row_uints, bands;   /* 32-bit words of a document's signature; band keys per
                                  * document */
    const char *cpu;
    uint32_t threads;   /* threads of the host */
    bm_backend *native; /* signs on these threads; NULL: the CPU's rate counts only hashing */
} bm_text_trial_cfg;

/* Start a trial, and measure the CPU alone, which takes some milliseconds. `native` is borrowed
 * until close. */
bm_status bm_text_trial_open(const bm_text_trial_cfg *cfg, bm_text_trial **out, bm_error *err);
void bm_text_trial_close(bm_text_trial *trial); /* NULL is fine */
/* The rate of native code on all threads, in bytes of text per second; if the job has given hashes,
 * in bytes of hashes. */
double bm_text_trial_cpu_rate(const bm_text_trial *trial);
/* Try the next device. After a failure the trial can only be closed. */
bm_status bm_text_trial_run(bm_text_trial *trial, bm_backend *backend, bm_error *err);
/* The rate of host and device i, without other devices, in the faster form. */
double bm_text_trial_rate(const bm_text_trial *trial, size_t i);
/* Remove device i. The numbers of later devices become lower by one. */
void bm_text_trial_drop(bm_text_trial *trial, size_t i);
/* Set the rates of `offload` for all devices tried, and choose the form. */
void bm_text_trial_judge(const bm_text_trial *trial, bm_text_offload *offload);
