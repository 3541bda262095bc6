/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_rates.c -- the rates of one OpenCL device: arithmetic, launches, copies, waiting.
 *
 *     arithmetic   each work-item has eight chains of one operation, so that neither memory nor
 *                  latency binds; the first launch is short and compared with the host
 *     launches     kernels that do nothing: one at a time, and a thousand enqueued at once
 *     copies       2 and 64 MiB, up and down, from pinned and from pageable memory; both ways at
 *                  once on two queues
 *     enqueueing   how long each call keeps its thread while a kernel occupies the device
 *     waiting      CPU seconds that a thread uses for each second in which it waits for a kernel
 *
 * Rates come from the device's own clock (profiling) where a row says so, else from the host's. A
 * row that fails has a reason instead of figures, and the others follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/orders.h"
#include "gpu_figures.h"

#define CHAINS       8u
#define TURNS        16u /* operations of a chain per iteration of the loop */
#define GROUP        128u
#define ITEMS        2048u /* per compute unit of a GPU */
#define CHECK_ROUNDS 3u
#define MOST_ROUNDS  (1u << 24)
#define LAUNCHES     1000u
#define MAX_RUNS     200u
#define MIB          ((size_t)1 << 20)
#define BOTH_BYTES   (64 * MIB)

typedef struct device {
    const gpu_api *api;
    const bm_cl_api *cl;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue, other; /* both with profiling */
    size_t items, group;
    uint32_t runs;       /* runs per figure */
    double least;        /* minimum seconds of an arithmetic run */
    uint64_t most_bytes; /* the device's limit of a buffer */
    bool has_dots;
} device;

/* Turns `status` of the call into an error with its name and code. */
static bm_status check(cl_int code, const char *call, bm_error *err)
{
    return code == CL_SUCCESS ? BM_OK : bm_cl_fail(err, code, call);
}

static void key_seconds(bm_json *json, const char *key, double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.9f", seconds);
    bm_json_key(json, key);
    bm_json_raw(json, text);
}

static void key_rate(bm_json *json, const char *key, double rate)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", rate);
    bm_json_key(json, key);
    bm_json_raw(json, text);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, bm_order_double);
    return n == 0 ? 0 : n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Seconds between two time stamps of an event that has ended; 0: the device has no stamps. */
static double between(const device *d, cl_event event, cl_profiling_info from, cl_profiling_info to)
{
    cl_ulong begin = 0, end = 0;
    if (d->cl->clGetEventProfilingInfo(event, from, sizeof begin, &begin, NULL) != CL_SUCCESS ||
        d->cl->clGetEventProfilingInfo(event, to, sizeof end, &end, NULL) != CL_SUCCESS ||
        end < begin)
        return 0;
    return (double)(end - begin) * 1e-9;
}

/* Begins a row's object. end_row closes it, with the reason if the row failed. */
static void begin_row(bm_json *json, const char *what)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "what", what);
}

static void end_row(bm_json *json, bm_status status, const bm_error *why)
{
    if (status != BM_OK)
        bm_json_key_text(json, "why", why->message);
    bm_json_end_object(json);
}

/* --- programs --- */

