/* SPDX-License-Identifier: Apache-2.0 */
/* cl_shim.c -- an OpenCL loader that fails on demand.
 *
 * It is built as libOpenCL.so.1 and found first (LD_LIBRARY_PATH). It passes every call that the
 * backend looks up to the real loader, CL_SHIM_REAL, and misbehaves as the environment says. The
 * tested program is the real one; it cannot tell the shim from a bad driver.
 *
 *     CL_SHIM_FAIL=CALL:N[+]:WHAT   the N-th call of CALL (any: of all that return a code), and
 *                                   with + all later ones, do WHAT instead: a number is the code
 *                                   to return; `abort` and `exit` end the process; `hang` waits for
 *                                   ever; `skip` returns success with nothing done
 *     CL_SHIM_FLIP=N[+]:BYTE:STEP   when the N-th read-back (and with + each later one) has
 *                                   arrived, flip one bit of BYTE and, if STEP > 0, of every
 *                                   STEP-th byte after it
 *     CL_SHIM_TYPE=gpu | listed     devices are GPUs: always, or only in the listing from which
 *                                   `--device auto` chooses. The listing is a process of its own
 *                                   (`__probe-opencl list`), otherwise the job's first query of a
 *                                   device's type
 *     CL_SHIM_SEPARATE=1            devices do not share the host's memory
 *     CL_SHIM_VERSION=TEXT          devices report this CL_DEVICE_VERSION
 *     CL_SHIM_COMPILER=SHAPE:WHAT   the compiler cannot do a shape of the kernels, `cpu`, `gpu` or
 *                                   `both` (recognised by the options of a build). It may `fail`
 *                                   with a log of its own, fail with an `empty` log, `abort`, or
 *                                   build `wrong`: a bit of each read-back is flipped
 *     CL_SHIM_WHERE=job | trial     misbehave only in the job, or only in its trial run (a process
 *                                   of its own, `__probe-opencl`); unset: in both. Calls never fail
 *                                   in a process that lists devices
 *     CL_SHIM_LOG=FILE              append "fault CALL N" for each fault; "listed PID" in a process
 *                                   that lists devices for process PID; "read N" for each
 *                                   read-back; "map FLAGS" for each map; "kernel N" for each kernel
 *                                   that waits for N events; and "calls CALL N" when the process
 *                                   ends
 *
 * A read-back is clEnqueueReadBuffer, or a map for reading only. Its bytes count as arrived when
 * its event, a later event of its queue, or the queue itself has been waited for. The list of calls
 * is the backend's own, so a call without a wrapper here does not link. A clFinish that fails has
 * still finished: otherwise no caller could wait for the queue's commands and protect the memory
 * that they still write. A clWaitForEvents that fails has not waited. One lock guards all
 * counts. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opencl/cl_load.h"

#define MAX_READS 64

enum {
#define INDEX(name) AT_##name,
    BM_CL_FUNCTIONS(INDEX)
#undef INDEX
        N_CALLS
};

static const char *const names[] = {
#define NAME(name) #name,
    BM_CL_FUNCTIONS(NAME)
#undef NAME
};

typedef struct which {
    unsigned long from;
    bool on; /* with all later ones */
} which;

typedef struct read_back {
    cl_command_queue queue;
    cl_event event;
    unsigned char *data;
    size_t len;
    unsigned long number;
} read_back;

static struct shim {
    pthread_once_t once;
    pthread_mutex_t lock;
    bm_cl_api real;
    int log;
    unsigned long n_all, n_of[N_CALLS], n_reads, n_types;
    int fail_call; /* N_CALLS: any call */
    which fail, flip;
    char fail_what[16];
    size_t flip_byte, flip_step;
    struct {
        bool gpu, listed, separate;
        const char *version;
    } lies; /* false facts about the device */
    struct {
        char shape[8], what[8]; /* "": the compiler works */
        const char *built;      /* the shape of the last build */
        bool failed;            /* the compiler failed that shape */
    } compiler;
    read_back reads[MAX_READS];
    size_t n_pending;
} shim = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .log = -1};

