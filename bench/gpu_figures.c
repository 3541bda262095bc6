/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_figures.c -- the facts that OpenCL devices state about themselves, and the rates that one of
 * them reaches, by plain calls of OpenCL. Bandmill's own kernels and host code take no part, so
 * these figures tell whether a device or Bandmill is slow. JSON on stdout.
 *
 *     gpu_figures                        the facts of all devices
 *     gpu_figures [--quick] opencl:P.D   the facts and the rates of this device
 *
 * A fact that belongs to an extension is asked for only where the device has the extension. Exit
 * codes: 0; 2 usage; 5 no such device, or one that fails.
 *
 * Tests: tests/box/test_gpu_box.sh */
#include "gpu_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

#define MAX_LISTED 64u
#define TEXT_BYTES 16384u

typedef enum fact_type {
    FACT_TEXT,
    FACT_NUMBER, /* 4 or 8 bytes, whatever the device returns */
    FACT_FLAG,
    FACT_BYTES, /* printed as hexadecimal digits */
} fact_type;

/* In the order of the output. Codes without a name are from the extension's specification. */
static const struct {
    const char *name;
    cl_device_info code;
    fact_type type;
    const char *extension; /* NULL: every device has the fact */
} facts[] = {
    {"name", CL_DEVICE_NAME, FACT_TEXT, NULL},
    {"vendor", CL_DEVICE_VENDOR, FACT_TEXT, NULL},
    {"vendor_id", CL_DEVICE_VENDOR_ID, FACT_NUMBER, NULL},
    {"type_bits", CL_DEVICE_TYPE, FACT_NUMBER, NULL},
    {"version", CL_DEVICE_VERSION, FACT_TEXT, NULL},
    {"c_version", CL_DEVICE_OPENCL_C_VERSION, FACT_TEXT, NULL},
    {"driver", CL_DRIVER_VERSION, FACT_TEXT, NULL},
    {"available", CL_DEVICE_AVAILABLE, FACT_FLAG, NULL},
    {"compiler", CL_DEVICE_COMPILER_AVAILABLE, FACT_FLAG, NULL},
    {"compute_units", CL_DEVICE_MAX_COMPUTE_UNITS, FACT_NUMBER, NULL},
    {"clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY, FACT_NUMBER, NULL},
    {"memory_bytes", CL_DEVICE_GLOBAL_MEM_SIZE, FACT_NUMBER, NULL},
    {"buffer_bytes", CL_DEVICE_MAX_MEM_ALLOC_SIZE, FACT_NUMBER, NULL},
    {"cache_bytes", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, FACT_NUMBER, NULL},
    {"cache_line_bytes", CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, FACT_NUMBER, NULL},
    {"local_bytes", CL_DEVICE_LOCAL_MEM_SIZE, FACT_NUMBER, NULL},
    {"local_type", CL_DEVICE_LOCAL_MEM_TYPE, FACT_NUMBER, NULL},
    {"constant_bytes", CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, FACT_NUMBER, NULL},
    {"unified_memory", CL_DEVICE_HOST_UNIFIED_MEMORY, FACT_FLAG, NULL},
    {"ecc", CL_DEVICE_ERROR_CORRECTION_SUPPORT, FACT_FLAG, NULL},
    {"group_items", CL_DEVICE_MAX_WORK_GROUP_SIZE, FACT_NUMBER, NULL},
    {"native_ints", CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, FACT_NUMBER, NULL},
    {"preferred_ints", CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, FACT_NUMBER, NULL},
    {"align_bits", CL_DEVICE_MEM_BASE_ADDR_ALIGN, FACT_NUMBER, NULL},
    {"queue_bits", CL_DEVICE_QUEUE_PROPERTIES, FACT_NUMBER, NULL},
    {"timer_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION, FACT_NUMBER, NULL},
    {"printf_bytes", CL_DEVICE_PRINTF_BUFFER_SIZE, FACT_NUMBER, NULL},
    {"partitions", CL_DEVICE_PARTITION_MAX_SUB_DEVICES, FACT_NUMBER, NULL},
    /* domain, bus, device, function: four numbers of 32 bits */
    {"pci", 0x410F, FACT_BYTES, "cl_khr_pci_bus_info"},
    {"uuid", 0x106A, FACT_BYTES, "cl_khr_device_uuid"},
    {"driver_uuid", 0x106B, FACT_BYTES, "cl_khr_device_uuid"},
    {"dot_product_bits", 0x1073, FACT_NUMBER, "cl_khr_integer_dot_product"},
    {"nv_compute_major", 0x4000, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_compute_minor", 0x4001, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_registers", 0x4002, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_warp", 0x4003, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_integrated", 0x4006, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_copy_engines", 0x4007, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_pci_bus", 0x4008, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_pci_slot", 0x4009, FACT_NUMBER, "cl_nv_device_attribute_query"},
    {"nv_pci_domain", 0x400A, FACT_NUMBER, "cl_nv_device_attribute_query"},
    /* 24 bytes; the last three in use are bus, device, function */
    {"amd_topology", 0x4037, FACT_BYTES, "cl_amd_device_attribute_query"},
    {"amd_board", 0x4038, FACT_TEXT, "cl_amd_device_attribute_query"},
    {"amd_simds_per_unit", 0x4040, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_simd_width", 0x4041, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_simd_instruction_width", 0x4042, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_wavefront", 0x4043, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_local_bytes_per_unit", 0x4047, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_local_banks", 0x4048, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_gfxip_major", 0x404A, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"amd_gfxip_minor", 0x404B, FACT_NUMBER, "cl_amd_device_attribute_query"},
    {"intel_ip_version", 0x4250, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_id", 0x4251, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_slices", 0x4252, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_subslices", 0x4253, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_eus_per_subslice", 0x4254, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_threads_per_eu", 0x4255, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"intel_feature_bits", 0x4256, FACT_NUMBER, "cl_intel_device_attribute_query"},
    {"extensions", CL_DEVICE_EXTENSIONS, FACT_TEXT, NULL},
};

/* A device of the list, and its position, which gives its name. */
typedef struct listed {
    cl_device_id id;
    char spec[32], platform[128], platform_version[128];
} listed;

typedef struct listing {
    gpu_api api;
    listed devices[MAX_LISTED];
    size_t n;
    double load_seconds, list_seconds;
} listing;

static void platform_text(const gpu_api *api, cl_platform_id platform, cl_platform_info what,
                          char out[128])
{
    if (api->cl.clGetPlatformInfo(platform, what, 127, out, NULL) != CL_SUCCESS)
        out[0] = '\0';
}

static bm_status list_devices(listing *l, bm_error *err)
{
    static const char *const names[] = {GPU_FUNCTIONS(BM_LIBRARY_NAME) NULL};
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0;
    const double begin = bm_clock_seconds();
    BM_TRY(bm_cl_load(&l->api.cl, err));
    if (bm_shared_library_open("libOpenCL.so.1", names, &l->api.more, NULL) != BM_OK)
        memset(&l->api.more, 0, sizeof l->api.more);
    const double loaded = bm_clock_seconds();
    if (l->api.cl.clGetPlatformIDs(16, platforms, &n_platforms) != CL_SUCCESS)
        n_platforms = 0;
    for (cl_uint p = 0; p < n_platforms && p < 16; p++) {
        cl_device_id ids[MAX_LISTED];
        cl_uint n = 0;
        if (l->api.cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_LISTED, ids, &n) !=
            CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n && d < MAX_LISTED && l->n < MAX_LISTED; d++) {
            listed *device = &l->devices[l->n++];
            memset(device, 0, sizeof *device);
            device->id = ids[d];
            snprintf(device->spec, sizeof device->spec, "opencl:%u.%u", p, d);
            platform_text(&l->api, platforms[p], CL_PLATFORM_NAME, device->platform);
            platform_text(&l->api, platforms[p], CL_PLATFORM_VERSION, device->platform_version);
        }
    }
    l->load_seconds = loaded - begin;
    l->list_seconds = bm_clock_seconds() - loaded;
    return BM_OK;
}

/* Is the word among the extensions, which are separated by spaces? */
static bool has_word(const char *words, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static void write_number(bm_json *json, const unsigned char *bytes, size_t len)
{
    uint32_t half = 0;
    uint64_t whole = 0;
    if (len == sizeof half)
        memcpy(&half, bytes, sizeof half);
    else if (len == sizeof whole)
        memcpy(&whole, bytes, sizeof whole);
    bm_json_uint(json, len == sizeof half ? half : whole);
}

static void write_fact(bm_json *json, fact_type type, const unsigned char *bytes, size_t len)
{
    char digits[2 * 64 + 1] = "";
    switch (type) {
    case FACT_TEXT:
        bm_json_text(json, (const char *)bytes);
        break;
    case FACT_NUMBER:
        write_number(json, bytes, len);
        break;
    case FACT_FLAG:
        bm_json_bool(json, bytes[0] != 0);
        break;
    case FACT_BYTES:
        for (size_t i = 0; i < len && i < 64; i++)
            snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
        bm_json_text(json, digits);
        break;
    }
}

static void write_facts(const gpu_api *api, const listed *device, bm_json *json)
{
    static char extensions[TEXT_BYTES];
    static unsigned char bytes[TEXT_BYTES];
    memset(extensions, 0, sizeof extensions);
    api->cl.clGetDeviceInfo(device->id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions,
                            NULL);
    bm_json_key_text(json, "spec", device->spec);
    bm_json_key_text(json, "platform", device->platform);
    bm_json_key_text(json, "platform_version", device->platform_version);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        size_t len = 0;
        if (facts[i].extension != NULL && !has_word(extensions, facts[i].extension))
            continue;
        memset(bytes, 0, sizeof bytes);
        if (api->cl.clGetDeviceInfo(device->id, facts[i].code, sizeof bytes - 1, bytes, &len) !=
            CL_SUCCESS)
            continue;
        bm_json_key(json, facts[i].name);
        write_fact(json, facts[i].type, bytes, len);
    }
}

/* Writes the facts of all devices; with `spec`, the facts and rates of one device. */
static bm_status write_all(listing *l, const char *spec, bool quick, bm_json *json, bm_error *err)
{
    size_t n_written = 0;
    bm_json_begin_object(json);
    bm_json_key_uint(json, "schema", 1);
    bm_json_key_double(json, "load_seconds", l->load_seconds);
    bm_json_key_double(json, "list_seconds", l->list_seconds);
    bm_json_key_array(json, "devices");
    for (size_t i = 0; i < l->n; i++) {
        if (spec != NULL && strcmp(spec, l->devices[i].spec) != 0)
            continue;
        bm_json_begin_object(json);
        write_facts(&l->api, &l->devices[i], json);
        if (spec != NULL)
            BM_TRY(gpu_rates_write(&l->api, l->devices[i].id, quick, json, err));
        bm_json_end_object(json);
        n_written++;
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
    if (spec != NULL && n_written == 0)
        return bm_fail(err, BM_ERR_DEVICE, "no device %s (OpenCL has %zu)", spec, l->n);
    return bm_json_finish(json, err);
}

int main(int argc, char **argv)
{
    static listing all;
    bm_json json = {.pretty = true};
    bm_error err = {0};
    bool quick = false;
    const char *spec = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else if (spec == NULL && strncmp(argv[i], "opencl:", 7) == 0) {
            spec = argv[i];
        } else {
            fprintf(stderr, "gpu_figures: %s (expected [--quick] [opencl:P.D])\n", argv[i]);
            return 2;
        }
    }
    bm_status status = list_devices(&all, &err);
    if (status == BM_OK)
        status = write_all(&all, spec, quick, &json, &err);
    if (status == BM_OK)
        fputs(json.buf.data, stdout);
    else
        fprintf(stderr, "gpu_figures: %s\n", err.message);
    bm_buf_reset(&json.buf);
    return status == BM_OK ? 0 : 5;
}
