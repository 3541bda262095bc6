/* cl_program.c -- from embedded files to kernels.
 *
 * The files go to the compiler as separate strings, each behind a #line, so that its log names
 * them. What differs between programs is in the options alone.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/unit/opencl/test_cl_kernel_tune.c */
#include "opencl/cl_program.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "opencl/kernel_files.h"
#include "base/error.h"
#include "base/memory.h"

#define MAX_FILES    12
#define BUILD_TRIES  3
#define OPTIONS_SIZE 512

static const char *const kernel_names[BM_CL_N_KERNELS] = {
    [BM_CL_SIGN] = "bm_sign",
    [BM_CL_SPLIT_BEGIN] = "bm_split_begin",
    [BM_CL_SPLIT_FILL] = "bm_split_fill",
    [BM_CL_SPLIT_KEYS] = "bm_split_keys",
    [BM_CL_TEXT_HASH] = "bm_text_hash",
    [BM_CL_TEXT_COUNT] = "bm_text_count",
    [BM_CL_TEXT_CONTENT] = "bm_text_content",
};

typedef struct source {
    char lines[MAX_FILES][64];
    const char *text[MAX_FILES * 2];
    size_t len[MAX_FILES * 2];
    cl_uint n;
} source;

/* The files of a program, in order; how many. */
static size_t files_of(const bm_cl_shape *shape, const char *names[MAX_FILES])
{
    const bm_scheme_device *scheme = &shape->scheme->device;
    size_t n = 0;
    names[n++] = "affine32.h";
    names[n++] = "band_keys.cl";
    for (size_t i = 0; scheme->files[i] != NULL; ++i)
        names[n++] = scheme->files[i];
    if (shape->gpu)
        names[n++] = "teams.cl";
    names[n++] = shape->gpu ? scheme->sign_gpu : scheme->sign_cpu;
    if (shape->text.used) {
        names[n++] = "xxh3.h";
        names[n++] = "text_hash.cl";
        names[n++] = "text_count.cl";
        names[n++] = "content_hash.h";
        names[n++] = "text_content.cl";
    }
    return n;
}

static bm_status assemble(const bm_cl_shape *shape, source *out, bm_error *err)
{
    const char *names[MAX_FILES];
    const size_t n_files = files_of(shape, names);
    out->n = 0;
    for (size_t i = 0; i < n_files; ++i) {
        const bm_kernel_file *file = NULL;
        for (unsigned f = 0; f < bm_n_kernel_files; ++f)
            if (strcmp(bm_kernel_files[f].name, names[i]) == 0)
                file = &bm_kernel_files[f];
        if (file == NULL)
            return bm_fail(err, BM_ERR_INTERNAL, "kernel file %s is not embedded", names[i]);
        int n = snprintf(out->lines[i], sizeof out->lines[i], "#line 1 \"%s\"\n", names[i]);
        out->text[out->n] = out->lines[i];
        out->len[out->n++] = (size_t)n;
        out->text[out->n] = file->text;
        out->len[out->n++] = file->len;
    }
    return BM_OK;
}

typedef struct options {
    char text[OPTIONS_SIZE];
    size_t len;
} options;

BM_PRINTF(2, 3) static void add_option(options *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(out->text + out->len, OPTIONS_SIZE - out->len, format, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < OPTIONS_SIZE - out->len);
    out->len += (size_t)n;
}

static options options_of(const bm_cl_shape *s)
{
    options out = {.len = 0};
    add_option(&out, "-cl-std=CL1.2 -DBM_PERMS=%u -DBM_BANDS=%u -DBM_ROWS=%u -DBM_SPLIT_GROUP=%u",
               s->perms, s->bands, s->rows, s->split_group);
    if (s->text.used)
        add_option(&out, " -DBM_TEXT_KIND=%u -DBM_TEXT_K=%u -DBM_TEXT_GROUP=%u%s", s->text.kind,
                   s->text.k, s->group, s->gpu ? "" : " -DBM_TEXT_BYTES");
    if (s->gpu)
        add_option(&out, " -DBM_EACH=%u -DBM_TEAM=%u -DBM_TEAMS=%u -DBM_TILE=%u -DBM_UNROLL=%u",
                   s->teams.each, s->teams.team, s->teams.teams, s->teams.tile, s->teams.unroll);
    else
        add_option(&out, " -DBM_LANES=%u -DBM_ACC=%u -DBM_PASSES=%u", s->vectors.lanes,
                   s->vectors.acc, s->vectors.passes);
    if (s->scheme->device.options != NULL)
        add_option(&out, " %s", s->scheme->device.options);
    return out;
}

bm_cl_key bm_cl_program_key(const bm_cl_device *device, const bm_cl_shape *shape)
{
    bm_cl_key key = {0};
    source src;
    if (assemble(shape, &src, NULL) == BM_OK)
        for (cl_uint i = 0; i < src.n; ++i)
            key = bm_cl_key_add(key, src.text[i], src.len[i]);
    const options built = options_of(shape);
    const char *const texts[] = {built.text,     device->info.platform, device->platform_version,
                                 device->vendor, device->info.name,     device->info.driver};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        key = bm_cl_key_add(key, texts[i], strlen(texts[i]));
    return key;
}