static void die(const char *what, const char *value)
{
    fprintf(stderr, "cl_shim: %s: %s\n", what, value);
    _exit(99);
}

static void say(const char *word, const char *name, unsigned long n)
{
    char line[96];
    int len = snprintf(line, sizeof line, "%s %s%s%lu\n", word, name, *name != '\0' ? " " : "", n);
    if (shim.log >= 0 && write(shim.log, line, (size_t)len) != len)
        die("cannot write", "CL_SHIM_LOG");
}

static void parse_fail(const char *text)
{
    char call[48], plus[2] = "";
    if (sscanf(text, "%47[^:]:%lu%1[+]:%15s", call, &shim.fail.from, plus, shim.fail_what) != 4 &&
        sscanf(text, "%47[^:]:%lu:%15s", call, &shim.fail.from, shim.fail_what) != 3)
        die("CL_SHIM_FAIL", text);
    shim.fail.on = strchr(text, '+') != NULL;
    for (shim.fail_call = 0; shim.fail_call < N_CALLS; ++shim.fail_call)
        if (strcmp(names[shim.fail_call], call) == 0)
            return;
    if (strcmp(call, "any") != 0)
        die("CL_SHIM_FAIL: no such call", call);
}

static void parse_flip(const char *text)
{
    char plus[2] = "";
    if (sscanf(text, "%lu%1[+]:%zu:%zu", &shim.flip.from, plus, &shim.flip_byte, &shim.flip_step) !=
            4 &&
        sscanf(text, "%lu:%zu:%zu", &shim.flip.from, &shim.flip_byte, &shim.flip_step) != 3)
        die("CL_SHIM_FLIP", text);
    shim.flip.on = plus[0] == '+';
}

static void parse_compiler(const char *text)
{
    if (sscanf(text, "%7[^:]:%7s", shim.compiler.shape, shim.compiler.what) != 2)
        die("CL_SHIM_COMPILER", text);
}

/* Reads the beginning of a file: of /proc/self/cmdline, and of the log. */
static size_t read_head(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, cap);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

typedef enum place { JOB, TRIAL, LISTING } place;

static place where_are_we(void)
{
    static const char list[] = "__probe-opencl\0list";
    char args[4096];
    const size_t n = read_head("/proc/self/cmdline", args, sizeof args);
    if (n == 0)
        die("cannot read", "/proc/self/cmdline");
    if (memmem(args, n, list, sizeof list) != NULL)
        return LISTING;
    return memmem(args, n, list, strlen(list)) != NULL ? TRIAL : JOB;
}

/* Has another process listed the devices for this one? */
static bool was_told(const char *log)
{
    char line[48], text[8192];
    const size_t n = log != NULL ? read_head(log, text, sizeof text) : 0;
    const int len = snprintf(line, sizeof line, "listed %ld\n", (long)getpid());
    return memmem(text, n, line, (size_t)len) != NULL;
}

