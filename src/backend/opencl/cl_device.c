/* cl_device.c -- what OpenCL devices there are.
 *
 * Devices are numbered by platform and by place in the platform, in the order in which the loader
 * gives them. A platform that fails to answer has no devices and is named in the note (PoCL without
 * a cache directory answers -1); the others are still listed.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/each_copied.sh */
#include "backend/opencl/cl_device.h"

#include <stdio.h>
#include <string.h>

#include "backend/opencl/opencl_backend.h"
#include "base/error.h"
#include "base/memory.h"

#define MAX_PLATFORMS 64
#define MAX_DEVICES   64

static void platform_text(const bm_cl_api *api, cl_platform_id platform, cl_platform_info what,
                          char *out, size_t cap)
{
    char text[1024] = "";
    api->clGetPlatformInfo(platform, what, sizeof text - 1, text, NULL);
    snprintf(out, cap, "%.*s", (int)cap - 1, text);
}

static void device_text(const bm_cl_api *api, cl_device_id id, cl_device_info what, char *out,
                        size_t cap)
{
    char text[1024] = "";
    api->clGetDeviceInfo(id, what, sizeof text - 1, text, NULL);
    const char *start = text + strspn(text, " ");
    snprintf(out, cap, "%.*s", (int)cap - 1, start);
}