/* The definitions are source text, since not every driver accepts parentheses in build options. */
static bm_status build(const device *d, const char *definitions, const char *source,
                       cl_program *out, bm_error *err)
{
    const char *texts[] = {definitions, source};
    char log[2048] = "";
    cl_int code;
    *out = d->cl->clCreateProgramWithSource(d->context, 2, texts, NULL, &code);
    BM_TRY(check(code, "clCreateProgramWithSource", err));
    code = d->cl->clBuildProgram(*out, 1, &d->id, "", NULL, NULL);
    if (code == CL_SUCCESS)
        return BM_OK;
    d->cl->clGetProgramBuildInfo(*out, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    return bm_fail(err, BM_ERR_DEVICE, "it does not build (%s): %.400s", bm_cl_code_name(code),
                   log);
}

/* A kernel with its own program. */
typedef struct built {
    cl_program program;
    cl_kernel kernel;
} built;

static void built_reset(const device *d, built *b)
{
    if (b->kernel != NULL)
        d->cl->clReleaseKernel(b->kernel);
    if (b->program != NULL)
        d->cl->clReleaseProgram(b->program);
}

static bm_status build_kernel(const device *d, const char *definitions, const char *source,
                              const char *name, built *out, bm_error *err)
{
    cl_int code;
    BM_TRY(build(d, definitions, source, &out->program, err));
    out->kernel = d->cl->clCreateKernel(out->program, name, &code);
    return check(code, "clCreateKernel", err);
}

static void write_kernel_info(const device *d, cl_kernel kernel, bm_json *json)
{
    static const struct {
        const char *name;
        cl_kernel_work_group_info code;
    } infos[] = {{"local_bytes", CL_KERNEL_LOCAL_MEM_SIZE},
                 {"private_bytes", CL_KERNEL_PRIVATE_MEM_SIZE}};
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        cl_ulong value = 0;
        if (d->api->more.clGetKernelWorkGroupInfo != NULL &&
            d->api->more.clGetKernelWorkGroupInfo(kernel, d->id, infos[i].code, sizeof value,
                                                  &value, NULL) == CL_SUCCESS)
            bm_json_key_uint(json, infos[i].name, value);
    }
}

/* --- arithmetic --- */

/* The definitions give T, the type, and STEP, one operation on x with the constants a, b, c. */
static const char arithmetic_source[] =
    "#ifdef DOTS\n"
    "#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable\n"
    "#endif\n"
    "#ifdef PTX_DOTS\n"
    "inline uint ptx_dot(uint a, uint x) { uint r; asm(\"dp4a.u32.u32 %0,%1,%2,%3;\" : \"=r\"(r) "
    ": \"r\"(a), \"r\"(x), \"r\"(x)); return r; }\n"
    "#endif\n"
    "__kernel void chains(__global T *out, uint rounds, T a, T b, T c)\n"
    "{\n"
    "    T x[8];\n"
    "    const uint item = (uint)get_global_id(0);\n"
    "#pragma unroll\n"
    "    for (uint j = 0; j < 8; ++j)\n"
    "        x[j] = (T)item * 8 + j;\n"
    "    for (uint i = 0; i < rounds; ++i) {\n"
    "#pragma unroll\n"
    "        for (uint k = 0; k < 16; ++k)\n"
    "#pragma unroll\n"
    "            for (uint j = 0; j < 8; ++j)\n"
    "                x[j] = STEP(x[j]);\n"
    "    }\n"
    "    out[item] = ((x[0] ^ x[1]) ^ (x[2] ^ x[3])) ^ ((x[4] ^ x[5]) ^ (x[6] ^ x[7]));\n"
    "}\n";

typedef struct constants {
    uint64_t a, b, c;
} constants;

static uint64_t step_multiply_add(const constants *k, uint64_t x)
{
    return (uint32_t)(k->a * x + k->b);
}

static uint64_t step_add_min(const constants *k, uint64_t x)
{
    const uint64_t v = (uint32_t)(x + k->b);
    return v < k->c ? v : k->c;
}

static uint64_t step_multiply_add_min(const constants *k, uint64_t x)
{
    const uint64_t v = (uint32_t)(k->a * x + k->b);
    return v < k->c ? v : k->c;
}

/* As in sign_gpu.cl: two values and the least so far. */
static uint64_t step_min_of_three(const constants *k, uint64_t x)
{
    const uint64_t v = (uint32_t)(k->a * x + k->b), w = (uint32_t)(k->b * x + k->a);
    const uint64_t least = v < w ? v : w;
    return least < k->c ? least : k->c;
}

static uint64_t step_24_bits(const constants *k, uint64_t x)
{
    return (uint32_t)((k->a & 0xFFFFFF) * (x & 0xFFFFFF) + k->b);
}

static uint64_t step_high_half(const constants *k, uint64_t x)
{
    return (uint32_t)((k->a * x >> 32) + k->b);
}

