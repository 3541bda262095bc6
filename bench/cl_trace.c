/* SPDX-License-Identifier: Apache-2.0 */
/* cl_trace.c -- an OpenCL loader that writes down what a program asks of its devices.
 *
 * Built as libOpenCL.so.1 and found first (LD_LIBRARY_PATH), it passes every call that Bandmill
 * makes to the real loader, and writes into the folder CL_TRACE_DIR. So the program that is traced
 * is the one that people run.
 *
 *     CL_TRACE_REAL=PATH     the real loader
 *     CL_TRACE_DIR=FOLDER    where the files go; it must exist
 *     CL_TRACE_BATCHES=N     commands of so many batches on each device (50); 0: no commands
 *
 *     PID-commands.tsv    a line for each command and each call that may wait: device, queue, call,
 *                         kernel, bytes; nanoseconds of the host's clock at which the call began,
 *                         and that it took; QUEUED, SUBMIT, START and END of the command by the
 *                         device's clock (0: not a command, or the device does not say)
 *     PID-builds.tsv      a line for each program: device, from source or from a binary, seconds,
 *                         the code, options
 *     PID-kernels.tsv     a line for each kernel: program, name, local and private bytes, the
 *                         multiple of work-items that it prefers, most work-items of a group
 *     PID-N.log, .bin     the compiler's log and the binary of program N
 *
 * Queues get profiling, which some drivers make slower, so rates are measured without this library.
 * Each command's event is kept until its queue is released. One lock guards all tables; no call of
 * the real loader is made under it.
 *
 * Tests: tests/box/test_gpu_box.sh */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opencl/cl_load.h"

#define MAX_DEVICES 64u
#define MAX_QUEUES  1024u
#define MAX_KERNELS 1024u
#define NO_DEVICE   MAX_DEVICES
#define NO_QUEUE    MAX_QUEUES

typedef struct record {
    uint32_t device, queue;
    const char *call;
    char kernel[24];
    size_t bytes;
    uint64_t begin, end;
    cl_event event; /* NULL: a call that is not a command */
} record;

static struct trace {
    pthread_once_t once;
    pthread_mutex_t lock;
    bm_cl_api real;
    __typeof__(clGetKernelWorkGroupInfo) *kernel_info;
    const char *folder;
    unsigned long batches; /* to record, for each device */
    uint64_t begin;
    cl_platform_id platforms[MAX_DEVICES];
    size_t n_platforms;
    struct {
        cl_device_id id;
        char spec[24];
        unsigned long batches;
    } devices[MAX_DEVICES + 1];
    size_t n_devices;
    struct {
        cl_command_queue queue; /* NULL: released */
        uint32_t device;
    } queues[MAX_QUEUES];
    size_t n_queues;
    struct {
        cl_kernel kernel;
        char name[24];
    } kernels[MAX_KERNELS]; /* a ring of the kernels made last */
    size_t n_kernels;
    record *records;
    size_t n_records, cap_records;
    unsigned n_programs;
} trace = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, const char *value)
{
    fprintf(stderr, "cl_trace: %s: %s\n", what, value);
    _exit(99);
}