static uint64_t device_number(const bm_cl_api *api, cl_device_id id, cl_device_info what,
                              size_t size)
{
    uint64_t value = 0; /* little-endian hosts only, as everywhere here */
    if (api->clGetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

static bm_device_kind kind_of(cl_device_type type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return BM_DEVICE_CL_GPU;
    return type & CL_DEVICE_TYPE_CPU ? BM_DEVICE_CL_CPU : BM_DEVICE_CL_OTHER;
}

static void judge(const bm_cl_api *api, cl_device_id id, bm_device_info *info)
{
    info->usable = false;
    if (!device_number(api, id, CL_DEVICE_AVAILABLE, sizeof(cl_bool)))
        snprintf(info->why, sizeof info->why, "the driver says that it is not available");
    else if (!device_number(api, id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(cl_bool)))
        snprintf(info->why, sizeof info->why, "it has no compiler");
    else if (!device_number(api, id, CL_DEVICE_ENDIAN_LITTLE, sizeof(cl_bool)))
        snprintf(info->why, sizeof info->why, "it is not little-endian");
    else if (info->max_alloc_bytes < (1u << 20))
        snprintf(info->why, sizeof info->why, "it allows no buffer of 1 MiB");
    else
        info->usable = true;
}

/* What is known of a device; its platform, its id and its spec are set. */
static void describe(const bm_cl_api *api, bm_cl_device *out)
{
    cl_platform_id platform = out->platform;
    cl_device_id id = out->id;
    bm_device_info *info = &out->info;
    platform_text(api, platform, CL_PLATFORM_NAME, info->platform, sizeof info->platform);
    platform_text(api, platform, CL_PLATFORM_VERSION, out->platform_version,
                  sizeof out->platform_version);
    device_text(api, id, CL_DEVICE_NAME, info->name, sizeof info->name);
    device_text(api, id, CL_DEVICE_VENDOR, out->vendor, sizeof out->vendor);
    device_text(api, id, CL_DEVICE_VERSION, out->version, sizeof out->version);
    device_text(api, id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    out->type = device_number(api, id, CL_DEVICE_TYPE, sizeof(cl_device_type));
    info->kind = kind_of(out->type);
    info->compute_units =
        (uint32_t)device_number(api, id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
    info->clock_mhz =
        (uint32_t)device_number(api, id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(cl_uint));
    info->memory_bytes = device_number(api, id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    info->max_alloc_bytes = device_number(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
    info->local_bytes = device_number(api, id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    out->lanes =
        (uint32_t)device_number(api, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof(cl_uint));
    out->max_group = device_number(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
    out->unified = (out->type & CL_DEVICE_TYPE_CPU) != 0 ||
                   device_number(api, id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(cl_bool)) != 0;
    judge(api, id, info);
}

typedef bool (*visit_fn)(void *ctx, const bm_cl_device *device); /* false: enough */

/* Visits each device. `note` (cap bytes) says why there is none, or which platform failed. */
static void visit_devices(const bm_cl_api *api, visit_fn visit, void *ctx, char *note, size_t cap)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0;
    cl_int code = api->clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
    if (code != CL_SUCCESS || n_platforms == 0) {
        snprintf(note, cap, "no OpenCL platform is installed (%s %d)",
                 bm_cl_code_name(code != CL_SUCCESS ? code : -1001), (int)code);
        return;
    }
    if (n_platforms > MAX_PLATFORMS)
        n_platforms = MAX_PLATFORMS;
    for (cl_uint p = 0; p < n_platforms; ++p) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint n = 0;
        code = api->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n);
        if (code != CL_SUCCESS) {
            char name[128];
            platform_text(api, platforms[p], CL_PLATFORM_NAME, name, sizeof name);
            snprintf(note, cap, "the OpenCL platform %s has no device (%s %d)", name,
                     bm_cl_code_name(code), (int)code);
            continue;
        }
        for (cl_uint d = 0; d < n && d < MAX_DEVICES; ++d) {
            bm_cl_device device = {.platform = platforms[p], .id = ids[d]};
            snprintf(device.info.spec, sizeof device.info.spec, "opencl:%u.%u", p, d);
            describe(api, &device);
            if (!visit(ctx, &device))
                return;
        }
    }
}

typedef struct search {
    const char *spec;
    bm_cl_device *out;
    uint32_t n;
    bool found;
} search;

static bool visit_search(void *ctx, const bm_cl_device *device)
{
    search *s = ctx;
    ++s->n;
    if (strcmp(device->info.spec, s->spec) != 0)
        return true;
    *s->out = *device;
    s->found = true;
    return false;
}

bm_status bm_cl_device_find(const bm_cl_api *api, const char *spec, bm_cl_device *out,
                            bm_error *err)
{
    char note[256] = "";
    search s = {.spec = spec, .out = out};
    visit_devices(api, visit_search, &s, note, sizeof note);
    if (!s.found && s.n == 0)
        return bm_fail(err, BM_ERR_DEVICE, "there is no device %s: %s", spec,
                       note[0] != '\0' ? note : "OpenCL has none");
    if (!s.found)
        return bm_fail(err, BM_ERR_DEVICE, "there is no device %s (OpenCL has %u)", spec, s.n);
    if (!out->info.usable)
        return bm_fail(err, BM_ERR_DEVICE, "%s (%s) cannot be used: %s", spec, out->info.name,
                       out->info.why);
    return BM_OK;
}

typedef struct listing {
    bm_device_info *infos;
    size_t n, cap;
    bm_status status;
    bm_error *err;
} listing;

static bool visit_listing(void *ctx, const bm_cl_device *device)
{
    listing *l = ctx;
    void *infos = l->infos;
    l->status = bm_grow(&infos, &l->cap, l->n + 1, sizeof *l->infos, l->err);
    l->infos = infos;
    if (l->status != BM_OK)
        return false;
    l->infos[l->n++] = device->info;
    return true;
}

bm_status bm_backend_opencl_list(bm_device_info **out, size_t *n, char *note, size_t cap,
                                 bm_error *err)
{
    char line[256] = "";
    bm_cl_api api;
    bm_error why = {0};
    listing l = {.err = err};
    if (bm_cl_load(&api, &why) != BM_OK) {
        snprintf(line, sizeof line, "%.*s", (int)sizeof line - 1, why.message);
    } else {
        visit_devices(&api, visit_listing, &l, line, sizeof line);
        bm_cl_unload(&api);
    }
    if (l.status != BM_OK) {
        bm_free(l.infos);
        return l.status;
    }
    if (note != NULL && cap > 0)
        snprintf(note, cap, "%s", line);
    *out = l.infos;
    *n = l.n;
    return BM_OK;
}