static uint64_t step_64_bits(const constants *k, uint64_t x)
{
    return k->a * x + k->b;
}

static uint64_t step_dot(const constants *k, uint64_t x)
{
    uint64_t sum = x;
    for (unsigned shift = 0; shift < 32; shift += 8)
        sum += (k->a >> shift & 0xFF) * (x >> shift & 0xFF);
    return (uint32_t)sum;
}

typedef struct operation {
    const char *what;
    const char *definitions;
    uint64_t (*step)(const constants *k, uint64_t x);
    bool wide; /* 64 bits */
} operation;

static const operation operations[] = {
    {"multiply_add", "#define T uint\n#define STEP(x) (a*(x)+b)\n", step_multiply_add, false},
    {"add_min", "#define T uint\n#define STEP(x) min((x)+b,c)\n", step_add_min, false},
    {"multiply_add_min", "#define T uint\n#define STEP(x) min(a*(x)+b,c)\n", step_multiply_add_min,
     false},
    {"two_multiply_adds_min_of_three",
     "#define T uint\n#define STEP(x) min(min(a*(x)+b,b*(x)+a),c)\n", step_min_of_three, false},
    {"multiply_add_24_bits", "#define T uint\n#define STEP(x) mad24(a&0xFFFFFFu,(x)&0xFFFFFFu,b)\n",
     step_24_bits, false},
    {"multiply_high_add", "#define T uint\n#define STEP(x) (mul_hi(a,(x))+b)\n", step_high_half,
     false},
    {"multiply_add_64_bits", "#define T ulong\n#define STEP(x) (a*(x)+b)\n", step_64_bits, true},
    {"dot_product_4_bytes",
     "#define T uint\n#define DOTS\n#define STEP(x) (dot_4x8packed_uu_uint(a,(x))+(x))\n", step_dot,
     false},
};
static const operation ptx_dot = {
    "dot_product_4_bytes", "#define T uint\n#define PTX_DOTS\n#define STEP(x) ptx_dot(a,(x))\n",
    step_dot, false};

static uint64_t expected(const operation *op, const constants *k, uint64_t item, uint64_t rounds)
{
    uint64_t all = 0;
    for (uint64_t j = 0; j < CHAINS; j++) {
        uint64_t x = item * CHAINS + j;
        for (uint64_t i = 0; i < rounds * TURNS; i++)
            x = op->step(k, x);
        all ^= x;
    }
    return all;
}

/* One launch: seconds by the device's clock, or by the host's if the device has none. */
static bm_status run_chains(const device *d, cl_kernel kernel, uint32_t rounds, double *seconds,
                            bm_error *err)
{
    cl_event event = NULL;
    const cl_uint n = rounds;
    const double begin = bm_clock_seconds();
    BM_TRY(check(d->cl->clSetKernelArg(kernel, 1, sizeof n, &n), "clSetKernelArg", err));
    BM_TRY(check(d->cl->clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &d->items, &d->group, 0,
                                               NULL, &event),
                 "clEnqueueNDRangeKernel", err));
    bm_status status = check(d->cl->clFinish(d->queue), "clFinish", err);
    const double wall = bm_clock_seconds() - begin;
    *seconds = between(d, event, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END);
    if (*seconds <= 0)
        *seconds = wall;
    d->cl->clReleaseEvent(event);
    return status;
}

static bm_status check_chains(const device *d, const operation *op, const constants *k,
                              cl_kernel kernel, cl_mem out, bm_error *err)
{
    double seconds;
    BM_TRY(run_chains(d, kernel, CHECK_ROUNDS, &seconds, err));
    const size_t places[] = {0, d->items / 3, d->items - 1};
    const size_t len = op->wide ? 8 : 4;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t found = 0; /* little-endian: a 32-bit value fills the low half */
        BM_TRY(check(d->cl->clEnqueueReadBuffer(d->queue, out, CL_TRUE, places[i] * len, len,
                                                &found, 0, NULL, NULL),
                     "clEnqueueReadBuffer", err));
        if (found != expected(op, k, places[i], CHECK_ROUNDS))
            return bm_fail(err, BM_ERR_SELFTEST, "it computes another result than the host");
    }
    return BM_OK;
}

