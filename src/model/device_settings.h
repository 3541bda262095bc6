/* device_settings.h -- how devices are used, beyond which of them: limits of time and memory, the
 * trial run, parameters of the kernels. Handed in by who opens them; the library reads no
 * environment. Nothing here changes a result. */
#ifndef BM_BACKEND_DEVICE_SETTINGS_H
#define BM_BACKEND_DEVICE_SETTINGS_H

#include <bandmill/types.h>

/* {0}: all as usual. Strings are borrowed for as long as devices are being opened; `n_stuck` for as
 * long as any is open. */
typedef struct bm_device_settings {
    /* That tries a device first (cl_probe.h); "": none; NULL: this program, if its file is named
     * `bandmill`. */
    const char *probe_program;
    double probe_seconds; /* limit of that trial run; 0: 120; and of listing devices; 0: 60 */
    double call_seconds;  /* limit of a call on a device; 0: by its work (cl_watchdog.c) */
    uint64_t buffer_limit_bytes; /* of a buffer on a device; 0: what the device allows */
    const char *tuning_path;     /* a file of kernel parameters before ours; NULL or "": none */
    const char *kernel_family;   /* "cpu" or "gpu"; NULL: by those parameters */
    const char *kernel_params;   /* a row of them for every device; NULL: by its names */
    bm_offload text_offload;
    bool profile; /* measure the time in kernels: bm_backend.kernel_seconds */
    /* One more (atomically) for each device that stopped answering and holds a thread for ever: the
     * process should then end by _exit. NULL: nobody asks. */
    uint32_t *n_stuck;
} bm_device_settings;

/* Those that the public options hold. */
static inline bm_device_settings bm_device_settings_of(const bm_device_options *options)
{
    return (bm_device_settings){.probe_program = options->probe_program,
                                .probe_seconds = options->probe_seconds,
                                .call_seconds = options->call_seconds,
                                .buffer_limit_bytes = options->buffer_limit_bytes,
                                .tuning_path = options->tuning_path,
                                .kernel_family = options->kernel_family,
                                .kernel_params = options->kernel_params,
                                .text_offload = options->text_offload,
                                .n_stuck = options->n_stuck};
}

#endif