static void load(void)
{
    void *library = dlopen(CL_SHIM_REAL, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        die("dlopen", dlerror());
#define FIND(name)                                                                                 \
    *(void **)(void *)&shim.real.name = dlsym(library, #name);                                     \
    if (shim.real.name == NULL)                                                                    \
        die("the real loader lacks", #name);
    BM_CL_FUNCTIONS(FIND)
#undef FIND
    const char *where = getenv("CL_SHIM_WHERE"), *type = getenv("CL_SHIM_TYPE");
    const char *fail = getenv("CL_SHIM_FAIL"), *flip = getenv("CL_SHIM_FLIP");
    const char *log = getenv("CL_SHIM_LOG"), *compiler = getenv("CL_SHIM_COMPILER");
    const place at = where_are_we();
    const bool here =
        at != LISTING && (where == NULL || strcmp(where, at == TRIAL ? "trial" : "job") == 0);
    if (log != NULL && (shim.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        die("cannot open", log);
    if (here && fail != NULL)
        parse_fail(fail);
    if (here && flip != NULL)
        parse_flip(flip);
    if (here && compiler != NULL)
        parse_compiler(compiler);
    shim.lies.version = getenv("CL_SHIM_VERSION");
    const bool listed = type != NULL && strcmp(type, "listed") == 0;
    shim.lies.gpu = type != NULL && (strcmp(type, "gpu") == 0 || (listed && at == LISTING));
    shim.lies.listed = listed && at == JOB && !was_told(log);
    if (at == LISTING)
        say("listed", "", (unsigned long)getppid());
    shim.lies.separate = getenv("CL_SHIM_SEPARATE") != NULL;
}

static const bm_cl_api *real(void)
{
    pthread_once(&shim.once, load);
    return &shim.real;
}

__attribute__((destructor)) static void leave(void)
{
    for (int i = 0; i < N_CALLS; ++i)
        if (shim.n_of[i] > 0)
            say("calls", names[i], shim.n_of[i]);
}

static bool hits(which w, unsigned long n)
{
    return w.from > 0 && (n == w.from || (w.on && n > w.from));
}

/* Counts a call. True: the call must return *code and do nothing. */
static bool faulty(int call, cl_int *code)
{
    real();
    pthread_mutex_lock(&shim.lock);
    const unsigned long n = ++shim.n_of[call], all = ++shim.n_all;
    const bool any = shim.fail_call == N_CALLS;
    const bool hit = (any || shim.fail_call == call) && hits(shim.fail, any ? all : n);
    if (hit)
        say("fault", names[call], any ? all : n);
    pthread_mutex_unlock(&shim.lock);
    if (!hit)
        return false;
    if (strcmp(shim.fail_what, "abort") == 0)
        abort();
    if (strcmp(shim.fail_what, "exit") == 0)
        exit(1);
    while (strcmp(shim.fail_what, "hang") == 0)
        pause();
    *code = strcmp(shim.fail_what, "skip") == 0 ? CL_SUCCESS : (cl_int)atoi(shim.fail_what);
    return true;
}

static void reading(cl_command_queue queue, cl_event event, void *data, size_t len)
{
    pthread_mutex_lock(&shim.lock);
    if (shim.n_pending == MAX_READS)
        die("too many read-backs under way", "");
    shim.reads[shim.n_pending++] = (read_back){queue, event, data, len, ++shim.n_reads};
    say("read", "", shim.n_reads);
    pthread_mutex_unlock(&shim.lock);
}

static void flip_bits(const read_back *r)
{
    if (shim.compiler.failed) {
        say("fault", "wrong", r->number);
        r->data[0] ^= 0x10;
    }
    if (!hits(shim.flip, r->number) || shim.flip_byte >= r->len)
        return;
    for (size_t at = shim.flip_byte; at < r->len; at += shim.flip_step) {
        r->data[at] ^= 0x10;
        if (shim.flip_step == 0)
            break;
    }
    say("fault", "flip", r->number);
}

/* Everything enqueued on `queue` up to `event` (NULL: all) has arrived. */
static void arrived(cl_command_queue queue, cl_event event)
{
    pthread_mutex_lock(&shim.lock);
    size_t end = shim.n_pending, kept = 0;
    for (size_t i = 0; event != NULL && i < shim.n_pending; ++i)
        if (shim.reads[i].event == event) {
            queue = shim.reads[i].queue;
            end = i + 1;
        }
    for (size_t i = 0; i < shim.n_pending; ++i) {
        if (i < end && shim.reads[i].queue == queue)
            flip_bits(&shim.reads[i]);
        else
            shim.reads[kept++] = shim.reads[i];
    }
    shim.n_pending = kept;
    pthread_mutex_unlock(&shim.lock);
}

/* --- calls that return a code --- */

#define CODE(name, parameters, arguments)                                                          \
    cl_int CL_API_CALL name parameters                                                             \
    {                                                                                              \
        cl_int code;                                                                               \
        return faulty(AT_##name, &code) ? code : real()->name arguments;                           \
    }

CODE(clGetPlatformIDs, (cl_uint n, cl_platform_id *out, cl_uint *n_out), (n, out, n_out))
CODE(clGetPlatformInfo,
     (cl_platform_id platform, cl_platform_info what, size_t cap, void *out, size_t *len),
     (platform, what, cap, out, len))
CODE(clGetDeviceIDs,
     (cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *out, cl_uint *n_out),
     (platform, type, n, out, n_out))
CODE(clReleaseContext, (cl_context context), (context))
CODE(clReleaseCommandQueue, (cl_command_queue queue), (queue))
CODE(clGetProgramInfo,
     (cl_program program, cl_program_info what, size_t cap, void *out, size_t *len),
     (program, what, cap, out, len))
CODE(clReleaseProgram, (cl_program program), (program))
CODE(clReleaseKernel, (cl_kernel kernel), (kernel))
CODE(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t len, const void *value),
     (kernel, index, len, value))
CODE(clReleaseMemObject, (cl_mem mem), (mem))
CODE(clEnqueueUnmapMemObject,
     (cl_command_queue queue, cl_mem mem, void *mapped, cl_uint n_before, const cl_event *before,
      cl_event *event),
     (queue, mem, mapped, n_before, before, event))
CODE(clEnqueueWriteBuffer,
     (cl_command_queue queue, cl_mem mem, cl_bool wait, size_t at, size_t len, const void *data,
      cl_uint n_before, const cl_event *before, cl_event *event),
     (queue, mem, wait, at, len, data, n_before, before, event))
CODE(clFlush, (cl_command_queue queue), (queue))
CODE(clGetEventProfilingInfo,
     (cl_event event, cl_profiling_info what, size_t cap, void *out, size_t *len),
     (event, what, cap, out, len))
CODE(clReleaseEvent, (cl_event event), (event))
CODE(clRetainEvent, (cl_event event), (event))

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t *offset, const size_t *global,
                                          const size_t *local, cl_uint n_before,
                                          const cl_event *before, cl_event *event)
{
    cl_int code;
    if (faulty(AT_clEnqueueNDRangeKernel, &code))
        return code;
    pthread_mutex_lock(&shim.lock);
    say("kernel", "", n_before);
    pthread_mutex_unlock(&shim.lock);
    return real()->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n_before,
                                          before, event);
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                  const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                  void *ctx)
{
    cl_int code;
    if (faulty(AT_clBuildProgram, &code))
        return code;
    const char *what = shim.compiler.what, *shape = shim.compiler.shape;
    const char *built = strstr(options, "-DBM_TEAM=") != NULL    ? "gpu"
                        : strstr(options, "-DBM_LANES=") != NULL ? "cpu"
                                                                 : "none: a binary";
    pthread_mutex_lock(&shim.lock);
    shim.compiler.built = built;
    shim.compiler.failed =
        what[0] != '\0' && (strcmp(shape, "both") == 0 || strcmp(shape, built) == 0);
    if (shim.compiler.failed)
        say("fault", "compiler", shim.n_of[AT_clBuildProgram]);
    pthread_mutex_unlock(&shim.lock);
    if (!shim.compiler.failed || strcmp(what, "wrong") == 0)
        return real()->clBuildProgram(program, n, devices, options, done, ctx);
    if (strcmp(what, "abort") == 0) {
        fputs("noise of a driver\nLLVM ERROR: the shim cannot do this shape\n", stderr);
        abort();
    }
    return CL_BUILD_PROGRAM_FAILURE;
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                         cl_program_build_info what, size_t cap, void *out,
                                         size_t *len)
{
    cl_int code;
    if (faulty(AT_clGetProgramBuildInfo, &code))
        return code;
    if (!shim.compiler.failed || what != CL_PROGRAM_BUILD_LOG)
        return real()->clGetProgramBuildInfo(program, device, what, cap, out, len);
    char log[64] = "\n";
    if (strcmp(shim.compiler.what, "fail") == 0)
        snprintf(log, sizeof log, "no %s shape here\n", shim.compiler.built);
    if (len != NULL)
        *len = strlen(log) + 1;
    if (out != NULL)
        memcpy(out, log, strlen(log) + 1 < cap ? strlen(log) + 1 : cap);
    return CL_SUCCESS;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t cap, void *out,
                                   size_t *len)
{
    cl_int code;
    if (faulty(AT_clGetDeviceInfo, &code))
        return code;
    code = real()->clGetDeviceInfo(device, what, cap, out, len);
    if (code != CL_SUCCESS || out == NULL)
        return code;
    pthread_mutex_lock(&shim.lock);
    if (what == CL_DEVICE_TYPE && (shim.lies.gpu || (shim.lies.listed && shim.n_types++ == 0)))
        *(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && shim.lies.separate)
        *(cl_bool *)out = CL_FALSE;
    if (what == CL_DEVICE_VERSION && shim.lies.version != NULL)
        snprintf(out, cap, "%s", shim.lies.version);
    pthread_mutex_unlock(&shim.lock);
    return code;
}

cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
    cl_int code;
    const bool fault = faulty(AT_clFinish, &code);
    const cl_int finished = real()->clFinish(queue);
    if (fault)
        return code;
    arrived(queue, NULL);
    return finished;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *events)
{
    cl_int code;
    if (faulty(AT_clWaitForEvents, &code))
        return code;
    code = real()->clWaitForEvents(n, events);
    for (cl_uint i = 0; i < n; ++i)
        arrived(NULL, events[i]);
    return code;
}

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait, size_t at,
                                       size_t len, void *data, cl_uint n_before,
                                       const cl_event *before, cl_event *event)
{
    cl_int code;
    if (faulty(AT_clEnqueueReadBuffer, &code))
        return code;
    code = real()->clEnqueueReadBuffer(queue, mem, wait, at, len, data, n_before, before, event);
    if (code == CL_SUCCESS)
        reading(queue, event != NULL ? *event : NULL, data, len);
    if (code == CL_SUCCESS && wait)
        arrived(queue, NULL);
    return code;
}

/* --- calls that return an object, and the code through a pointer --- */

#define OBJECT(type, name, parameters, arguments)                                                  \
    type CL_API_CALL name parameters                                                               \
    {                                                                                              \
        cl_int ours;                                                                               \
        if (!faulty(AT_##name, &ours))                                                             \
            return real()->name arguments;                                                         \
        if (code != NULL)                                                                          \
            *code = ours;                                                                          \
        return NULL;                                                                               \
    }

OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *ctx,
        cl_int *code),
       (properties, n, devices, notify, ctx, code))
OBJECT(cl_command_queue, clCreateCommandQueue,
       (cl_context context, cl_device_id device, cl_command_queue_properties properties,
        cl_int *code),
       (context, device, properties, code))
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context context, cl_uint n, const char **text, const size_t *len, cl_int *code),
       (context, n, text, len, code))