static void open_real(void)
{
    const char *path = getenv("CL_TRACE_REAL"), *batches = getenv("CL_TRACE_BATCHES");
    trace.folder = getenv("CL_TRACE_DIR");
    if (path == NULL || trace.folder == NULL)
        die("expected in the environment", "CL_TRACE_REAL, CL_TRACE_DIR");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        die("CL_TRACE_REAL", dlerror());
#define FIND(name)                                                                                 \
    *(void **)(void *)&trace.real.name = dlsym(library, #name);                                    \
    if (trace.real.name == NULL)                                                                   \
        die("CL_TRACE_REAL lacks", #name);
    BM_CL_FUNCTIONS(FIND)
#undef FIND
    *(void **)(void *)&trace.kernel_info = dlsym(library, "clGetKernelWorkGroupInfo");
    trace.batches = batches != NULL ? strtoul(batches, NULL, 10) : 50;
    trace.devices[NO_DEVICE].batches = trace.batches;
}

__attribute__((constructor)) static void begin_clock(void)
{
    trace.begin = now();
}

static const bm_cl_api *real(void)
{
    pthread_once(&trace.once, open_real);
    return &trace.real;
}

/* Opens a file of this process for appending, and writes the head of a new file; NULL: failure. */
static FILE *open_file(const char *name, const char *head)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld-%s", trace.folder, (long)getpid(), name);
    FILE *file = fopen(path, "ae");
    if (file == NULL)
        die("cannot write", path);
    if (ftell(file) == 0 && head != NULL)
        fputs(head, file);
    return file;
}

static void write_bytes(const char *name, const void *bytes, size_t len)
{
    FILE *file = open_file(name, NULL);
    fwrite(bytes, 1, len, file);
    fclose(file);
}

/* --- devices, queues, kernels by number or name; callers hold the lock --- */

static uint32_t device_number(cl_device_id id)
{
    for (uint32_t d = 0; d < trace.n_devices; d++)
        if (trace.devices[d].id == id)
            return d;
    return NO_DEVICE;
}

static uint32_t queue_number(cl_command_queue queue)
{
    for (uint32_t q = 0; q < trace.n_queues && queue != NULL; q++)
        if (trace.queues[q].queue == queue)
            return q;
    return NO_QUEUE;
}

static const char *kernel_name(cl_kernel kernel)
{
    for (size_t k = 0; k < trace.n_kernels && k < MAX_KERNELS; k++)
        if (trace.kernels[k].kernel == kernel)
            return trace.kernels[k].name;
    return "";
}

static const char *spec_of(uint32_t device)
{
    return device < NO_DEVICE ? trace.devices[device].spec : "-";
}

/* --- records --- */

static void add_record(const record *r)
{
    if (trace.n_records == trace.cap_records) {
        const size_t cap = trace.cap_records * 2 + 256;
        record *records = realloc(trace.records, cap * sizeof *records);
        if (records == NULL)
            die("no memory for", "commands");
        trace.records = records;
        trace.cap_records = cap;
    }
    trace.records[trace.n_records++] = *r;
}

/* A call on a queue, if batches of its device are still recorded. */
typedef struct call {
    const char *name;
    cl_command_queue queue;
    size_t bytes;
    cl_kernel kernel;
    uint64_t begin;
    bool recorded;
} call;

static call begin_call(const char *name, cl_command_queue queue, size_t bytes, cl_kernel kernel)
{
    call c = {.name = name, .queue = queue, .bytes = bytes, .kernel = kernel};
    pthread_mutex_lock(&trace.lock);
    const uint32_t q = queue_number(queue);
    c.recorded = q < NO_QUEUE && trace.devices[trace.queues[q].device].batches < trace.batches;
    pthread_mutex_unlock(&trace.lock);
    c.begin = now();
    return c;
}

/* `event` is the library's own; NULL: none. */
static void end_call(const call *c, cl_event event)
{
    const uint64_t end = now();
    pthread_mutex_lock(&trace.lock);
    const uint32_t q = queue_number(c->queue);
    record r = {.device = q < NO_QUEUE ? trace.queues[q].device : NO_DEVICE,
                .queue = q,
                .call = c->name,
                .bytes = c->bytes,
                .begin = c->begin,
                .end = end,
                .event = event};
    snprintf(r.kernel, sizeof r.kernel, "%s", kernel_name(c->kernel));
    if (event != NULL && strcmp(r.kernel, "bm_sign") == 0)
        trace.devices[r.device].batches++;
    add_record(&r);
    pthread_mutex_unlock(&trace.lock);
}

static uint64_t stamp(cl_event event, cl_profiling_info what)
{
    cl_ulong value = 0;
    if (event == NULL ||
        real()->clGetEventProfilingInfo(event, what, sizeof value, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

static void write_record(FILE *file, const record *r)
{
    char queue[16] = "-";
    if (r->queue < NO_QUEUE)
        snprintf(queue, sizeof queue, "%u", r->queue);
    fprintf(file, "%s\t%s\t%s\t%s\t%zu\t%llu\t%llu", spec_of(r->device), queue, r->call,
            r->kernel[0] != '\0' ? r->kernel : "-", r->bytes,
            (unsigned long long)(r->begin - trace.begin), (unsigned long long)(r->end - r->begin));
    for (cl_profiling_info what = CL_PROFILING_COMMAND_QUEUED; what <= CL_PROFILING_COMMAND_END;
         what++)
        fprintf(file, "\t%llu", (unsigned long long)stamp(r->event, what));
    fputc('\n', file);
}

/* Writes the records of a queue, all of which have ended, and those without a queue. */
static void write_records(cl_command_queue queue)
{
    pthread_mutex_lock(&trace.lock);
    const uint32_t q = queue_number(queue);
    size_t n_ours = 0, kept = 0;
    record *ours = malloc((trace.n_records + 1) * sizeof *ours);
    for (size_t i = 0; ours != NULL && i < trace.n_records; i++) {
        if (trace.records[i].queue == q || trace.records[i].queue == NO_QUEUE)
            ours[n_ours++] = trace.records[i];
        else
            trace.records[kept++] = trace.records[i];
    }
    trace.n_records = kept;
    if (q < NO_QUEUE)
        trace.queues[q].queue = NULL;
    pthread_mutex_unlock(&trace.lock);
    FILE *file = open_file("commands.tsv", "device\tqueue\tcall\tkernel\tbytes\tcall_at\tcall_ns\t"
                                           "queued\tsubmit\tstart\tend\n");
    for (size_t i = 0; i < n_ours; i++) {
        write_record(file, &ours[i]);
        if (ours[i].event != NULL)
            real()->clReleaseEvent(ours[i].event);
    }
    fclose(file);
    free(ours);
}

/* Records a call without a queue. */
static void record_call(const char *name, size_t bytes, uint64_t begin)
{
    const call c = {.name = name, .bytes = bytes, .begin = begin};
    end_call(&c, NULL);
}

/* --- calls that are only passed on --- */

#define PASS(type, name, parameters, arguments)                                                    \
    type CL_API_CALL name parameters                                                               \
    {                                                                                              \
        return real()->name arguments;                                                             \
    }

PASS(cl_int, clGetPlatformInfo,
     (cl_platform_id platform, cl_platform_info what, size_t cap, void *out, size_t *len),
     (platform, what, cap, out, len))
PASS(cl_int, clGetDeviceInfo,
     (cl_device_id device, cl_device_info what, size_t cap, void *out, size_t *len),
     (device, what, cap, out, len))
PASS(cl_int, clReleaseContext, (cl_context context), (context))
PASS(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint n, const char **text, const size_t *len, cl_int *code),
     (context, n, text, len, code))
PASS(cl_program, clCreateProgramWithBinary,
     (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *len,
      const unsigned char **binary, cl_int *of_binary, cl_int *code),
     (context, n, devices, len, binary, of_binary, code))
PASS(cl_int, clGetProgramBuildInfo,
     (cl_program program, cl_device_id device, cl_program_build_info what, size_t cap, void *out,
      size_t *len),
     (program, device, what, cap, out, len))
PASS(cl_int, clGetProgramInfo,
     (cl_program program, cl_program_info what, size_t cap, void *out, size_t *len),
     (program, what, cap, out, len))
PASS(cl_int, clReleaseProgram, (cl_program program), (program))
PASS(cl_int, clReleaseKernel, (cl_kernel kernel), (kernel))
PASS(cl_int, clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t len, const void *value),
     (kernel, index, len, value))
PASS(cl_int, clReleaseMemObject, (cl_mem mem), (mem))
PASS(cl_int, clGetEventProfilingInfo,
     (cl_event event, cl_profiling_info what, size_t cap, void *out, size_t *len),
     (event, what, cap, out, len))
PASS(cl_int, clReleaseEvent, (cl_event event), (event))
PASS(cl_int, clRetainEvent, (cl_event event), (event))

/* --- platforms and devices --- */

cl_int CL_API_CALL clGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *n_out)
{
    const uint64_t begin = now();
    const cl_int code = real()->clGetPlatformIDs(n, out, n_out);
    record_call("clGetPlatformIDs", 0, begin);
    pthread_mutex_lock(&trace.lock);
    for (cl_uint p = 0; code == CL_SUCCESS && out != NULL && n_out != NULL && p < *n_out && p < n &&
                        p < MAX_DEVICES;
         p++) {
        trace.platforms[p] = out[p];
        trace.n_platforms = p + 1;
    }
    pthread_mutex_unlock(&trace.lock);
    return code;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n,
                                  cl_device_id *out, cl_uint *n_out)
{
    const uint64_t begin = now();
    const cl_int code = real()->clGetDeviceIDs(platform, type, n, out, n_out);
    record_call("clGetDeviceIDs", 0, begin);
    pthread_mutex_lock(&trace.lock);
    size_t p = 0;
    while (p < trace.n_platforms && trace.platforms[p] != platform)
        p++;
    for (cl_uint d = 0; code == CL_SUCCESS && out != NULL && n_out != NULL && d < *n_out && d < n &&
                        trace.n_devices < MAX_DEVICES;
         d++) {
        if (device_number(out[d]) != NO_DEVICE)
            continue;
        trace.devices[trace.n_devices].id = out[d];
        snprintf(trace.devices[trace.n_devices].spec, sizeof trace.devices[0].spec, "opencl:%zu.%u",
                 p, d);
        trace.n_devices++;
    }
    pthread_mutex_unlock(&trace.lock);
    return code;
}

cl_context CL_API_CALL clCreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *ctx, cl_int *code)
{
    const uint64_t begin = now();
    cl_context context = real()->clCreateContext(properties, n, devices, notify, ctx, code);
    record_call("clCreateContext", 0, begin);
    return context;
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int *code)
{
    cl_command_queue queue =
        real()->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, code);
    pthread_mutex_lock(&trace.lock);
    if (queue != NULL && trace.n_queues < MAX_QUEUES) {
        trace.queues[trace.n_queues].queue = queue;
        trace.queues[trace.n_queues++].device = device_number(device);
    }
    pthread_mutex_unlock(&trace.lock);
    return queue;
}

cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue)
{
    real()->clFinish(queue);
    write_records(queue);
    return real()->clReleaseCommandQueue(queue);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                                  cl_int *code)
{
    const uint64_t begin = now();
    cl_mem mem = real()->clCreateBuffer(context, flags, bytes, host, code);
    record_call("clCreateBuffer", bytes, begin);
    return mem;
}

/* --- programs and kernels --- */

/* Writes the log and the binary of program number `n` for one device. */
static void write_program(cl_program program, cl_device_id device, unsigned n, cl_int code)
{
    char name[32];
    size_t len = 0;
    unsigned char *bytes = NULL;
    const bm_cl_api *cl = real();
    snprintf(name, sizeof name, "%u.log", n);
    if (cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &len) ==
            CL_SUCCESS &&
        (bytes = calloc(1, len + 1)) != NULL &&
        cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, len, bytes, NULL) ==
            CL_SUCCESS)
        write_bytes(name, bytes, strlen((char *)bytes));
    free(bytes);
    bytes = NULL;
    snprintf(name, sizeof name, "%u.bin", n);
    if (code == CL_SUCCESS &&
        cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof len, &len, NULL) ==
            CL_SUCCESS &&
        len > 0 && (bytes = calloc(1, len)) != NULL &&
        cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) ==
            CL_SUCCESS)
        write_bytes(name, bytes, len);
    free(bytes);
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                  const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                  void *ctx)
{
    size_t source = 0;
    const uint64_t begin = now();
    const cl_int code = real()->clBuildProgram(program, n, devices, options, done, ctx);
    const uint64_t end = now();
    real()->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &source);
    pthread_mutex_lock(&trace.lock);
    const unsigned number = trace.n_programs++;
    FILE *file = open_file("builds.tsv", "program\tdevice\tfrom\tbuild_ns\tcode\toptions\n");
    fprintf(file, "%u\t%s\t%s\t%llu\t%d\t%s\n", number,
            spec_of(n == 1 ? device_number(devices[0]) : NO_DEVICE),
            source > 1 ? "source" : "binary", (unsigned long long)(end - begin), (int)code,
            options != NULL ? options : "");
    fclose(file);
    pthread_mutex_unlock(&trace.lock);
    if (n == 1)
        write_program(program, devices[0], number, code);
    return code;
}

