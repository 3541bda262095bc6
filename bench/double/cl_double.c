/* SPDX-License-Identifier: Apache-2.0 */
/* cl_double.c -- an OpenCL library whose copies and kernels cost nothing: measures the host's part
 * of the work without a device.
 *
 * Built as libOpenCL.so.1 beside a program whose devices are not checked (unchecked.c), which finds
 * it first. Nothing is copied and nothing computed. Read-backs return numbers that never repeat, so
 * that no two documents share a key. Writing these is the only work for the processor (at some
 * 8 GB/s, a hundredth of the host's work). Each queue waits for the times that the environment
 * asks for:
 *
 *     CL_DOUBLE_GPUS=N          devices (1), each of 80 GiB, not sharing the host's memory
 *     CL_DOUBLE_LINK=GB/S       a copy takes its bytes at this rate (0: no time)
 *     CL_DOUBLE_KERNEL=SECONDS  a launch takes this long (0)
 *     CL_DOUBLE_HASHES=N,N…     hashes that a device signs in a second, in all its queues together,
 *                               given as such or as texts (0: any number); the last number holds
 *                               for the rest
 *     CL_DOUBLE_OPEN=SECONDS    a context takes this long to be made (0)
 *
 * and what a driver says of itself:
 *
 *     CL_DOUBLE_PLATFORMS=NAMES the platforms, separated by commas, each with the same devices
 *                               ("Double")
 *     CL_DOUBLE_ADDRESS=WAYS    how a device reports its address, a word for each platform:
 *                               khr, nv, amd, uuid, none ("none"); the last word holds for the rest
 *     CL_DOUBLE_UNIFIED=1       devices share the host's memory
 *
 * Only the calls of cl_load.h are here; all of them are safe from any thread. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX   64
#define PLATFORMS_MAX 8

/* Queries of the extensions that report addresses, as in CL/cl_ext.h. */
#define PCI_BUS_INFO_KHR    0x410F
#define DEVICE_UUID_KHR     0x106A
#define PCI_BUS_ID_NV       0x4008
#define PCI_SLOT_ID_NV      0x4009
#define PCI_DOMAIN_ID_NV    0x400A
#define DEVICE_TOPOLOGY_AMD 0x4037

struct _cl_platform_id {
    char unused;
};
struct _cl_device_id {
    pthread_mutex_t lock;
    double hashes; /* per second; 0: any number */
    double end;    /* when the work of all queues will end */
};
struct _cl_context {
    char unused;
};
struct _cl_program {
    char unused;
};
struct _cl_kernel {
    char name[32];
    cl_uint4 four; /* the last argument of four numbers */
};
struct _cl_mem {
    pthread_mutex_t lock;
    char *host; /* allocated when first mapped */
    size_t bytes;
    bool lent;
};
struct _cl_event {
    atomic_uint users;
    double begin, end;
};
struct _cl_command_queue {
    pthread_mutex_t lock;
    double end; /* when the enqueued work will end */
    cl_device_id device;
    bool texts; /* the hashes were made from texts and already counted, and are to be signed */
};

static struct _cl_platform_id platforms[PLATFORMS_MAX];
static struct _cl_device_id devices[PLATFORMS_MAX][DEVICES_MAX];
static struct _cl_context context;
static struct _cl_program program;

static double asked(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtod(text, NULL) : otherwise;
}

