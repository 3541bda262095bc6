/* device_settings.h -- how devices are used, beyond which of them: limits of time and memory, the
 * trial run, parameters of the kernels. Handed in by who opens them; the library reads no
 * environment. Nothing here changes a result. */
#ifndef BM_BACKEND_DEVICE_SETTINGS_H
#define BM_BACKEND_DEVICE_SETTINGS_H

#include <stdint.h>

/* What devices are given: texts, or hashes that the host makes of them. */
typedef enum bm_text_offload_wish {
    BM_TEXT_AUTO,  /* a rule (pipeline/devices/text_offload.h) chooses between OFF and TRIAL */
    BM_TEXT_OFF,   /* hashes */
    BM_TEXT_TRIAL, /* whatever is faster in a trial of both */
    BM_TEXT_ON     /* texts */
} bm_text_offload_wish;

/* {0}: all as usual. Strings are borrowed for as long as devices are being opened; `n_stuck` for as
 * long as any is open. */
typedef struct bm_device_settings {
    /* That tries a device first (cl_probe.h); "": none; NULL: this program, if its file is named
     * `bandmill`. */
    const char *probe_program;
    double probe_seconds;        /* limit of that trial run; 0: 120 */
    double call_seconds;         /* limit of a call on a device; 0: by its work (cl_watchdog.c) */
    uint64_t buffer_limit_bytes; /* of a buffer on a device; 0: what the device allows */
    const char *tuning_path;     /* a file of kernel parameters before ours; NULL or "": none */
    const char *kernel_family;   /* "cpu" or "gpu"; NULL: by those parameters */
    const char *kernel_params;   /* a row of them for every device; NULL: by its names */
    bm_text_offload_wish text_offload;
    /* One more (atomically) for each device that stopped answering and holds a thread for ever: the
     * process should then end by _exit. NULL: nobody asks. */
    uint32_t *n_stuck;
} bm_device_settings;

#endif