/* Adds rounds until a launch takes d->least, then does the runs. */
static bm_status time_chains(const device *d, cl_kernel kernel, bm_json *json, bm_error *err)
{
    double seconds = 0, runs[MAX_RUNS];
    uint32_t rounds = 16;
    for (;; rounds *= 2) {
        BM_TRY(run_chains(d, kernel, rounds, &seconds, err));
        if (seconds >= d->least || rounds >= MOST_ROUNDS)
            break;
    }
    for (uint32_t i = 0; i < d->runs; i++)
        BM_TRY(run_chains(d, kernel, rounds, &runs[i], err));
    seconds = median(runs, d->runs);
    bm_json_key_uint(json, "rounds", rounds);
    key_seconds(json, "seconds", seconds);
    key_rate(json, "g_per_second",
             (double)d->items * rounds * TURNS * CHAINS / (seconds > 0 ? seconds : 1) * 1e-9);
    return BM_OK;
}

static bm_status set_constants(const device *d, const operation *op, const constants *k,
                               cl_kernel kernel, bm_error *err)
{
    const uint64_t values[] = {k->a, k->b, k->c};
    for (cl_uint i = 0; i < 3; i++) {
        const cl_uint half = (cl_uint)values[i];
        const cl_ulong whole = values[i];
        BM_TRY(check(d->cl->clSetKernelArg(kernel, 2 + i, op->wide ? sizeof whole : sizeof half,
                                           op->wide ? (const void *)&whole : (const void *)&half),
                     "clSetKernelArg", err));
    }
    return BM_OK;
}

static bm_status measure_operation(const device *d, const operation *op, bm_json *json,
                                   bm_error *err)
{
    const constants k = {0x9E3779B1u, 0x85EBCA77u, op->step == step_add_min ? 0xFFFFFFF0u : ~0u};
    built b = {NULL, NULL};
    cl_mem out = NULL;
    cl_int code;
    bm_status status = BM_OK;
    const double begin = bm_clock_seconds();
    BM_TRY_OUT(build_kernel(d, op->definitions, arithmetic_source, "chains", &b, err));
    key_seconds(json, "build_seconds", bm_clock_seconds() - begin);
    write_kernel_info(d, b.kernel, json);
    out = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, d->items * sizeof(cl_ulong), NULL,
                                &code);
    BM_TRY_OUT(check(code, "clCreateBuffer", err));
    BM_TRY_OUT(check(d->cl->clSetKernelArg(b.kernel, 0, sizeof out, &out), "clSetKernelArg", err));
    BM_TRY_OUT(set_constants(d, op, &k, b.kernel, err));
    BM_TRY_OUT(check_chains(d, op, &k, b.kernel, out, err));
    status = time_chains(d, b.kernel, json, err);
out:
    if (out != NULL)
        d->cl->clReleaseMemObject(out);
    built_reset(d, &b);
    return status;
}

static void measure_arithmetic(const device *d, bool nvidia, bm_json *json)
{
    bm_json_key_array(json, "arithmetic");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const operation *op = &operations[i];
        bm_error why = {0};
        bm_status status = BM_OK;
        if (op->step == step_dot && !d->has_dots)
            op = nvidia ? &ptx_dot : NULL;
        begin_row(json, operations[i].what);
        if (op != NULL)
            status = measure_operation(d, op, json, &why);
        else
            status = bm_fail(&why, BM_ERR_UNSUPPORTED, "it has no cl_khr_integer_dot_product");
        end_row(json, status, &why);
    }
    bm_json_end_array(json);
}

/* --- launches --- */

static const char nothing_source[] = "__kernel void nothing(__global uint *out) {}\n";

static bm_status enqueue(const device *d, cl_command_queue queue, cl_kernel kernel, size_t items,
                         cl_event *event, bm_error *err)
{
    const size_t group = items < d->group ? items : d->group;
    return check(
        d->cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, event),
        "clEnqueueNDRangeKernel", err);
}

