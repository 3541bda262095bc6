/* SPDX-License-Identifier: Apache-2.0 */
/* cl_probe_child.c -- the child's side of cl_child.h. It parses which device to open, opens it and
 * closes it, or it lists the devices.
 *
 * If address space or data is limited (ulimit -v, -d), the child lowers its own limit by the memory
 * that a small job maps. For listing, the parent has not loaded the drivers yet, so the child also
 * subtracts what the parent has mapped beyond the child. So whatever the child can load, the parent
 * can load too.
 *
 * Tests: tests/unit/opencl/test_cl_probe.c, tests/parity/test_probe_opencl.c */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "opencl/cl_backend.h"
#include "opencl/cl_list.h"
#include "opencl/cl_probe.h"
#include "base/error.h"
#include "program/program.h"
#include "sketch/scheme.h"

#define JOB_BYTES ((uint64_t)64 << 20) /* memory that a small job maps */

/* The parsed argument. */
typedef struct request {
    char spec[32], scheme[16];
    bm_backend_cfg cfg;
    bm_text_options text;
    bm_device_settings settings;
} request;

/* Parse the optional parts, from `p` to the end. */
static bool read_rest(const char *p, request *out)
{
    uint32_t kind = 0;
    int n = 0;
    if (sscanf(p, "+%" SCNu32 ":%" SCNu32 "%n", &kind, &out->text.shingle_k, &n) == 2) {
        if (kind > BM_SHINGLE_BYTE)
            return false;
        out->text.shingle = (bm_shingle_kind)kind;
        out->cfg.text = &out->text;
        p += n;
    }
    if (sscanf(p, "/%" SCNu64 "%n", &out->settings.buffer_limit_bytes, &n) == 1)
        p += n;
    if (*p == '=') {
        out->settings.kernel_params = p + 1;
        return true;
    }
    return *p == '\0';
}

static bool read_request(const char *device, request *out)
{
    int n = 0;
    *out = (request){.cfg = {.device = out->spec, .settings = &out->settings}};
    bm_sketch_options *sketch = &out->cfg.sketch;
    if (sscanf(device, "%31[^@]@%15[^,],%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32 "%n",
               out->spec, out->scheme, &sketch->perms, &out->cfg.bands, &out->cfg.rows,
               &sketch->seed, &n) != 6)
        return false;
    const bm_scheme_ops *scheme = bm_scheme_find(out->scheme);
    if (scheme == NULL)
        return false;
    sketch->scheme = scheme->scheme;
    return read_rest(device + n, out);
}

static bm_status try_it(const char *device, const char *cache_dir, bm_error *err)
{
    request what;
    if (!read_request(device, &what))
        return bm_fail_field(err, "device",
                             "%s: not opencl:P.D@SCHEME,PERMS,BANDS,ROWS,SEED[+KIND:K]", device);
    what.cfg.cache_dir = cache_dir;
    bm_backend *backend = NULL;
    bm_status status =
        bm_cl_backend_open(&what.cfg, &(bm_cl_open_options){.no_probe = true}, &backend, err);
    bm_backend_close(backend);
    return status;
}

/* Return the bytes that a process has mapped or, with `data`, the bytes of its data. 0: unknown. */
static uint64_t mapped_bytes(const char *statm, bool data)
{
    unsigned long pages = 0, data_pages = 0;
    FILE *file = fopen(statm, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu %*u %*u %*u %*u %lu", &pages, &data_pages) != 2)
        pages = data_pages = 0;
    fclose(file);
    return (uint64_t)(data ? data_pages : pages) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lower one limit, if there is one: with `data` that of data, else that of the address space. */
static void reserve_below(bool data, bool to_list)
{
    char parent[40];
    struct rlimit limit;
    uint64_t bytes = JOB_BYTES;
    if (getrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    snprintf(parent, sizeof parent, "/proc/%ld/statm", (long)getppid());
    const uint64_t theirs = mapped_bytes(parent, data),
                   ours = mapped_bytes("/proc/self/statm", data);
    if (to_list && theirs > ours)
        bytes += theirs - ours;
    limit.rlim_cur = limit.rlim_cur > bytes ? limit.rlim_cur - (rlim_t)bytes : 0;
    setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &limit);
}

static void reserve_memory(bool to_list)
{
    reserve_below(false, to_list);
    reserve_below(true, to_list);
}

bm_status bm_backend_opencl_try(const char *device, const char *cache_dir, bm_error *err)
{
    bm_error why = {0};
    char words[sizeof why.message];
    const bool to_list = strcmp(device, BM_PROBE_LIST) == 0;
    reserve_memory(to_list);
    bm_status status = BM_OK;
    BM_TRY_OUT(to_list ? bm_cl_list_in_child(cache_dir, &why) : try_it(device, cache_dir, &why));
    return BM_OK;
out:
    bm_error_format(&why, words, sizeof words);
    bm_fail(err, status, BM_CL_PROBE_MARK "%s", words);
    if (err != NULL)
        err->code = why.code;
    return status;
}