static uint64_t kernel_fact(cl_kernel kernel, cl_kernel_work_group_info what, size_t len)
{
    cl_ulong value = 0;
    if (trace.kernel_info == NULL ||
        trace.kernel_info(kernel, NULL, what, len, &value, NULL) != CL_SUCCESS)
        return 0;
    return value;
}

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    cl_kernel kernel = real()->clCreateKernel(program, name, code);
    if (kernel == NULL)
        return NULL;
    const uint64_t local = kernel_fact(kernel, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(cl_ulong));
    const uint64_t private = kernel_fact(kernel, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(cl_ulong));
    const uint64_t multiple =
        kernel_fact(kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(size_t));
    const uint64_t most = kernel_fact(kernel, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size_t));
    pthread_mutex_lock(&trace.lock);
    const size_t at = trace.n_kernels++ % MAX_KERNELS;
    trace.kernels[at].kernel = kernel;
    snprintf(trace.kernels[at].name, sizeof trace.kernels[at].name, "%s", name);
    FILE *file = open_file("kernels.tsv", "program\tkernel\tlocal_bytes\tprivate_bytes\tmultiple\t"
                                          "most_items\n");
    fprintf(file, "%u\t%s\t%llu\t%llu\t%llu\t%llu\n", trace.n_programs - 1, name,
            (unsigned long long)local, (unsigned long long)private, (unsigned long long)multiple,
            (unsigned long long)most);
    fclose(file);
    pthread_mutex_unlock(&trace.lock);
    return kernel;
}

