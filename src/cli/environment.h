/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h -- the variables BANDMILL_*, TMPDIR, NO_COLOR and TERM. The library reads none of
 * them; the program passes their values on. docs/cli.md and docs/opencl.md explain them.
 *
 * An empty variable counts as not set, except BANDMILL_PROBE, BANDMILL_CL_SHAPE and
 * BANDMILL_CL_ROW. The texts are borrowed from the environment. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Read BANDMILL_DEVICE, _CPU, _CACHE_DIR, _TUNING, _PROBE, _PROBE_SECONDS, _DEVICE_SECONDS,
 * _CL_SHAPE, _CL_ROW, _CL_LIMIT, _CL_TEXT. If a variable is not set, its field is unchanged. An
 * invalid number or word counts as not set. */
void cli_environment_device(bm_device_options *options);
/* Read BANDMILL_SEAL_SECONDS. BM_ERR_USAGE: the value is not a number of seconds. */
bm_status cli_environment_resources(bm_resource_options *options, bm_error *err);
/* Read TMPDIR: the directory of temporary files, for jobs without an output beside which these
 * files could be. */
void cli_environment_temp_dir(bm_resource_options *options);
/* May bold text be shown on a terminal? False if NO_COLOR is set and not empty, or if TERM is
 * unset, empty or "dumb". */
bool cli_environment_emphasis(void);
/* The variable that sets a field of bm_device_options or bm_resource_options, in the form that
 * messages show. `field` is a name of `len` bytes, such as "cpu". NULL: no variable sets the
 * field. */
const char *cli_environment_name(const char *field, size_t len);
