/* SPDX-License-Identifier: Apache-2.0 */
/* whole_job.h -- sign and dedup with the same options, for tests that run both. */
#pragma once

#include <bandmill/job.h>

typedef bm_status (*run_fn)(const bm_dedup_options *options, bm_summary **out, bm_error *err);

/* Signs the input of these options with their settings, and writes band keys. */
static inline bm_status sign_with_keys(const bm_dedup_options *options, bm_summary **out,
                                       bm_error *err)
{
    bm_sign_options sign;
    bm_sign_options_init(&sign);
    sign.input = options->input;
    sign.text = options->text;
    sign.sketch = options->sketch;
    sign.bands = options->bands;
    sign.device = options->device;
    sign.resources = options->resources;
    sign.output = options->output;
    sign.resume = options->resume;
    sign.band_keys = true;
    sign.callbacks = options->callbacks;
    return bm_job_sign(&sign, out, err);
}

/* Initialises the options for one input file and the native CPU. */
static inline void whole_job_init(bm_dedup_options *options, const char *const *path,
                                  const char *output)
{
    bm_dedup_options_init(options);
    options->input.paths = path;
    options->input.n_paths = 1;
    options->output.path = output;
    options->device.device = "cpu";
}
