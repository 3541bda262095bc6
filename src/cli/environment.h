/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h -- the variables BANDMILL_*, TMPDIR, NO_COLOR and TERM: the library reads none of
 * them, the program hands in what they say. docs/cli.md and docs/opencl.md have their meaning.
 *
 * An empty one counts as not set, but BANDMILL_PROBE, BANDMILL_CL_SHAPE and BANDMILL_CL_ROW. The
 * texts are borrowed from the environment. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* BANDMILL_DEVICE, _CPU, _CACHE_DIR, _TUNING, _PROBE, _PROBE_SECONDS, _DEVICE_SECONDS, _CL_SHAPE,
 * _CL_ROW, _CL_LIMIT, _CL_TEXT: fields without a variable stay. A number that cannot be read, or a
 * word that is not known, counts as not set. */
void cli_environment_device(bm_device_options *options);
/* BANDMILL_SEAL_SECONDS. BM_ERR_USAGE: it is no number of seconds. */
bm_status cli_environment_resources(bm_resource_options *options, bm_error *err);
/* TMPDIR, for temporary files of a job that has no output to put them beside. */
void cli_environment_temp_dir(bm_resource_options *options);
/* Whether a terminal may get bold text: NO_COLOR is not set, and TERM is, to another than
 * "dumb". */
bool cli_environment_emphasis(void);
/* The variable that a field of bm_device_options or bm_resource_options has ("cpu", `len` bytes),
 * as messages name it; NULL: none. */
const char *cli_environment_name(const char *field, size_t len);
