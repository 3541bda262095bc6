/* SPDX-License-Identifier: Apache-2.0 */
/* cl_probe.c -- formats the argument of the trial run, and reports how it ended.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c, tests/parity/test_probe_opencl.c */
#include "opencl/cl_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "model/option_words.h"

static bm_status judge(const bm_cl_ending *ending, const char *name, bm_error *err)
{
    const char *said = ending->words;
    const char *colon = said[0] != '\0' ? ": " : "";
    if (WIFSIGNALED(ending->status)) {
        int number = WTERMSIG(ending->status);
        bm_fail(err, BM_ERR_DEVICE,
                "the OpenCL driver of %s ended a trial run with signal %d (%s); its own cache "
                "may be broken (PoCL: $POCL_CACHE_DIR or ~/.cache/pocl; remove it)%s%s",
                name, number, sigabbrev_np(number), colon, said);
    } else if (WEXITSTATUS(ending->status) != 0) {
        bm_fail(err, BM_ERR_DEVICE, "a trial run of %s failed with exit code %d%s%s", name,
                WEXITSTATUS(ending->status), colon, said);
    } else {
        return BM_OK;
    }
    if (err != NULL)
        err->code = ending->reported ? 0 : ECHILD;
    return BM_ERR_DEVICE;
}

/* Format the child's argument. `row` NULL: the device's default parameters. */
static void cl_probe_device(const bm_backend_cfg *cfg, const bm_kernel_params *row,
                            char out[BM_CL_PROBE_TEXT])
{
    const char *scheme = bm_option_name_or(BM_OPTION_SCHEME, cfg->sketch.scheme, "");
    const uint32_t perms = cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms;
    size_t n = (size_t)snprintf(
        out, BM_CL_PROBE_TEXT, "%.31s@%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, cfg->device,
        scheme, perms, cfg->bands, cfg->rows, cfg->sketch.seed);
    if (cfg->text != NULL)
        n += (size_t)snprintf(out + n, BM_CL_PROBE_TEXT - n, "+%u:%" PRIu32,
                              (unsigned)cfg->text->shingle, cfg->text->shingle_k);
    if (cfg->settings != NULL && cfg->settings->buffer_limit_bytes > 0)
        n += (size_t)snprintf(out + n, BM_CL_PROBE_TEXT - n, "/%" PRIu64,
                              cfg->settings->buffer_limit_bytes);
    if (row != NULL) {
        char text[BM_KERNEL_PARAMS_TEXT];
        bm_kernel_params_format(row, text);
        snprintf(out + n, BM_CL_PROBE_TEXT - n, "=%s", text);
    }
}

bm_status bm_cl_probe_run(const bm_backend_cfg *cfg, const bm_kernel_params *row, const char *name,
                          bm_error *err)
{
    char device[BM_CL_PROBE_TEXT] = "";
    bm_cl_child child;
    bm_cl_ending ending;
    bm_callbacks calls = {0};
    if (!bm_cl_child_init(&child, cfg->settings, cfg->cache_dir, device))
        return BM_OK;
    if (cfg->callbacks != NULL) /* `log` is not passed on, because its message would be about
                                   listing devices */
        calls = (bm_callbacks){.ctx = cfg->callbacks->ctx, .cancelled = cfg->callbacks->cancelled};
    child.patience.callbacks = &calls;
    cl_probe_device(cfg, row, device);
    bm_status status = bm_cl_child_run(&child, &ending, err);
    if (status != BM_OK || !ending.late)
        return status != BM_OK ? status : judge(&ending, name, err);
    if (child.patience.cancelled)
        return bm_fail(err, BM_ERR_CANCELLED, "interrupted");
    bm_fail(err, BM_ERR_DEVICE, "a trial run of %s did not end within %.0f seconds", name,
            child.patience.seconds);
    if (err != NULL)
        err->code = ETIMEDOUT;
    return BM_ERR_DEVICE;
}