/* One launch at a time, and how its time divides. */
static bm_status launch_alone(const device *d, cl_kernel kernel, bm_json *json, bm_error *err)
{
    double wall[MAX_RUNS], queued[MAX_RUNS], submitted[MAX_RUNS], runs[MAX_RUNS];
    const uint32_t n = d->runs * 10 < MAX_RUNS ? d->runs * 10 : MAX_RUNS;
    for (uint32_t i = 0; i < n; i++) {
        cl_event event = NULL;
        const double begin = bm_clock_seconds();
        BM_TRY(enqueue(d, d->queue, kernel, 64, &event, err));
        const bm_status status = check(d->cl->clFinish(d->queue), "clFinish", err);
        wall[i] = bm_clock_seconds() - begin;
        queued[i] = between(d, event, CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT);
        submitted[i] = between(d, event, CL_PROFILING_COMMAND_SUBMIT, CL_PROFILING_COMMAND_START);
        runs[i] = between(d, event, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END);
        d->cl->clReleaseEvent(event);
        BM_TRY(status);
    }
    key_seconds(json, "seconds_alone", median(wall, n));
    key_seconds(json, "queued_to_submit", median(queued, n));
    key_seconds(json, "submit_to_start", median(submitted, n));
    key_seconds(json, "start_to_end", median(runs, n));
    return BM_OK;
}

static bm_status launch_many(const device *d, cl_kernel kernel, bm_json *json, bm_error *err)
{
    const double begin = bm_clock_seconds();
    for (uint32_t i = 0; i < LAUNCHES; i++)
        BM_TRY(enqueue(d, d->queue, kernel, 64, NULL, err));
    const double enqueued = bm_clock_seconds();
    BM_TRY(check(d->cl->clFinish(d->queue), "clFinish", err));
    key_seconds(json, "seconds_each_of_1000", (bm_clock_seconds() - begin) / LAUNCHES);
    key_seconds(json, "call_seconds_each_of_1000", (enqueued - begin) / LAUNCHES);
    return BM_OK;
}

static bm_status launch_nothing(const device *d, bm_json *json, bm_error *err)
{
    built b = {NULL, NULL};
    cl_mem out = NULL;
    cl_int code;
    bm_status status = BM_OK;
    BM_TRY_OUT(build_kernel(d, "", nothing_source, "nothing", &b, err));
    out = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, 64, NULL, &code);
    BM_TRY_OUT(check(code, "clCreateBuffer", err));
    BM_TRY_OUT(check(d->cl->clSetKernelArg(b.kernel, 0, sizeof out, &out), "clSetKernelArg", err));
    BM_TRY_OUT(launch_alone(d, b.kernel, json, err));
    status = launch_many(d, b.kernel, json, err);
out:
    if (out != NULL)
        d->cl->clReleaseMemObject(out);
    built_reset(d, &b);
    return status;
}

/* --- copies --- */

/* A buffer of the device and memory of the host: ordinary memory, or a mapped buffer, which the
 * driver has pinned. */
typedef struct copy {
    size_t bytes;
    cl_mem device, pinned;
    void *host;
} copy;

static void copy_close(const device *d, copy *c)
{
    if (c->pinned != NULL && c->host != NULL)
        d->cl->clEnqueueUnmapMemObject(d->queue, c->pinned, c->host, 0, NULL, NULL);
    d->cl->clFinish(d->queue);
    if (c->pinned == NULL)
        free(c->host);
    else
        d->cl->clReleaseMemObject(c->pinned);
    if (c->device != NULL)
        d->cl->clReleaseMemObject(c->device);
}