static bm_status create_kernels(const bm_cl_target *target, bm_cl_program *out, bm_error *err)
{
    const bm_cl_shape *shape = target->shape;
    for (int i = 0; i < BM_CL_N_KERNELS; ++i) {
        if ((i == BM_CL_SPLIT_KEYS && shape->bands == 0) ||
            (i == BM_CL_SPLIT_FILL && !shape->scheme->device.fills) ||
            (i >= BM_CL_TEXT_HASH && !shape->text.used))
            continue;
        cl_int code = CL_SUCCESS;
        out->kernels[i] = target->api->clCreateKernel(out->program, kernel_names[i], &code);
        if (code != CL_SUCCESS)
            return bm_cl_fail(err, code, "clCreateKernel");
    }
    return BM_OK;
}

/* The compiler's log, on one line, behind what clBuildProgram said. */
static bm_status build_failed(const bm_cl_target *target, cl_program program, cl_int code,
                              bm_error *err)
{
    const bm_cl_api *api = target->api;
    cl_device_id id = target->device->id;
    char log[800] = "";
    size_t size = 0;
    if (api->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) ==
            CL_SUCCESS &&
        size > 0) {
        char *text = bm_alloc_zero(size + 1, 1);
        if (text != NULL) {
            api->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
            snprintf(log, sizeof log, "%.*s", (int)sizeof log - 1, text);
            bm_free(text);
        }
    }
    for (char *p = log; *p != '\0'; ++p)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    if (log[strspn(log, " ")] == '\0')
        snprintf(
            log, sizeof log, "%s",
            "its compiler left no log (does the driver find its own libraries? docs/gpu-box.md)");
    bm_status status = bm_fail(err, BM_ERR_DEVICE, "clBuildProgram: %s (%d): %s",
                               bm_cl_code_name(code), (int)code, log);
    if (err != NULL)
        err->code = code;
    return status;
}

/* Compile out->program and make its kernels; after a failure `out` is empty. */
static bm_status compile(const bm_cl_target *target, const char *with, bm_cl_program *out,
                         bm_error *err)
{
    const cl_int code =
        target->api->clBuildProgram(out->program, 1, &target->device->id, with, NULL, NULL);
    bm_status status = code == CL_SUCCESS ? create_kernels(target, out, err)
                                          : build_failed(target, out->program, code, err);
    if (status != BM_OK)
        bm_cl_program_reset(target->api, out);
    return status;
}

bm_status bm_cl_program_build(const bm_cl_target *target, bm_cl_program *out, bm_error *err)
{
    source src;
    const options with = options_of(target->shape);
    bm_status status = assemble(target->shape, &src, err);
    if (status != BM_OK)
        return status;
    for (int tries = 1;; ++tries) {
        memset(out, 0, sizeof *out);
        cl_int code = CL_SUCCESS;
        out->program = target->api->clCreateProgramWithSource(target->context, src.n, src.text,
                                                              src.len, &code);
        if (code != CL_SUCCESS)
            return bm_cl_fail(err, code, "clCreateProgramWithSource");
        status = compile(target, with.text, out, err);
        if (status == BM_OK || tries == BUILD_TRIES)
            return status;
        nanosleep(&(struct timespec){.tv_nsec = 25000000L << tries}, NULL);
    }
}

bm_status bm_cl_program_load(const bm_cl_target *target, const void *binary, size_t len,
                             bm_cl_program *out, bm_error *err)
{
    const bm_cl_api *api = target->api;
    cl_device_id id = target->device->id;
    const unsigned char *bytes = binary;
    cl_int of_binary = CL_SUCCESS, code = CL_SUCCESS;
    memset(out, 0, sizeof *out);
    out->program =
        api->clCreateProgramWithBinary(target->context, 1, &id, &len, &bytes, &of_binary, &code);
    if (code != CL_SUCCESS || of_binary != CL_SUCCESS) {
        bm_cl_program_reset(api, out);
        return bm_cl_fail(err, code != CL_SUCCESS ? code : of_binary, "clCreateProgramWithBinary");
    }
    return compile(target, "", out, err);
}

bm_status bm_cl_program_binary(const bm_cl_api *api, const bm_cl_program *program, void **out,
                               size_t *len, bm_error *err)
{
    size_t size = 0;
    cl_int code =
        api->clGetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS || size == 0)
        return bm_cl_fail(err, code, "clGetProgramInfo");
    unsigned char *binary = bm_alloc_zero(size, 1);
    if (binary == NULL)
        return bm_fail_nomem(err, size);
    code =
        api->clGetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    if (code != CL_SUCCESS) {
        bm_free(binary);
        return bm_cl_fail(err, code, "clGetProgramInfo");
    }
    *out = binary;
    *len = size;
    return BM_OK;
}

void bm_cl_program_reset(const bm_cl_api *api, bm_cl_program *program)
{
    for (int i = 0; i < BM_CL_N_KERNELS; ++i)
        if (program->kernels[i] != NULL)
            api->clReleaseKernel(program->kernels[i]);
    if (program->program != NULL)
        api->clReleaseProgram(program->program);
    memset(program, 0, sizeof *program);
}
