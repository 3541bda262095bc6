/* SPDX-License-Identifier: Apache-2.0 */
/* fake_icd.c -- an OpenCL driver with one device that can be listed but not used. An environment
 * variable can break the listing too:
 *
 *     FAKE_ICD=ACTION:WHERE   do ACTION when the driver reaches WHERE
 *
 *     ACTION   hang, abort, segv, exit0, exit1, exit_now (_exit(0)); claim: report 2^32-1 platforms
 *              or devices; garbage: return pointers that lead nowhere; null: return success but no
 *              objects; endless: return texts without an end, whose size changes with each query;
 *              gpu: the device is a GPU (WHERE must be `type`)
 *     WHERE    load (the constructor), platforms, devices, info (queries of the device), context
 *              (clCreateContext)
 *
 *     FAKE_ICD_LOG=FILE       append a letter each time that the devices are queried: t in a
 *                             process of `__probe-opencl`, j in a job
 *
 * If its file is named empty*.so, the driver reports that it has no device (-1). If it is named
 * failing*.so, querying devices fails (-6).
 *
 * It works as an ICD behind a loader, and as a loader itself under the name libOpenCL.so.1. It
 * includes no OpenCL header, so its functions may have other types than the headers declare. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    NOT_FOUND = -1,
    OUT_OF_HOST_MEMORY = -6,
    INVALID_VALUE = -30,
    NO_PLATFORM = -1001,
    N_DISPATCH = 200
};

typedef struct object { /* a platform or a device; the loader expects a table of functions first */
    void *const *dispatch;
} object;

static int wanted(const char *action, const char *where)
{
    char both[64];
    const char *fault = getenv("FAKE_ICD");
    snprintf(both, sizeof both, "%s:%s", action, where);
    return fault != NULL && strcmp(fault, both) == 0;
}

static void reach(const char *where)
{
    volatile uintptr_t nowhere = 16;
    while (wanted("hang", where))
        pause();
    if (wanted("abort", where)) {
        fputs("fake driver: assertion failed\n", stderr);
        abort();
    }
    if (wanted("segv", where))
        *(volatile int *)nowhere = 1;
    if (wanted("exit0", where) || wanted("exit1", where))
        exit(wanted("exit1", where));
    if (wanted("exit_now", where))
        _exit(0);
}

__attribute__((constructor)) static void loaded(void)
{
    reach("load");
}

static void log_asked(void)
{
    char args[4096];
    const char *log = getenv("FAKE_ICD_LOG");
    if (log == NULL)
        return;
    int in = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(in, args, sizeof args);
    close(in);
    const int trial = n > 0 && memmem(args, (size_t)n, "__probe-opencl", 14) != NULL;
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, trial ? "t" : "j", 1) != 1)
        abort();
    close(fd);
}

static int answer(const void *value, size_t len, size_t cap, void *out, size_t *n_out)
{
    if (n_out != NULL)
        *n_out = len;
    if (out == NULL)
        return SUCCESS;
    if (cap < len)
        return INVALID_VALUE;
    memcpy(out, value, len);
    return SUCCESS;
}

static int answer_text(const char *text, size_t cap, void *out, size_t *n_out)
{
    static size_t changing = 7;
    if (!wanted("endless", "info"))
        return answer(text, strlen(text) + 1, cap, out, n_out);
    if (out != NULL)
        memset(out, '\x9b', cap);
    if (n_out != NULL)
        *n_out = changing = changing * 5 % 4099;
    return SUCCESS;
}

/* --- the facts of the driver --- */

static object platform, device;

/* Does the name of the file that this code was loaded from begin like this? */
static int is_named(const char *begin)
{
    Dl_info here;
    if (dladdr(&platform, &here) == 0 || here.dli_fname == NULL)
        return 0;
    const char *slash = strrchr(here.dli_fname, '/');
    return strncmp(slash != NULL ? slash + 1 : here.dli_fname, begin, strlen(begin)) == 0;
}

static int platform_info(object *of, uint32_t what, size_t cap, void *out, size_t *n_out)
{
    static const char *const texts[] = {"FULL_PROFILE", "OpenCL 1.2 fake", "Fake\x1b[31m platform",
                                        "nobody", "cl_khr_icd"};
    (void)of;
    if (what >= 0x0900 && what < 0x0900 + 5) /* CL_PLATFORM_PROFILE to CL_PLATFORM_EXTENSIONS */
        return answer_text(texts[what - 0x0900], cap, out, n_out);
    if (what == 0x0920) /* CL_PLATFORM_ICD_SUFFIX_KHR */
        return answer_text("FAKE", cap, out, n_out);
    return INVALID_VALUE;
}