static bm_status copy_open(const device *d, size_t bytes, bool pinned, copy *c, bm_error *err)
{
    cl_int code;
    *c = (copy){.bytes = bytes};
    if (bytes > d->most_bytes)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "larger than a buffer of this device");
    c->device = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    BM_TRY(check(code, "clCreateBuffer", err));
    if (pinned) {
        c->pinned = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                          bytes, NULL, &code);
        BM_TRY(check(code, "clCreateBuffer", err));
        c->host =
            d->cl->clEnqueueMapBuffer(d->queue, c->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &code);
        BM_TRY(check(code, "clEnqueueMapBuffer", err));
    } else {
        c->host = malloc(bytes);
        if (c->host == NULL)
            return bm_fail_nomem(err, bytes);
    }
    memset(c->host, 0x5A, bytes);
    return BM_OK;
}

/* Enqueues one copy. *call: seconds that the call took. */
static bm_status begin_copy(const device *d, cl_command_queue queue, const copy *c, bool up,
                            cl_event *event, double *call, bm_error *err)
{
    const double begin = bm_clock_seconds();
    const cl_int code = up ? d->cl->clEnqueueWriteBuffer(queue, c->device, CL_FALSE, 0, c->bytes,
                                                         c->host, 0, NULL, event)
                           : d->cl->clEnqueueReadBuffer(queue, c->device, CL_FALSE, 0, c->bytes,
                                                        c->host, 0, NULL, event);
    *call = bm_clock_seconds() - begin;
    return check(code, up ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", err);
}

static bm_status time_copy(const device *d, const copy *c, bool up, bm_json *json, bm_error *err)
{
    double wall[MAX_RUNS], call[MAX_RUNS], run[MAX_RUNS];
    for (uint32_t i = 0; i <= d->runs; i++) { /* the first warms up */
        const uint32_t at = i > 0 ? i - 1 : 0;
        cl_event event = NULL;
        const double begin = bm_clock_seconds();
        BM_TRY(begin_copy(d, d->queue, c, up, &event, &call[at], err));
        const bm_status status = check(d->cl->clFinish(d->queue), "clFinish", err);
        wall[at] = bm_clock_seconds() - begin;
        run[at] = between(d, event, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END);
        d->cl->clReleaseEvent(event);
        BM_TRY(status);
    }
    const double seconds = median(wall, d->runs), device_seconds = median(run, d->runs);
    key_rate(json, "mb_per_second", (double)c->bytes / seconds * 1e-6);
    if (device_seconds > 0)
        key_rate(json, "device_mb_per_second", (double)c->bytes / device_seconds * 1e-6);
    key_seconds(json, "call_seconds", median(call, d->runs));
    return BM_OK;
}

/* Copies up on one queue and down on the other at once, from pinned memory. */
static bm_status time_both_ways(const device *d, bm_json *json, bm_error *err)
{
    copy up = {.bytes = 0}, down = {.bytes = 0};
    double runs[MAX_RUNS], call;
    bm_status status = BM_OK;
    BM_TRY_OUT(copy_open(d, BOTH_BYTES, true, &up, err));
    BM_TRY_OUT(copy_open(d, BOTH_BYTES, true, &down, err));
    for (uint32_t i = 0; i <= d->runs; i++) {
        const double begin = bm_clock_seconds();
        BM_TRY_OUT(begin_copy(d, d->queue, &up, true, NULL, &call, err));
        BM_TRY_OUT(begin_copy(d, d->other, &down, false, NULL, &call, err));
        BM_TRY_OUT(check(d->cl->clFlush(d->queue), "clFlush", err));
        BM_TRY_OUT(check(d->cl->clFlush(d->other), "clFlush", err));
        BM_TRY_OUT(check(d->cl->clFinish(d->queue), "clFinish", err));
        BM_TRY_OUT(check(d->cl->clFinish(d->other), "clFinish", err));
        runs[i > 0 ? i - 1 : 0] = bm_clock_seconds() - begin;
    }
    key_rate(json, "mb_per_second", 2e-6 * (double)BOTH_BYTES / median(runs, d->runs));
out:
    copy_close(d, &up);
    copy_close(d, &down);
    return status;
}

static void measure_copies(const device *d, bm_json *json)
{
    static const size_t sizes[] = {2 * MIB, 64 * MIB};
    bm_error why = {0};
    bm_json_key_array(json, "copies");
    for (size_t s = 0; s < 2; s++) {
        for (int pinned = 1; pinned >= 0; pinned--) {
            for (int up = 1; up >= 0; up--) {
                copy c;
                begin_row(json, up ? "upload" : "read_back");
                bm_json_key_uint(json, "bytes", sizes[s]);
                bm_json_key_text(json, "memory", pinned ? "pinned" : "pageable");
                bm_status status = copy_open(d, sizes[s], pinned, &c, &why);
                if (status == BM_OK)
                    status = time_copy(d, &c, up, json, &why);
                copy_close(d, &c);
                end_row(json, status, &why);
            }
        }
    }
    begin_row(json, "both_ways_at_once");
    bm_json_key_uint(json, "bytes", 2 * BOTH_BYTES);
    bm_json_key_text(json, "memory", "pinned");
    bm_status status = time_both_ways(d, json, &why);
    end_row(json, status, &why);
    bm_json_end_array(json);
}

/* --- enqueueing and waiting while a long kernel runs --- */

#define BUSY_SECONDS .05

/* The chains of the first operation, with rounds for BUSY_SECONDS. */
typedef struct busy {
    built b;
    cl_mem out;
    double seconds;
} busy;

static bm_status busy_open(const device *d, busy *k, bm_error *err)
{
    const operation *op = &operations[0];
    const constants values = {0x9E3779B1u, 0x85EBCA77u, ~0u};
    cl_int code;
    BM_TRY(build_kernel(d, op->definitions, arithmetic_source, "chains", &k->b, err));
    k->out = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, d->items * sizeof(cl_ulong), NULL,
                                   &code);
    BM_TRY(check(code, "clCreateBuffer", err));
    BM_TRY(check(d->cl->clSetKernelArg(k->b.kernel, 0, sizeof k->out, &k->out), "clSetKernelArg",
                 err));
    BM_TRY(set_constants(d, op, &values, k->b.kernel, err));
    for (uint32_t rounds = 16; rounds <= MOST_ROUNDS; rounds *= 2) {
        BM_TRY(run_chains(d, k->b.kernel, rounds, &k->seconds, err));
        if (k->seconds >= BUSY_SECONDS)
            break;
    }
    return BM_OK;
}