OBJECT(cl_program, clCreateProgramWithBinary,
       (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *len,
        const unsigned char **binary, cl_int *of_binary, cl_int *code),
       (context, n, devices, len, binary, of_binary, code))
OBJECT(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code),
       (program, name, code))
OBJECT(cl_mem, clCreateBuffer,
       (cl_context context, cl_mem_flags flags, size_t len, void *host, cl_int *code),
       (context, flags, len, host, code))

void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool wait,
                                     cl_map_flags flags, size_t at, size_t len, cl_uint n_before,
                                     const cl_event *before, cl_event *event, cl_int *code)
{
    cl_int ours;
    if (faulty(AT_clEnqueueMapBuffer, &ours)) {
        *code = ours;
        return NULL;
    }
    void *data =
        real()->clEnqueueMapBuffer(queue, mem, wait, flags, at, len, n_before, before, event, code);
    if (data != NULL) {
        pthread_mutex_lock(&shim.lock);
        say("map", "", (unsigned long)flags);
        pthread_mutex_unlock(&shim.lock);
    }
    if (data != NULL && flags == CL_MAP_READ)
        reading(queue, event != NULL ? *event : NULL, data, len);
    if (data != NULL && flags == CL_MAP_READ && wait)
        arrived(queue, NULL);
    return data;
}