static int device_info(object *of, uint32_t what, size_t cap, void *out, size_t *n_out)
{
    uint64_t number = 1 << 20;
    (void)of;
    reach("info");
    switch (what) {
    case 0x102B: /* CL_DEVICE_NAME */
        return answer_text("Fake device", cap, out, n_out);
    case 0x102C: /* _VENDOR */
    case 0x102D: /* _DRIVER_VERSION */
    case 0x102E: /* _PROFILE */
    case 0x102F: /* _VERSION */
        return answer_text("OpenCL 1.2 fake", cap, out, n_out);
    case 0x1000: /* CL_DEVICE_TYPE: a CPU, so that `auto` does not choose it */
        number = wanted("gpu", "type") ? 4 : 2;
        break;
    case 0x1010: /* _MAX_MEM_ALLOC_SIZE */
    case 0x101F: /* _GLOBAL_MEM_SIZE */
    case 0x1004: /* _MAX_WORK_GROUP_SIZE */
        break;
    default: /* true, or 1 */
        number = 1;
    }
    if (n_out != NULL)
        *n_out = cap;
    if (out != NULL)
        memcpy(out, &number, cap < sizeof number ? cap : sizeof number);
    return SUCCESS;
}

/* Returns one object, or what the requested fault makes of it. */
static int one_object(const char *where, object *real, uint32_t cap, object **out, uint32_t *n_out)
{
    reach(where);
    if (n_out != NULL)
        *n_out = wanted("claim", where) ? UINT32_MAX : 1;
    if (out != NULL && cap > 0 && !wanted("null", where))
        out[0] = wanted("garbage", where) ? (object *)(uintptr_t)0x5A5A5A5A5A58 : real;
    return SUCCESS;
}

static int device_ids(object *of, uint64_t type, uint32_t cap, object **out, uint32_t *n_out)
{
    (void)of;
    (void)type;
    log_asked();
    if (is_named("empty") || is_named("failing"))
        return is_named("empty") ? NOT_FOUND : OUT_OF_HOST_MEMORY;
    return one_object("devices", &device, cap, out, n_out);
}

/* --- as an ICD --- */

EXPORT int clIcdGetPlatformIDsKHR(uint32_t cap, object **out, uint32_t *n_out);
EXPORT void *clGetExtensionFunctionAddress(const char *name);

static void *dispatch[N_DISPATCH];

int clIcdGetPlatformIDsKHR(uint32_t cap, object **out, uint32_t *n_out)
{
    return one_object("platforms", &platform, cap, out, n_out);
}

void *clGetExtensionFunctionAddress(const char *name)
{
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)clIcdGetPlatformIDsKHR : NULL;
}

__attribute__((constructor)) static void fill(void)
{
    for (int i = 0; i < N_DISPATCH; i++)
        dispatch[i] = (void *)abort;
    dispatch[0] = (void *)clIcdGetPlatformIDsKHR;
    dispatch[1] = (void *)platform_info;
    dispatch[2] = (void *)device_ids;
    dispatch[3] = (void *)device_info;
    platform.dispatch = device.dispatch = dispatch;
}

/* --- as a loader --- */

EXPORT int clGetPlatformIDs(uint32_t cap, object **out, uint32_t *n_out);
EXPORT int clGetPlatformInfo(object *of, uint32_t what, size_t cap, void *out, size_t *n_out);
EXPORT int clGetDeviceIDs(object *of, uint64_t type, uint32_t cap, object **out, uint32_t *n_out);
EXPORT int clGetDeviceInfo(object *of, uint32_t what, size_t cap, void *out, size_t *n_out);

int clGetPlatformIDs(uint32_t cap, object **out, uint32_t *n_out)
{
    return one_object("platforms", &platform, cap, out, n_out);
}

/* Follows an invalid platform pointer, as a real loader does. */
int clGetPlatformInfo(object *of, uint32_t what, size_t cap, void *out, size_t *n_out)
{
    return of->dispatch == dispatch ? platform_info(of, what, cap, out, n_out) : INVALID_VALUE;
}

int clGetDeviceIDs(object *of, uint64_t type, uint32_t cap, object **out, uint32_t *n_out)
{
    return of->dispatch == dispatch ? device_ids(of, type, cap, out, n_out) : INVALID_VALUE;
}

int clGetDeviceInfo(object *of, uint32_t what, size_t cap, void *out, size_t *n_out)
{
    return of->dispatch == dispatch ? device_info(of, what, cap, out, n_out) : INVALID_VALUE;
}

#define STUB(name)                                                                                 \
    EXPORT void name(void);                                                                        \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }

EXPORT void *clCreateContext(void);
void *clCreateContext(void)
{
    reach("context");
    abort();
}
STUB(clReleaseContext)
STUB(clCreateCommandQueue)
STUB(clReleaseCommandQueue)
STUB(clCreateProgramWithSource)
STUB(clCreateProgramWithBinary)
STUB(clBuildProgram)
STUB(clGetProgramBuildInfo)
STUB(clGetProgramInfo)
STUB(clReleaseProgram)
STUB(clCreateKernel)
STUB(clReleaseKernel)
STUB(clSetKernelArg)
STUB(clCreateBuffer)
STUB(clReleaseMemObject)
STUB(clEnqueueMapBuffer)
STUB(clEnqueueUnmapMemObject)
STUB(clEnqueueWriteBuffer)
STUB(clEnqueueReadBuffer)
STUB(clEnqueueNDRangeKernel)
STUB(clFlush)
STUB(clFinish)
STUB(clWaitForEvents)
STUB(clGetEventProfilingInfo)
STUB(clReleaseEvent)
STUB(clRetainEvent)