static void busy_close(const device *d, busy *k)
{
    d->cl->clFinish(d->queue);
    if (k->out != NULL)
        d->cl->clReleaseMemObject(k->out);
    built_reset(d, &k->b);
}

/* Enqueues a second kernel, and copies, while the first kernel runs. */
static bm_status time_enqueueing(const device *d, const busy *k, bm_json *json, bm_error *err)
{
    copy c[2] = {{.bytes = 0}, {.bytes = 0}};
    bm_status status = BM_OK;
    BM_TRY_OUT(copy_open(d, 2 * MIB, false, &c[0], err));
    BM_TRY_OUT(copy_open(d, 2 * MIB, true, &c[1], err));
    key_seconds(json, "busy_seconds", k->seconds);
    for (int i = 0; i < 5; i++) {
        static const char *const keys[] = {"kernel_call_seconds", "pageable_upload_call_seconds",
                                           "pageable_read_back_call_seconds",
                                           "pinned_upload_call_seconds",
                                           "pinned_read_back_call_seconds"};
        double call;
        BM_TRY_OUT(enqueue(d, d->queue, k->b.kernel, d->items, NULL, err));
        BM_TRY_OUT(check(d->cl->clFlush(d->queue), "clFlush", err));
        if (i == 0) {
            const double begin = bm_clock_seconds();
            BM_TRY_OUT(enqueue(d, d->queue, k->b.kernel, d->items, NULL, err));
            call = bm_clock_seconds() - begin;
        } else {
            BM_TRY_OUT(begin_copy(d, d->queue, &c[i > 2], i % 2 == 1, NULL, &call, err));
        }
        BM_TRY_OUT(check(d->cl->clFinish(d->queue), "clFinish", err));
        key_seconds(json, keys[i], call);
    }
out:
    copy_close(d, &c[0]);
    copy_close(d, &c[1]);
    return status;
}