static cl_uint n_devices(void)
{
    const double n = asked("CL_DOUBLE_GPUS", 1);
    return n > DEVICES_MAX ? DEVICES_MAX : (cl_uint)n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_until(double then)
{
    struct timespec t = {.tv_sec = (time_t)then};
    t.tv_nsec = (long)((then - (double)t.tv_sec) * 1e9);
    if (then > now())
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
            ;
}

static void set_code(cl_int *code, cl_int value)
{
    if (code != NULL)
        *code = value;
}

static cl_int give(const void *value, size_t bytes, size_t cap, void *out, size_t *size)
{
    if (size != NULL)
        *size = bytes;
    if (out == NULL)
        return CL_SUCCESS;
    if (cap < bytes)
        return CL_INVALID_VALUE;
    memcpy(out, value, bytes);
    return CL_SUCCESS;
}

static cl_int give_text(const char *text, size_t cap, void *out, size_t *size)
{
    return give(text, strlen(text) + 1, cap, out, size);
}

/* Finds word number `at` in the variable's list, or the last if there are fewer; returns their
 * number. */
static unsigned word_of(const char *name, const char *otherwise, unsigned at, char *out, size_t cap)
{
    const char *p = getenv(name);
    unsigned n = 0;
    if (p == NULL || *p == '\0')
        p = otherwise;
    for (; p != NULL; n++) {
        const size_t len = strcspn(p, ",");
        if (n <= at)
            snprintf(out, cap, "%.*s", (int)len, p);
        p = p[len] == ',' ? p + len + 1 : NULL;
    }
    return n;
}

static unsigned n_platforms(char *name, size_t cap, unsigned at)
{
    const unsigned n = word_of("CL_DOUBLE_PLATFORMS", "Double", at, name, cap);
    return n > PLATFORMS_MAX ? PLATFORMS_MAX : n;
}

/* --- platforms and devices --- */

__attribute__((constructor)) static void init_devices(void)
{
    char hashes[32];
    for (unsigned p = 0; p < PLATFORMS_MAX; p++)
        for (unsigned d = 0; d < DEVICES_MAX; d++) {
            word_of("CL_DOUBLE_HASHES", "0", d, hashes, sizeof hashes);
            devices[p][d].hashes = strtod(hashes, NULL);
            pthread_mutex_init(&devices[p][d].lock, NULL);
        }
}

cl_int clGetPlatformIDs(cl_uint cap, cl_platform_id *out, cl_uint *n)
{
    char name[64];
    const unsigned all = n_platforms(name, sizeof name, 0);
    for (cl_uint i = 0; out != NULL && i < all && i < cap; i++)
        out[i] = &platforms[i];
    if (n != NULL)
        *n = all;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t cap, void *out,
                         size_t *size)
{
    char name[64];
    n_platforms(name, sizeof name, (unsigned)(p - platforms));
    return give_text(what == CL_PLATFORM_NAME ? name : "OpenCL 1.2 Double", cap, out, size);
}

cl_int clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint cap, cl_device_id *out,
                      cl_uint *n)
{
    for (cl_uint i = 0; out != NULL && i < n_devices() && i < cap; i++)
        out[i] = &devices[p - platforms][i];
    if (n != NULL)
        *n = n_devices();
    return n_devices() > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* The address of the device: bus 0x41 and up, of domain 0. */
static cl_int give_address(const char *way, unsigned number, cl_device_info what, size_t cap,
                           void *out, size_t *size)
{
    const cl_uint bus = 0x41 + number;
    unsigned char bytes[24] = {1}; /* a topology: PCIe */
    if (what == CL_DEVICE_EXTENSIONS)
        return give_text(strcmp(way, "khr") == 0    ? "cl_khr_icd cl_khr_pci_bus_info"
                         : strcmp(way, "uuid") == 0 ? "cl_khr_device_uuid cl_khr_icd"
                         : strcmp(way, "nv") == 0   ? "cl_nv_device_attribute_query"
                         : strcmp(way, "amd") == 0  ? "cl_amd_device_attribute_query"
                                                    : "",
                         cap, out, size);
    if (what == PCI_BUS_INFO_KHR && strcmp(way, "khr") == 0)
        return give((const cl_uint[4]){0, bus, 0, 0}, 4 * sizeof bus, cap, out, size);
    if (what == PCI_BUS_ID_NV && strcmp(way, "nv") == 0)
        return give(&bus, sizeof bus, cap, out, size);
    if ((what == PCI_SLOT_ID_NV || what == PCI_DOMAIN_ID_NV) && strcmp(way, "nv") == 0)
        return give(&(cl_uint){0}, sizeof bus, cap, out, size);
    if (what == DEVICE_TOPOLOGY_AMD && strcmp(way, "amd") == 0) {
        bytes[21] = (unsigned char)bus;
        return give(bytes, sizeof bytes, cap, out, size);
    }
    if (what == DEVICE_UUID_KHR && strcmp(way, "uuid") == 0) {
        bytes[15] = (unsigned char)bus;
        return give(bytes, 16, cap, out, size);
    }
    return CL_INVALID_VALUE;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t cap, void *out,
                       size_t *size)
{
    switch (what) {
    case CL_DEVICE_NAME:
        return give_text("Double GPU", cap, out, size);
    case CL_DEVICE_VENDOR:
        return give_text("Double", cap, out, size);
    case CL_DEVICE_VERSION:
        return give_text("OpenCL 1.2 Double", cap, out, size);
    case CL_DRIVER_VERSION:
        return give_text("1", cap, out, size);
    case CL_DEVICE_TYPE:
        return give(&(cl_device_type){CL_DEVICE_TYPE_GPU}, sizeof(cl_device_type), cap, out, size);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
        return give(&(cl_bool){CL_TRUE}, sizeof(cl_bool), cap, out, size);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return give(&(cl_bool){asked("CL_DOUBLE_UNIFIED", 0) != 0}, sizeof(cl_bool), cap, out,
                    size);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return give(&(cl_uint){132}, sizeof(cl_uint), cap, out, size);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
        return give(&(cl_uint){1980}, sizeof(cl_uint), cap, out, size);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
        return give(&(cl_uint){1}, sizeof(cl_uint), cap, out, size);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return give(&(cl_ulong){UINT64_C(80) << 30}, sizeof(cl_ulong), cap, out, size);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return give(&(cl_ulong){UINT64_C(20) << 30}, sizeof(cl_ulong), cap, out, size);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return give(&(cl_ulong){48 << 10}, sizeof(cl_ulong), cap, out, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return give(&(size_t){1024}, sizeof(size_t), cap, out, size);
    default:
        for (unsigned p = 0; p < PLATFORMS_MAX; p++) {
            char way[16];
            word_of("CL_DOUBLE_ADDRESS", "none", p, way, sizeof way);
            if (device >= devices[p] && device < devices[p] + DEVICES_MAX)
                return give_address(way, (unsigned)(device - devices[p]), what, cap, out, size);
        }
        return CL_INVALID_VALUE;
    }
}

/* --- contexts and programs: one object for all --- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *say)(const char *, const void *, size_t, void *),
                           void *ctx, cl_int *code)
{
    wait_until(now() + asked("CL_DOUBLE_OPEN", 0));
    set_code(code, CL_SUCCESS);
    return &context;
}

cl_int clReleaseContext(cl_context c)
{
    return CL_SUCCESS;
}

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **texts,
                                     const size_t *lens, cl_int *code)
{
    set_code(code, CL_SUCCESS);
    return &program;
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids,
                                     const size_t *lens, const unsigned char **binaries,
                                     cl_int *states, cl_int *code)
{
    for (cl_uint i = 0; states != NULL && i < n; i++)
        states[i] = CL_SUCCESS;
    return clCreateProgramWithSource(c, n, NULL, lens, code);
}

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *ids, const char *options,
                      void(CL_CALLBACK *done)(cl_program, void *), void *ctx)
{
    return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id id, cl_program_build_info what, size_t cap,
                             void *out, size_t *size)
{
    return give_text("", cap, out, size);
}

cl_int clGetProgramInfo(cl_program p, cl_program_info what, size_t cap, void *out, size_t *size)
{
    if (what == CL_PROGRAM_BINARY_SIZES)
        return give(&(size_t){sizeof "double"}, sizeof(size_t), cap, out, size);
    if (what == CL_PROGRAM_NUM_DEVICES)
        return give(&(cl_uint){1}, sizeof(cl_uint), cap, out, size);
    if (what != CL_PROGRAM_BINARIES)
        return CL_INVALID_VALUE;
    if (out != NULL)
        memcpy(((unsigned char **)out)[0], "double", sizeof "double");
    if (size != NULL)
        *size = sizeof(unsigned char *);
    return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program p)
{
    return CL_SUCCESS;
}

cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *code)
{
    cl_kernel kernel = calloc(1, sizeof *kernel);
    set_code(code, kernel != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    if (kernel != NULL)
        snprintf(kernel->name, sizeof kernel->name, "%s", name);
    return kernel;
}

cl_int clReleaseKernel(cl_kernel k)
{
    free(k);
    return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel k, cl_uint index, size_t size, const void *value)
{
    if (size == sizeof k->four)
        memcpy(&k->four, value, size);
    return CL_SUCCESS;
}

/* --- memory --- */

cl_mem clCreateBuffer(cl_context c, cl_mem_flags flags, size_t bytes, void *host, cl_int *code)
{
    cl_mem mem = calloc(1, sizeof *mem);
    set_code(code, mem != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    if (mem == NULL)
        return NULL;
    pthread_mutex_init(&mem->lock, NULL);
    mem->bytes = bytes;
    mem->lent = (flags & CL_MEM_USE_HOST_PTR) != 0;
    mem->host = mem->lent ? host : NULL;
    return mem;
}

cl_int clReleaseMemObject(cl_mem mem)
{
    if (!mem->lent)
        free(mem->host);
    pthread_mutex_destroy(&mem->lock);
    free(mem);
    return CL_SUCCESS;
}

/* --- queues and events --- */

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id id,
                                      cl_command_queue_properties properties, cl_int *code)
{
    cl_command_queue queue = calloc(1, sizeof *queue);
    set_code(code, queue != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY);
    if (queue != NULL) {
        pthread_mutex_init(&queue->lock, NULL);
        queue->device = id;
    }
    return queue;
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return CL_SUCCESS;
}

/* The end of work that takes the device `seconds` and begins at `begin` or later. */
static double occupy(cl_device_id device, double begin, double seconds)
{
    if (seconds <= 0)
        return begin;
    pthread_mutex_lock(&device->lock);
    begin = device->end > begin ? device->end : begin;
    const double end = device->end = begin + seconds;
    pthread_mutex_unlock(&device->lock);
    return end;
}

/* Enqueues a command: after the commands before it, it has the whole device for `device_seconds`,
 * then takes `seconds` of its queue. */
static cl_int enqueue_work(cl_command_queue queue, double device_seconds, double seconds, cl_uint n,
                           const cl_event *before, cl_event *event)
{
    double begin = now();
    for (cl_uint i = 0; i < n; i++)
        begin = before[i]->end > begin ? before[i]->end : begin;
    pthread_mutex_lock(&queue->lock);
    begin = queue->end > begin ? queue->end : begin;
    const double end = queue->end = occupy(queue->device, begin, device_seconds) + seconds;
    pthread_mutex_unlock(&queue->lock);
    if (event == NULL)
        return CL_SUCCESS;
    *event = calloc(1, sizeof **event);
    if (*event == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    (*event)->begin = begin;
    (*event)->end = end;
    atomic_init(&(*event)->users, 1);
    return CL_SUCCESS;
}

static cl_int enqueue(cl_command_queue queue, double seconds, cl_uint n, const cl_event *before,
                      cl_event *event)
{
    return enqueue_work(queue, 0, seconds, n, before, event);
}

static double copy_seconds(size_t bytes)
{
    const double rate = asked("CL_DOUBLE_LINK", 0);
    return rate > 0 ? (double)bytes / (rate * 1e9) : 0;
}

cl_int clFinish(cl_command_queue queue)
{
    pthread_mutex_lock(&queue->lock);
    const double end = queue->end;
    pthread_mutex_unlock(&queue->lock);
    wait_until(end);
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue)
{
    return CL_SUCCESS;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t bytes, cl_uint n, const cl_event *before,
                         cl_event *event, cl_int *code)
{
    pthread_mutex_lock(&mem->lock);
    if (mem->host == NULL &&
        (mem->host = aligned_alloc(4096, (mem->bytes + 4095) / 4096 * 4096)) != NULL)
        memset(mem->host, 0, mem->bytes); /* commits the pages */
    char *host = mem->host;
    pthread_mutex_unlock(&mem->lock);
    set_code(code,
             host != NULL ? enqueue(queue, 0, n, before, event) : CL_MEM_OBJECT_ALLOCATION_FAILURE);
    if (host != NULL && blocking)
        clFinish(queue);
    return host != NULL ? host + offset : NULL;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *host, cl_uint n,
                               const cl_event *before, cl_event *event)
{
    return enqueue(queue, 0, n, before, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                            size_t bytes, const void *from, cl_uint n, const cl_event *before,
                            cl_event *event)
{
    const cl_int code = enqueue(queue, copy_seconds(bytes), n, before, event);
    return blocking ? clFinish(queue) : code;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                           size_t bytes, void *to, cl_uint n, const cl_event *before,
                           cl_event *event)
{
    static atomic_ullong next = 1;
    const uint64_t first = atomic_fetch_add(&next, bytes / 8 + 1);
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = (first + i / 8) * UINT64_C(0x9E3779B97F4A7C15);
        memcpy((char *)to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
    return clEnqueueWriteBuffer(queue, mem, blocking, offset, bytes, NULL, n, before, event);
}

/* The hashes that the launch makes from texts, or signs. They come in quads, whose number is an
 * argument of the kernel (kernels/text_hash.cl: units; kernels/sign_gpu.cl: where the offsets
 * begin, after the hashes). */
static double hashes_of(cl_command_queue queue, cl_kernel k)
{
    const bool texts = queue->texts;
    if (strcmp(k->name, "bm_text_hash") == 0) {
        queue->texts = true;
        return 4.0 * k->four.s[3];
    }
    if (strcmp(k->name, "bm_sign") != 0)
        return 0;
    queue->texts = false;
    return texts ? 0 : 4.0 * k->four.s[0];
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel k, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *before, cl_event *event)
{
    const double rate = queue->device->hashes, hashes = hashes_of(queue, k);
    return enqueue_work(queue, rate > 0 ? hashes / rate : 0, asked("CL_DOUBLE_KERNEL", 0), n,
                        before, event);
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    for (cl_uint i = 0; i < n; i++)
        wait_until(events[i]->end);
    return CL_SUCCESS;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t cap, void *out,
                               size_t *size)
{
    const double at = what == CL_PROFILING_COMMAND_END ? event->end : event->begin;
    return give(&(cl_ulong){(cl_ulong)(at * 1e9)}, sizeof(cl_ulong), cap, out, size);
}

cl_int clRetainEvent(cl_event event)
{
    atomic_fetch_add(&event->users, 1);
    return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event)
{
    if (atomic_fetch_sub(&event->users, 1) == 1)
        free(event);
    return CL_SUCCESS;
}
