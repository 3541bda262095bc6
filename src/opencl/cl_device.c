/* SPDX-License-Identifier: Apache-2.0 */
/* cl_device.c -- lists OpenCL devices.
 *
 * Devices are numbered by platform and within the platform, in the order of the loader. If a
 * platform fails to answer or has no device, it gets a row of its own with the reason. Other
 * platforms are still listed.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/each_copied.sh */
#include "opencl/cl_device.h"

#include <stdio.h>
#include <string.h>

#include "opencl/cl_listing.h"
#include "base/error.h"
#include "base/memory.h"

#define MAX_PLATFORMS 64
#define MAX_DEVICES   64
#define MAX_CLAIMED   65536u /* a larger number is nonsense */

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
    uint64_t value = 0; /* correct only on little-endian hosts, like all of src/opencl */
    if (api->clGetDeviceInfo(id, what, size, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

/* --- the address of a device: from extensions that the device has --- */

#define PCI_BUS_INFO_KHR    0x410F
#define DEVICE_UUID_KHR     0x106A
#define PCI_BUS_ID_NV       0x4008
#define PCI_SLOT_ID_NV      0x4009
#define PCI_DOMAIN_ID_NV    0x400A
#define DEVICE_TOPOLOGY_AMD 0x4037
#define TOPOLOGY_PCIE_AMD   1u
#define EXTENSIONS_MAX      8192 /* bytes of a list; the longest known ones have about 3,000 */

static bool has_extension(const char *names, const char *name)
{
    const size_t len = strlen(name);
    for (const char *p = names; (p = strstr(p, name)) != NULL; p += len)
        if ((p == names || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
            return true;
    return false;
}

/* Query a value of exactly `size` bytes. */
static bool device_value(const bm_cl_api *api, cl_device_id id, cl_device_info what, void *out,
                         size_t size)
{
    size_t got = 0;
    return api->clGetDeviceInfo(id, what, size, out, &got) == CL_SUCCESS && got == size;
}

static void write_address(char *out, size_t cap, const uint32_t at[4])
{
    /* If a driver does not know the address, it returns all ones. */
    if (at[0] <= 0xFFFFFF && at[1] <= 0xFF && at[2] <= 0x1F && at[3] <= 7)
        snprintf(out, cap, "%04x:%02x:%02x.%u", at[0], at[1], at[2], at[3]);
}

/* Query domain, bus, device and function. Returns false if no extension gives them. */
static bool pci_of(const bm_cl_api *api, cl_device_id id, const char *extensions, uint32_t at[4])
{
    unsigned char topology[24]; /* type, 17 unused bytes, bus, device, function */
    uint32_t slot, type;
    if (has_extension(extensions, "cl_khr_pci_bus_info") &&
        device_value(api, id, PCI_BUS_INFO_KHR, at, 4 * sizeof *at))
        return true;
    if (has_extension(extensions, "cl_nv_device_attribute_query") &&
        device_value(api, id, PCI_BUS_ID_NV, &at[1], sizeof *at) &&
        device_value(api, id, PCI_SLOT_ID_NV, &slot, sizeof slot)) {
        if (!device_value(api, id, PCI_DOMAIN_ID_NV, &at[0], sizeof *at))
            at[0] = 0;
        at[2] = slot >> 3;
        at[3] = slot & 7;
        return true;
    }
    if (!has_extension(extensions, "cl_amd_device_attribute_query") ||
        !device_value(api, id, DEVICE_TOPOLOGY_AMD, topology, sizeof topology))
        return false;
    memcpy(&type, topology, sizeof type);
    at[0] = 0;
    for (int i = 0; i < 3; i++)
        at[1 + i] = topology[21 + i];
    return type == TOPOLOGY_PCIE_AMD;
}

static void describe_address(const bm_cl_api *api, cl_device_id id, bm_device_info *info)
{
    static const unsigned char none[16];
    unsigned char uuid[16];
    uint32_t at[4];
    char extensions[EXTENSIONS_MAX] = "";
    api->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    if (pci_of(api, id, extensions, at))
        write_address(info->pci, sizeof info->pci, at);
    if (!has_extension(extensions, "cl_khr_device_uuid") ||
        !device_value(api, id, DEVICE_UUID_KHR, uuid, sizeof uuid) ||
        memcmp(uuid, none, sizeof uuid) == 0)
        return;
    for (int i = 0, n = 0; i < 16; i++)
        n += snprintf(info->uuid + n, sizeof info->uuid - (size_t)n, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
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

/* Query the properties of a device whose platform, id and spec are set. */
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
    info->unified_bytes = out->unified ? info->memory_bytes : 0;
    describe_address(api, id, info);
    judge(api, id, info);
}

/* Advice for platforms that list no device although they could. */
static const struct {
    const char *platform, *help;
} helps[] = {
    {"Portable Computing Language",
     "; PoCL has none if it cannot make its cache: set POCL_CACHE_DIR to a folder that can be "
     "written"},
    {"rusticl", "; rusticl has only those that RUSTICL_ENABLE names"},
};

/* Make the row of platform number `p`, which has no device; listing its devices returned `code`. */
static void describe_empty(const bm_cl_api *api, cl_platform_id platform, cl_uint p, cl_int code,
                           bm_device_info *out)
{
    const char *help = "";
    *out = (bm_device_info){.kind = BM_DEVICE_CL_NONE};
    snprintf(out->spec, sizeof out->spec, "opencl:%u", p);
    platform_text(api, platform, CL_PLATFORM_NAME, out->platform, sizeof out->platform);
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
        if (strcmp(out->platform, helps[i].platform) == 0)
            help = helps[i].help;
    if (code == CL_SUCCESS)
        snprintf(out->why, sizeof out->why, "the platform has no device%s", help);
    else
        snprintf(out->why, sizeof out->why, "the platform has no device (%s %d)%s",
                 bm_cl_code_name(code), (int)code, help);
}

typedef struct visiting {
    /* Called with each device. For an empty platform, the device has only `platform` and `info`,
     * and its kind is BM_DEVICE_CL_NONE. Returns false to stop. */
    bool (*visit)(void *ctx, const bm_cl_device *device);
    void *ctx;
    char *note; /* receives the note; `cap` bytes */
    size_t cap;
    bool sane; /* output: false if the drivers' answers are nonsense; the note has the details */
} visiting;

/* Visit the devices of platform number `p`. Returns false if v->visit returned false, or if the
 * driver's answers are nonsense. In the latter case v->sane becomes false. */
static bool visit_platform(const bm_cl_api *api, cl_platform_id platform, cl_uint p, visiting *v)
{
    char name[128];
    cl_device_id ids[MAX_DEVICES] = {NULL};
    cl_uint n = 0;
    const cl_int code = api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n);
    if (code != CL_SUCCESS || n == 0) {
        bm_cl_device none = {.platform = platform};
        describe_empty(api, platform, p, code, &none.info);
        return v->visit(v->ctx, &none);
    }
    for (cl_uint d = 0; d < n && d < MAX_DEVICES; ++d)
        v->sane = v->sane && ids[d] != NULL;
    if (!v->sane || n > MAX_CLAIMED) {
        platform_text(api, platform, CL_PLATFORM_NAME, name, sizeof name);
        snprintf(v->note, v->cap, "the OpenCL platform %s claims %u devices", name, n);
        return v->sane = false;
    }
    for (cl_uint d = 0; d < n && d < MAX_DEVICES; ++d) {
        bm_cl_device device = {.platform = platform, .id = ids[d]};
        snprintf(device.info.spec, sizeof device.info.spec, "opencl:%u.%u", p, d);
        describe(api, &device);
        if (!v->visit(v->ctx, &device))
            return false;
    }
    return true;
}

/* Visit each device, and each platform without one. If nothing was visited, the note has the
 * reason. */
static void visit_devices(const bm_cl_api *api, visiting *v)
{
    cl_platform_id platforms[MAX_PLATFORMS] = {NULL};
    cl_uint n_platforms = 0;
    cl_int code = api->clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
    v->sane = true;
    if (code != CL_SUCCESS || n_platforms == 0) {
        snprintf(v->note, v->cap, "no OpenCL platform is installed (%s %d)",
                 bm_cl_code_name(code != CL_SUCCESS ? code : -1001), (int)code);
        return;
    }
    for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; ++p)
        v->sane = v->sane && platforms[p] != NULL;
    if (!v->sane || n_platforms > MAX_CLAIMED) {
        v->sane = false;
        snprintf(v->note, v->cap, "the OpenCL loader claims %u platforms", n_platforms);
        return;
    }
    for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; ++p)
        if (!visit_platform(api, platforms[p], p, v))
            return;
}

typedef struct search {
    const char *spec;
    bm_cl_device *out;
    uint32_t n; /* number of devices */
    bool found;
    bm_device_info none; /* if the platform of the wanted device has no devices: the row of the
                            platform */
} search;

static bool visit_search(void *ctx, const bm_cl_device *device)
{
    search *s = ctx;
    const size_t len = strlen(device->info.spec);
    if (device->info.kind == BM_DEVICE_CL_NONE) {
        if (strncmp(s->spec, device->info.spec, len) == 0 && s->spec[len] == '.')
            s->none = device->info;
        return true;
    }
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
    visiting v = {.visit = visit_search, .ctx = &s, .note = note, .cap = sizeof note};
    visit_devices(api, &v);
    if (s.none.why[0] != '\0')
        return bm_fail(err, BM_ERR_DEVICE, "there is no device %s (%s: %s)", spec, s.none.platform,
                       s.none.why);
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

bm_status bm_cl_list(bm_cl_listing *out, bm_error *err)
{
    bm_cl_api api;
    bm_error why = {0};
    listing l = {.err = err};
    *out = (bm_cl_listing){.n = 0};
    if (bm_cl_load(&api, &why) != BM_OK) {
        snprintf(out->note, sizeof out->note, "%.*s", (int)sizeof out->note - 1, why.message);
        return BM_OK;
    }
    visiting v = {.visit = visit_listing, .ctx = &l, .note = out->note, .cap = sizeof out->note};
    visit_devices(&api, &v);
    if (l.status == BM_OK && !v.sane)
        l.status = bm_fail(err, BM_ERR_DEVICE, "%s", out->note);
    if (l.status != BM_OK) {
        bm_free(l.infos);
        return l.status;
    }
    bm_cl_mark_same(l.infos, l.n);
    out->rows = l.infos;
    out->n = l.n;
    return BM_OK;
}