/* --- commands --- */

/* Makes both the caller's event, if it wants one, and ours. */
static cl_event shared(cl_int code, cl_event *theirs, cl_event ours)
{
    if (code != CL_SUCCESS)
        return NULL;
    if (theirs != NULL)
        real()->clRetainEvent(*theirs);
    return theirs != NULL ? *theirs : ours;
}

/* Pass a command on; `event` names the caller's pointer in the arguments. */
#define COMMAND(name, parameters, arguments, n_bytes, of_kernel)                                   \
    cl_int CL_API_CALL name parameters                                                             \
    {                                                                                              \
        const call c = begin_call(#name, queue, n_bytes, of_kernel);                               \
        cl_event *const theirs = event;                                                            \
        cl_event ours = NULL;                                                                      \
        if (c.recorded && event == NULL)                                                           \
            event = &ours;                                                                         \
        const cl_int code = real()->name arguments;                                                \
        if (c.recorded)                                                                            \
            end_call(&c, shared(code, theirs, ours));                                              \
        return code;                                                                               \
    }

COMMAND(clEnqueueUnmapMemObject,
        (cl_command_queue queue, cl_mem mem, void *mapped, cl_uint n_before, const cl_event *before,
         cl_event *event),
        (queue, mem, mapped, n_before, before, event), 0, NULL)
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem mem, cl_bool wait, size_t at, size_t len, const void *data,
         cl_uint n_before, const cl_event *before, cl_event *event),
        (queue, mem, wait, at, len, data, n_before, before, event), len, NULL)
COMMAND(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem mem, cl_bool wait, size_t at, size_t len, void *data,
         cl_uint n_before, const cl_event *before, cl_event *event),
        (queue, mem, wait, at, len, data, n_before, before, event), len, NULL)
COMMAND(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
         const size_t *global, const size_t *local, cl_uint n_before, const cl_event *before,
         cl_event *event),
        (queue, kernel, dims, offset, global, local, n_before, before, event), 0, kernel)

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                                     cl_map_flags flags, size_t at, size_t len, cl_uint n_before,
                                     const cl_event *before, cl_event *event, cl_int *code)
{
    const call c = begin_call("clEnqueueMapBuffer", queue, len, NULL);
    cl_event ours = NULL;
    cl_int answer = CL_SUCCESS;
    void *mapped = real()->clEnqueueMapBuffer(queue, mem, wait, flags, at, len, n_before, before,
                                              c.recorded && event == NULL ? &ours : event, &answer);
    if (c.recorded)
        end_call(&c, shared(answer, event, ours));
    if (code != NULL)
        *code = answer;
    return mapped;
}

cl_int CL_API_CALL clFlush(cl_command_queue queue)
{
    const call c = begin_call("clFlush", queue, 0, NULL);
    const cl_int code = real()->clFlush(queue);
    if (c.recorded)
        end_call(&c, NULL);
    return code;
}

cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
    const call c = begin_call("clFinish", queue, 0, NULL);
    const cl_int code = real()->clFinish(queue);
    if (c.recorded)
        end_call(&c, NULL);
    return code;
}

/* A wait has no queue: it is recorded while batches of any device are. */
cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *events)
{
    const uint64_t begin = now();
    const cl_int code = real()->clWaitForEvents(n, events);
    bool recorded = false;
    pthread_mutex_lock(&trace.lock);
    for (size_t d = 0; d < trace.n_devices; d++)
        recorded = recorded || trace.devices[d].batches < trace.batches;
    pthread_mutex_unlock(&trace.lock);
    if (recorded)
        record_call("clWaitForEvents", 0, begin);
    return code;
}

/* Each function that Bandmill looks up is here: one that is missing does not link. */
extern void (*const cl_trace_calls[])(void);
#define ADDRESS(name) (void (*)(void)) name,
void (*const cl_trace_calls[])(void) = {BM_CL_FUNCTIONS(ADDRESS)};