static bm_status time_waiting(const device *d, const busy *k, bm_json *json, bm_error *err)
{
    BM_TRY(check(d->cl->clFinish(d->queue), "clFinish", err));
    const double begin = bm_clock_seconds(), cpu = bm_clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 4; i++)
        BM_TRY(enqueue(d, d->queue, k->b.kernel, d->items, NULL, err));
    BM_TRY(check(d->cl->clFinish(d->queue), "clFinish", err));
    const double wall = bm_clock_seconds() - begin;
    key_seconds(json, "seconds", wall);
    key_rate(json, "cpu_seconds_of_each",
             (bm_clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu) / (wall > 0 ? wall : 1));
    return BM_OK;
}

static void measure_host(const device *d, bm_json *json)
{
    busy k = {.seconds = 0};
    bm_error why = {0};
    bm_status status = busy_open(d, &k, &why);
    bm_json_key_array(json, "beside_a_kernel");
    begin_row(json, "enqueueing");
    if (status == BM_OK)
        status = time_enqueueing(d, &k, json, &why);
    end_row(json, status, &why);
    begin_row(json, "waiting");
    if (status == BM_OK)
        status = time_waiting(d, &k, json, &why);
    end_row(json, status, &why);
    bm_json_end_array(json);
    busy_close(d, &k);
}

/* --- all --- */

static bm_status device_open(device *d, bm_json *json, bm_error *err)
{
    cl_int code;
    const double begin = bm_clock_seconds();
    d->context = d->cl->clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    BM_TRY(check(code, "clCreateContext", err));
    const double made = bm_clock_seconds();
    d->queue = d->cl->clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
    BM_TRY(check(code, "clCreateCommandQueue", err));
    key_seconds(json, "context_seconds", made - begin);
    key_seconds(json, "queue_seconds", bm_clock_seconds() - made);
    d->other = d->cl->clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
    return check(code, "clCreateCommandQueue", err);
}

static void device_close(device *d)
{
    if (d->other != NULL)
        d->cl->clReleaseCommandQueue(d->other);
    if (d->queue != NULL)
        d->cl->clReleaseCommandQueue(d->queue);
    if (d->context != NULL)
        d->cl->clReleaseContext(d->context);
}

static void look_at(device *d, bool *nvidia)
{
    static char words[16384];
    cl_uint units = 1;
    cl_ulong most = 0;
    size_t group = GROUP;
    memset(words, 0, sizeof words);
    d->cl->clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, sizeof words - 1, words, NULL);
    d->cl->clGetDeviceInfo(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    d->cl->clGetDeviceInfo(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    d->cl->clGetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL);
    d->group = group < GROUP ? group : GROUP;
    d->items = (size_t)units * ITEMS / d->group * d->group;
    d->most_bytes = most;
    d->has_dots = strstr(words, "cl_khr_integer_dot_product") != NULL;
    *nvidia = strstr(words, "cl_nv_") != NULL;
}

bm_status gpu_rates_write(const gpu_api *api, cl_device_id id, bool quick, bm_json *json,
                          bm_error *err)
{
    device d = {
        .api = api, .cl = &api->cl, .id = id, .runs = quick ? 1 : 9, .least = quick ? .0005 : .02};
    bool nvidia = false;
    bm_error why = {0};
    look_at(&d, &nvidia);
    bm_json_key_object(json, "rates");
    bm_json_key_uint(json, "items", d.items);
    bm_json_key_uint(json, "group", d.group);
    bm_status status = device_open(&d, json, err);
    if (status == BM_OK) {
        measure_arithmetic(&d, nvidia, json);
        bm_json_key_array(json, "launches");
        begin_row(json, "nothing");
        const bm_status launched = launch_nothing(&d, json, &why);
        end_row(json, launched, &why);
        bm_json_end_array(json);
        measure_copies(&d, json);
        measure_host(&d, json);
    }
    bm_json_end_object(json);
    device_close(&d);
    return status;
}
